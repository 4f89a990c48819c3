"""G-PATE, Table 1 (and 5): AUROC of four classifiers on credit, at (1, 1e-5)."""

from __future__ import annotations

from understudy.benchmarks.declare import Benchmark, Part, Quote, Size
from understudy.benchmarks.quoting import GANS_MISS, HOW, METRICS, quote
from understudy.benchmarks.synthetic import part

FOUR = ("logistic regression", "adaboost", "bagging", "mlp")
# Table 1: AUROC of (logistic regression, AdaBoost, bagging, perceptron, average); "real" is Table 5.
TABLE_1: dict[str, tuple[float, ...]] = {
    "real": (0.9330, 0.9802, 0.9699, 0.9754),
    "gan": (0.9430, 0.9416, 0.9379, 0.9444, 0.9417),
    "pategan": (0.8728, 0.8959, 0.8877, 0.8925, 0.8872),
    "dpgan": (0.8720, 0.8809, 0.8657, 0.8787, 0.8743),
    "gpate": (0.9251, 0.8981, 0.8964, 0.9093, 0.9072),
}
# Without a figure of their own in the paper, or with the same one.
ALSO = {"gpate as published": "gpate", "moments": None}
METHODS = (*TABLE_1, *ALSO)
QUICK_CLASSIFIERS = ("logistic regression", "mlp")


def parts(
    size: Size, repeats: int, quick: tuple[str, ...] = ("real", "gpate", "gpate as published", "moments")
) -> list[Part]:
    small = size == "quick"
    only = QUICK_CLASSIFIERS if small else ()
    return [part("credit", m, size, repeats, panel="four", only=only) for m in (quick if small else METHODS)]


def quotes(metric: str, table: str, printed: dict[str, tuple[float, ...]]) -> tuple[Quote, ...]:
    """A row for each method and classifier, and their mean."""
    rows: list[Quote] = []
    for method in METHODS:
        values = printed.get(method) or printed.get(ALSO.get(method) or "", ())
        means = values[4] if len(values) == 5 else (sum(values) / len(values) if values else None)
        rows.append(quote(f"{table}, averages", "credit", method, metric, means, paper_epsilon=1.0))
    for method in METHODS:
        values = printed.get(method) or printed.get(ALSO.get(method) or "", ())
        rows += [
            quote(
                f"{table}, {METRICS[metric]} by classifier", "credit", method, metric, values[i] if values else None,
                row=f"{quote(table, 'credit', method, metric).row}: {name}", key=f"{name}/{metric}", paper_epsilon=1.0,
            )
            for i, name in enumerate(FOUR)
        ]  # fmt: skip
    return tuple(rows)


NOTES = (
    *HOW,
    "Classifiers with G-PATE's settings (its appendix on model structures): L1 logistic regression by liblinear with class "
    "weights 350 to 1, AdaBoost of 200 and bagging of 100 logistic regressions, a tanh perceptron of three layers of 18.",
    "G-PATE's figures for PATE-GAN and DP-GAN are copied from PATE-GAN's Table 1, though measured with other classifiers.",
    GANS_MISS,
)

BENCHMARK = Benchmark(
    id="gpate-1",
    title="G-PATE, Table 1: AUROC of four classifiers on credit",
    paper="G-PATE (NeurIPS 2021 and first version), Tables 1 and 5",
    datasets=("credit",),
    repeats={"quick": 1, "full": 3},
    parts=parts,
    quotes=quotes("auroc", "Table 1", TABLE_1),
    notes=NOTES,
)
