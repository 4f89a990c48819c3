"""Labelled images as bytes, with what is public about them: size, value range and the set of classes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.errors import InputError

_LONGEST_SIDE = 4096
BLANK = -1
"""The label of a record that contributes nothing: the place of somebody who is not there."""


@dataclass(frozen=True)
class ImageDataset:
    """Images (number, height, width) or with colours last, and labels that index `classes`.

    An image whose label is `BLANK` is counted nowhere, whatever its pixels are.
    `classes` and `value_range` are public and given, never taken from the images: a class that no image has is a class.
    """

    images: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    value_range: tuple[int, int] = (0, 255)

    def __post_init__(self) -> None:
        images = _pixels(self.images, self.value_range)
        object.__setattr__(self, "images", images)
        object.__setattr__(self, "classes", tuple(str(name) for name in self.classes))
        object.__setattr__(self, "labels", _labels(self.labels, len(images), self.classes))

    def __len__(self) -> int:
        return len(self.images)

    @property
    def shape(self) -> tuple[int, ...]:
        """Height, width and, for colours, 3."""
        return self.images.shape[1:]

    def flat(self) -> np.ndarray:
        """Each image as a row of numbers from 0 to 1, by the public value range."""
        low, high = self.value_range
        return (self.images.reshape(len(self), -1).astype(np.float32) - low) / np.float32(high - low)

    def digest(self) -> np.ndarray:
        """As private as the images: what tells whether two sets are the same."""
        parts = (np.ascontiguousarray(part).tobytes() for part in (self.images, self.labels))
        return np.frombuffer(b"".join(hashlib.sha256(part).digest() for part in parts), dtype=np.uint8)

    def take(self, positions: np.ndarray | slice) -> ImageDataset:
        """Some of the images."""
        return ImageDataset(self.images[positions], self.labels[positions], self.classes, self.value_range)

    @classmethod
    def from_flat(
        cls,
        rows: np.ndarray,
        labels: np.ndarray,
        shape: tuple[int, ...],
        classes: Sequence[str],
        value_range: tuple[int, int] = (0, 255),
    ) -> ImageDataset:
        """Images from rows of numbers, of which 0 is black and 1 is white; what lies outside is cut off."""
        low, high = value_range
        values = np.rint(np.clip(np.asarray(rows), 0, 1) * (high - low) + low).astype(np.uint8)
        return cls(values.reshape(-1, *shape), labels, tuple(classes), value_range)


def check_images(data: Any) -> None:
    """Refuse what is no set of images."""
    if not isinstance(data, ImageDataset):
        raise InputError("`data` must be an `understudy.images.ImageDataset`: bytes, labels and the names of classes.")


def even_labels(n: int, classes: int, rng: np.random.Generator) -> np.ndarray:
    """`n` numbers of classes, each as often, in random order."""
    return rng.permutation(np.arange(n) % classes)


def check_labels(n: int, labels: Any, classes: Sequence[str]) -> np.ndarray:
    """Numbers of classes that somebody asks for."""
    wanted = np.asarray(labels)
    if (
        wanted.shape != (n,)
        or not np.issubdtype(wanted.dtype, np.integer)
        or not np.all((wanted >= 0) & (wanted < len(classes)))
    ):
        raise InputError(f"`labels` must be {n} numbers of classes, 0 to {len(classes) - 1}.")
    return wanted


def check_form(shape: Any, classes: Any, value_range: Any) -> tuple[tuple[int, ...], tuple[str, ...], tuple[int, int]]:
    """What a file says of images, if it can be true: their size, the names of their classes, the range of their pixels."""
    whole = [size for size in shape if type(size) is int and 1 <= size <= _LONGEST_SIDE]
    if len(whole) != len(shape) or len(whole) not in (2, 3) or (len(whole) == 3 and whole[2] not in (1, 3)):
        raise InputError(
            f"images of shape {str(shape)[:80]}: expected height and width up to {_LONGEST_SIDE}, and colours."
        )
    names = tuple(name for name in classes if isinstance(name, str))
    if len(names) != len(classes) or len(names) < 2 or len(set(names)) < len(names):
        raise InputError("`classes` must be two names or more, each once.")
    low, high = value_range
    if type(low) is not int or type(high) is not int or not 0 <= low < high <= 255:
        raise InputError(f"`value_range` (={str(value_range)[:80]}) must lie within 0 and 255.")
    return tuple(whole), names, (low, high)


def _pixels(images: Any, value_range: tuple[int, int]) -> np.ndarray:
    if isinstance(images, Sequence) and len({np.shape(image) for image in images}) > 1:
        first = np.shape(images[0])
        number = next(i for i, image in enumerate(images) if np.shape(image) != first)
        raise InputError(
            f"image {number} has shape {np.shape(images[number])}, image 0 has {first}: bring all images to one size."
        )
    array = np.asarray(images)
    if array.ndim not in (3, 4) or 0 in array.shape or (array.ndim == 4 and array.shape[3] not in (1, 3)):
        raise InputError(
            f"images of shape {array.shape}: expected (number, height, width), or with 1 or 3 colours as the last axis."
        )
    if np.issubdtype(array.dtype, np.floating) and not np.all(np.isfinite(array)):
        number = int(np.argmin(np.isfinite(array).reshape(len(array), -1).all(axis=1)))
        raise InputError(f"image {number} has pixels that are not finite: repair or drop it.")
    low, high = value_range
    if not 0 <= low < high <= 255:
        raise InputError(f"`value_range` (={value_range}) must lie within 0 and 255.")
    if array.dtype != np.uint8:
        raise InputError(
            f"pixels are {array.dtype}, not bytes: scale them by a range that is public and convert them to uint8."
        )
    if array.min() < low or array.max() > high:
        number = int(np.argmax(((array < low) | (array > high)).reshape(len(array), -1).any(axis=1)))
        raise InputError(f"image {number} has pixels outside the public range {low} to {high}.")
    return array


def _labels(labels: Any, count: int, classes: tuple[str, ...]) -> np.ndarray:
    array = np.asarray(labels)
    if len(classes) < 2:
        raise InputError(
            f"there is {len(classes)} class: at least two are needed. The set of classes is public; name all."
        )
    if len(set(classes)) < len(classes):
        raise InputError(f"`classes` names {next(c for c in classes if classes.count(c) > 1)!r} twice.")
    if array.shape != (count,):
        raise InputError(f"labels of shape {array.shape} for {count} images: give one label an image.")
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"labels are {array.dtype}: give the number of each image's class in `classes`.")
    wrong = (array != BLANK) & ((array < 0) | (array >= len(classes)))
    if wrong.any():
        number = int(wrong.argmax())
        raise InputError(
            f"image {number} has label {array[number]}, but there are {len(classes)} classes, 0 to {len(classes) - 1}."
        )
    return array.astype(np.int64)
