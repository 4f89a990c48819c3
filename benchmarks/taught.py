"""A classifier of a small table that nobody described: rows by moments teach it, where teachers have too few labels to give.

Pima without a schema. Repeat r holds out a fifth of the rows by seed r; `teachers` label other rows of the training part as if they were
public, which the other ways may learn from, and so has fewer of its own. Noise is from the system's source.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.result import Row, grouped
from benchmarks.splits import Split, split
from understudy.methods.moments import MomentsGenerator
from understudy.methods.pate import PATEClassifier
from understudy.methods.students import NAMES
from understudy.methods.taught import Taught
from understudy.tables import Encoder

DELTA = 1e-5
EPSILONS = (1.0, 2.0, 5.0)
TEACHERS = "teachers and public rows"


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    (seed,) = repeats
    data, epsilon = split("pima", seed), settings["epsilon"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if epsilon is None:
            ways = {"real rows": _real(data)}
        else:
            made = MomentsGenerator(epsilon=epsilon, delta=DELTA, random_state=seed).fit(data.train, data.schema.target)
            ways = {f"rows, {student}": Taught(made, student).predict_proba(data.test) for student in NAMES}
            ways[TEACHERS] = _labelled(data, epsilon, seed)
    return [_scores(data, way, chances) for way, chances in ways.items()]


def _real(data: Split) -> np.ndarray:
    from sklearn.ensemble import RandomForestClassifier

    encoder, target = Encoder(data.schema.features), data.schema.target
    model = RandomForestClassifier(min_samples_leaf=5, random_state=0)
    model.fit(encoder.encode(data.train), data.train[target].astype(int))
    return np.asarray(model.predict_proba(encoder.encode(data.test)))


def _labelled(data: Split, epsilon: float, seed: int) -> np.ndarray:
    """As `understudy classify --public` does it, with its own numbers of teachers and labels."""
    target, half = data.schema.target, 2 * len(data.train) // 3
    private, public = data.train[:half], data.train[half:].drop(columns=target)
    model = PATEClassifier(epsilon=epsilon, delta=DELTA, classes=[0, 1], schema=data.schema, random_state=seed)
    model.fit(private.drop(columns=target), private[target].astype(int).tolist(), public=public)
    return model.predict_proba(data.test.drop(columns=target))


def _scores(data: Split, way: str, chances: np.ndarray) -> Measured:
    truth = data.test[data.schema.target].astype(int).to_numpy()
    said = chances.argmax(axis=1)
    return {
        "way": way,
        "accuracy": float(accuracy_score(truth, said)),
        "balanced": float(balanced_accuracy_score(truth, said)),
        "auroc": float(roc_auc_score(truth, chances[:, -1])) if chances.shape[1] > 1 else 0.5,
        "majority": float(max(truth.mean(), 1 - truth.mean())),
    }


def parts(size: Size, repeats: int) -> list[Part]:
    every = (2.0,) if size == "quick" else (None, *EPSILONS)
    return [
        Part(
            "real rows" if epsilon is None else f"epsilon {epsilon:g}",
            "benchmarks.taught:measure",
            {"epsilon": epsilon},
            repeats,
        )
        for epsilon in every
    ]


def summary(runs: Sequence[Row]) -> list[Row]:
    """Means over splits, and the spread of the accuracy."""
    found: list[Row] = []
    for (epsilon, way), mine in grouped(runs, "epsilon", "way").items():
        row: Row = {"epsilon": epsilon, "way": way, "splits": len(mine)}
        for name in ("accuracy", "balanced", "auroc", "majority"):
            row[name] = float(f"{np.mean([run[name] for run in mine]):.3f}")
        row["deviation"] = float(f"{np.std([run['accuracy'] for run in mine]):.3f}")
        found.append(row)
    return found


BENCHMARK = Benchmark(
    id="taught",
    title="A classifier of a small table without a schema: taught by synthetic rows, or by teachers",
    datasets=("pima",),
    repeats={"quick": 1, "full": 20},
    parts=parts,
    summary=summary,
    notes=(
        "The student that `predict` takes where none is named, the forest, was chosen on other tables (fair, colon, nafld1, breast cancer).",
    ),
)
