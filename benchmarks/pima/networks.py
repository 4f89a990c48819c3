"""The thesis' network on many splits at once: Tables 5.2 to 5.4, Figures 5.1 to 5.4."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from benchmarks.pima.classifiers import folding
from benchmarks.pima.data import Split, split
from benchmarks.pima.network import Networks, Optimiser, Recipe, probability, start, train
from benchmarks.pima.scores import scores

# NN 1 of Table 5.2. Table 5.3 says 25 epochs, the search of Section 4.4.2 has 100; nothing is said for PATE's networks.
HIDDEN, L2 = (8, 8, 8), 0.01
PRINTED, LONGER = Recipe(epochs=25), Recipe(epochs=100)
Found = dict[str, "float | list[float]"]


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Found]:
    """NN 1 as printed: scores on the test rows, and cross-validation."""
    splits = [split(r, settings["imputation"], scaled=settings["scaled"]) for r in repeats]
    X, y, X_test = (np.stack([getattr(s, name) for s in splits]) for name in ("X", "y", "X_test"))
    found: list[Found] = [{} for _ in repeats]
    for name, recipe in {"NN 1": PRINTED, "NN 1 longer": LONGER}.items():
        outputs = probability(fit(X, y, recipe=recipe, seed=repeats[0]), X_test)
        for one, data, output in zip(found, splits, outputs, strict=True):
            one.update(scores(name, data.y_test, output))
    if settings["folds"]:
        for one, data, repeat in zip(found, splits, repeats, strict=True):
            one.update(_cross_validated(data, settings["folds"], repeat))
    return found


def fit(X: np.ndarray, y: np.ndarray, held: np.ndarray | None = None, *, recipe: Recipe, seed: int) -> Networks:
    """Touches private data: NN 1 on each of several sets of rows."""
    mask = np.ones(y.shape, dtype=bool) if held is None else held
    networks = start([HIDDEN] * len(X), X.shape[2], seed=seed)
    return train(networks, X, y, mask, np.full(len(X), L2), recipe, seed=seed)


def _cross_validated(data: Split, folds: Sequence[int], seed: int) -> Found:
    """Every fold of every folding is one network; all of them train together."""
    kinds = ("plain", "stratified")
    plan = [(kind, k) for kind in kinds for k in folds]
    left_in = [
        np.isin(np.arange(len(data.y)), inside)
        for kind, k in plan
        for inside, _ in folding(kind, k, seed).split(data.X, data.y)
    ]
    held = np.stack(left_in)
    X = np.broadcast_to(data.X, (len(held), *data.X.shape))
    y = np.broadcast_to(data.y, held.shape)
    right = (probability(fit(X, y, held, recipe=PRINTED, seed=seed), X) >= 0.5) == y
    accuracy = np.sum(right & ~held, axis=1) / np.sum(~held, axis=1)
    found: Found = {}
    parts = dict(zip(plan, np.split(accuracy, np.cumsum([k for _, k in plan])[:-1]), strict=True))
    for kind in kinds:
        found[f"NN 1/{kind} folds"] = [float(parts[kind, k].mean()) for k in folds]
        found[f"NN 1/{kind} folds deviation"] = [float(parts[kind, k].std()) for k in folds]
    return found


def measure_grid(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Found]:
    """The grid of Section 4.4.2, chosen as the thesis does, on the test rows, and as one may, on a fifth of the training
    rows. The first is the largest of a hundred accuracies on the very rows that it is reported for."""
    plan: list[tuple[Any, float]] = [
        (tuple(shape), l2) for shape in itertools.product(*settings["neurons"]) for l2 in settings["l2"]
    ]
    splits = [split(r, settings["imputation"]) for r in repeats]
    found: list[Found] = [{} for _ in repeats]
    for batch in settings["batches"]:
        tables = [
            _grid(splits, plan, Recipe(cast(Optimiser, o), batch, settings["epochs"]), repeats[0])
            for o in settings["optimisers"]
        ]
        test, validation = (np.concatenate([t[i] for t in tables], axis=1) for i in (0, 1))
        chosen = np.take_along_axis(test, validation.argmax(axis=1, keepdims=True), axis=1)[:, 0]
        for one, best, own in zip(found, test.max(axis=1), chosen, strict=True):
            one[f"batch {batch}/best on the test rows"] = float(best)
            one[f"batch {batch}/chosen on training rows"] = float(own)
    return found


def _grid(
    splits: Sequence[Split], plan: Sequence[tuple[Any, float]], recipe: Recipe, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Accuracies (repeats x grid): of networks trained on all training rows, on the test rows; and of networks trained
    on four fifths of them, on the last fifth."""
    many, rows = len(plan), len(splits[0].y)
    kept = np.arange(rows) < rows - rows // 5
    X, y, X_test, y_test = (
        np.repeat(np.stack([getattr(s, name) for s in splits]), many, axis=0) for name in ("X", "y", "X_test", "y_test")
    )
    l2 = np.tile([penalty for _, penalty in plan], len(splits))
    networks = start([shape for shape, _ in plan] * len(splits), X.shape[2], seed=seed)
    everything = train(networks, X, y, np.ones(y.shape, dtype=bool), l2, recipe, seed=seed)
    test = np.mean((probability(everything, X_test) >= 0.5) == y_test, axis=1)
    part = train(networks, X, y, np.broadcast_to(kept, y.shape), l2, recipe, seed=seed)
    right = (probability(part, X) >= 0.5) == y
    validation = right[:, ~kept].mean(axis=1)
    return test.reshape(-1, many), validation.reshape(-1, many)
