"""The one way in which rows and images are split, thinned and held out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from understudy import datasets
from understudy.images import ImageDataset


@dataclass(frozen=True)
class Split:
    """A dataset's training and test rows, its public schema, and the positive class (None: many classes)."""

    train: Any
    test: Any
    schema: Any
    positive: Any


def split(name: str, seed: int = 0) -> Split:
    """UCI's own split for adult, else a fifth of the rows by the seed, the same share of each class, for the test.

    Isolet and epileptic are split as the papers do, by row.
    """
    data: Any = datasets.load_table(name)
    frame: Any = data.frame.reset_index(drop=True)
    if name == "adult":
        train, test = (frame[(data.split == which).to_numpy()] for which in ("train", "test"))
    else:
        train, test = divided(frame, data.target, 0.2, seed)
    positive = data.info.positive if len(data.schema[data.target].labels) == 2 else None
    return Split(train.reset_index(drop=True), test.reset_index(drop=True), data.schema, positive)


def held_out(whole: Split, share: float, seed: int) -> Split:
    """A share of the training rows takes the place of the test rows, which are not looked at."""
    train, test = divided(whole.train, whole.schema.target, share, seed)
    return replace(whole, train=train.reset_index(drop=True), test=test.reset_index(drop=True))


def divided(frame: Any, target: str, share: float, seed: int) -> Any:
    """Rows to learn from and so large a share to judge by, the same share of each class."""
    return train_test_split(frame, test_size=share, random_state=seed, stratify=frame[target])


def thinned(frame: Any, target: str, most: int | None, seed: int = 0, *, keep_rare: bool = True) -> Any:
    """At most so many rows; of two classes the rarer, which is what is looked for, is kept whole, up to half."""
    if most is None or len(frame) <= most:
        return frame
    sizes = frame[target].value_counts()
    if len(sizes) != 2 or not keep_rare:
        return frame.sample(most, random_state=seed).reset_index(drop=True)
    rare = frame[frame[target] == sizes.index[1]]
    rare = rare.sample(min(len(rare), most // 2), random_state=seed)
    often = frame[frame[target] == sizes.index[0]].sample(most - len(rare), random_state=seed)
    return pd.concat([rare, often]).sample(frac=1, random_state=seed).reset_index(drop=True)


def split_images(name: str, *, final: bool, small: bool = False) -> tuple[ImageDataset, ImageDataset]:
    """What a method learns from, and what it is scored on: the test images, or a twelfth of the training images for choices."""
    whole = datasets.load_images(name)
    order = np.random.default_rng(0).permutation(len(whole))[: 3000 if small else None]
    held = len(order) // 12
    if not final:
        return whole.take(order[:-held]), whole.take(order[-held:])
    test = datasets.load_images(name, "test")
    return (whole.take(order), test.take(slice(0, 250))) if small else (whole, test)
