"""Image sets from and to `.npz` files, and a picture of some of the images."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from understudy.errors import InputError
from understudy.files import whole_file
from understudy.images.dataset import ImageDataset


def read_npz(path: str | Path, classes: Sequence[str] | None = None) -> ImageDataset:
    """An image set from an `.npz` with `images` and `labels` (or `x_train` and `y_train`).

    The set of classes is public: from `classes`, or an array `classes` in the file. It is not taken from the labels.
    """
    source = Path(path)
    try:
        with np.load(source, allow_pickle=False) as arrays:
            names = ("images", "labels") if "images" in arrays.files else ("x_train", "y_train")
            if absent := [name for name in names if name not in arrays.files]:
                raise InputError(f"{source} has no array {absent[0]!r}: it needs `images` and `labels`.")
            images, labels = (arrays[name] for name in names)
            stored = [str(name) for name in arrays["classes"]] if "classes" in arrays.files else None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot read {source} as an .npz of arrays: {' '.join(str(error).split())}.") from None
    known = list(classes) if classes is not None else stored
    if known is None:
        raise InputError(
            f"{source} does not say which classes there are. The set of classes is public and must be named: put an array "
            "`classes` into the file, or name them (on the command line with --classes a,b,c)."
        )
    return ImageDataset(images, labels, tuple(known))


def write_npz(data: ImageDataset, path: str | Path) -> None:
    """Write `images`, `labels` and `classes` to an `.npz`, the whole file or nothing."""
    if Path(path).suffix != ".npz":
        raise InputError(f"{path}: images are written as .npz.")
    with whole_file(path) as temporary, Path(temporary).open("wb") as file:
        np.savez_compressed(file, images=data.images, labels=data.labels, classes=np.array(data.classes))


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
