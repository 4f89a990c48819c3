"""PATE-GAN, Table 6: do synthetic rows rank the features as real rows do? Over epsilon, on credit."""

from __future__ import annotations

from understudy.benchmarks.declare import Benchmark, Part, Size
from understudy.benchmarks.quoting import HOW, epsilon_part, epsilon_quote
from understudy.benchmarks.synthetic import part

# Table 6: epsilon -> (PATE-GAN, DPGAN).
TABLE_6 = {
    0.01: (0.8810, 0.7963), 0.05: (0.8968, 0.8148), 0.1: (0.8968, 0.8333), 0.5: (0.9021, 0.8545),
    1.0: (0.9048, 0.8783), 5.0: (0.9127, 0.8915), 10.0: (0.9153, 0.8942), 50.0: (0.9153, 0.9021),
}  # fmt: skip
_PLACES = {"pategan": 0, "dpgan": 1, "moments": None}
_QUICK = {"moments": (0.1, 1.0, 10.0), "pategan": (1.0,), "dpgan": (1.0,)}


def parts(size: Size, repeats: int) -> list[Part]:
    chosen = _QUICK if size == "quick" else dict.fromkeys(_PLACES, tuple(TABLE_6))
    return [
        part(
            "credit", method, size, repeats, epsilon=epsilon, rankings="features",
            name=epsilon_part("credit", method, epsilon),
        )
        for method, epsilons in chosen.items()
        for epsilon in epsilons
    ]  # fmt: skip


BENCHMARK = Benchmark(
    id="pategan-6",
    title="PATE-GAN, Table 6: do features rank alike on synthetic and real rows?",
    paper="PATE-GAN (ICLR 2019), Table 6",
    datasets=("credit",),
    repeats={"quick": 1, "full": 3},
    parts=parts,
    quotes=tuple(
        epsilon_quote(
            "Table 6: agreement of the features' ranking by |correlation| with the label", "credit", method, epsilon,
            "agreement", "features", None if place is None else values[place],
        )
        for epsilon, values in TABLE_6.items()
        for method, place in _PLACES.items()
    ),
    notes=(*HOW, "Chance is 0.5."),
)  # fmt: skip
