"""Tables and images as points that a kernel can compare, and back; by public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.images import ImageDataset, check_form
from understudy.methods import layout
from understudy.release.arrays import fitting
from understudy.tables import Encoder, Schema
from understudy.tables.io import as_frame


class Domain(Protocol):
    """What distillation knows of the records' form; all of it public."""

    @property
    def classes(self) -> tuple[Any, ...]: ...
    @property
    def features(self) -> int: ...
    def points(self, data: Any) -> np.ndarray: ...
    def numbers(self, data: Any) -> np.ndarray: ...
    def decode(self, points: np.ndarray, classes: np.ndarray) -> Any: ...
    def facts(self) -> dict[str, Any]: ...
    def arrays(self, points: np.ndarray, classes: np.ndarray) -> dict[str, np.ndarray]: ...


class TableDomain:
    """A table's features as (cube - shift) / scale. Shift and scale are public: one half, or from a release."""

    def __init__(self, schema: Schema, shift: np.ndarray | None = None, scale: np.ndarray | None = None) -> None:
        self.schema = schema
        self.encoder = Encoder(schema)
        label = layout.label(self.encoder)
        if label is None:
            raise InputError(
                "distillation needs a target that is a class: categorical, ordinal or boolean. Name it with `target`, and "
                "give a number's classes as categories; `understudy synthesize` takes numbers as they are."
            )
        self.label = label
        self.kept = np.r_[0 : label.start, label.stop : self.encoder.width]
        if not len(self.kept):
            raise InputError("the schema has no column besides the target: there is nothing to learn from.")
        self.shift = np.full(len(self.kept), 0.5, np.float32) if shift is None else shift
        self.scale = np.full(len(self.kept), 0.5, np.float32) if scale is None else scale

    @property
    def classes(self) -> tuple[Any, ...]:
        return self.label.values

    @property
    def features(self) -> int:
        return len(self.kept)

    def scaled_by(self, cube: np.ndarray) -> TableDomain:
        """The domain whose features have mean 0 and deviation 1 on `cube`, which must be public."""
        part = cube[:, self.kept]
        return TableDomain(self.schema, part.mean(axis=0), np.maximum(part.std(axis=0), 1e-3))

    def points(self, data: Any) -> np.ndarray:
        """Touches private data where the table is: features of rows, whose target may be missing from the frame."""
        frame = as_frame(data, empty_allowed=True)
        if self.label.name not in frame.columns:
            frame = frame.assign(**{self.label.name: self.label.values[0]})
        cube = self.encoder.encode(frame)
        return ((cube[:, self.kept] - self.shift) / self.scale).astype(np.float32)

    def numbers(self, data: Any) -> np.ndarray:
        """Touches private data where the table is: the class number of each row."""
        return self.label.classes(self.encoder.encode(as_frame(data, empty_allowed=True)))

    def decode(self, points: np.ndarray, classes: np.ndarray) -> pd.DataFrame:
        cube = np.zeros((len(points), self.encoder.width))
        cube[:, self.kept] = points * self.scale + self.shift
        cube[:, self.label.start : self.label.stop] = np.asarray(self.label.codes)[classes]
        return self.encoder.decode(cube)

    def facts(self) -> dict[str, Any]:
        return {"form": "table"}

    def arrays(self, points: np.ndarray, classes: np.ndarray) -> dict[str, np.ndarray]:
        del points, classes
        return {"shift": np.asarray(self.shift, np.float32), "scale": np.asarray(self.scale, np.float32)}


@dataclass(frozen=True)
class ImageDomain:
    """Images as rows of pixels from 0 to 1."""

    shape: tuple[int, ...]
    classes: tuple[str, ...]
    value_range: tuple[int, int] = (0, 255)

    @property
    def features(self) -> int:
        return int(np.prod(self.shape))

    def points(self, data: Any) -> np.ndarray:
        """Touches private data where the images are."""
        if not isinstance(data, ImageDataset) or data.shape != self.shape:
            raise InputError(f"expected an `ImageDataset` of images of shape {self.shape}.")
        return data.flat()

    def numbers(self, data: Any) -> np.ndarray:
        """Touches private data where the images are: their classes."""
        return data.labels

    def decode(self, points: np.ndarray, classes: np.ndarray) -> ImageDataset:
        return ImageDataset.from_flat(points, classes, self.shape, self.classes, self.value_range)

    def facts(self) -> dict[str, Any]:
        return {
            "form": "images",
            "shape": list(self.shape),
            "classes": list(self.classes),
            "value_range": list(self.value_range),
        }

    def arrays(self, points: np.ndarray, classes: np.ndarray) -> dict[str, np.ndarray]:
        return {"images": self.decode(points, classes).images, "labels": classes}


def restore(facts: dict[str, Any], arrays: Any, schema: Schema | None) -> Domain:
    """The domain of a release."""
    if facts["form"] == "images":
        return ImageDomain(*check_form(facts["shape"], facts["classes"], facts["value_range"]))
    if schema is None:
        raise InputError("the release has no schema: it is damaged. Copy it again.")
    width = TableDomain(schema).features
    return TableDomain(schema, fitting(arrays, "shift", width), fitting(arrays, "scale", width, least=1e-12))
