"""PATE-GAN, Figures 1 and 2: AUROC and AUPRC over epsilon, mean over the classifiers, on credit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from understudy.benchmarks.declare import Benchmark, Part, Size
from understudy.benchmarks.quoting import HOW, epsilon_part, epsilon_quote
from understudy.benchmarks.synthetic import LABELS, part

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from understudy.benchmarks.result import Result

EPSILONS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0)
METHODS = ("moments", "pategan", "dpgan")
_QUICK = {"moments": (0.1, 1.0, 10.0), "dpgan": (1.0,), "pategan": (1.0,)}


def parts(size: Size, repeats: int) -> list[Part]:
    """Settings A, B and C of every method at every epsilon: Table 3 ranks the same generators, and a common run shares them."""
    chosen = _QUICK if size == "quick" else dict.fromkeys(METHODS, EPSILONS)
    return [
        part(
            "credit", method, size, repeats, epsilon=epsilon, rankings="classifiers",
            name=epsilon_part("credit", method, epsilon),
        )
        for epsilon in (sorted({e for epsilons in chosen.values() for e in epsilons}, key=lambda e: abs(e - 1)))
        for method, epsilons in chosen.items()
        if epsilon in epsilons
    ]  # fmt: skip


def figures(result: Result) -> Mapping[str, Figure]:
    """One curve a method, for each metric."""
    from matplotlib.figure import Figure

    drawn: dict[str, Figure] = {}
    for metric in ("auroc", "auprc"):
        figure = Figure(figsize=(5, 3.5))
        axes = figure.subplots()
        for method in METHODS:
            points = [
                (epsilon, result.measured(name, metric)["mean"])
                for epsilon in EPSILONS
                if result.has(name := epsilon_part("credit", method, epsilon), metric)
            ]
            if points:
                axes.plot(*zip(*points, strict=True), marker="o", label=LABELS[method])
        axes.set_xscale("log")
        axes.set_xlabel("ε")
        axes.set_ylabel(f"mean {metric.upper()}")
        axes.legend()
        drawn[metric] = figure
    return drawn


BENCHMARK = Benchmark(
    id="pategan-eps",
    title="PATE-GAN, Figures 1 and 2: usefulness over epsilon",
    paper="PATE-GAN (ICLR 2019), Figures 1 and 2",
    datasets=("credit",),
    repeats={"quick": 1, "full": 1},
    parts=parts,
    quotes=tuple(
        epsilon_quote("Figures 1 and 2: mean over the classifiers", "credit", method, epsilon, metric, metric, None)
        for metric in ("auroc", "auprc")
        for epsilon in EPSILONS
        for method in METHODS
    ),
    notes=(*HOW, "The paper prints curves and no numbers."),
    figures=figures,
)
