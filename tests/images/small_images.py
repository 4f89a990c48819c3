"""Small made-up images: bars at a place that says the class, with noise."""

from __future__ import annotations

import numpy as np

from understudy.images import ImageDataset

CLASSES = ("left", "middle", "right")


def bars(count: int, seed: int = 0, side: int = 8) -> ImageDataset:
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    images = rng.integers(0, 60, (count, side, side))
    for image, label in zip(images, labels, strict=True):
        image[:, 1 + 2 * label : 3 + 2 * label] += rng.integers(100, 190)
    return ImageDataset(images.astype(np.uint8), labels, CLASSES)
