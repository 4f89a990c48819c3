"""G-PATE (NeurIPS 2021 and first version): Tables 1, 4, 5 and 6 on credit, at (1, 1e-5)."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.declare import Benchmark, Part, Quote, Size
from benchmarks.methods import label
from benchmarks.quoting import HOW, METRICS, SETTINGS, quote
from benchmarks.synthetic import part

FOUR = ("logistic regression", "adaboost", "bagging", "mlp")
Printed = Mapping[str, tuple[float, ...]]
# AUROC of (logistic regression, AdaBoost, bagging, perceptron, average); "real" is Table 5.
PRINTED_1: Printed = {
    "real": (0.9330, 0.9802, 0.9699, 0.9754),
    "gan": (0.9430, 0.9416, 0.9379, 0.9444, 0.9417),
    "pategan": (0.8728, 0.8959, 0.8877, 0.8925, 0.8872),
    "dpgan": (0.8720, 0.8809, 0.8657, 0.8787, 0.8743),
    "gpate": (0.9251, 0.8981, 0.8964, 0.9093, 0.9072),
}
# AUPRC likewise.
PRINTED_4: Printed = {
    "real": (0.6184, 0.7103, 0.6707, 0.8223),
    "gan": (0.4069, 0.4530, 0.3303, 0.4790, 0.4173),
    "pategan": (0.3907, 0.4366, 0.3221, 0.4693, 0.4046),
    "dpgan": (0.3923, 0.4234, 0.3073, 0.4600, 0.3958),
    "gpate": (0.4476, 0.4481, 0.3503, 0.5109, 0.4392),
}
# AUROC; what G-PATE's structure costs when nothing is private: ten teachers, no noise, beside a GAN.
PRINTED_6: Printed = {
    "gan": (0.9430, 0.9416, 0.9379, 0.9444, 0.9417),
    "gpate without noise": (0.9455, 0.9165, 0.9456, 0.9219, 0.9324),
}
# Without a figure of their own in the paper, or with the same one.
ALSO = {"gpate as published": "gpate", "moments": None}
METHODS = (*PRINTED_1, *ALSO)
QUICK = {
    1: ("real", "gpate", "gpate as published", "moments"),
    4: ("real", "dpgan", "moments"),
    6: tuple(PRINTED_6),
}
NOTES = (
    *HOW,
    "Classifiers with G-PATE's settings (its appendix on model structures): L1 logistic regression by liblinear with class "
    "weights 350 to 1, AdaBoost of 200 and bagging of 100 logistic regressions, a tanh perceptron of three layers of 18.",
    "G-PATE's figures for PATE-GAN and DP-GAN are copied from PATE-GAN's Table 1, though measured with other classifiers.",
    SETTINGS,
)


def _quotes(metric: str, number: int, printed: Printed, methods: tuple[str, ...]) -> tuple[Quote, ...]:
    """A row for each method's mean, then for each method and classifier."""
    table = f"Table {number}"
    values = {method: printed.get(method) or printed.get(ALSO.get(method) or "", ()) for method in methods}
    means = {m: v[4] if len(v) == 5 else (sum(v) / len(v) if v else None) for m, v in values.items()}
    each = f"{table}, {METRICS[metric]} by classifier"
    return (
        *(quote(f"{table}, averages", "credit", m, metric, means[m], paper_epsilon=1.0) for m in methods),
        *(
            quote(
                each, "credit", m, metric, values[m][i] if values[m] else None, row=f"{label(m)}: {name}",
                key=f"{name}/{metric}", paper_epsilon=1.0,
            )
            for m in methods
            for i, name in enumerate(FOUR)
        ),
    )  # fmt: skip


def _table(number: int, title: str, metric: str, printed: Printed, methods: tuple[str, ...]) -> Benchmark:
    def parts(size: Size, repeats: int) -> list[Part]:
        quick = size == "quick"
        only = ("logistic regression", "mlp") if quick else ()
        chosen = QUICK[number] if quick else methods
        return [part("credit", method, size, repeats, panel="four", only=only) for method in chosen]

    return Benchmark(
        id=f"gpate-{number}",
        title=f"G-PATE, Table {number}: {title}",
        paper="G-PATE (NeurIPS 2021)" + (", Table 6" if number == 6 else f" and first version, Tables {number} and 5"),
        datasets=("credit",),
        repeats={"quick": 1, "full": 3},
        parts=parts,
        quotes=_quotes(metric, number, printed, methods),
        notes=NOTES,
    )


TABLE_1 = _table(1, "AUROC of four classifiers on credit", "auroc", PRINTED_1, METHODS)
TABLE_4 = _table(4, "AUPRC of four classifiers on credit", "auprc", PRINTED_4, METHODS)
TABLE_6 = _table(6, "G-PATE without noise beside a GAN", "auroc", PRINTED_6, tuple(PRINTED_6))
