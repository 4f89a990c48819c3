"""Rows of a person in their order: whole persons beside rows that are drawn one by one, at the same promise for a person.

Tables with several rows a person from R's survival, as `benchmarks.persons` writes them; a full run reads them from
UNDERSTUDY_TABLES. `pbcseq` has visits, `colon` a recurrence and a death (or neither), `nafld` two tables: persons of `nafld1`,
and the days of `nafld2` on which blood pressure was taken, which more than half of them do not have.

- `visits`: `fit(..., person=..., order=..., constant=...)`, or with `parent=...`.
- `rows`: the same without the order. Its rows belong to nobody: they are dealt to persons by the real numbers of rows, and put in
  order, which is more than a release of rows tells.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from benchmarks import coordinates
from benchmarks.any_table import distance
from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.likeness import declared
from benchmarks.result import Row, grouped
from understudy.errors import UnderstudyWarning
from understudy.methods.moments import MomentsGenerator

DELTA = 1e-5
Frame: TypeAlias = Any
"""A pandas frame."""
EPSILONS = (1.0, 3.0)
WAYS = ("visits", "rows")
MOST_PERSONS = 5000
WHO = "id"


class Source(NamedTuple):
    """A table: its order, the most rows that are taken, what stays the same for a person, and whether that is a table of its own."""

    order: str
    most: int
    constant: tuple[str, ...]
    linked: bool = False


TABLES = {
    "pbcseq": Source("day", 16, ("futime", "status", "trt", "age", "sex")),
    "colon": Source(
        "time", 2,
        ("rx", "sex", "age", "obstruct", "perfor", "adhere", "nodes", "differ", "extent", "surg", "node4"),
    ),
    "nafld": Source("days", 12, ("age", "male", "weight", "height", "bmi", "futime", "status"), linked=True),
}  # fmt: skip


def load(name: str, seed: int) -> tuple[Frame, Frame]:
    """Persons, one row each, and their rows in order; at most `MOST_PERSONS`, drawn at random."""
    source = TABLES[name]
    if source.linked:
        persons: Any = coordinates.load("nafld1")[[WHO, *source.constant]]
        taken: Any = coordinates.load("nafld2")
        taken = taken[taken["test"].isin(["sbp", "dbp"])]
        rows = taken.pivot_table(index=[WHO, source.order], columns="test", values="value").dropna().reset_index()
    else:
        rows: Any = coordinates.load(name).drop(columns=["study"], errors="ignore")
        persons = rows.groupby(WHO, as_index=False)[list(source.constant)].first()
        rows = rows.drop(columns=list(source.constant))
    ids = np.random.default_rng(seed).permutation(persons[WHO])[:MOST_PERSONS]
    rows = rows[rows[WHO].isin(ids)].sort_values([WHO, source.order], kind="stable").reset_index(drop=True)
    rows.columns.name = None
    return persons[persons[WHO].isin(ids)].reset_index(drop=True), rows


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One release in one of the ways, beside the real persons."""
    (seed,), name, way, epsilon = repeats, settings["table"], settings["way"], settings["epsilon"]
    source, (persons, rows) = TABLES[name], load(name, seed)
    flat = rows.merge(persons, on=WHO)
    generator = MomentsGenerator(epsilon, DELTA, random_state=seed, anyway=True)
    who: dict[str, Any] = {"person": WHO, "rows_per_person": source.most}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        if way == "rows":
            drawn = dealt(generator.fit(flat, **who).sample(len(flat), random_state=seed), rows, source, seed)
            each = None
        else:
            linked: dict[str, Any] = {"parent": persons} if source.linked else {"constant": source.constant}
            generator.fit(rows if source.linked else flat, order=source.order, **who, **linked)
            made = generator.sample_tables(len(persons), random_state=seed)
            drawn = made.rows.merge(made.persons, on=WHO)
            each = sizes(made.persons, made.rows)
    found: dict[str, Any] = {"persons": len(persons), "rows": len(rows)}
    if each is not None:
        found["rows_per_person"] = total_variation(sizes(persons, rows).clip(upper=source.most), each)
    real = flat.drop(columns=WHO)
    found["constant"] = constancy(drawn, source)
    found["lag"] = float(np.mean([abs(lag(rows, rows[c]) - lag(drawn, drawn[c])) for c in changing(rows, source)]))
    found["gaps"] = apart(gaps(rows, source), gaps(drawn, source))
    known = declared(real, None)
    return [found | {"distance": distance(drawn.drop(columns=WHO), real, known)}]


