"""Settings of every method in the registry: stored as given, reached by name, refused before anything is spent."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import pytest
from sklearn.base import clone

from understudy import registry
from understudy.audit import worlds
from understudy.audit.planting import random_images
from understudy.errors import InputError
from understudy.privacy import Budget
from understudy.release.settings import Settings

METHODS = [entry.name for entry in registry.entries()]
# Nothing of any kind may be this.
NONSENSE = object()


def kind_of(name: str) -> Any:
    kind = registry.get(name).load()
    if not is_dataclass(kind):
        pytest.skip(f"{name} is not a dataclass of settings")
    return kind


def groups_of(estimator: Any) -> dict[str, Settings]:
    return {name: value for name, value in estimator.get_params(deep=False).items() if isinstance(value, Settings)}


def limited(kind: Any) -> list[str]:
    """The settings with a limit, those of groups as `group.name`."""
    own = [one.name for one in fields(kind) if "limit" in one.metadata]
    for one in fields(kind):
        if one.default_factory is not MISSING:
            own += [f"{one.name}.{part.name}" for part in fields(one.default_factory()) if "limit" in part.metadata]  # type: ignore[arg-type]
    return own


@pytest.mark.parametrize("name", METHODS)
def test_a_clone_has_the_same_settings_and_shares_no_group(name: str) -> None:
    estimator = kind_of(name)()
    copy: Any = clone(estimator)
    theirs, ours = copy.get_params(deep=True), estimator.get_params(deep=True)
    assert {k: v for k, v in theirs.items() if not isinstance(v, Settings)} == {
        k: v for k, v in ours.items() if not isinstance(v, Settings)
    }
    for group, value in groups_of(copy).items():
        assert value == getattr(estimator, group)
        assert value is not getattr(estimator, group)


@pytest.mark.parametrize("name", METHODS)
def test_settings_of_groups_are_reached_by_name_and_by_path(name: str) -> None:
    kind = kind_of(name)
    for group, value in groups_of(kind()).items():
        for setting, given in value.get_params().items():
            estimator = kind()
            estimator.set_params(**{f"{group}__{setting}": given})
            assert estimator.get_params()[f"{group}__{setting}"] == given
            assert getattr(getattr(kind.from_settings(**{f"{group}.{setting}": given}), group), setting) == given
    with pytest.raises(InputError, match="no setting"):
        kind.from_settings(no_such_setting=1)


@pytest.mark.parametrize("name", METHODS)
def test_there_are_few_settings_at_the_top(name: str) -> None:
    """scikit-learn's checks want plain defaults of a classifier: PATE has no groups, and one setting more."""
    assert len(kind_of(name)().get_params(deep=False)) <= (18 if name == "pate" else 17)


@pytest.mark.parametrize("name", METHODS)
def test_a_setting_beyond_its_limit_is_refused_before_anything_is_spent(name: str) -> None:
    entry, kind = registry.get(name), kind_of(name)
    data: Any = worlds.table(80) if "table" in entry.takes else worlds.pictures()
    known = limited(kind)
    assert known, "a method declares what its settings may be"
    for setting in known:
        budget = Budget(1.0, 1e-5)
        with pytest.raises(InputError, match=rf"`{setting.rpartition('.')[2]}`"):
            fit(kind.from_settings(**{setting: NONSENSE}), entry, data, budget)
        assert budget.events == ()


def fit(estimator: Any, entry: registry.Entry, data: Any, budget: Budget) -> None:
    if entry.kind == "classifier" and "table" in entry.takes:
        features = data.drop(columns=worlds.TARGET)
        estimator.fit(features, data[worlds.TARGET], public=features, budget=budget)
    elif "table" in entry.takes:
        estimator.fit(data, schema=worlds.SCHEMA, **({"budget": budget} if estimator.private else {}))
    else:
        asked = [random_images(data)] if "public rows" in entry.takes else []
        estimator.fit(data, *asked, budget=budget)
