"""G-PATE, Table 4 (and 5): AUPRC of four classifiers on credit, at (1, 1e-5)."""

from __future__ import annotations

from understudy.benchmarks import gpate_1
from understudy.benchmarks.declare import Benchmark, Part, Size

# Table 4: AUPRC of (logistic regression, AdaBoost, bagging, perceptron, average); "real" is Table 5.
TABLE_4: dict[str, tuple[float, ...]] = {
    "real": (0.6184, 0.7103, 0.6707, 0.8223),
    "gan": (0.4069, 0.4530, 0.3303, 0.4790, 0.4173),
    "pategan": (0.3907, 0.4366, 0.3221, 0.4693, 0.4046),
    "dpgan": (0.3923, 0.4234, 0.3073, 0.4600, 0.3958),
    "gpate": (0.4476, 0.4481, 0.3503, 0.5109, 0.4392),
}


def parts(size: Size, repeats: int) -> list[Part]:
    return gpate_1.parts(size, repeats, ("real", "dpgan", "moments"))


BENCHMARK = Benchmark(
    id="gpate-4",
    title="G-PATE, Table 4: AUPRC of four classifiers on credit",
    paper="G-PATE (NeurIPS 2021 and first version), Tables 4 and 5",
    datasets=("credit",),
    repeats={"quick": 1, "full": 3},
    parts=parts,
    quotes=gpate_1.quotes("auprc", "Table 4", TABLE_4),
    notes=gpate_1.NOTES,
)
