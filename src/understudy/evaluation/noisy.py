"""Scores on real test rows that may be published: counts with noise, through the gate.

Setting B only: the classifiers are trained on synthetic rows, which count as public, and so do the edges of the score
bins, which are taken from the classifiers' scores on those synthetic rows. The test rows are used for counting alone.

**Sensitivity.** For one classifier, a test row adds at most one to the count of right answers, and one to exactly one cell
(its class x the bin of its score) of a histogram; with more than two classes there is one histogram for each class
against the rest. Its score depends on that row and the synthetic table, on no other test row. Blanking the row takes
these ones away and changes nothing else. So the counts of T tables x C classifiers change by at most T * C * (1 + h) in
sum, with h = 1 histogram for two classes and h = K for K classes; `NoisyCounts` gets that as its sensitivity, and one
charge of epsilon covers them all. Accuracy, AUROC and AUPRC are computed from the noisy counts alone; the number of test
rows is public.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.errors import InputError
from understudy.evaluation.classifiers import Factory, missing, panel
from understudy.evaluation.features import Featuriser, Rows, prepare
from understudy.evaluation.scores import place_of, score_columns
from understudy.privacy import Budget, Certificate, NoisyCounts
from understudy.tables.io import Table, as_frame
from understudy.tables.schema import Schema

BINS = 20
FORMAT, KIND = 1, "noisy metrics"


@dataclass(frozen=True)
class NoisyMetrics:
    """Safe to publish: `scores[table][classifier]` has accuracy, auroc and auprc from noisy counts.

    `noise` is the standard deviation of the noise on each count; an accuracy is off by about noise / rows.
    """

    epsilon: float
    rows: int
    noise: float
    scores: Mapping[str, Mapping[str, Mapping[str, float]]]
    certificate: Certificate
    notes: tuple[str, ...] = ()

    def mean(self, table: str) -> dict[str, float]:
        """The mean over the classifiers."""
        runs = list(self.scores[table].values())
        return {metric: float(np.mean([run[metric] for run in runs])) for metric in runs[0]}

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "kind": KIND,
            "epsilon": self.epsilon,
            "rows": self.rows,
            "noise": self.noise,
            "tables": {
                name: {"mean": self.mean(name), "classifiers": {k: dict(v) for k, v in runs.items()}}
                for name, runs in self.scores.items()
            },
            "certificate": self.certificate.to_json(),
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> NoisyMetrics:
        """What `to_dict` wrote. Anything else is an `InputError`."""
        if plain.get("kind") != KIND or plain.get("format") != FORMAT:
            raise InputError(f"these are no noisy scores of format {FORMAT}: make them with --epsilon-metrics --out.")
        try:
            scores = {
                str(table): {
                    str(name): {metric: float(run[metric]) for metric in ("accuracy", "auroc", "auprc")}
                    for name, run in scored["classifiers"].items()
                }
                for table, scored in plain["tables"].items()
            }
            certificate = Certificate.parse(json.dumps(plain["certificate"]), where="the certificate of the scores")
            numbers = float(plain["epsilon"]), int(plain["rows"]), float(plain["noise"])
            return cls(*numbers, scores, certificate, tuple(str(note) for note in plain["notes"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"the noisy scores are damaged ({error}): they cannot be drawn again for free.") from None

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def noisy_metrics(
    test: Table,
    synthetic: Mapping[str, Table],
    target: str,
    schema: Schema,
    epsilon: float,
    *,
    classifiers: str | Mapping[str, Factory] = "five",
    positive: object = None,
    seed: int = 0,
    budget: Budget | None = None,
) -> NoisyMetrics:
    """Touches private data (`test`): setting B of each synthetic table with noise, (epsilon, 0)-DP. Safe to publish.

    The schema must be given: one that was taken from real rows would not be public. `budget`, if given, is charged;
    otherwise one of `epsilon` is made for this.
    """
    if not synthetic:
        raise InputError("no synthetic table was given.")
    asked = panel(classifiers)
    absent = missing(asked)
    chosen = {name: factory for name, factory in asked.items() if name not in absent}
    schema.require_complete()
    features = Featuriser(schema, target)
    positive_code = place_of(positive, features.classes)
    frame = as_frame(test)
    # A row without a class stays where it is and counts for nothing: every other row is scored as it would be anyway.
    judged = features.rows(frame, unlabelled=True)
    tables = {name: features.rows(as_frame(table)) for name, table in synthetic.items()}
    spent = Budget(epsilon) if budget is None else budget
    histograms = 1 if len(features.classes) == 2 else len(features.classes)
    mechanism = NoisyCounts(epsilon, len(tables) * len(chosen) * (1 + histograms))
    blocks = {
        (table, name): _counts(factory, rows, judged, len(features.classes), positive_code, seed)
        for table, rows in tables.items()
        for name, factory in chosen.items()
    }
    flat = np.concatenate([block.ravel() for pair in blocks.values() for block in pair])
    noisy = mechanism.release(flat, spent)
    scores: dict[str, dict[str, dict[str, float]]] = {name: {} for name in tables}
    start = 0
    for (table, name), pair in blocks.items():
        parts: list[np.ndarray] = []
        for block in pair:
            parts.append(noisy[start : start + block.size].reshape(block.shape))
            start += block.size
        scores[table][name] = _metrics(parts[0], parts[1], len(frame))
    certificate = Certificate.from_budget(
        spent,
        release={"kind": "metrics", "method": "noisy-metrics", "tables": list(tables), "classifiers": list(chosen)},
        assumed_public=[
            "the synthetic tables and all that was learnt from them",
            "the schema: kinds, bounds and categories of all columns",
            "the number of test rows",
        ],
    )
    # Laplace of scale b has a standard deviation of b times the root of two.
    noise = float(np.sqrt(2) * mechanism.sensitivity / epsilon)
    notes = tuple(f"{name} left out: {why}" for name, why in absent.items())
    return NoisyMetrics(epsilon, len(frame), noise, scores, certificate, notes)


def _counts(
    factory: Factory, train: Rows, test: Rows, classes: int, positive: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Private: how many answers are right, and for each judged class how many rows (in it or not) fall into each bin."""
    if classes == 2:
        train, test = (
            Rows(rows.x, np.where(rows.y < 0, -1, (rows.y == positive).astype(np.int64))) for rows in (train, test)
        )
    ready_train, ready_test = prepare(train, test)
    ours, theirs = scores_of(factory, ready_train, ready_test, classes, seed)
    counted = ready_test.y >= 0
    theirs, y = theirs[counted], ready_test.y[counted]
    right = np.array([np.sum(theirs.argmax(axis=1) == y)], dtype=np.int64)
    judged = [1] if classes == 2 else list(range(classes))
    tables = np.zeros((len(judged), 2, BINS), dtype=np.int64)
    for number, label in enumerate(judged):
        edges = score_edges(ours[:, label], ready_train.y == label, BINS)
        bins = np.searchsorted(edges, theirs[:, label], side="right")
        np.add.at(tables[number], ((y == label).astype(np.int64), bins), 1)
    return right, tables


