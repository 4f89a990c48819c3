"""Tables as people have them: one command, no schema, and what the rows are worth beside a declared schema.

Each table is written as a CSV file of its learning rows and given to `understudy synthesize FILE --epsilon 1 --out OUT`, with
`--target` where there is one and nothing else. Three tenths of the rows, which the command never saw, judge: AUROC of five
classifiers for a class, R² of three models for a number, learnt from at most 10,000 of as many drawn rows as there were real
ones. Tables without a target are judged by the mean distance of their columns' distributions on public bins (0 is best).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from benchmarks import coordinates
from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.result import Row, grouped
from benchmarks.splits import Split, thinned
from benchmarks.synthetic import frame_scores, means
from understudy import datasets
from understudy.evaluation.features import Featuriser, prepare
from understudy.evaluation.fidelity import fidelity
from understudy.evaluation.numbers import THREE, fit_and_score
from understudy.tables import Column, Schema

Frame: TypeAlias = Any
"""A pandas frame or one of its columns."""
EPSILON = 1.0
MOST_ROWS, MOST_HELD, MOST_JUDGED = 30_000, 10_000, 10_000

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
    schema = declared(name, frame, target)
    found: dict[str, Any] = {"rows": len(train), "columns": frame.shape[1]}
    if settings["schema"] == "real rows":
        return [found | judged(train, train, test, schema, seed)]
    with tempfile.TemporaryDirectory() as folder:
        file, out, drawn = (Path(folder) / f"{what}.csv" for what in ("table", "made", "drawn"))
        train.to_csv(file, index=False)
        options: list[object] = [] if target is None else ["--target", target]
        if settings["schema"] == "declared":
            schema.write(Path(folder) / "schema.yaml")
            options += ["--schema", Path(folder) / "schema.yaml"]
        clock = time.perf_counter()
        said = command("synthesize", file, "--epsilon", settings["epsilon"], "--out", out, *options)
        found["seconds"] = round(time.perf_counter() - clock, 1)
        found["verified"] = float(command("verify", said["release"])["valid"])
        found["not_learnt"] = len(said["not_learnt"])
        command("sample", said["release"], "--rows", len(train), "--out", drawn, "--seed", seed)
        made = pd.read_csv(drawn, low_memory=False)
        return [found | judged(made, train, test, schema, seed)]


def judged(made: Frame, train: Frame, test: Frame, schema: Schema, seed: int) -> Row:
    """What models learn from `made`, on rows of `test`; without a target how far the columns are from the real ones.

    Everything is read by the declared schema: a value that it does not know counts as none.
    """
    target = schema.target
    if target is None:
        return {"distance": distance(made, train, schema)}
    made, features = known(made, schema), Featuriser(schema, target, numbers=True)
    if not features.number:
        if made[target].nunique() < 2:
            return {"auroc": 0.5}
        labels = schema[target].labels
        data = Split(train, test, schema, labels[-1] if len(labels) == 2 else None)
        return means(frame_scores("five", thinned(made, target, MOST_JUDGED, seed), data, seed), ("auroc",))
    rows, held = prepare(features.rows(made), features.rows(test))
    return {"r2": float(np.mean([fit_and_score(model, rows, held, seed).r2 for model in THREE.values()]))}


def known(made: Frame, schema: Schema) -> Frame:
    """Without what the schema does not know: 1, 1.0 and "1" are one value, any other is missing."""

    def plain(value: object) -> str:
        text = str(value).lower()
        return text[:-2] if text.endswith(".0") else text

    read: dict[str, Any] = {}
    for column in schema:
        if column.kind == "boolean":
            words = {"1": True, "true": True, "0": False, "false": False}
        elif column.categories is not None:
            words = {plain(label): label for label in column.labels}
        else:
            continue
        read[column.name] = made[column.name].map(lambda value, words=words: words.get(plain(value)))
    return made.assign(**read)


def distance(made: Frame, real: Frame, schema: Schema) -> float:
    """The mean distance of the columns' distributions on public bins."""
    made, features = known(made, schema), Featuriser(schema, None)
    found = fidelity(real, made, schema, features.rows(real), features.rows(made)).distance_1
    assert found is not None, "there are columns"
    return float(found)


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
