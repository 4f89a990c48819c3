"""Open a dataset's file: its columns in the schema's order, the papers' label, and counts that must be right."""

from __future__ import annotations

import lzma
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.datasets.registry import DatasetInfo, Edition
from understudy.datasets.schemas import schema
from understudy.errors import InputError
from understudy.tables.schema import Schema

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TableDataset:
    """A table with what is public about it.

    - `frame` holds the columns of `schema` in its order, the target among them.
    - `split` says "train" or "test" for each row where the publisher split the table, else it is None.
    - `groups` (isolet) numbers the publisher's groups of speakers, else it is None.
    - `edition` is the file's kind: some are only part of the table, and their `note` says so.
    """

    info: DatasetInfo
    frame: pd.DataFrame
    target: str
    schema: Schema
    edition: Edition
    split: pd.Series | None = None
    groups: pd.Series | None = None


@dataclass(frozen=True)
class SplitImages:
    """The published train and test parts of a set of images.

    Images are bytes (number, height, width) or with colours last; labels index `info.class_names`.

    `value_range` is what a byte can hold: public without a look at any image.
    """

    info: DatasetInfo
    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    value_range: tuple[int, int] = (0, 255)


def read(entry: DatasetInfo, path: Path, file: str) -> TableDataset | SplitImages:
    """The dataset in `path`, which holds what `file` (a name that the registry knows) should hold."""
    try:
        if entry.kind == "image":
            return _images(entry, path)
        return _table(entry, path, file)
    except InputError:
        raise
    # What pyarrow, pandas, zipfile and numpy raise for a file that is damaged or something else altogether.
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, lzma.LZMAError) as error:
        raise InputError(
            f"{path} cannot be read as the dataset {entry.name!r}: {' '.join(str(error).split())}. "
            "Delete it to have it fetched again, or put a good copy there."
        ) from error


def count_classes(labels: pd.Series) -> dict[Any, int]:
    """How many rows carry each label."""
    return {label: int(count) for label, count in labels.value_counts().items() if count}


def _table(entry: DatasetInfo, path: Path, file: str) -> TableDataset:
    public = schema(entry.name)
    assert entry.target is not None
    raw: Any = _READERS.get(file, _parquet)(path)
    if absent := [name for name in public.names if name not in raw.columns]:
        from understudy.wording import listed

        raise InputError(f"{path} lacks {listed(absent)}, so it is not the dataset {entry.name!r}.")
    return TableDataset(
        info=entry,
        frame=raw[list(public.names)],
        target=entry.target,
        schema=public,
        edition=_edition(entry, path, file, raw[entry.target]),
        split=_optional(raw, "split"),
        groups=_optional(raw, "group"),
    )


def _edition(entry: DatasetInfo, path: Path, file: str, labels: pd.Series) -> Edition:
    """The edition whose counts fit exactly: a cut, doubled or relabelled file must not become a benchmark."""
    candidates = [edition for edition in entry.editions if edition.file == file]
    classes = count_classes(labels)
    for edition in candidates:
        if edition.rows == len(labels) and (not edition.classes or dict(edition.classes) == classes):
            return edition
    expected = " or ".join(f"{e.rows:,} rows ({_counts(dict(e.classes))})" for e in candidates if e.classes)
    raise InputError(
        f"{path} has {len(labels):,} rows ({_counts(classes)}), but {entry.name!r} has {expected}. "
        "The file is cut short or something else; replace it."
    )


def _counts(classes: dict[Any, int]) -> str:
    shown = [f"{label}: {count:,}" for label, count in sorted(classes.items(), key=lambda pair: str(pair[0]))[:10]]
    return ", ".join(shown) + (", ..." if len(classes) > 10 else "")


def _optional(raw: Any, name: str) -> pd.Series | None:
    return raw[name] if name in raw.columns else None


def _parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

    frame = pd.read_parquet(path)
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            # UCI pads some texts with a space; the codebook does not.
            frame[name] = frame[name].cat.rename_categories(lambda text: text.strip())
    return frame


def _intrusion(path: Path) -> pd.DataFrame:
    import pandas as pd

    frame = _parquet(path)
    codes, attacks = pd.factorize(frame["label"])
    named = [str(attack).rstrip(".") for attack in attacks]
    if unknown := sorted(set(named) - set(ATTACKS)):
        raise InputError(f"{path}: {unknown[0]!r} is not one of the connections of KDD Cup 1999.")
    classes = ["normal", "dos", "probe", "r2l", "u2r"]
    kinds = np.array([classes.index(ATTACKS[attack]) for attack in named], dtype=np.int8)
    frame["label"] = pd.Categorical.from_codes(kinds[codes], categories=classes)  # pyright: ignore[reportArgumentType]
    return frame


