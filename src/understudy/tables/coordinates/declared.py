"""What a schema says of a column as a description of it, with nothing looked at: spread evenly over what there can be."""

from __future__ import annotations

import numpy as np

from understudy.tables.coordinates.described import Described
from understudy.tables.coordinates.known import ORDERED, Known
from understudy.tables.coordinates.ladder import bounded

_PARTS = 64


def declared(known: Known) -> Described:
    """The description of a column of which the schema says all that is needed."""
    nullable = bool(known.nullable)
    if known.kind in ORDERED:
        assert known.bounds is not None
        step = known.step if known.step is not None else (0.0 if known.kind == "number" else 1.0)
        edges = bounded(known.bounds, step, _PARTS, log=known.log)
        mass = np.diff(edges) if not known.log else np.ones(len(edges) - 1)
        return Described(
            known.name,
            known.kind,
            step=step,
            edges=tuple(edges.tolist()),
            mass=tuple((mass / mass.sum()).tolist()),
            nullable=nullable,
            target=known.target,
            found=False,
            declared=known.column,
            format=known.format,
            zone=known.zone,
        )
    labels = ("False", "True") if known.kind == "boolean" else tuple(known.categories or ())
    labels = (*labels, "other") if known.other else labels
    return Described(
        known.name,
        known.kind or "categorical",
        labels=labels,
        shares=(1 / len(labels),) * len(labels),
        other=known.other,
        nullable=nullable,
        target=known.target,
        declared=known.column,
        code=known.code,
    )
