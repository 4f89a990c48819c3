"""What was released about one column, and how it stands in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np

from understudy.errors import InputError
from understudy.tables.column import OTHER, Category, Column
from understudy.tables.coordinates.known import KINDS, ORDERED, Kind
from understudy.tables.coordinates.marginal import Marginal
from understudy.tables.coordinates.readings import from_index

_SPIKE = 0.02
# A spike holds this many times what its neighbours hold for each of their values.
_STEEP = 3.0


@dataclass(frozen=True)
class Described:
    """Public once paid for.

    - `kind`: number, datetime, duration, boolean or categorical; `step` its grid (0: none; moments, durations: in seconds).
    - `format`, `zone`: how moments and durations are written; `code`: categories are digits, which stay text.
    - `edges`, `mass` (number, datetime, duration): intervals of places on the grid, and the share of the values in each.
    - `labels`, `shares` (categorical, boolean): the values and their shares; "other" is the last where `other` is true.
    - `missing`: the share of rows without a value; `nullable`: whether there may be such rows.
    - `found`: False where nothing stood out of the noise, or nothing was looked at.
    - `sigma`: the noise on a count; `paid`: what was not known before the look.
    - `declared`: the schema's own column, if it had one.
    """

    name: str
    kind: Kind
    step: float = 0.0
    edges: tuple[float, ...] = ()
    mass: tuple[float, ...] = ()
    labels: tuple[Category, ...] = ()
    shares: tuple[float, ...] = ()
    other: bool = False
    missing: float = 0.0
    nullable: bool = True
    target: bool = False
    found: bool = True
    sigma: float = 0.0
    paid: tuple[str, ...] = ()
    declared: Column | None = None
    format: str | None = None
    zone: str | None = None
    code: bool = False

    @property
    def ordered(self) -> bool:
        """Whether it is a number, a moment or a duration, with a marginal."""
        return self.kind in ORDERED

    @property
    def empty(self) -> bool:
        """Whether nothing could be learnt of it: it drowned in the noise, and nobody declared it. It is left empty."""
        declared = self.declared is not None and self.declared.complete
        return not self.found and not declared and self.missing == 1.0

    @cached_property
    def marginal(self) -> Marginal:
        return Marginal(np.array(self.edges), np.array(self.mass), self.step > 0)

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest value; moments in seconds."""
        low, high = self.edges[0], self.edges[-1]
        if self.step > 0:
            low, high = (float(value) for value in from_index(np.array([low, high - 1]), self.step))
        return low, high

    @property
    def spikes(self) -> list[tuple[float, float]]:
        """Single values that many rows share, far more than the values beside them, with their shares."""
        if not self.ordered:
            return []
        width = np.diff(self.edges) if self.step > 0 else np.where(self.marginal.spikes, 1.0, np.diff(self.edges))
        density = np.array(self.mass) / width
        beside = np.maximum(np.append(density[1:], 0.0), np.insert(density[:-1], 0, 0.0))
        alone = self.marginal.spikes & (np.array(self.mass) >= _SPIKE)
        if self.step > 0:
            alone &= density > _STEEP * beside
        values = self._values(np.array(self.edges)[:-1][alone])
        return [(float(v), float(m)) for v, m in zip(values, np.array(self.mass)[alone], strict=True)]

    def _values(self, places: np.ndarray) -> np.ndarray:
        return from_index(places, self.step) if self.step > 0 else np.zeros(len(places))

    @property
    def column(self) -> Column:
        """As the schema has it: complete, what was declared kept as it was said."""
        if self.declared is not None and self.declared.complete:
            # How it is written may have been found where nobody said it.
            return replace(self.declared, format=self.format) if self.format is not None else self.declared
        nullable = self.nullable and not self.target
        if self.kind == "boolean":
            return Column(self.name, "boolean", nullable=nullable)
        form = self.format or (None if self.declared is None else self.declared.format)
        if self.kind == "categorical":
            named = self.labels[:-1] if self.other else self.labels
            kind = "code" if self.code else "categorical"
            form = form if self.code else None
            if not named:
                return Column(self.name, kind, categories=(OTHER,), nullable=nullable, format=form)
            return Column(self.name, kind, categories=named, other=self.other, nullable=nullable, format=form)
        low, high = self.bounds
        if self.kind == "datetime":
            ends = (_moment(low), _moment(high))
            return Column(self.name, "datetime", bounds=ends, nullable=nullable, format=form, zone=self.zone)
        if self.kind == "duration":
            lengths = (timedelta(seconds=low), timedelta(seconds=high))
            return Column(self.name, "duration", bounds=lengths, nullable=nullable, format=form)
        scale = "linear" if self.declared is None else self.declared.scale
        if self.step >= 1:
            ends = (int(low), int(high))
            return Column(self.name, "integer", bounds=ends, nullable=nullable, scale=scale, format=form)
        return Column(self.name, "continuous", bounds=(low, high), nullable=nullable, scale=scale)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; what a kind does not have is left out."""
        plain: dict[str, Any] = {"name": self.name, "kind": self.kind, "missing": self.missing}
        plain |= {"nullable": self.nullable, "found": self.found, "noise": self.sigma, "paid": list(self.paid)}
        if self.target:
            plain["target"] = True
        if self.ordered:
            plain |= {"step": self.step, "edges": list(self.edges), "mass": list(self.mass)}
        else:
            plain |= {"labels": list(self.labels), "shares": list(self.shares), "other": self.other}
        for name, value in (("format", self.format), ("zone", self.zone), ("code", self.code)):
            if value:
                plain[name] = value
        if self.declared is not None:
            plain["declared"] = self.declared.to_dict()
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Described:
        """What `to_dict` wrote, checked as far as the rest of the house relies on it."""
        try:
            if not isinstance(plain["name"], str):
                raise TypeError(f"its name is {plain['name']!r}")
            said = plain.get("declared")
            made = cls(
                name=plain["name"],
                kind=plain["kind"],
                step=float(plain.get("step", 0.0)),
                edges=tuple(float(edge) for edge in plain.get("edges", ())),
                mass=tuple(float(share) for share in plain.get("mass", ())),
                labels=tuple(plain.get("labels", ())),
                shares=tuple(float(share) for share in plain.get("shares", ())),
                other=bool(plain.get("other", False)),
                missing=float(plain["missing"]),
                nullable=bool(plain["nullable"]),
                target=bool(plain.get("target", False)),
                found=bool(plain["found"]),
                sigma=float(plain["noise"]),
                paid=tuple(plain["paid"]),
                declared=None if said is None else Column(**said),
                format=plain.get("format"),
                zone=plain.get("zone"),
                code=bool(plain.get("code", False)),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"this is no description of a column ({error!r}): the file is damaged.") from None
        made.check()
        return made

    def check(self) -> None:
        """Refuse numbers that cannot be a description, whoever wrote them."""
        where = f"the description of column {self.name!r}"
        if self.kind not in KINDS:
            raise InputError(f"{where}: unknown kind {self.kind!r}.")
        if self.ordered and self.kind != "number" and not self.step >= 1:
            raise InputError(f"{where}: its step (={self.step}) must be a second or more.")
        shares = np.array(self.mass if self.ordered else self.shares)
        if not np.all(np.isfinite(shares)) or np.any(shares < 0) or abs(shares.sum() - 1) > 1e-6:
            raise InputError(f"{where}: its shares are not shares of a whole.")
        if self.ordered:
            edges = np.array(self.edges)
            if len(edges) != len(shares) + 1 or not np.all(np.isfinite(edges)) or np.any(np.diff(edges) <= 0):
                raise InputError(f"{where}: its edges do not rise, or are not one more than its intervals.")
        elif len(self.labels) != len(shares):
            raise InputError(f"{where}: {len(self.labels)} labels for {len(shares)} shares.")
        if not 0 <= self.missing <= 1:
            raise InputError(f"{where}: the missing share (={self.missing}) must lie between 0 and 1.")

    def free(self) -> Described:
        """The same, marked as learnt from public rows."""
        return replace(self, paid=(), sigma=0.0)


def _moment(seconds: float) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=seconds)
