"""Planning: two of (epsilon, noise, number of queries) give the third, before any data is touched."""

from __future__ import annotations

# pyright: reportUnknownMemberType=false
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from understudy.errors import InputError
from understudy.privacy.accountant import compose
from understudy.privacy.calibration import largest_count, smallest_noise
from understudy.privacy.events import (
    ConfidentGNMaxEvent,
    Event,
    GaussianEvent,
    GNMaxEvent,
    LaplaceEvent,
    LNMaxEvent,
    SubsampledGaussianEvent,
    check_count,
    check_delta,
    check_positive,
)

NOISE_NAMES = {
    "lnmax": "gamma",
    "laplace": "epsilon each",
    "gnmax": "sigma",
    "confident-gnmax": "sigma",
    "gaussian": "noise multiplier",
    "dpsgd": "noise multiplier",
}
METHODS = tuple(NOISE_NAMES)


@dataclass(frozen=True)
class Family:
    """A mechanism with everything fixed but its noise and how often it runs.

    `threshold_ratio` is sigma_threshold / sigma and `answer_share` the share of queries that pass, both for
    Confident-GNMax; `sampling_rate` is for DP-SGD.
    """

    method: str
    threshold_ratio: float = 3.0
    answer_share: float = 1.0
    sampling_rate: float | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"unknown method {self.method!r}; known are {', '.join(METHODS)}.")
        check_positive("threshold_ratio", self.threshold_ratio)
        if not 0 <= self.answer_share <= 1:
            raise InputError(f"`answer_share` (={self.answer_share}) is a share: between 0 and 1.")
        if self.method == "dpsgd" and self.sampling_rate is None:
            raise InputError("dpsgd needs a `sampling_rate`: nominal batch / rows.")

    def events(self, noise: float, count: int) -> list[Event]:
        match self.method:
            case "lnmax":
                return [LNMaxEvent(noise, count)]
            case "laplace":
                return [LaplaceEvent(noise, count)]
            case "gnmax":
                return [GNMaxEvent(noise, count, "discrete")]
            case "confident-gnmax":
                answered = math.ceil(self.answer_share * count)
                return [ConfidentGNMaxEvent(0, self.threshold_ratio * noise, noise, count, answered, "discrete")]
            case "gaussian":
                return [GaussianEvent(noise, count)]
            case _:
                assert self.sampling_rate is not None
                return [SubsampledGaussianEvent(noise, self.sampling_rate, count)]

    def noise_for(self, epsilon: float, delta: float, count: int) -> float:
        """The least noise for so many queries (for lnmax and laplace: the largest gamma or epsilon), on the safe
        side."""
        if self.method in ("lnmax", "laplace"):
            scale = smallest_noise(lambda s: self.events(1 / s, count), epsilon, delta)
            return math.nextafter(1 / scale, 0)
        return smallest_noise(lambda s: self.events(s, count), epsilon, delta)


@dataclass(frozen=True)
class QueryPlan:
    """A complete plan: the cost of `count` queries with this noise, and where it came from."""

    family: Family
    noise: float
    count: int
    epsilon: float
    delta: float
    accounting: str

    def curve(self, points: int = 24) -> list[tuple[int, float]]:
        """Epsilon against the number of queries, from one to four times the planned number."""
        top = 4 * self.count
        counts = sorted({max(1, round(top ** (i / (points - 1)))) for i in range(points)} | {self.count})
        return [(n, compose(self.family.events(self.noise, n), self.delta).epsilon) for n in counts]

    def to_json(self) -> dict[str, Any]:
        family = {k: v for k, v in asdict(self.family).items() if v is not None}
        if self.family.method != "confident-gnmax":
            family.pop("threshold_ratio")
            family.pop("answer_share")
        return {
            **family,
            "noise": self.noise,
            "noise_name": NOISE_NAMES[self.family.method],
            "queries": self.count,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "accounting": self.accounting,
        }


def plan(
    family: Family, delta: float, *, epsilon: float | None = None, noise: float | None = None, count: int | None = None
) -> QueryPlan:
    """Fill in the one of epsilon, noise and count that is missing."""
    check_delta(delta, zero_allowed=family.method in ("laplace", "lnmax"))
    if sum(v is None for v in (epsilon, noise, count)) != 1:
        raise InputError("give exactly two of epsilon, noise and the number of queries; the third is computed.")
    if count is not None:
        check_count("queries", count)
    if noise is not None:
        check_positive(NOISE_NAMES[family.method], noise)
    if epsilon is not None:
        check_positive("epsilon", epsilon)
        if noise is None:
            assert count is not None
            noise = family.noise_for(epsilon, delta, count)
        elif count is None:
            count = largest_count(lambda n: family.events(noise, n), epsilon, delta)
            if count == 0:
                one = compose(family.events(noise, 1), delta).epsilon
                raise InputError(
                    f"not even one query fits: it costs epsilon {one:.6g}, and the budget is {epsilon:g}. Use more noise "
                    f"({NOISE_NAMES[family.method]}) or a larger epsilon."
                )
    assert noise is not None
    assert count is not None
    cost = compose(family.events(noise, count), delta)
    return QueryPlan(family, noise, count, cost.epsilon, delta, cost.method)


def plot(planned: QueryPlan, path: str | Path) -> None:
    """Write the curve of epsilon against queries as SVG."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    curve = planned.curve()
    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    axes.plot([n for n, _ in curve], [e for _, e in curve], color="#22577a")
    axes.plot([planned.count], [planned.epsilon], "o", color="#c8553d")
    label = f"{planned.count} queries: ε = {planned.epsilon:.3g}"
    axes.annotate(label, (planned.count, planned.epsilon), textcoords="offset points", xytext=(-8, 8), ha="right")
    name = NOISE_NAMES[planned.family.method]
    axes.set(xscale="log", yscale="log", xlabel="queries", ylabel=f"ε at δ = {planned.delta:g}")
    axes.set_title(f"{planned.family.method}, {name} = {planned.noise:.4g}")
    axes.grid(alpha=0.3)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")
    try:
        figure.savefig(path, format="svg")
    except OSError as error:
        raise InputError(f"cannot write the plot to {path}: {error.strerror or error}.") from None
    finally:
        plt.close(figure)
