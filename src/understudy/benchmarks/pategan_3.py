"""PATE-GAN, Table 3: Synthetic Ranking Agreement of settings A and C over epsilon, on credit."""

from __future__ import annotations

from understudy.benchmarks import pategan_eps
from understudy.benchmarks.declare import Benchmark, Part, Size
from understudy.benchmarks.quoting import HOW, epsilon_quote, quote
from understudy.benchmarks.synthetic import part

# Table 3: epsilon -> (PATE-GAN, DPGAN).
TABLE_3 = {
    0.01: (0.6909, 0.5273), 0.05: (0.7455, 0.6909), 0.1: (0.7818, 0.7455), 0.5: (0.8000, 0.7818),
    1.0: (0.8364, 0.8000), 5.0: (0.8909, 0.8364), 10.0: (0.9091, 0.8909), 50.0: (0.9091, 0.9091),
}  # fmt: skip
GAN = 0.9091
_PLACES = {"pategan": 0, "dpgan": 1, "moments": None}


def parts(size: Size, repeats: int) -> list[Part]:
    made = pategan_eps.parts(size, repeats)
    return made if size == "quick" else [*made, part("credit", "gan", size, repeats, rankings="classifiers")]


BENCHMARK = Benchmark(
    id="pategan-3",
    title="PATE-GAN, Table 3: do classifiers rank alike on synthetic and real rows?",
    paper="PATE-GAN (ICLR 2019), Table 3 and equation 8",
    datasets=("credit",),
    repeats={"quick": 1, "full": 1},
    parts=parts,
    quotes=(
        *(
            epsilon_quote(
                "Table 3: Synthetic Ranking Agreement by AUROC", "credit", method, epsilon, "SRA", "sra_auroc",
                None if place is None else values[place],
            )
            for epsilon, values in TABLE_3.items()
            for method, place in _PLACES.items()
        ),
        quote("Table 3: Synthetic Ranking Agreement by AUROC", "credit", "gan", "SRA", GAN, key="sra_auroc"),
    ),
    notes=(
        *HOW,
        "A pair tied in both settings counts as agreement, which equation 8 leaves out. Chance is 0.5. Setting C keeps a "
        "fifth of the synthetic rows for the test.",
    ),
)  # fmt: skip
