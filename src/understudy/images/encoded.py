"""Pictures as people keep them (PNG, JPEG and others): brought to one public size, one at a time.

The size and the number of colours are given beforehand and never taken from the pictures, so that no picture decides how
the others are seen. What cannot be opened is the place of somebody who is not there: it is counted nowhere, and no error
tells of it.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.errors import InputError
from understudy.images.dataset import BLANK, ImageDataset

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")
MOST_BYTES = 256 * 2**20
_LARGEST_SIDE = 512
# Of a picture before it is made smaller: more would fill the memory.
_MOST_PIXELS = 100_000_000


@dataclass(frozen=True)
class PictureSize:
    """Public: what every picture is brought to. The longer sides are cut evenly at both ends, the rest is resized.

    Pictures are turned as their camera says; what is transparent becomes white; of moving ones the first frame counts.
    """

    height: int = 32
    width: int = 32
    grey: bool = False

    def __post_init__(self) -> None:
        for name, side in (("height", self.height), ("width", self.width)):
            if type(side) is not int or not 2 <= side <= _LARGEST_SIDE:
                raise InputError(f"the {name} of pictures (={side!r}) must be a whole number, 2 to {_LARGEST_SIDE}.")

    @classmethod
    def parse(cls, text: str | None, grey: bool = False) -> PictureSize:
        """`28` or `28x20`: height, then width. None: 32."""
        sides = ("32" if text is None else text).lower().split("x")
        if len(sides) > 2 or not all(side.strip().isdecimal() for side in sides):
            raise InputError(f"--size {text}: say 28, or 28x20 for 28 pixels high and 20 wide.")
        return cls(int(sides[0]), int(sides[-1]), grey)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.height, self.width) if self.grey else (self.height, self.width, 3)

    def __str__(self) -> str:
        return f"{self.height} x {self.width} pixels, {'grey' if self.grey else 'in colour'}"

    def fitted(self, data: bytes) -> np.ndarray | None:
        """Touches private data: one picture as bytes of this shape; None if it cannot be opened."""
        from PIL import Image, ImageOps

        try:
            with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(data)) as picture:
                if picture.width * picture.height > _MOST_PIXELS:
                    return None
                picture.draft("RGB", (2 * self.width, 2 * self.height))  # a JPEG need not be unpacked whole
                upright = _opaque(ImageOps.exif_transpose(picture))
                upright = upright.convert("L" if self.grey else "RGB")
                return np.asarray(ImageOps.fit(upright, (self.width, self.height), Image.Resampling.BICUBIC))
        except Exception:  # whatever a decoder raises at a file that is none, and there are many
            return None

    def dataset(self, pictures: Iterable[tuple[bytes | None, int]], classes: tuple[str, ...]) -> ImageDataset:
        """Touches private data: encoded pictures with the numbers of their classes. What is no picture is blank."""
        found: list[np.ndarray] = []
        labels: list[int] = []
        for data, label in pictures:
            made = None if data is None else self.fitted(data)
            found.append(np.zeros(self.shape, np.uint8) if made is None else made)
            labels.append(BLANK if made is None else label)
        if not found:
            raise InputError("there are no pictures.")
        return ImageDataset(np.stack(found), np.array(labels), classes)


def encoded(image: np.ndarray) -> bytes:
    """One image as a PNG."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(image[..., 0] if image.ndim == 3 and image.shape[2] == 1 else image).save(file, "png")
    return file.getvalue()


def _opaque(picture: Any) -> Any:
    """On white, if parts of it can be seen through. Sixteen bits become eight."""
    from PIL import Image

    if picture.mode.startswith("I"):
        values = np.asarray(picture)
        return Image.fromarray(
            (values >> 8).astype(np.uint8) if picture.mode != "I" or values.max() > 255 else values.astype(np.uint8)
        )
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        over = picture.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", over.size, "white"), over)
    return picture
