"""What a release is good for: judged by itself, from what it makes public anyway. Free.

A look releases numbers whose noise is known. How far class means stand out of that noise says whether a classifier that
learns from synthetic rows can find what there is to find; how large the noise is beside the number of rows says whether
single columns and pairs of columns can be trusted. No private row is looked at, so nothing is spent, and whoever has the
release could come to the same words. The limits were chosen on half of the tables of `benchmarks/verdict.py`; how often
they are right is measured on the other half.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from understudy.errors import InputError

Grade = Literal["good", "thin", "lost", "unknown"]

# By how many deviations all that tells the classes apart stands out of its noise: from which on rows are good for a classifier,
# and below which it would learn noise. Where noise puts more than so many rows into wrong values, they are never good for one.
STANDS_OUT, IN_NOISE, BLURRED = 10.0, 3.0, 0.5
# The share of rows that noise puts into a wrong value of a column; the noise on a correlation.
COLUMN_GOOD, COLUMN_LOST = 0.1, 0.3
PAIR_GOOD, PAIR_LOST = 0.1, 0.3


@dataclass(frozen=True)
class ClassMeans:
    """Public: what a look says of the mean of each axis in each class (classes x axes), and how well.

    `noise` is the standard deviation of the noise on a mean, `spread` how far the rows of a class lie from it, `counts` the
    noisy number of rows of each class; one of at most `count_noise` drowned.
    """

    means: np.ndarray
    noise: np.ndarray
    spread: np.ndarray
    counts: np.ndarray
    count_noise: float = 0.0

    def stands_out(self) -> float:
        """By how many deviations the means of the classes differ from what noise alone would show.

        Each class is held against the others, and the classes are averaged; one that drowned counts as zero.
        """
        seen = np.flatnonzero(self.counts > np.maximum(self.count_noise, 1.0))
        if len(seen) < 2:
            return 0.0
        counts, means, noise = self.counts[seen], self.means[seen], self.noise[seen]
        share = counts / counts.sum()
        spread = np.maximum(share @ self.spread[seen] ** 2, 1e-12)
        found = 0.0
        for c in range(len(seen)):
            others = np.arange(len(seen)) != c
            weight = share[others] / share[others].sum()
            away = means[c] - weight @ means[others]
            # That of the look, and that of having so many rows and no more.
            variance = noise[c] ** 2 + weight**2 @ noise[others] ** 2
            variance = variance + spread * (1 / counts[c] + 1 / counts[others].sum())
            found += (float((away**2 / variance).sum()) - len(away)) / math.sqrt(2 * len(away))
        return found / len(self.counts)


@dataclass(frozen=True)
class Evidence:
    """Public: what a method knows about its own noise. `columns` is the share of the rows that noise puts into a wrong value of
    a column, on average; `pairs` the noise on a correlation; `lost` the classes that did not stand out. Of a target that is a
    `number` the classes are bins of it."""

    columns: float
    pairs: float
    target: str | None = None
    classes: ClassMeans | None = None
    lost: Sequence[str] = ()
    number: bool = False


@dataclass(frozen=True)
class Verdict:
    """Public. What the rows of a release are good for, what they are to be used for with care, and what not."""

    grade: Grade
    good_for: tuple[str, ...] = ()
    with_care: tuple[str, ...] = ()
    not_for: tuple[str, ...] = ()
    why: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)

    def sentence(self) -> str:
        """The verdict in one sentence."""
        parts = [("good for", self.good_for), ("with care for", self.with_care), ("not for", self.not_for)]
        said = "; ".join(f"{how} {_shown(what)}" for how, what in parts if what)
        text = f"{said[0].upper()}{said[1:]}." if said else ""
        return f"{text} {self.why}".strip()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "figures": dict(self.figures)}

    @classmethod
    def from_dict(cls, plain: Any) -> Verdict:
        """What `to_dict` wrote, from whoever."""
        try:
            if plain["grade"] not in get_args(Grade):
                raise ValueError(plain["grade"])
            lists = (tuple(str(one) for one in plain[name]) for name in ("good_for", "with_care", "not_for"))
            figures = {str(name): float(value) for name, value in plain["figures"].items()}
            return cls(plain["grade"], *lists, why=str(plain["why"]), figures=figures)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"this is no verdict ({error!r}): the release is damaged. Copy it again.") from None


def unjudged(method: str) -> Verdict:
    """For a method that releases nothing whose noise would tell."""
    return Verdict(
        "unknown", why=f"A release of {method} cannot judge itself: try it on rows of your own (`understudy evaluate`)."
    )


def judge(evidence: Evidence) -> Verdict:
    """The verdict that public numbers give."""
    found: dict[Grade, list[str]] = {"good": [], "thin": [], "lost": []}
    figures = {"column_noise": evidence.columns, "pair_noise": evidence.pairs}
    columns, pairs = _grade(evidence.columns, COLUMN_GOOD, COLUMN_LOST), _grade(evidence.pairs, PAIR_GOOD, PAIR_LOST)
    found[columns].append("how single columns are spread")
    found[pairs].append("how pairs of columns go together")
    grade, why = min(columns, pairs, key=_ORDER.index), ""
    if evidence.target is not None:
        out = 0.0 if evidence.classes is None else evidence.classes.stands_out()
        grade = "lost" if out < IN_NOISE else "good" if out >= STANDS_OUT and evidence.columns <= BLURRED else "thin"
        figures["stands_out"] = out
        found[grade].insert(0, f"predicting {evidence.target!r}")
        why = _WHY_NUMBER[grade] if evidence.number else _WHY[grade]
    if evidence.lost:
        found["lost"].append(f"the classes {_shown(evidence.lost)}")
        why += " Classes that drowned in the noise are drawn only where a condition asks for them."
    return Verdict(
        grade,
        tuple(found["good"]),
        tuple(found["thin"]),
        tuple(found["lost"]),
        why.strip(),
        {name: round(float(value), 4) for name, value in figures.items()},
    )


_ORDER: list[Grade] = ["lost", "thin", "good"]
_WHY = {
    "good": "The classes stand clearly out of the noise.",
    "thin": "The classes stand out of the noise, but not clearly: expect a weaker classifier than real rows would give.",
    "lost": "How the classes differ does not stand out of the noise: a classifier would learn noise. Raise epsilon, bring more"
    " rows, drop columns or merge classes.",
}


_WHY_NUMBER = {
    "good": "How it moves with the other columns stands clearly out of the noise.",
    "thin": "How it moves with the other columns stands out of the noise, but not clearly: expect a lower R² than real rows give.",
    "lost": "How it moves with the other columns does not stand out of the noise: a model would learn noise. Raise epsilon, bring"
    " more rows or drop columns.",
}


def _grade(noise: float, good: float, lost: float) -> Grade:
    return "good" if noise <= good else "lost" if noise > lost else "thin"


def _shown(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
