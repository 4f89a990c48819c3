"""Rows of printed tables for synthetic data: the paper's number beside what a part measured."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.declare import Quote
from benchmarks.methods import is_private, label, unsafe

METRICS: Mapping[str, str] = {"auroc": "AUROC", "auprc": "AUPRC", "f1": "F1"}
NOT_PUBLIC = (
    "MAGGIC and UNOS are not public and are left out. Who holds them can run the same settings on them: "
    "`understudy synthesize` and `understudy evaluate` take any CSV or Parquet file with its schema."
)
SETTINGS = (
    "PATE-GAN, G-PATE and DP-GAN follow a rule from public sizes that was chosen on validation rows of adult and credit; their "
    "columns are paid for. Rows as published have the paper's votes, noise and stopping rule in the same coordinates: PATE-GAN "
    "then learns hardly anything (docs/methods/pategan.md says what its votes are worth), and stops below the paper's figures."
)
HOW = (
    "Repeat r splits the rows (a fifth is for the test, the same share of each class; adult as at UCI), fits and trains with "
    "seed r. Of two classes, generators draw equal numbers, and real rows are thinned with the rarer class kept whole.",
    "Full size: 10,000 rows to train each classifier on, 60,000 at most to score on. Quick: 2,000 and 10,000, generators "
    "learn from 8,000 rows at most with shortened training, and five of the twelve classifiers run; it shows that all works, "
    "and its figures are not to be quoted.",
    "The papers' epsilon is data-dependent (and for PATE-GAN unsound in places, see docs/sharp-edges.md); ours, where a "
    "row is not marked unsafe, holds for every dataset.",
)


def quote(
    table: str, dataset: str, method: str, metric: str, paper: float | None = None, *, row: str | None = None,
    key: str | None = None, part: str | None = None, paper_epsilon: float | None = None,
) -> Quote:  # fmt: skip
    """One row: a method's mean over the classifiers, or what `key` names."""
    private = is_private(method)
    return Quote(
        table,
        row or label(method),
        METRICS.get(metric, metric),
        part or f"{dataset}: {method}",
        key or metric,
        paper=paper,
        paper_epsilon=paper_epsilon if paper is not None and private else None,
        epsilon="epsilon" if private else None,
        data_dependent="epsilon_data_dependent" if private else None,
        unsafe=unsafe(method),
    )


def epsilon_quote(
    table: str, dataset: str, method: str, epsilon: float, metric: str, key: str, paper: float | None
) -> Quote:
    """One method at one epsilon."""
    return quote(
        table, dataset, method, metric, paper, row=f"{label(method)}, ε = {epsilon:g}", key=key,
        part=epsilon_part(dataset, method, epsilon), paper_epsilon=epsilon,
    )  # fmt: skip


def epsilon_part(dataset: str, method: str, epsilon: float) -> str:
    return f"{dataset}: {method}, epsilon {epsilon:g}"
