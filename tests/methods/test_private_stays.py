"""What a fit keeps of the private side is named so, and a model that keeps any refuses to be pickled or copied."""

from __future__ import annotations

import copy
import pickle
import types
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from small_generators import SCHEMA, SMALL, small, table

from understudy import MomentsGenerator, OneLook, PATEClassifier, load
from understudy.errors import InputError

ROWS = 67  # no other size in a model is this number
X, Y = load_iris(return_X_y=True)


def _generator(method: str) -> Any:
    return small(method).fit(table(ROWS), schema=SCHEMA)


def _pate() -> PATEClassifier:
    order = np.random.default_rng(0).permutation(len(X))
    private, public = order[:ROWS], order[ROWS:]
    model = PATEClassifier(teachers=10, epsilon=8.0, random_state=0, n_jobs=1)
    return model.fit(X[private], Y[private], public=X[public])


def _moments() -> MomentsGenerator:
    return MomentsGenerator(4.0, 1e-5, random_state=0).fit(table(ROWS), schema=SCHEMA)


def _one_look() -> OneLook:
    return OneLook.from_settings(epsilon=8.0, delta=1e-5, per_class=2, steps=3, random_state=0).fit(
        table(ROWS), schema=SCHEMA
    )


FITS: dict[str, Callable[[], Any]] = {
    **{method: lambda method=method: _generator(method) for method in SMALL},
    "pate": _pate,
    "moments": _moments,
    "one-look": _one_look,
}


@cache
def _fitted(method: str) -> Any:
    return FITS[method]()


@pytest.mark.parametrize("method", ["pate", *SMALL])
@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_fitted_model_with_anything_private_is_not_pickled(method: str, way: Callable[[Any], Any]) -> None:
    model = _fitted(method)
    with pytest.raises(InputError, match=r"holds what is private .*`save"):
        way(model)
    way(clone(model))  # settings alone may go anywhere


def test_what_was_loaded_from_a_release_may_be_pickled(tmp_path: Path) -> None:
    _fitted("pate").save(tmp_path / "release")
    again = pickle.loads(pickle.dumps(load(tmp_path / "release")))
    assert again.predict(X[:5]).shape == (5,)


@pytest.mark.parametrize("method", list(FITS))
def test_nothing_outside_the_private_names_holds_the_rows(method: str) -> None:
    """Every array that a fitted model reaches, by attributes, containers and closures."""
    public = {name: value for name, value in vars(_fitted(method)).items() if not name.startswith("private_")}
    assert _arrays_with(public, ROWS) == []


def test_the_search_finds_rows_that_are_kept() -> None:
    model = _fitted("dpgan")
    assert _arrays_with(model.private_, ROWS) != []
    kept = np.zeros((ROWS, 2))
    assert _arrays_with({"history_": [lambda: kept]}, ROWS) == ["history_[0]<closure>"]


def _arrays_with(root: dict[str, Any], size: int) -> list[str]:
    """Where below `root` there is an array or table with a dimension of this size."""
    seen: set[int] = set()
    found: list[str] = []
    stack: list[tuple[str, Any]] = list(root.items())
    while stack:
        path, value = stack.pop()
        if id(value) in seen or isinstance(value, type | types.ModuleType | str | bytes | int | float):
            continue
        seen.add(id(value))
        if isinstance(shape := getattr(value, "shape", None), tuple) and size in shape:
            found.append(path)
        if isinstance(value, dict):
            stack += [(f"{path}[{key!r}]", inner) for key, inner in value.items()]
        elif isinstance(value, list | tuple | set | frozenset):
            stack += [(f"{path}[{i}]", inner) for i, inner in enumerate(value)]
        elif isinstance(value, types.FunctionType):
            stack += [(f"{path}<closure>", cell.cell_contents) for cell in value.__closure__ or ()]
        elif isinstance(value, types.MethodType):
            stack += [(path, value.__self__), (path, value.__func__)]
        else:
            stack += [(f"{path}.{name}", inner) for name, inner in getattr(value, "__dict__", {}).items()]
    return found
