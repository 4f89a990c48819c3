"""What moments keeps of a class that several columns decide together: exclusive or, parity of three, a random tree.

100,000 made-up rows of ten columns, two in a hundred with the wrong class; 80,000 are learnt from and 20,000 judge. `additive`
draws the class from a model of single columns, by switching off what pairs and triples add.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.methods import DELTA, make
from benchmarks.result import Row, grouped
from understudy import MomentsGenerator
from understudy.methods.moments import label_model
from understudy.tables import Column, Schema

ROWS, LEARNT = 100_000, 80_000
MIXED = ("xor", "xor of numbers", "parity", "tree 0", "tree 1")
REFINED = "gpate, moments start"
NUMBERS = ("parity, numbers only", "tree 0, numbers only")
_WARDS = ("u", "v", "w")


def table(kind: str, rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"x{i}": rng.normal(size=rows).round(3) for i in range(10 if kind in NUMBERS else 4)}
    if kind not in NUMBERS:
        columns |= {f"b{i}": rng.random(rows) < 0.5 for i in range(4)}
        columns |= {f"c{i}": rng.choice(_WARDS, rows, p=[0.5, 0.3, 0.2]) for i in range(2)}
    frame = pd.DataFrame(columns)
    signs = [np.asarray(frame[name] > 0 if kind in NUMBERS else frame[name]) for name in _signed(kind)]
    if kind == "xor of numbers":
        yes = np.asarray((frame["x0"] > 0) ^ (frame["x1"] > 0))
    elif kind.startswith("tree"):
        yes = _tree(encoded(frame), np.random.default_rng(int(kind[5])))
    else:
        yes = np.sum(signs[: 2 if kind == "xor" else 3], axis=0) % 2 == 1
    return frame.assign(y=np.where(yes ^ (rng.random(rows) < 0.02), "yes", "no"))


def _signed(kind: str) -> list[str]:
    return ["x0", "x1", "x2"] if kind in NUMBERS else ["b0", "b1", "b2"]


def _tree(numbers: np.ndarray, rng: np.random.Generator, leaves: int = 40) -> np.ndarray:
    """Classes by turns over the leaves of a tree whose largest leaf is always cut next, anywhere in its middle."""
    found = [np.arange(len(numbers))]
    while len(found) < leaves:
        leaf = found.pop(int(np.argmax([len(rows) for rows in found])))
        values = numbers[leaf, rng.integers(numbers.shape[1])]
        cut = np.quantile(values, rng.uniform(0.3, 0.7))
        below = values <= cut if (values <= cut).mean() < 1 else values < cut
        found += [leaf] if below.all() or not below.any() else [leaf[below], leaf[~below]]
    yes = np.zeros(len(numbers), dtype=bool)
    for turn, leaf in enumerate(rng.permutation(leaves)):
        yes[found[leaf]] = turn % 2 == 1
    return yes


def encoded(frame: pd.DataFrame) -> np.ndarray:
    """Numbers for a learner of trees."""
    features = frame.drop(columns="y", errors="ignore")
    return np.column_stack(
        [
            pd.Categorical(features[name], categories=_WARDS).codes if name[0] == "c" else features[name].astype(float)
            for name in features
        ]
    )


def schema_of(frame: pd.DataFrame) -> Schema:
    kinds: dict[str, Any] = {
        "x": {"kind": "continuous", "bounds": (-6, 6)},
        "b": {"kind": "boolean"},
        "c": {"kind": "categorical", "categories": _WARDS},
        "y": {"kind": "categorical", "categories": ("no", "yes")},
    }
    return Schema(tuple(Column(name, **kinds[name[0]]) for name in map(str, frame.columns)), target="y")


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One release: AUROC of boosted trees on real rows, trained on real and on synthetic ones; rows that keep a parity."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    (seed,), kind = repeats, settings["table"]
    frame = table(kind)
    train, test = frame.head(LEARNT), frame.tail(ROWS - LEARNT)

    def auroc(rows: pd.DataFrame) -> float:
        judge = HistGradientBoostingClassifier(random_state=0).fit(encoded(rows), rows["y"] == "yes")
        return float(roc_auc_score(test["y"] == "yes", np.asarray(judge.predict_proba(encoded(test)))[:, 1]))

    generator = (
        make(REFINED, 1.0, seed)
        if settings["model"] == REFINED
        else MomentsGenerator(1.0, DELTA, model=settings["model"], random_state=seed)
    )
    most = (0, 0) if settings["labels"] == "additive" else (label_model._MOST_PAIRS, label_model._MOST_TRIPLES)
    with warnings.catch_warnings(), mock.patch.multiple(label_model, _MOST_PAIRS=most[0], _MOST_TRIPLES=most[1]):
        warnings.simplefilter("ignore")
        rows = generator.fit(train, schema=schema_of(frame)).sample(LEARNT, random_state=seed)
    found: Measured = {"chosen": generator.facts_.get("model"), "real": auroc(train), "synthetic": auroc(rows)}
    if kind in ("xor", "parity"):
        odd = rows[_signed(kind)[: 2 if kind == "xor" else 3]].to_numpy(bool).sum(axis=1) % 2 == 1
        found["rows_that_keep_it"] = float(np.mean(odd == (rows["y"] == "yes").to_numpy()))
    return [found]


def parts(size: Size, repeats: int) -> list[Part]:
    cases = [(name, "auto", labels) for name in MIXED for labels in ("pairs and triples", "additive")]
    cases += [(name, model, "pairs and triples") for name in NUMBERS for model in ("auto", "tables")]
    cases += [(name, REFINED, "pairs and triples") for name in MIXED]
    return [
        Part(
            f"{name}: {model}, {labels}",
            "benchmarks.interactions:measure",
            {"table": name, "model": model, "labels": labels},
            repeats,
        )
        for name, model, labels in (cases[:1] if size == "quick" else cases)
    ]


def summary(runs: Sequence[Row]) -> list[Row]:
    """The mean over releases."""
    keys = ("table", "model", "labels")
    made: list[Row] = []
    for group, mine in grouped(runs, *keys).items():
        row: Row = {**dict(zip(keys, group, strict=True)), "releases": len(mine)}
        for name in ("real", "synthetic", "rows_that_keep_it"):
            if values := [run[name] for run in mine if run.get(name) is not None]:
                row[name] = round(float(np.mean(values)), 4)
                row[f"least_{name}"] = round(float(np.min(values)), 4)
        made.append(row)
    return made


BENCHMARK = Benchmark(
    id="interactions",
    title="Classes that several columns decide together, kept by moments at epsilon 1",
    repeats={"quick": 1, "full": 3},
    parts=parts,
    summary=summary,
    notes=(
        "Boosted trees do not always find a parity of three columns, in real rows neither: `rows_that_keep_it` says whether the "
        "rows hold it.",
    ),
)
