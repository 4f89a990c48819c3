"""Persons with several rows: a promise for a person beside one for a row, and beside the same promise bought with K times the noise.

Tables with several rows a person: R's survival (`pbcseq`, `colon`, `nafld2`) and lifelines' `dd`, whose rows are the
governments of a country. `python -m benchmarks.persons FOLDER` writes them as CSV files beside those of `benchmarks.coordinates`;
a full run reads them from UNDERSTUDY_TABLES. Three tenths of the persons are held out with all of their rows and judge.

- `person`: `fit(..., person=..., rows_per_person=K)`, each row weighed by its part of one.
- `naive`: at most K rows of a person, each counted whole, with K times the noise: the same promise for a person.
- `row`: the promise is for one row alone; somebody with K rows has a far weaker one. What it gives is no alternative, but shows
  what the better promise costs.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import coordinates
from benchmarks.any_table import distance, judged
from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.likeness import declared
from benchmarks.result import Row, grouped
from understudy.errors import UnderstudyWarning
from understudy.methods.moments import MomentsGenerator
from understudy.methods.moments.plan import multiplier
from understudy.privacy import GaussianEvent, compose
from understudy.tables.persons import Person, gather

DELTA = 1e-5
# Table -> whose a row is, the most rows that are taken (so that hardly any is left out), the target, and columns that only name.
TABLES: dict[str, tuple[str, int, str, tuple[str, ...]]] = {
    "colon": ("id", 2, "status", ("study",)),
    "pbcseq": ("id", 16, "edema", ()),
    "dd": ("ctryname", 40, "democracy", ("cowcode2", "politycode", "ehead", "leaderspellreg", "regime")),
    "nafld2": ("id", 100, "test", ()),
}
WAYS = ("person", "naive", "row", "real rows")
EPSILONS = {"colon": 1.0, "pbcseq": 4.0, "dd": 4.0, "nafld2": 1.0}
MOST_PERSONS = 5000
MOST_TESTED = 10_000
_R = ("pbcseq", "colon", "nafld2")


def export(folder: Path) -> None:
    """Write the tables that R's survival and lifelines hold as CSV files."""
    coordinates.export(folder)
    with tempfile.NamedTemporaryFile("w", suffix=".R") as script:
        script.write("library(survival)\n")
        script.writelines(f'write.csv({name}, "{folder / name}.csv", row.names=FALSE, na="")\n' for name in _R)
        script.flush()
        subprocess.run(["Rscript", script.name], check=False)


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """One release of one table in one of the ways, judged by rows of persons that it never saw."""
    (seed,), name, way, epsilon = repeats, settings["table"], settings["way"], settings["epsilon"]
    who, most, target, names = TABLES[name]
    frame: Any = coordinates.load(name).drop(columns=list(names))
    frame = frame[frame[target].notna()]
    ids = np.random.default_rng(seed).permutation(frame[who].unique())[:MOST_PERSONS]
    frame = frame[frame[who].isin(ids)]
    held = frame[who].isin(ids[: round(0.3 * len(ids))])
    train, test = frame[~held].reset_index(drop=True), frame[held].drop(columns=who).head(MOST_TESTED)
    found: dict[str, Any] = {"persons": train[who].nunique(), "rows": len(train)}
    real, known = train.drop(columns=who), declared(frame.drop(columns=who), target)
    if way == "real rows":
        return [found | dict(judged(real, real, test, known, seed))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        made: Any = _release(train, real, who, most, target, way, epsilon, seed).sample(
            min(len(train), 20_000), random_state=seed
        )
    return [found | dict(judged(made, real, test, known, seed)) | {"distance": distance(made, real, known)}]


def _release(
    train: Any, real: Any, who: str, most: int, target: str, way: str, epsilon: float, seed: int
) -> MomentsGenerator:
    if way == "person":
        return MomentsGenerator(epsilon, DELTA, random_state=seed, anyway=True).fit(
            train, target, person=who, rows_per_person=most
        )
    if way == "row":
        return MomentsGenerator(epsilon, DELTA, random_state=seed, anyway=True).fit(real, target)
    taken, _ = gather(train[who], np.ones(len(train), bool), Person(who, most), seed)
    noisier = compose([GaussianEvent(most * multiplier(epsilon, DELTA))], DELTA).epsilon
    return MomentsGenerator(noisier, DELTA, random_state=seed, anyway=True).fit(real.iloc[taken], target)


def parts(size: Size, repeats: int) -> list[Part]:
    made: list[Part] = []
    for table in TABLES if size == "full" else ["colon"]:
        for way in WAYS:
            settings = {"table": table, "way": way, "epsilon": EPSILONS[table]}
            made.append(Part(f"{table}: {way}", "benchmarks.persons:measure", settings, repeats))
    return made


KEYS = ("table", "epsilon", "way")


def summary(runs: Sequence[Row]) -> list[Row]:
    """Means and standard deviations over repeats."""
    found: list[Row] = []
    for group, mine in grouped(runs, *KEYS).items():
        row: Row = {
            **dict(zip(KEYS, group, strict=True)),
            "rows_per_person": TABLES[str(group[0])][1],
            "repeats": len(mine),
        }
        for name in ("persons", "rows", "auroc", "distance"):
            values = [run[name] for run in mine if run.get(name) is not None]
            if values:
                row[name] = float(np.mean(values))
                if name in ("auroc", "distance"):
                    row[f"{name}_deviation"] = float(np.std(values))
        found.append(row)
    return found


BENCHMARK = Benchmark(
    id="persons",
    title="A promise for persons with several rows",
    datasets=(),
    repeats={"quick": 1, "full": 5},
    parts=parts,
    summary=summary,
    notes=(
        "Delta 1e-5. `auroc`: the mean of five classifiers, learnt from drawn rows, on all rows of persons who were "
        "held out. `distance`: the mean distance of the columns' distributions from the real rows (0 is best). `row` promises for one "
        "row alone; `naive` and `person` make the same promise for a person.",
    ),
)

if __name__ == "__main__":
    export(Path(sys.argv[1]))
