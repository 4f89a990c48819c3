"""PATE-GAN, Tables 2 and 5: the mean over twelve classifiers on each public dataset, at (1, 1e-5)."""

from __future__ import annotations

from understudy.benchmarks.declare import Benchmark, Part, Quote, Size
from understudy.benchmarks.quoting import HOW, NOT_PUBLIC, quote
from understudy.benchmarks.synthetic import part

# Table 2: (GAN, PATE-GAN, DPGAN) by AUROC, then by AUPRC; then Table 5's setting A.
TABLE_2: dict[str, tuple[float, ...]] = {
    "credit": (0.8866, 0.8737, 0.8578, 0.3453, 0.3351, 0.3219, 0.9438, 0.7020),
    "cervical": (0.9268, 0.9108, 0.8699, 0.5994, 0.5460, 0.4851, 0.9354, 0.6314),
    "isolet": (0.8171, 0.6399, 0.5577, 0.5561, 0.2953, 0.2146, 0.9671, 0.8758),
    "epileptic": (0.9173, 0.7681, 0.6718, 0.8133, 0.6512, 0.5369, 0.9809, 0.9511),
}
_PLACES = {"real": (6, 7), "gan": (0, 3), "pategan": (1, 4), "dpgan": (2, 5), "moments": None}
# On so many columns a GAN needs more than a quick run can give.
_QUICK = {
    "credit": ("real", "moments"),
    "cervical": ("real", "pategan", "moments"),
    "isolet": ("real",),
    "epileptic": ("real", "moments"),
}


# What takes long comes last, so that a run that is cut off has the rest.
_ORDER = [
    (dataset, method)
    for datasets in (("credit", "cervical"), ("epileptic", "isolet"))
    for method in ("real", "moments", "pategan", "gan", "dpgan")
    for dataset in datasets
]


def parts(size: Size, repeats: int) -> list[Part]:
    chosen = [(d, m) for d, m in _ORDER if size == "full" or m in _QUICK[d]]
    return [part(dataset, method, size, repeats) for dataset, method in chosen]


def _quotes() -> tuple[Quote, ...]:
    return tuple(
        quote(
            f"Table 2, {dataset}", dataset, method, metric,
            None if places is None else values[places[i]], paper_epsilon=1.0,
        )
        for dataset, values in TABLE_2.items()
        for method, places in _PLACES.items()
        for i, metric in enumerate(("auroc", "auprc"))
    )  # fmt: skip


BENCHMARK = Benchmark(
    id="pategan-2",
    title="PATE-GAN, Tables 2 and 5: the mean over twelve classifiers on four datasets",
    paper="PATE-GAN (ICLR 2019), Tables 2 and 5",
    datasets=tuple(TABLE_2),
    repeats={"quick": 1, "full": 3},
    parts=parts,
    quotes=_quotes(),
    notes=(*HOW, NOT_PUBLIC),
)
