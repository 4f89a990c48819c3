"""Tables as people have them: one command, no schema, and what the rows are worth beside a declared schema.

Each table is written as a CSV file of its learning rows and given to `understudy synthesize FILE --epsilon 1 --out OUT`, with
`--target` where there is one and nothing else. Three tenths of the rows, which the command never saw, judge: AUROC for a
class and R² for a number, the mean of a linear model and boosted trees, learnt from as many drawn rows as there were real ones.
Tables without a target are judged by the mean distance of their columns' distributions (0 is best).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from benchmarks import coordinates
from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.result import Row, grouped
from understudy import datasets
from understudy.tables import Column, Schema

Frame: TypeAlias = Any
"""A pandas frame or one of its columns."""
EPSILON = 1.0
MOST_ROWS, MOST_HELD = 30_000, 10_000

MORE_ROWS = {"credit": 200_000}  # one in 600 is a fraud
# Table -> target; a number is said to be one.
CLASSES: dict[str, str] = {
    "adult": "income", "credit": "Class", "covtype": "Cover_Type", "intrusion": "label",
    "cervical": "Biopsy", "pima": "Outcome", "breast_cancer": "target", "wine": "target", "iris": "target",
    "fair": "rate_marriage", "nafld1": "status", "anes96": "vote", "modechoice": "choice", "rossi": "arrest", "gbsg2": "cens",
    "colon": "status", "pbc": "status", "mgus2": "death", "rotterdam": "death", "nwtco": "rel", "birthwt": "low",
    "channing": "cens",
}  # fmt: skip
NUMBERS: dict[str, str] = {"randhie": "mdvis", "boston": "medv", "diabetes": "target", "solder": "skips"}
NO_TARGET = ("lung", "survey")
_SHIPPED = ("adult", "credit", "covtype", "intrusion", "cervical", "pima")


def load(name: str) -> Frame:
    """One table with plain columns, as a CSV file holds them."""
    if name not in _SHIPPED:
        return coordinates.load(name)
    frame: Frame = datasets.load_table(name).frame
    return frame.astype({c: object for c in frame if isinstance(frame[c].dtype, pd.CategoricalDtype)})


def declared(name: str, frame: Frame, target: str | None) -> Schema:
    """A schema as an owner would write it: the registry's own, or kinds, categories and generous bounds."""
    if name in _SHIPPED:
        return datasets.schema(name).with_target(target)
    schema = coordinates.public_schema(frame)
    if target is None or name in NUMBERS:
        return schema.with_target(target)
    labels = tuple(sorted(pd.unique(frame[target].dropna())))
    plain = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
    truth = all(isinstance(label, bool) for label in plain)
    goal = Column(target, "boolean") if truth else Column(target, "categorical", categories=plain)
    return Schema(tuple(goal if column.name == target else column for column in schema), target)


