"""Image sets from and to `.npz` files, and a picture of some of the images."""

from __future__ import annotations

import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from understudy.errors import InputError
from understudy.files import whole_file
from understudy.images.dataset import ImageDataset
from understudy.untrusted import check_expansion, open_regular

_MOST_MEMBERS, _MOST_CLASSES = 1000, 100_000
# What the header of an array, which is Python's own notation, can raise beside `ValueError`.
_PARSING = (
    SyntaxError,
    TypeError,
    MemoryError,
    RecursionError,
    RuntimeError,
    NotImplementedError,
    struct.error,
    tokenize.TokenError,
)


def read_npz(path: str | Path, classes: Sequence[str] | None = None) -> ImageDataset:
    """An image set from an `.npz` with `images` and `labels` (or `x_train` and `y_train`).

    The set of classes is public: from `classes`, or an array `classes` in the file. It is not taken from the labels.
    """
    source = Path(path)
    arrays = _arrays(source)
    names = ("images", "labels") if "images" in arrays else ("x_train", "y_train")
    if absent := [name for name in names if name not in arrays]:
        raise InputError(f"{source} has no array {absent[0]!r}: it needs `images` and `labels`.")
    images, labels = (arrays[name] for name in names)
    stored = _names(source, arrays["classes"]) if "classes" in arrays else None
    known = list(classes) if classes is not None else stored
    if known is None:
        raise InputError(
            f"{source} does not say which classes there are. The set of classes is public and must be named: put an array "
            "`classes` into the file, or name them (on the command line with --classes a,b,c)."
        )
    return ImageDataset(images, labels, tuple(known))


def read_npz_images(path: str | Path) -> np.ndarray:
    """The `images` (or `x_train`) of an `.npz`, whatever else it holds."""
    arrays = _arrays(Path(path))
    for name in ("images", "x_train"):
        if name in arrays:
            return arrays[name]
    raise InputError(f"{path} has no array `images`.")


def _names(source: Path, classes: np.ndarray) -> list[str]:
    if classes.ndim != 1 or len(classes) > _MOST_CLASSES:
        raise InputError(f"{source}: `classes` of shape {classes.shape} is no list of at most {_MOST_CLASSES} names.")
    return [str(name) for name in classes]


def _arrays(source: Path) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` that an image set may have. What each would take is known before it is unpacked."""
    wanted = ("images", "labels", "x_train", "y_train", "classes")
    try:
        with open_regular(source) as file, zipfile.ZipFile(file) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()[:_MOST_MEMBERS]}
            found = {name: members[name] for name in wanted if name in members}
            for name, info in found.items():
                if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise InputError(f"{source}: the array {name!r} is encrypted, or packed in a way that is not read.")
            check_expansion(source, os.fstat(file.fileno()).st_size, sum(info.file_size for info in found.values()))
            return {name: _array(archive, info) for name, info in found.items()}
    except (*(OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error), *_PARSING) as error:
        if isinstance(error, InputError):
            raise
        said = " ".join(str(error).split())[:300]
        raise InputError(f"cannot read {source} as an .npz of arrays: {said}.") from None


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """One array, whose header may not promise more bytes than the member has."""
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in headers:
            raise InputError(f"{info.filename[:80]!r} is an .npy of version {version}, which is not read.")
        shape, fortran, dtype = headers[version](member)
        if dtype.hasobject:
            raise ValueError("Object arrays cannot be loaded")
        length = math.prod(shape) * dtype.itemsize
        if not all(size >= 0 for size in shape) or length > info.file_size:
            raise ValueError(f"{info.filename[:80]!r} is shorter than its shape {shape}"[:200])
        data = member.read(length)
    flat = np.frombuffer(data, dtype, count=math.prod(shape))
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


def write_npz(data: ImageDataset, path: str | Path) -> None:
    """Write `images`, `labels` and `classes` to an `.npz`, the whole file or nothing."""
    if Path(path).suffix != ".npz":
        raise InputError(f"{path}: images are written as .npz.")
    write_arrays({"images": data.images, "labels": data.labels, "classes": np.array(data.classes)}, path)


def write_arrays(arrays: Mapping[str, np.ndarray], path: str | Path) -> None:
    """Write arrays to an `.npz`, the whole file or nothing."""
    with whole_file(path) as temporary, Path(temporary).open("wb") as file:
        np.savez_compressed(file, **arrays)  # pyright: ignore[reportArgumentType]


def write_grid(data: ImageDataset, path: str | Path, *, columns: int = 10, enlarge: int = 2) -> None:
    """Write a PNG with one row of up to `columns` images for each class, so as public as the images are."""
    import matplotlib.image

    if Path(path).suffix != ".png":
        raise InputError(f"{path}: pictures are written as .png.")
    height, width = data.shape[:2]
    colours = data.images.reshape(len(data), height, width, -1)
    sheet = np.zeros((len(data.classes) * height, columns * width, colours.shape[3]), dtype=np.uint8)
    for c in range(len(data.classes)):
        for column, image in enumerate(colours[data.labels == c][:columns]):
            sheet[c * height : (c + 1) * height, column * width : (column + 1) * width] = image
    sheet = np.broadcast_to(sheet.repeat(enlarge, 0).repeat(enlarge, 1), (*(s * enlarge for s in sheet.shape[:2]), 3))
    with whole_file(path) as temporary, Path(temporary).open("wb") as file:
        matplotlib.image.imsave(file, np.ascontiguousarray(sheet), format="png")
