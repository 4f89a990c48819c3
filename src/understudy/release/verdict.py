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

# How many deviations all class means together stand out of their noise, and how much of a noisy direction from class to class
# is signal (a cosine): from which on rows are good for a classifier, and below which it would learn noise.
STANDS_OUT, IN_NOISE = 6.0, 2.0
CLEAR, UNCLEAR = 0.85, 0.5
# The share of rows that noise puts into a wrong value of a column; the noise on a correlation.
COLUMN_GOOD, COLUMN_LOST = 0.1, 0.3
PAIR_GOOD, PAIR_LOST = 0.1, 0.3


@dataclass(frozen=True)
class ClassMeans:
    """Public: what a look says of the mean of each axis in each class (classes x axes), and how well.

    `noise` is the standard deviation of the noise on a mean, `spread` how far the rows of a class lie from it, `counts` the
    noisy number of rows of each class.
    """

    means: np.ndarray
    noise: np.ndarray
    spread: np.ndarray
    counts: np.ndarray

    def standing(self) -> Standing:
        """Each class against the others, averaged by how common the classes are."""
        counts = np.maximum(self.counts, 1.0)
        share = counts / counts.sum()
        spread = np.maximum(share @ self.spread**2, 1e-12)
        out, clear = np.zeros(len(counts)), np.zeros(len(counts))
        for c in range(len(counts)):
            others = np.arange(len(counts)) != c
            weight = share[others] / share[others].sum()
            away = self.means[c] - weight @ self.means[others]
            # That of the look, and that of having so many rows and no more.
            variance = self.noise[c] ** 2 + weight**2 @ self.noise[others] ** 2
            variance = variance + spread * (1 / counts[c] + 1 / counts[others].sum())
            out[c] = (float((away**2 / variance).sum()) - len(away)) / math.sqrt(2 * len(away))
            signal = max(float(((away**2 - variance) / spread).sum()), 0.0)
            clear[c] = math.sqrt(signal / max(signal + float((variance / spread).sum()), 1e-12))
        return Standing(float(share @ out), float(share @ clear))


@dataclass(frozen=True)
class Standing:
    """`out`: by how many deviations the distances between class means exceed what noise alone would show.

    `clear`: the cosine between the direction from class to class that was released and the one there is, on axes measured
    in spreads: 1 is as good as the rows themselves, 0 is noise.
    """

    out: float
    clear: float

    @property
    def grade(self) -> Grade:
        if self.out >= STANDS_OUT and self.clear >= CLEAR:
            return "good"
        return "lost" if self.out < IN_NOISE or self.clear < UNCLEAR else "thin"


@dataclass(frozen=True)
class Evidence:
    """Public: what a method knows about its own noise. `columns` is the share of the rows that noise puts into a wrong value of
    a column, on average; `pairs` the noise on a correlation; `lost` the classes that did not stand out."""

    columns: float
    pairs: float
    target: str | None = None
    classes: ClassMeans | None = None
    lost: Sequence[str] = ()


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
    if evidence.classes is not None:
        standing = evidence.classes.standing()
        grade = standing.grade
        figures |= {"stands_out": standing.out, "clear": standing.clear}
        found[grade].insert(0, f"predicting {evidence.target!r}")
        why = _WHY[grade]
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


def _grade(noise: float, good: float, lost: float) -> Grade:
    return "good" if noise <= good else "lost" if noise > lost else "thin"


def _shown(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