def command(*arguments: object) -> dict[str, Any]:
    """The real command line, in a process of its own."""
    said = [str(argument) for argument in arguments]
    line = [sys.executable, "-c", "from understudy.cli import main; main()", *said, "--json"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"understudy {' '.join(said)}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One release of one table: whether it ended, verified, and what its rows are worth."""
    (seed,), name, target = repeats, settings["table"], settings["target"]
    frame = load(name)
    order = np.random.default_rng(seed).permutation(len(frame))
    held = min(round(0.3 * len(frame)), MOST_HELD)
    test, train = frame.iloc[order[:held]], frame.iloc[order[held : held + MORE_ROWS.get(name, MOST_ROWS)]]
    found: dict[str, Any] = {"rows": len(train), "columns": frame.shape[1]}
    if settings["schema"] == "real rows":
        return [found | judged(train, train, test, name, target)]
    with tempfile.TemporaryDirectory() as folder:
        file, out, drawn = (Path(folder) / f"{what}.csv" for what in ("table", "made", "drawn"))
        train.to_csv(file, index=False)
        options: list[object] = [] if target is None else ["--target", target]
        if settings["schema"] == "declared":
            declared(name, frame, target).write(Path(folder) / "schema.yaml")
            options += ["--schema", Path(folder) / "schema.yaml"]
        clock = time.perf_counter()
        said = command("synthesize", file, "--epsilon", settings["epsilon"], "--out", out, *options)
        found["seconds"] = round(time.perf_counter() - clock, 1)
        found["verified"] = float(command("verify", said["release"])["valid"])
        found["not_learnt"] = len(said["not_learnt"])
        command("sample", said["release"], "--rows", len(train), "--out", drawn, "--seed", seed)
        made = pd.read_csv(drawn, low_memory=False)
        return [found | judged(made, train, test, name, target)]


def judged(made: Frame, train: Frame, test: Frame, name: str, target: str | None) -> Row:
    """What models learn from `made`, on rows of `test`; without a target how far the columns are from the real ones."""
    if target is None:
        return {"distance": float(np.mean([distance(made[column], train[column]) for column in train]))}
    number = name in NUMBERS
    goal: Any = pd.to_numeric(made[target], errors="coerce") if number else made[target]
    made, goal = made[goal.notna()], goal.dropna()
    x, held = matrices(made, train, test, target)
    if number:
        return {"r2": _r2(x, goal.to_numpy(np.float64), held, test[target].to_numpy(np.float64))}
    return {"auroc": _auroc(x, goal.map(_plain).to_numpy(), held, test[target].map(_plain).to_numpy())}


def _plain(label: object) -> str:
    """1, 1.0 and "1" are one class."""
    text = str(label)
    return text[:-2] if text.endswith(".0") else text


def _numbers(column: Frame) -> np.ndarray:
    numbers: Any = pd.to_numeric(column, errors="coerce")
    return numbers.to_numpy(np.float64)


def matrices(made: Frame, train: Frame, test: Frame, target: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers with missing ones filled by the median of the drawn rows, categories one-hot by those of the real rows."""
    parts: list[Any] = []
    for name in train.columns:
        if name == target:
            continue
        if pd.api.types.is_numeric_dtype(train[name]) and not pd.api.types.is_bool_dtype(train[name]):
            sides = [_numbers(side[name]) for side in (made, test)]
            there = sides[0][~np.isnan(sides[0])]
            middle, spread = (float(np.median(there)), float(there.std()) or 1.0) if len(there) else (0.0, 1.0)
            parts.append(tuple(np.where(np.isnan(s), 0.0, (s - middle) / spread)[:, None] for s in sides))
        else:
            labels = np.array(pd.unique(train[name].dropna().map(_plain))[:100], dtype=object)
            sides = [side[name].map(_plain).to_numpy(dtype=object) for side in (made, test)]
            parts.append(tuple(side[:, None] == labels for side in sides))
    return np.hstack([p[0] for p in parts]).astype(np.float32), np.hstack([p[1] for p in parts]).astype(np.float32)


def _auroc(x: np.ndarray, y: np.ndarray, held: np.ndarray, truth: np.ndarray) -> float:
    """The mean over the classes of the test rows, one against the rest; a class that was not drawn scores a half."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    wanted = [label for label in np.unique(truth) if 0 < (truth == label).sum() < len(truth)]
    wanted = wanted[1:] if len(wanted) == 2 else wanted
    scores: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (LogisticRegression(max_iter=100), HistGradientBoostingClassifier(random_state=0)):
            if len(np.unique(y)) < 2:
                scores.append(0.5)
                continue
            learnt: Any = model.fit(x, y)
            chances, classes = learnt.predict_proba(held), list(learnt.classes_)
            areas = [
                roc_auc_score(truth == label, chances[:, classes.index(label)]) if label in classes else 0.5
                for label in wanted
            ]
            scores.append(float(np.mean(areas)))
    return float(np.mean(scores))


def _r2(x: np.ndarray, y: np.ndarray, held: np.ndarray, truth: np.ndarray) -> float:
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge
    from sklearn.metrics import r2_score

    if len(y) < 2:
        return 0.0
    models = (Ridge(), HistGradientBoostingRegressor(random_state=0))
    return float(np.mean([max(r2_score(truth, model.fit(x, y).predict(held)), -1.0) for model in models]))


def distance(made: Frame, real: Frame) -> float:
    """Total variation on the real deciles, or over categories; missing is a value."""
    missing = abs(float(made.isna().mean()) - float(real.isna().mean()))
    if pd.api.types.is_numeric_dtype(real) and not pd.api.types.is_bool_dtype(real):
        rows = real.dropna().to_numpy(np.float64)
        cuts = np.unique(np.quantile(rows, np.linspace(0, 1, 11)[1:-1], method="inverted_cdf"))
        sides = [numbers[~np.isnan(numbers)] for numbers in (_numbers(made), _numbers(real))]
        counts = [np.bincount(np.searchsorted(cuts, s), minlength=len(cuts) + 1) for s in sides]
    else:
        both: Any = pd.concat([made, real])
        labels = pd.Index(both.dropna().map(_plain).unique())
        counts = [s.dropna().map(_plain).value_counts().reindex(labels).fillna(0).to_numpy() for s in (made, real)]
    shares = [count / max(len(side), 1) for count, side in zip(counts, (made, real), strict=True)]
    return float(0.5 * (np.abs(shares[0] - shares[1]).sum() + missing))


def parts(size: Size, repeats: int) -> list[Part]:
    targets: dict[str, str | None] = {**CLASSES, **NUMBERS, **dict.fromkeys(NO_TARGET)}
    tables = {"pima": targets["pima"], "iris": targets["iris"]} if size == "quick" else targets
    made: list[Part] = []
    for table, target in tables.items():
        ways = [(EPSILON, way) for way in ("none", "declared", "real rows") if way != "real rows" or target]
        ways += [(2.0, "none")] if table == "pima" else []
        for epsilon, way in ways:
            settings = {"table": table, "target": target, "epsilon": epsilon, "schema": way}
            made.append(Part(f"{table}: {way}, epsilon {epsilon:g}", "benchmarks.any_table:measure", settings, repeats))
    return made


KEYS = ("table", "target", "epsilon", "schema")


def summary(runs: Sequence[Row]) -> list[Row]:
    """The mean over repeats."""
    found: list[Row] = []
    for group, mine in grouped(runs, *KEYS).items():
        row: Row = {**dict(zip(KEYS, group, strict=True)), "repeats": len(mine)}
        for name in ("rows", "columns", "seconds", "verified", "not_learnt", "auroc", "r2", "distance"):
            values = [run[name] for run in mine if run.get(name) is not None]
            if values:
                row[name] = float(np.mean(values))
        found.append(row)
    return found


BENCHMARK = Benchmark(
    id="any-table",
    title="One command and no schema, on tables as people have them",
    datasets=_SHIPPED,
    repeats={"quick": 1, "full": 3},
    parts=parts,
    summary=summary,
    notes=(
        "Delta as the command sets it. `verified`: the share of releases whose certificate verifies. `not_learnt`: columns of "
        "which nothing stood out of the noise, which are left empty. `none`: no schema; `declared`: kinds, categories and "
        "generous bounds.",
    ),
)