def dealt(drawn: Frame, rows: Frame, source: Source, seed: int) -> Frame:
    """Rows that belong to nobody, dealt to persons at random by the real numbers of rows, and put in order."""
    shuffled = drawn.sample(frac=1, random_state=seed).reset_index(drop=True).assign(**{WHO: rows[WHO].to_numpy()})
    return shuffled.sort_values([WHO, source.order], kind="stable").reset_index(drop=True)


def changing(rows: Frame, source: Source) -> list[str]:
    return [str(name) for name in rows.columns if name not in (WHO, source.order)]


def sizes(persons: Frame, rows: Frame) -> Any:
    """How many rows each person has."""
    return rows.groupby(WHO).size().reindex(persons[WHO], fill_value=0)


def total_variation(real: Any, made: Any) -> float:
    """How much of the one distribution of whole numbers lies elsewhere in the other."""
    both = [series.value_counts(normalize=True) for series in (real, made)]
    return float(both[0].sub(both[1], fill_value=0).abs().sum() / 2)


def constancy(rows: Frame, source: Source) -> float:
    """The share of persons with several rows for whom all that should stay the same does."""
    several = rows[rows.groupby(WHO)[WHO].transform("size") > 1]
    if several.empty:
        return 1.0
    return float((several.groupby(WHO)[list(source.constant)].nunique(dropna=False) <= 1).all(axis=1).mean())


def _numbers(column: Any) -> Any:
    read: Any = pd.to_numeric(column, errors="coerce")
    return read.astype(float)


def lag(frame: Frame, column: Any) -> float:
    """The rank correlation of a row's value with that of the person's row before; 0 where one of them never changes."""
    values = _numbers(column)
    before = values.groupby(frame[WHO]).shift(1)
    there = (values.notna() & before.notna()).to_numpy()
    found = before[there].rank().corr(values[there].rank())
    return 0.0 if np.isnan(found) else float(found)


def gaps(frame: Frame, source: Source) -> np.ndarray:
    """What lies between two rows of a person."""
    order = _numbers(frame[source.order])
    return order.groupby(frame[WHO]).diff().dropna().to_numpy()


def apart(real: np.ndarray, made: np.ndarray) -> float:
    """The largest distance of two distribution functions (Kolmogorov and Smirnov)."""
    if not len(made):
        return 1.0
    at = np.concatenate([real, made])
    there = [np.searchsorted(np.sort(values), at, side="right") / len(values) for values in (real, made)]
    return float(np.abs(there[0] - there[1]).max())


def parts(size: Size, repeats: int) -> list[Part]:
    tables, epsilons = (TABLES, EPSILONS) if size == "full" else (("colon",), EPSILONS[:1])
    return [
        Part(f"{table}: {way}, epsilon {epsilon:g}", "benchmarks.visits:measure",
             {"table": table, "way": way, "epsilon": epsilon}, repeats)
        for table in tables for epsilon in epsilons for way in WAYS
    ]  # fmt: skip


KEYS = ("table", "epsilon", "way")
FIGURES = ("rows_per_person", "constant", "lag", "gaps", "distance")


def summary(runs: Sequence[Row]) -> list[Row]:
    """Means and standard deviations over repeats."""
    found: list[Row] = []
    for group, mine in grouped(runs, *KEYS).items():
        row: Row = {**dict(zip(KEYS, group, strict=True)), "most": TABLES[str(group[0])].most, "repeats": len(mine)}
        for name in ("persons", "rows", *FIGURES):
            values = [run[name] for run in mine if run.get(name) is not None]
            if values:
                row[name] = float(np.mean(values))
                if name in FIGURES:
                    row[f"{name}_deviation"] = float(np.std(values))
        found.append(row)
    return found


BENCHMARK = Benchmark(
    id="visits",
    title="Rows of a person in their order",
    datasets=(),
    repeats={"quick": 1, "full": 3},
    parts=parts,
    summary=summary,
    notes=(
        "Delta 1e-5, no schema. `rows_per_person`: total variation of the number of rows. `constant`: share of persons with several "
        "rows for whom everything that stays the same does. `lag`: mean error of the rank correlation of a value with that of the row "
        "before. `gaps`: Kolmogorov-Smirnov distance of the time between two rows. `distance`: the mean distance of the columns' "
        "distributions from the real rows. `rows` are dealt to persons by the real numbers of rows.",
    ),
)
