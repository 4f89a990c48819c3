"""Find a dataset: the user's folder, then the cache, then OpenML."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from understudy.datasets.cache import DATA_VARIABLE, cache_folder, data_folder
from understudy.datasets.reading import SplitImages, TableDataset, read
from understudy.datasets.registry import DatasetInfo, info
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.images import ImageDataset


def load(name: str, *, download: bool = True) -> TableDataset | SplitImages:
    """The dataset `name`, with its counts checked against what is published.

    It is looked for in the folder that `$UNDERSTUDY_DATA` names, then in the cache (`$UNDERSTUDY_CACHE`, or the
    platform's usual place), then downloaded from OpenML into the cache unless `download` is false.
    """
    file = path(name, download=download)
    return read(info(name), file, file.name)


def load_table(name: str, *, download: bool = True) -> TableDataset:
    """As `load`, for whoever needs a table: a dataset of images is refused."""
    table = load(name, download=download)
    if not isinstance(table, TableDataset):
        raise InputError(f"{name!r} is a dataset of images, not a table.")
    return table


def load_images(name: str, part: Literal["train", "test"] = "train", *, download: bool = True) -> ImageDataset:
    """The published `part` of a dataset of images, as the methods take it: a table is refused."""
    from understudy.images import ImageDataset

    both = load(name, download=download)
    if not isinstance(both, SplitImages):
        raise InputError(f"{name!r} is a table, not a set of images; load it with `understudy.datasets.load`.")
    if part not in ("train", "test"):
        raise InputError(f'`part` (={part!r}) must be "train" or "test".')
    images, labels = (getattr(both, f"{part}_{what}") for what in ("images", "labels"))
    return ImageDataset(images, labels.astype(np.int64), both.info.class_names, both.value_range)


def path(name: str, *, download: bool = True) -> Path:
    """The file that holds the dataset `name`, downloaded first if it is nowhere and `download` is true."""
    entry = info(name)
    if (file := find(entry)) is not None:
        return file
    if entry.openml is None:
        raise InputError(
            f"{name!r} is not here and cannot be downloaded: no OpenML id is known to hold the same table. "
            f"Get {entry.editions[-1].file!r} from {entry.source} and put it, as it is, into {_where_to_put()}."
        )
    if not download:
        raise InputError(
            f"{name!r} is not here: there is no {_files(entry)} in {_folders()}. "
            f"Allow the download from {entry.source}, or put that file into {_where_to_put()}."
        )
    from understudy.datasets.openml import fetch

    return fetch(entry)


def find(entry: DatasetInfo) -> Path | None:
    """The dataset's file where it lies already, or nothing."""
    if entry.embedded:
        return _scikit_learn() / "datasets" / "data" / entry.file
    for folder in (data_folder(), cache_folder()):
        for edition in entry.editions:
            if folder is not None and (folder / edition.file).is_file():
                return folder / edition.file
    return None


def _scikit_learn() -> Path:
    # The folder without the import, which takes seconds.
    spec = importlib.util.find_spec("sklearn")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _files(entry: DatasetInfo) -> str:
    return " or ".join(dict.fromkeys(edition.file for edition in entry.editions))


def _folders() -> str:
    return " or ".join(str(folder) for folder in (data_folder(), cache_folder()) if folder is not None)


def _where_to_put() -> str:
    return str(data_folder() or f"a folder that ${DATA_VARIABLE} names")
