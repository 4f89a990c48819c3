"""Pictures in folders, one for each class: `photos/cat/1.jpg`, `photos/dog/7.png`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from understudy.errors import InputError
from understudy.files import whole_folder
from understudy.images.dataset import BLANK, ImageDataset
from understudy.images.encoded import MOST_BYTES, SUFFIXES, PictureSize, encoded
from understudy.untrusted import read_bytes


def is_folder_of_pictures(path: Path) -> bool:
    """Whether it is a folder that holds folders, of which one has a picture in it. Names alone are looked at."""
    return path.is_dir() and any(next(picture_files(one), None) is not None for one in _folders(path))


def read_folder(
    path: str | Path, size: PictureSize | None = None, classes: Sequence[str] | None = None
) -> ImageDataset:
    """Reads private pictures of a folder of folders, each brought to one public `size` (32 x 32, in colour).

    The set of classes is public: `classes`, or the names of the folders. Pictures of a folder that is no class are left out;
    so is every file that has not the ending of a picture.
    """
    root = Path(path)
    if not root.is_dir():
        raise InputError(f"there is no folder {root}.")
    folders = {one.name: one for one in _folders(root)}
    names = tuple(sorted(folders) if classes is None else classes)
    if len(names) < 2:
        raise InputError(
            f"{root} has {len(names)} folder{'s' * (len(names) != 1)} in it: there must be one for each class, and two classes at least."
        )

    def pictures() -> Iterator[tuple[bytes | None, int]]:
        for number, name in enumerate(names):
            for file in sorted(picture_files(folders[name])) if name in folders else ():
                yield _bytes(file), number

    return (size or PictureSize()).dataset(pictures(), names)


def write_folder(data: ImageDataset, path: str | Path) -> None:
    """Write every image as a PNG into the folder of its class, all of them or nothing. The folder must be new."""
    if (data.labels == BLANK).any():
        raise InputError("a blank image has no class to be written to.")
    with whole_folder(Path(path)) as temporary:
        for number, name in enumerate(data.classes):
            folder = Path(temporary) / (name if _is_safe(name) else f"class {number + 1}")
            folder.mkdir()
            for place, image in enumerate(data.images[data.labels == number]):
                (folder / f"{place + 1:06}.png").write_bytes(encoded(image))


def _is_safe(name: str) -> bool:
    """Whether a class may give a folder its name, on every system."""
    return name.isprintable() and not name.startswith(".") and not set(name) & set('/\\:*?"<>|') and 0 < len(name) < 100


def _folders(path: Path) -> Iterator[Path]:
    with os.scandir(path) as entries:
        yield from (Path(entry.path) for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def picture_files(folder: Path) -> Iterator[Path]:
    """The pictures under a folder, however deep."""
    for here, below, names in os.walk(folder):
        below.sort()
        yield from (
            Path(here) / name
            for name in names
            if not name.startswith(".") and os.path.splitext(name)[1].lower() in SUFFIXES
        )


def _bytes(file: Path) -> bytes | None:
    try:
        return read_bytes(file, most=MOST_BYTES)
    except (OSError, InputError):
        return None
