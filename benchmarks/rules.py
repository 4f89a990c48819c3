"""Rows that can be true: how many synthetic rows keep what holds in every real one, without rules and with them.

Each table is learnt at one epsilon by `moments`, twice with the same seed: as it is, and with its rules said. Three tenths of
the rows, which no release saw, judge AUROC as in `any_table`; the distance is the mean over all columns. Real tables: adult
(a number that follows from a category), rotterdam (times of relapse and death, from survival), rhdnase (a trial with dates of
entry and end, from survival, with the columns that exports add: its length in days and the month of entry). `stays` is made
up (`docs/examples/stays.py`). Rules are asked of files that were written and read again.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import any_table, coordinates, likeness
from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.result import Row, grouped
from understudy import MomentsGenerator, datasets
from understudy.errors import UnderstudyWarning
from understudy.release.preflight import safe_delta
from understudy.tables import Schema
from understudy.tables.rules import parse_rules
from understudy.tables.rules.counting import broken_rows

EPSILON = 1.0
DATES = {"stays": ("admission", "discharge"), "rhdnase": ("entry", "end")}
TARGETS = {"stays": "readmitted", "adult": "income", "rotterdam": "death", "rhdnase": "relapse"}
RULES: dict[str, tuple[str, ...]] = {
    "stays": (
        "discharge >= admission",
        "month == month(admission)",
        "tests == labs + scans",
        'if sex == "male" then pregnant == "no"',
        "zip determines city",
    ),
    "adult": ("education determines education_num", 'if relationship == "Husband" then sex == "Male"'),
    "rotterdam": ("dtime >= rtime",),
    "rhdnase": ("end >= entry", "days == end - entry", "month == month(entry)"),
}


def load(name: str) -> Any:
    """One table, dates as dates."""
    if name == "stays":
        frame = _run_example("stays")
    elif name == "rhdnase":
        frame = _rhdnase()
    elif name == "adult":
        return any_table.load(name).head(10_000)
    else:
        frame = coordinates.load(name).drop(columns="pid")
    for column in DATES.get(name, ()):
        frame[column] = pd.to_datetime(frame[column])
    return frame


def public_schema(name: str) -> Schema | None:
    """What an owner would say of the table: adult's own schema, and in which years a trial or a period lay."""
    if name == "adult":
        return datasets.schema(name).with_target(TARGETS[name])
    periods = {"stays": ("2019-01-01", "2022-03-31"), "rhdnase": ("1992-01-01", "1993-06-30")}
    if name not in periods:
        return None
    dates: list[Any] = [{"name": date, "kind": "datetime", "bounds": list(periods[name])} for date in DATES[name]]
    return Schema.from_dict({"version": 1, "columns": dates})


def _run_example(name: str) -> Any:
    file = Path(__file__).parents[1] / "docs" / "examples" / f"{name}.py"
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.chdir(folder)
            return runpy.run_path(str(file))["frame"]
        finally:
            os.chdir(here)


def _rhdnase() -> Any:
    """R's survival holds it; `Rscript` must be there."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rhdnase.csv"
        script = f'library(survival); write.csv(rhDNase, "{file}", row.names=FALSE, na="")'
        subprocess.run(["Rscript", "-e", script], check=True, capture_output=True)
        read = pd.read_csv(file, parse_dates=["entry.dt", "end.dt"])
    entry, end = read["entry.dt"], read["end.dt"]
    return pd.DataFrame(
        {
            "treated": read["trt"],
            "entry": entry,
            "end": end,
            "days": (end - entry).dt.days,
            "month": entry.dt.month,
            "fev": read["fev"],
            "relapse": np.where(read["ivstart"].notna(), "yes", "no"),
        }
    )


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One release of one table, with its rules or without."""
    (seed,), name = repeats, settings["table"]
    frame, target = load(name), TARGETS[name]
    order = np.random.default_rng(seed).permutation(len(frame))
    held = round(0.3 * len(frame))
    test, train = (frame.iloc[part].reset_index(drop=True) for part in (order[:held], order[held:]))
    rules = parse_rules(list(RULES[name]))
    schema = public_schema(name)
    found: dict[str, Any] = {
        "rows": len(train),
        "columns": frame.shape[1],
        "real_broken": max(broken_rows(train, schema, rules)) / len(train),
    }
    if settings["way"] == "real rows":
        made = train
    else:
        generator = MomentsGenerator(
            EPSILON, safe_delta(len(train)), random_state=seed, unsafe_noise_seed=seed, anyway=True
        )
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("ignore", UnderstudyWarning)
            generator.fit(train, target, schema, rules=rules if settings["way"] == "rules" else ())
            drawn = generator.sample_to(Path(folder) / "made.csv", len(train), random_state=seed)
            made = pd.read_csv(Path(folder) / "made.csv", parse_dates=list(DATES.get(name, ())))
        found["drawn_again"] = drawn.drawn_again
    made, test, train = (_numbered(side, name) for side in (made, test, train))
    agree = [1 - count / len(made) for count in _broken(made, name)]
    known = likeness.declared(_numbered(frame, name), target)
    return [
        found
        | {"agree": float(np.mean(agree)), "worst_rule": min(agree), "distance": any_table.distance(made, train, known)}
        | any_table.judged(made, train, test, known, seed)
    ]


def _numbered(frame: Any, name: str) -> Any:
    """Dates as days since 1970, for the judges."""
    days = {column: (frame[column] - pd.Timestamp(0)) / pd.Timedelta(days=1) for column in DATES.get(name, ())}
    return frame.assign(**days)


def _broken(made: Any, name: str) -> list[int]:
    dates = {column: pd.Timestamp(0) + pd.to_timedelta(made[column], unit="D") for column in DATES.get(name, ())}
    return broken_rows(made.assign(**dates), None, parse_rules(list(RULES[name])))


def parts(size: Size, repeats: int) -> list[Part]:
    tables = ("stays",) if size == "quick" else tuple(RULES)
    return [
        Part(
            f"{table}: {way}",
            "benchmarks.rules:measure",
            {"table": table, "way": way},
            1 if way == "real rows" else repeats,
        )
        for table in tables
        for way in ("none", "rules", "real rows")
    ]


def summary(runs: Sequence[Row]) -> list[Row]:
    """The mean over repeats."""
    made: list[Row] = []
    for (table, way), mine in grouped(runs, "table", "way").items():
        row: Row = {"table": table, "way": way, "repeats": len(mine)}
        for name in ("rows", "columns", "agree", "worst_rule", "drawn_again", "auroc", "distance"):
            values = [run[name] for run in mine if run.get(name) is not None]
            if values:
                row[name] = float(np.mean(values))
        made.append(row)
    return made


BENCHMARK = Benchmark(
    id="rules",
    title="Rows that can be true: with rules and without",
    datasets=("adult",),
    repeats={"quick": 1, "full": 3},
    parts=parts,
    summary=summary,
    notes=(
        "`agree`: the share of written rows that keep a rule, mean over the rules; `worst_rule`: of the rule that most rows "
        "break. `drawn_again`: the share of drawn rows that broke a rule and were replaced. `distance`: total variation of a "
        "column on the real deciles, mean over the columns. Epsilon 1; the noise is seeded, so that both ways are compared on "
        "like draws.",
    ),
)
