"""Images without a class: those that a classifier is asked about, or that are public and unlabelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from understudy.errors import InputError
from understudy.images.dataset import BLANK, ImageDataset
from understudy.images.encoded import MOST_BYTES, SUFFIXES, PictureSize
from understudy.images.files import read_npz_images
from understudy.images.folders import picture_files
from understudy.images.parquet import read_parquet_pictures
from understudy.untrusted import read_bytes

Unlabelled = tuple[list[str], ImageDataset]
"""What each image is called, and the images; those that could not be opened are blank, all others of the first class."""


def read_unlabelled(path: str | Path, shape: tuple[int, ...], classes: Sequence[str]) -> Unlabelled:
    """Images of this shape from one picture, a folder of them however deep, Parquet with pictures, or an `.npz` with `images`.

    Pictures are brought to the shape as `read_folder` does. Labels are not looked at.
    """
    source, names = Path(path), tuple(classes)
    if source.suffix == ".npz":
        images = read_npz_images(source)
        if images.shape[1:] != shape:
            raise InputError(f"{source} has images of shape {images.shape[1:]}; {shape} is wanted.")
        return _numbered(len(images)), ImageDataset(images, np.zeros(len(images), dtype=int), names)
    size = PictureSize(shape[0], shape[1], grey=len(shape) == 2 or shape[2] == 1)
    if source.suffix == ".parquet":
        made = size.dataset(((data, 0) for data in read_parquet_pictures(source)), names)
        return _numbered(len(made)), _shaped(made, shape)
    if source.is_file() and source.suffix.lower() in SUFFIXES:
        files = [source]
    elif source.is_dir():
        files = sorted(picture_files(source))
    else:
        raise InputError(f"{source} is no picture, folder of pictures, Parquet file with pictures or .npz of images.")
    if not files:
        raise InputError(f"{source} holds no pictures ({', '.join(SUFFIXES)}).")
    called = [source.name] if source.is_file() else [str(file.relative_to(source)) for file in files]
    return called, _shaped(size.dataset(_read(files), names), shape)


def _read(files: Sequence[Path]) -> Iterator[tuple[bytes | None, int]]:
    for file in files:
        try:
            yield read_bytes(file, most=MOST_BYTES), 0
        except (OSError, InputError):
            yield None, BLANK


def _numbered(images: int) -> list[str]:
    return [str(number) for number in range(images)]


def _shaped(images: ImageDataset, shape: tuple[int, ...]) -> ImageDataset:
    """With or without an axis for one colour, as the shape has it."""
    return ImageDataset(images.images.reshape(-1, *shape), images.labels, images.classes, images.value_range)