def _epileptic(path: Path) -> pd.DataFrame:
    with np.load(path, allow_pickle=False) as arrays:
        return _seizures(arrays["X"], arrays["y"])


def _epileptic_csv(path: Path) -> pd.DataFrame:
    import pandas as pd

    frame = pd.read_csv(path)
    return _seizures(frame[[f"X{sample}" for sample in range(1, 179)]].to_numpy(np.int16), frame["y"].to_numpy())


def _seizures(signal: np.ndarray, state: np.ndarray) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(signal, columns=[f"X{sample}" for sample in range(1, signal.shape[1] + 1)])
    frame["seizure"] = (state == 1).astype(np.int8)
    return frame


def _isolet(path: Path) -> pd.DataFrame:
    import pandas as pd

    with np.load(path, allow_pickle=False) as arrays:
        # Four decimals, as published, so that int16 holds them exactly.
        features = arrays["X_e4"].astype(np.float32) / np.float32(1e4)
        letters = arrays["y"]
        groups = arrays["group"] if "group" in arrays.files else None
    frame = pd.DataFrame(features, columns=[f"f{number}" for number in range(1, features.shape[1] + 1)])
    labels = {"vowel": np.isin(letters, [1, 5, 9, 15, 21]).astype(np.int8)}
    if groups is not None:
        labels |= {"group": groups, "split": np.where(groups == 5, "test", "train")}
    return pd.concat([frame, pd.DataFrame(labels)], axis=1)


def _cervical_csv(path: Path) -> pd.DataFrame:
    import pandas as pd

    frame = pd.read_csv(path, na_values=["?"]).rename(columns={"Citology": "Cytology"})
    whole = [name for name in frame.columns if "(years)" not in name and "(packs/year)" not in name]
    return frame.astype(dict.fromkeys(whole, "Int8"))


def _breast_cancer(path: Path) -> pd.DataFrame:
    import pandas as pd
    from sklearn.datasets import load_breast_cancer

    bunch: Any = load_breast_cancer(as_frame=True)
    frame = bunch.frame.drop(columns="target")
    names = [str(name) for name in bunch.target_names]
    frame["diagnosis"] = pd.Categorical.from_codes(bunch.target, categories=names)  # pyright: ignore[reportArgumentType]
    return frame


def _images(entry: DatasetInfo, path: Path) -> SplitImages:
    with np.load(path, allow_pickle=False) as arrays:
        images = {part: arrays[f"x_{part}"] for part in ("train", "test")}
        labels = {part: arrays[f"y_{part}"] for part in ("train", "test")}
    for part, expected in (("train", entry.train), ("test", entry.test)):
        shape = (sum(expected), *entry.shape)
        if images[part].dtype != np.uint8 or images[part].shape != shape:
            raise InputError(
                f"{path}: x_{part} is {images[part].dtype} of shape {images[part].shape}, but {entry.name!r} has uint8 "
                f"of shape {shape}. Replace the file."
            )
        counts = tuple(np.bincount(labels[part].ravel().astype(np.int64), minlength=len(expected)).tolist())
        if counts != expected:
            raise InputError(
                f"{path}: y_{part} has {counts} images of each class, but {entry.name!r} has {expected}. "
                "Replace the file."
            )
    return SplitImages(entry, images["train"], labels["train"], images["test"], labels["test"])


# The usual grouping of the 22 attacks (Stolfo et al., task description of KDD Cup 1999).
ATTACKS = {"normal": "normal"} | {
    attack: kind
    for kind, attacks in {
        "dos": "back land neptune pod smurf teardrop",
        "probe": "ipsweep nmap portsweep satan",
        "r2l": "ftp_write guess_passwd imap multihop phf spy warezclient warezmaster",
        "u2r": "buffer_overflow loadmodule perl rootkit",
    }.items()
    for attack in attacks.split()
}

_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    "breast_cancer.csv": _breast_cancer,
    "intrusion.parquet": _intrusion,
    "epileptic.npz": _epileptic,
    "Epileptic Seizure Recognition.csv": _epileptic_csv,
    "isolet.npz": _isolet,
    "risk_factors_cervical_cancer.csv": _cervical_csv,
}
