"""PATE-GAN (ICLR 2019): Tables 1 to 3 and Figures 1 and 2. Synthetic rows at delta 1e-5, tested on real ones."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from benchmarks.declare import Benchmark, Part, Quote, Size
from benchmarks.methods import label
from benchmarks.quoting import HOW, NOT_PUBLIC, SETTINGS, epsilon_part, epsilon_quote, quote
from benchmarks.result import Results
from benchmarks.synthetic import part

# Table 1: classifier -> (GAN, PATE-GAN, DPGAN) by AUROC, then by AUPRC.
PRINTED_1: dict[str, tuple[float, ...]] = {
    "logistic regression": (0.8950, 0.8728, 0.8720, 0.4069, 0.3907, 0.3923),
    "random forest": (0.9075, 0.8980, 0.8730, 0.3219, 0.3157, 0.2926),
    "gaussian nb": (0.8861, 0.8817, 0.8522, 0.1963, 0.1858, 0.1601),
    "bernoulli nb": (0.8997, 0.8968, 0.8891, 0.2169, 0.2099, 0.2069),
    "linear svm": (0.7611, 0.7523, 0.7502, 0.4473, 0.4466, 0.4464),
    "decision tree": (0.9102, 0.9011, 0.8647, 0.4071, 0.3978, 0.3672),
    "lda": (0.8710, 0.8510, 0.8487, 0.1956, 0.1852, 0.1788),
    "adaboost": (0.9143, 0.8952, 0.8809, 0.4530, 0.4366, 0.4234),
    "bagging": (0.8951, 0.8877, 0.8657, 0.3303, 0.3221, 0.3073),
    "gradient boosting": (0.8848, 0.8709, 0.8499, 0.3057, 0.2974, 0.2773),
    "mlp": (0.9086, 0.8925, 0.8787, 0.4790, 0.4693, 0.4600),
    "xgboost": (0.9058, 0.8904, 0.8637, 0.3837, 0.3700, 0.3440),
}
AVERAGE = (0.8866, 0.8737, 0.8578, 0.3453, 0.3351, 0.3219)
# Table 2: (GAN, PATE-GAN, DPGAN) by AUROC, then by AUPRC; then Table 5's setting A.
PRINTED_2: dict[str, tuple[float, ...]] = {
    "credit": (*AVERAGE, 0.9438, 0.7020),
    "cervical": (0.9268, 0.9108, 0.8699, 0.5994, 0.5460, 0.4851, 0.9354, 0.6314),
    "isolet": (0.8171, 0.6399, 0.5577, 0.5561, 0.2953, 0.2146, 0.9671, 0.8758),
    "epileptic": (0.9173, 0.7681, 0.6718, 0.8133, 0.6512, 0.5369, 0.9809, 0.9511),
}
# Table 3: epsilon -> (PATE-GAN, DPGAN).
PRINTED_3 = {
    0.01: (0.6909, 0.5273), 0.05: (0.7455, 0.6909), 0.1: (0.7818, 0.7455), 0.5: (0.8000, 0.7818),
    1.0: (0.8364, 0.8000), 5.0: (0.8909, 0.8364), 10.0: (0.9091, 0.8909), 50.0: (0.9091, 0.9091),
}  # fmt: skip
GAN_3 = 0.9091
EPSILONS = tuple(PRINTED_3)
_METRICS = ("auroc", "auprc")

# ---- Table 1 ----

_PLACES_1 = {
    "gan": 0, "pategan": 1, "pategan as published": 1, "pategan, moments start": None, "dpgan": 2, "moments": None,
}  # fmt: skip


def _parts_1(size: Size, repeats: int) -> list[Part]:
    return [part("credit", method, size, repeats) for method in ("real", *_PLACES_1)]


def _quotes_1() -> list[Quote]:
    averages = "Table 1, averages over the classifiers"
    real = PRINTED_2["credit"][6:]
    quotes = [quote(averages, "credit", "real", m, real[i]) for i, m in enumerate(_METRICS)]

    def each(table: str, method: str, values: tuple[float, ...], row: str | None = None) -> list[Quote]:
        place = _PLACES_1[method]
        return [
            quote(
                table, "credit", method, metric, None if place is None else values[place + 3 * i], row=row,
                key=None if row is None else f"{row}/{metric}", paper_epsilon=1.0,
            )
            for i, metric in enumerate(_METRICS)
        ]  # fmt: skip

    for method in _PLACES_1:
        quotes += each(averages, method, AVERAGE)
    for method in _PLACES_1:
        for name, values in PRINTED_1.items():
            quotes += each(f"Table 1, {label(method)}", method, values, name)
    return quotes


TABLE_1 = Benchmark(
    id="pategan-1",
    title="PATE-GAN, Table 1: twelve classifiers on credit",
    paper="PATE-GAN (ICLR 2019), Tables 1 and 5",
    datasets=("credit",),
    repeats={"quick": 1, "full": 3},
    parts=_parts_1,
    quotes=tuple(_quotes_1()),
    notes=(
        *HOW,
        "Settings of the classifiers: DP-KIP, Table 7 (PATE-GAN prints none); SAMME in place of SAMME.R.",
        SETTINGS,
    ),
)

# ---- Table 2 ----

_PLACES_2 = {"real": (6, 7), "gan": (0, 3), "pategan": (1, 4), "dpgan": (2, 5), "moments": None}
# On so many columns a GAN needs more than a quick run can give.
_QUICK_2 = {
    "credit": ("real", "moments"),
    "cervical": ("real", "pategan", "moments"),
    "isolet": ("real",),
    "epileptic": ("real", "moments"),
}


def _parts_2(size: Size, repeats: int) -> list[Part]:
    """What takes long comes last, so that a run that is cut off has the rest."""
    return [
        part(dataset, method, size, repeats)
        for datasets in (("credit", "cervical"), ("epileptic", "isolet"))
        for method in ("real", "moments", "pategan", "gan", "dpgan")
        for dataset in datasets
        if size == "full" or method in _QUICK_2[dataset]
    ]


TABLE_2 = Benchmark(
    id="pategan-2",
    title="PATE-GAN, Tables 2 and 5: the mean over twelve classifiers on four datasets",
    paper="PATE-GAN (ICLR 2019), Tables 2 and 5",
    datasets=tuple(PRINTED_2),
    repeats={"quick": 1, "full": 3},
    parts=_parts_2,
    quotes=tuple(
        quote(
            f"Table 2, {dataset}", dataset, method, metric,
            None if places is None else values[places[i]], paper_epsilon=1.0,
        )
        for dataset, values in PRINTED_2.items()
        for method, places in _PLACES_2.items()
        for i, metric in enumerate(_METRICS)
    ),
    notes=(
        *HOW,
        NOT_PUBLIC,
        SETTINGS,
        "Cervical has 686 rows to learn from and isolet and epileptic hundreds of columns: at an unconditional epsilon of 1 the rule "
        "counts PATE-GAN and DP-GAN hopeless there, and they are.",
    ),
)  # fmt: skip

# ---- Table 3 ranks the generators of Figures 1 and 2, and a common run shares them ----

CURVES = ("moments", "pategan", "dpgan")
QUICK_EPSILONS = {"moments": (0.1, 1.0, 10.0), "dpgan": (1.0,), "pategan": (1.0,)}


def over_epsilon(size: Size, repeats: int) -> list[Part]:
    """Every method at every epsilon, those near 1 first."""
    chosen = QUICK_EPSILONS if size == "quick" else dict.fromkeys(CURVES, EPSILONS)
    return [
        part(
            "credit", method, size, repeats, epsilon=epsilon, rankings=True,
            name=epsilon_part("credit", method, epsilon),
        )
        for epsilon in sorted({e for epsilons in chosen.values() for e in epsilons}, key=lambda e: abs(e - 1))
        for method, epsilons in chosen.items()
        if epsilon in epsilons
    ]  # fmt: skip


def over_epsilon_quotes(table: str, metric: str, key: str, printed: Mapping[float, tuple[float, float]]) -> list[Quote]:
    """The paper prints PATE-GAN and DP-GAN at each epsilon."""
    return [
        epsilon_quote(table, "credit", method, epsilon, metric, key, None if place is None else values[place])
        for epsilon, values in printed.items()
        for method, place in (("pategan", 0), ("dpgan", 1), ("moments", None))
    ]


def _parts_3(size: Size, repeats: int) -> list[Part]:
    gan = [] if size == "quick" else [part("credit", "gan", size, repeats, rankings=True)]
    return [*over_epsilon(size, repeats), *gan]


_SRA = "Table 3: Synthetic Ranking Agreement by AUROC"
TABLE_3 = Benchmark(
    id="pategan-3",
    title="PATE-GAN, Table 3: do classifiers rank alike on synthetic and real rows?",
    paper="PATE-GAN (ICLR 2019), Table 3 and equation 8",
    datasets=("credit",),
    repeats={"quick": 1, "full": 3},
    parts=_parts_3,
    quotes=(
        *over_epsilon_quotes(_SRA, "SRA", "sra_auroc", PRINTED_3),
        quote(_SRA, "credit", "gan", "SRA", GAN_3, key="sra_auroc"),
    ),
    notes=(
        *HOW,
        "A pair tied in both settings counts as agreement, which equation 8 leaves out. Chance is 0.5. Setting C keeps a "
        "fifth of the synthetic rows for the test.",
    ),
)


def _curves(result: Results) -> Mapping[str, Figure]:
    """One curve a method, for each metric."""
    drawn: dict[str, Figure] = {}
    for metric in _METRICS:
        figure = Figure(figsize=(5, 3.5))
        axes = figure.subplots()
        for method in CURVES:
            points = [
                (epsilon, result.measured(name, metric)["mean"])
                for epsilon in EPSILONS
                if result.has(name := epsilon_part("credit", method, epsilon), metric)
            ]
            if points:
                axes.plot(*zip(*points, strict=True), marker="o", label=label(method))
        axes.set(xscale="log", xlabel="ε", ylabel=f"mean {metric.upper()}")
        axes.legend()
        drawn[metric] = figure
    return drawn


FIGURES = Benchmark(
    id="pategan-eps",
    title="PATE-GAN, Figures 1 and 2: usefulness over epsilon",
    paper="PATE-GAN (ICLR 2019), Figures 1 and 2",
    datasets=("credit",),
    repeats={"quick": 1, "full": 3},
    parts=over_epsilon,
    quotes=tuple(
        epsilon_quote("Figures 1 and 2: mean over the classifiers", "credit", method, epsilon, metric, metric, None)
        for metric in _METRICS
        for epsilon in EPSILONS
        for method in CURVES
    ),
    notes=(*HOW, "The paper prints curves and no numbers."),
    figures=_curves,
)
