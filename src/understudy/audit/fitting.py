"""Any method of the registry as a function of its data and a budget, which is all that an audit needs of it."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd

from understudy.audit.planting import random_images, random_rows
from understudy.audit.replay import Fit
from understudy.errors import InputError, UnderstudyWarning
from understudy.registry import Entry
from understudy.release.intake import without_person
from understudy.tables import Schema


def fitting(entry: Entry, schema: Schema | None = None, *, public: pd.DataFrame | None = None, **settings: Any) -> Fit:
    """Fits the method with these settings and a fixed `random_state`, so that the gate alone is left to chance.

    A table needs its schema. A classifier labels `public` rows; without any they are drawn at random
    from the schema, and images always are.
    """
    kind = entry.load()

    def fit(data: Any, budget: Any) -> Any:
        given = {"epsilon": budget.epsilon, "delta": budget.delta, "random_state": 0, **settings}
        estimator = kind.from_settings(**given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnderstudyWarning)
            if not isinstance(data, pd.DataFrame):
                asked = [random_images(data)] if "public rows" in entry.takes else []
                return estimator.fit(data, *asked, budget=budget)
            if schema is None:
                raise InputError("an audit of a table needs its `schema`: give it to `fitting`.")
            if entry.kind != "classifier":
                return estimator.fit(data, schema=schema, budget=budget)
            return _classify(estimator, data, schema, public, budget)

    return fit


def _classify(estimator: Any, data: pd.DataFrame, schema: Schema, public: pd.DataFrame | None, budget: Any) -> Any:
    """Touches private data."""
    if schema.target is None:
        raise InputError("a classifier needs a target: say which column of the schema is to be predicted.")
    target, person = schema[schema.target], schema.person
    known = (schema if person is None else without_person(schema, person) or schema).features
    features, whose = list(known.names), [] if person is None else [person.column]
    rows = random_rows(known, 60, seed=99) if public is None else public
    classes = (False, True) if target.kind == "boolean" else target.labels
    estimator.set_params(schema=schema, classes=classes)
    return estimator.fit(data[[*features, *whose]], data[target.name], public=rows[features], budget=budget)
