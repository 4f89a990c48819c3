"""Named benchmark data: a folder of the user's, the cache, or OpenML; each with what is public about it.

    from understudy import datasets
    adult = datasets.load("adult")       # .frame, .target, .schema, .split, .info
    mnist = datasets.load("mnist")       # .train_images, .train_labels, .test_images, .test_labels
    digits = datasets.load_images("mnist", "test")  # one part, as the methods take images

These tables stand in for the sensitive one in benchmarks and tests. Their schemas come from codebooks, never from the
rows, so a benchmark meets the same clipping as a real release.
"""

from __future__ import annotations

from understudy.datasets.locate import load, load_images, load_table, path
from understudy.datasets.reading import SplitImages, TableDataset
from understudy.datasets.registry import DatasetInfo, Edition, info, names
from understudy.datasets.schemas import schema

__all__ = [
    "DatasetInfo",
    "Edition",
    "SplitImages",
    "TableDataset",
    "info",
    "load",
    "load_images",
    "load_table",
    "names",
    "path",
    "schema",
]