def scores_of(factory: Factory, train: Rows, test: Rows, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of synthetic and of test rows (rows x classes), constant if nothing was learnt. A score is of its row alone."""
    present, y = np.unique(train.y, return_inverse=True)
    both = [np.zeros((len(rows), classes)) for rows in (train, test)]
    if len(present) and train.x.shape[1]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = factory(seed)
                model.fit(train.x, y)
        except Exception:  # whatever a classifier makes of degenerate synthetic rows, which are public
            model = None
        if model is not None:
            for scores, rows in zip(both, (train, test), strict=True):
                if len(rows):
                    scores[:, present] = np.nan_to_num(score_columns(model, rows.x))
            return both[0], both[1]
    most = present[np.bincount(y).argmax()] if len(present) else 0
    for scores in both:
        scores[:, most] = 1.0
    return both[0], both[1]


def score_edges(scores: np.ndarray, inside: np.ndarray, bins: int) -> np.ndarray:
    """Public: the inner edges of so many bins, from synthetic scores: half at quantiles of each class, half evenly spread."""
    if len(scores) == 0:
        return np.linspace(0, 1, bins + 1)[1:-1]
    quarter = (bins - 1) // 4
    parts = [
        np.quantile(side, np.linspace(0, 1, quarter + 2)[1:-1])
        for side in (scores[inside], scores[~inside])
        if len(side)
    ]
    even = bins - 1 - sum(len(part) for part in parts)
    return np.sort(np.concatenate([*parts, np.linspace(scores.min(), scores.max(), even + 2)[1:-1]]))


def _metrics(right: np.ndarray, tables: np.ndarray, rows: int) -> dict[str, float]:
    """Safe to publish: computed from noisy counts and the public number of rows."""
    areas = [histogram_metrics(table[1], table[0]) for table in tables]
    return {
        "accuracy": float(np.clip(right[0] / rows, 0, 1)),
        "auroc": float(np.mean([area[0] for area in areas])),
        "auprc": float(np.mean([area[1] for area in areas])),
    }


def histogram_metrics(inside: np.ndarray, outside: np.ndarray) -> tuple[float, float]:
    """AUROC and AUPRC of counts by score bin, lowest scores first; rows of one bin count as tied."""
    pos, neg = np.maximum(inside, 0).astype(float), np.maximum(outside, 0).astype(float)
    if pos.sum() == 0 or neg.sum() == 0:
        return 0.5, float(pos.sum() > 0)
    below = np.cumsum(neg) - neg
    auroc = float((pos * (below + neg / 2)).sum() / (pos.sum() * neg.sum()))
    true, false = np.cumsum(pos[::-1]), np.cumsum(neg[::-1])
    precision = true / np.maximum(true + false, 1e-12)
    return auroc, float((precision * pos[::-1]).sum() / pos.sum())
