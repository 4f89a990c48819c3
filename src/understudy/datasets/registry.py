"""What is known about each dataset before it is opened: counts, label, licence, citation, where it comes from."""

from __future__ import annotations

import math
import tomllib
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from understudy.errors import InputError

Label: TypeAlias = int | str


@dataclass(frozen=True)
class Edition:
    """One file that may hold the dataset, and the counts that prove it does."""

    file: str
    rows: int
    classes: tuple[tuple[Label, int], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Part:
    """The size of the published train or test part, and its positive rows: enough to tell one from the other."""

    rows: int
    positives: int


@dataclass(frozen=True)
class OpenML:
    """Where OpenML keeps the dataset; the name is compared with what the server answers."""

    id: int
    name: str


@dataclass(frozen=True)
class DatasetInfo:
    """Everything public about one dataset.

    - `rows` and `features` are those of the full edition; an image's features are its pixels times colours.
    - `target` is the label column of a table; `positive` is the value that the papers call positive.
    - `label` is the papers' own definition of the label.
    - `train` and `test` (images) count the labels 0, 1, ... of each part.
    """

    name: str
    title: str
    kind: Literal["table", "image"]
    rows: int
    features: int
    label: str
    licence: str
    citation: str
    source: str
    editions: tuple[Edition, ...]
    notes: tuple[str, ...] = ()
    openml: OpenML | None = None
    target: str | None = None
    positive: Label | None = None
    zero_means_missing: tuple[str, ...] = ()
    parts: tuple[tuple[str, Part], ...] = ()
    shape: tuple[int, ...] = ()
    class_names: tuple[str, ...] = ()
    train: tuple[int, ...] = ()
    test: tuple[int, ...] = ()

    @property
    def file(self) -> str:
        """The file that the loader writes into the cache, and looks for first."""
        return self.editions[0].file

    @property
    def embedded(self) -> bool:
        """Whether the data ships with a dependency, so that nothing is ever looked up or downloaded."""
        return self.name == EMBEDDED

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain = asdict(self)
        plain["parts"] = {name: asdict(part) for name, part in self.parts}
        plain["editions"] = [
            asdict(edition) | {"classes": [list(pair) for pair in edition.classes]} for edition in self.editions
        ]
        return plain


EMBEDDED = "breast-cancer"


def names() -> list[str]:
    """The names of all datasets, the embedded default first."""
    return list(_registry())


def info(name: str) -> DatasetInfo:
    """What is known about the dataset `name`; nothing is opened or downloaded."""
    try:
        return _registry()[name]
    except (KeyError, TypeError):
        from understudy.wording import did_you_mean

        raise InputError(
            f"there is no dataset {name!r}.{did_you_mean(name, names())} "
            f"Known are {', '.join(names())}; `understudy data list` says more."
        ) from None


@cache
def _registry() -> dict[str, DatasetInfo]:
    text = files("understudy.datasets").joinpath("registry.toml").read_text(encoding="utf-8")
    return {name: _entry(name, plain) for name, plain in tomllib.loads(text).items()}


def _entry(name: str, plain: dict[str, Any]) -> DatasetInfo:
    if plain["kind"] == "image":
        plain["rows"] = sum(plain["train"]) + sum(plain["test"])
        plain["features"] = math.prod(plain["shape"])
        plain["editions"] = [{"file": plain.pop("file"), "rows": plain["rows"]}]
    else:
        plain["rows"] = plain["editions"][0]["rows"]
    editions = tuple(
        Edition(**edition | {"classes": tuple((label, count) for label, count in edition.get("classes", []))})
        for edition in plain.pop("editions")
    )
    openml = OpenML(**plain.pop("openml")) if "openml" in plain else None
    parts = tuple((part, Part(**counts)) for part, counts in plain.pop("parts", {}).items())
    listed: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in plain.items()}
    return DatasetInfo(name=name, editions=editions, openml=openml, parts=parts, **listed)
