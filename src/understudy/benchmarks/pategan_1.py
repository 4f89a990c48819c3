"""PATE-GAN, Table 1: twelve classifiers on credit, trained on synthetic rows and tested on real ones, at (1, 1e-5)."""

from __future__ import annotations

from understudy.benchmarks.declare import Benchmark, Part, Quote, Size
from understudy.benchmarks.quoting import GANS_MISS, HOW, quote
from understudy.benchmarks.synthetic import LABELS, part

# Table 1: classifier -> (GAN, PATE-GAN, DPGAN) by AUROC, then by AUPRC.
TABLE_1: dict[str, tuple[float, ...]] = {
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
# Table 5, setting A.
REAL = (0.9438, 0.7020)
_PLACES = {
    "gan": 0,
    "pategan": 1,
    "pategan as published": 1,
    "pategan, moments start": None,
    "dpgan": 2,
    "moments": None,
}
METHODS = ("real", *_PLACES)


def parts(size: Size, repeats: int) -> list[Part]:
    return [part("credit", method, size, repeats) for method in METHODS]


def _quotes() -> list[Quote]:
    averages = "Table 1, averages over the classifiers"
    quotes = [quote(averages, "credit", "real", m, REAL[i]) for i, m in enumerate(("auroc", "auprc"))]
    for method, place in _PLACES.items():
        for i, metric in enumerate(("auroc", "auprc")):
            paper = None if place is None else AVERAGE[place + 3 * i]
            quotes.append(quote(averages, "credit", method, metric, paper, paper_epsilon=1.0))
    for method, place in _PLACES.items():
        for name, values in TABLE_1.items():
            for i, metric in enumerate(("auroc", "auprc")):
                paper = None if place is None else values[place + 3 * i]
                quotes.append(
                    quote(
                        f"Table 1, {LABELS[method]}", "credit", method, metric, paper,
                        row=name, key=f"{name}/{metric}", paper_epsilon=1.0,
                    )
                )  # fmt: skip
    return quotes


BENCHMARK = Benchmark(
    id="pategan-1",
    title="PATE-GAN, Table 1: twelve classifiers on credit",
    paper="PATE-GAN (ICLR 2019), Tables 1 and 5",
    datasets=("credit",),
    repeats={"quick": 1, "full": 3},
    parts=parts,
    quotes=tuple(_quotes()),
    notes=(
        *HOW,
        "Settings of the classifiers: DP-KIP, Table 7 (PATE-GAN prints none); SAMME in place of SAMME.R.",
        GANS_MISS,
    ),
)
