"""What a private description of a table gets right: kinds, bounds, categories and one-way distances, and how fast.

Most tables come from other packages. `python -m benchmarks.coordinates FOLDER` writes them as CSV files, as far as they
are there: statsmodels and lifelines where they can be imported, R's data sets where `Rscript` is there with the packages
MASS, survival, boot and rpart. A full run reads them from the folder that UNDERSTUDY_TABLES names; Pima is a dataset.

The constants of `understudy.tables.coordinates` were chosen on the tables of `CHOSEN_ON` and on Pima. One rule was added
after a first run over all tables: a second round for columns with declared bounds. It was checked on tables of `CHOSEN_ON`,
but figures with a schema are no independent test of it. How far bounds reach past the rows that stand out was then chosen
again on Pima. Peers (`python -m benchmarks.peers.make_env dpmm`, `smartnoise`) look for bounds alone, with all of epsilon.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.methods import DELTA
from benchmarks.peers.make_env import HERE, interpreter
from benchmarks.result import Row, grouped
from understudy import datasets
from understudy.errors import InputError
from understudy.privacy import Budget, GaussianEvent
from understudy.privacy.calibration import smallest_noise
from understudy.tables import Column, Schema
from understudy.tables.coordinates import Coordinates
from understudy.tables.coordinates.cells import factorise
from understudy.tables.coordinates.rows import read_column, write_column

CHOSEN_ON = ("iris", "wine", "diabetes", "boston", "birthwt", "lung", "fair")
REPORTED = (
    "breast_cancer", "randhie", "anes96", "modechoice", "rossi", "gbsg2", "colon", "pbc", "mgus2", "rotterdam", "nwtco",
    "nafld1", "solder", "channing", "survey",
)  # fmt: skip
EPSILONS = (0.1, 1.0, 10.0)
# The share of the precision that a method would give to the description.
SHARE = 0.1
PIMA_RELEASES = 50

_SKLEARN = ("iris", "wine", "diabetes", "breast_cancer")
_STATSMODELS = ("fair", "randhie", "anes96", "modechoice")
_LIFELINES = ("rossi", "gbsg2", "dd")
_R = {
    "MASS": ("Boston", "birthwt", "survey"),
    "survival": ("lung", "colon", "pbc", "mgus2", "rotterdam", "nwtco", "nafld1"),
    "boot": ("channing",),
    "rpart": ("solder",),
}


def export(folder: Path) -> None:
    """Write the tables that other packages hold as CSV files."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import statsmodels.api as sm  # pyright: ignore[reportMissingImports]

        for name in _STATSMODELS:
            getattr(sm.datasets, name).load_pandas().data.to_csv(folder / f"{name}.csv", index=False)
    except ImportError:
        print("statsmodels is not here", file=sys.stderr)
    try:
        import lifelines.datasets  # pyright: ignore[reportMissingImports]

        for name in _LIFELINES:
            getattr(lifelines.datasets, f"load_{name}")().to_csv(folder / f"{name}.csv", index=False)
    except ImportError:
        print("lifelines is not here", file=sys.stderr)
    lines = [
        f'library({package}); write.csv({name}, "{folder / name.lower()}.csv", row.names=FALSE, na="")'
        for package, names in _R.items()
        for name in names
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".R") as script:
        script.write("\n".join(lines))
        script.flush()
        subprocess.run(["Rscript", script.name], check=False)


def load(name: str) -> pd.DataFrame:
    """One table, from scikit-learn or from the folder of those that were exported."""
    if name in _SKLEARN:
        from sklearn import datasets as shipped

        options = {"scaled": False} if name == "diabetes" else {}
        return getattr(shipped, f"load_{name}")(as_frame=True, **options).frame
    path = Path(os.environ.get("UNDERSTUDY_TABLES", "")) / f"{name}.csv"
    if not path.exists():
        raise InputError(
            f"there is no {path}: `python -m benchmarks.coordinates FOLDER` writes the tables; set UNDERSTUDY_TABLES=FOLDER."
        )
    return pd.read_csv(path)


def distance(column: Any, values: pd.Series) -> float:
    """Total variation between rows and description: on the rows' deciles, or over categories; missing is a value."""
    missing = float(values.isna().mean())
    if column.empty:
        return 1.0 - missing
    if column.ordered and not pd.api.types.is_numeric_dtype(values):
        return 1.0
    if column.ordered:
        rows = values.dropna().to_numpy(np.float64)
        cuts = np.unique(np.quantile(rows, np.linspace(0, 1, 11)[1:-1], method="inverted_cdf"))
        levels = (np.arange(20_000) + 0.5) / 20_000
        told = np.asarray(write_column(column.marginal.places(levels), column), dtype=np.float64)
        real = np.bincount(np.searchsorted(cuts, rows), minlength=len(cuts) + 1) / len(values)
        said = np.bincount(np.searchsorted(cuts, told), minlength=len(cuts) + 1) / len(told) * (1 - column.missing)
        return float(0.5 * (np.abs(real - said).sum() + abs(missing - column.missing)))
    codes, _ = factorise(values)
    read = read_column(values, column, np.random.default_rng(0))
    read = read[codes >= 0].astype(np.int64)
    real = np.bincount(read, minlength=len(column.labels)) / len(values)
    said = np.array(column.shares) * (1 - column.missing)
    return float(0.5 * (np.abs(real - said).sum() + abs(missing - column.missing)))


def public_schema(frame: pd.DataFrame) -> Schema:
    """What an owner might write: kinds, categories, and bounds twice as wide as the values."""
    columns = []
    for name in frame.columns:
        values = pd.Series(frame[name]).dropna()
        nullable = len(values) < len(frame)
        if pd.api.types.is_bool_dtype(values):
            columns.append(Column(name, "boolean", nullable=nullable))
        elif not pd.api.types.is_numeric_dtype(values):
            labels = tuple(sorted(values.astype(str).unique()))
            columns.append(Column(name, "categorical", categories=labels, nullable=nullable))
        else:
            low, high = float(values.min()), float(values.max())
            spare = max((high - low) / 2, 1.0)
            low, high = (0.0 if low >= 0 else low - spare), high + spare
            if (values == values.round()).all():
                columns.append(Column(name, "integer", bounds=(int(low), int(high)), nullable=nullable))
            else:
                columns.append(Column(name, "continuous", bounds=(low, high), nullable=nullable))
    return Schema(tuple(columns))


def judged(frame: pd.DataFrame, made: Any) -> dict[str, float]:
    """Averages over the columns of one description."""
    bounds, widths, found = list[float](), list[float](), list[float]()
    for column in made:
        values = pd.Series(frame[column.name]).dropna()
        if column.ordered and pd.api.types.is_numeric_dtype(values):
            low, high = column.bounds
            bounds.append(float(values.between(low - 1e-9, high + 1e-9).mean()))
            widths.append((high - low) / max(float(values.max() - values.min()), 1e-9))
        if not column.ordered and column.kind == "categorical" and column.declared is None:
            known = [str(label) for label in column.labels]
            found.append(float(values.astype(str).isin(known).mean()))
    return {
        "distance": float(np.mean([distance(column, pd.Series(frame[column.name])) for column in made])),
        "inside_bounds": float(np.mean(bounds)) if bounds else float("nan"),
        "width_over_range": float(np.median(widths)) if widths else float("nan"),
        "rows_in_found_categories": float(np.mean(found)) if found else float("nan"),
        "columns_found": float(np.mean([column.found for column in made])),
    }


def describe(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """Releases of one table: with all of epsilon, or with the share of its precision that a method would give."""
    frame, epsilon = load(settings["table"]), settings["epsilon"]
    schema = public_schema(frame) if settings["schema"] else None
    options: dict[str, Any] = {}
    if settings["budget"] == "share":
        whole = smallest_noise(lambda n: [GaussianEvent(n)], epsilon, DELTA, tolerance=1e-3)
        options = {"noise": whole / SHARE**0.5}
    found: list[Measured] = []
    for _ in repeats:
        made = Coordinates.release(frame, schema, Budget(epsilon, DELTA), **options)
        told = {"rows": len(frame), "columns": frame.shape[1], "chosen_on": settings["table"] in CHOSEN_ON}
        found.append({**told, **judged(frame, made)})
    return found


def peer_bounds(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """The bounds that another library finds with all of epsilon, given the kinds, which it reads off the rows."""
    python = interpreter(settings["library"])
    if not python.exists():
        raise InputError(f"run `python -m benchmarks.peers.make_env {settings['library']}` first.")
    frame = load(settings["table"])
    columns = {str(i): pd.Series(frame[name]).dropna() for i, name in enumerate(frame.columns)}
    columns = {i: values for i, values in columns.items() if pd.api.types.is_numeric_dtype(values)}
    with tempfile.TemporaryDirectory() as folder:
        for i, values in columns.items():
            np.save(Path(folder) / f"{i}.npy", values.to_numpy(np.float64))
        worker = [str(python), str(HERE / "domain_worker.py"), settings["library"], folder]
        worker += [str(settings["epsilon"]), str(len(repeats))]
        done = subprocess.run(worker, capture_output=True, text=True, check=True)
    made: list[Measured] = []
    for bounds in json.loads(done.stdout):
        inside, widths = list[float](), list[float]()
        for i, (low, high) in ((i, both) for i, both in bounds.items() if both is not None):
            values = columns[i]
            inside.append(float(values.between(low - 1e-9, high + 1e-9).mean()))
            widths.append((high - low) / max(float(values.max() - values.min()), 1e-9))
        told = {"rows": len(frame), "columns": frame.shape[1], "chosen_on": False}
        told |= {"inside_bounds": float(np.mean(inside)) if inside else float("nan")}
        told |= {"width_over_range": float(np.median(widths)) if widths else float("nan")}
        made.append({**told, "columns_found": len(inside) / max(len(columns), 1)})
    return made


def describe_pima(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """How often all of Pima's columns come out right at epsilon 1, or a share of it."""
    del repeats
    table: Any = datasets.load("pima")
    frame = table.frame
    epsilon = 1.0 if settings["budget"] == "describe" else SHARE
    fine = ("BMI", "DiabetesPedigreeFunction")
    found: list[dict[str, float]] = []
    for _ in range(settings["releases"]):
        made = Coordinates.release(frame, None, Budget(1.0, 1e-6), epsilon=epsilon, target="Outcome")
        kinds, good, distances = list[bool](), list[bool](), list[float]()
        for column in made:
            values = frame[column.name].astype(np.float64)
            if column.name == "Outcome":
                right, fits = column.labels == (0, 1), True
            else:
                right = column.kind == "number" and (column.step >= 1) == (column.name not in fine)
                low, high = column.bounds
                inside = values.between(low - 1e-9, high + 1e-9).mean()
                fits = inside >= 0.95 and high - low <= 4 * (values.max() - values.min())
            kinds.append(bool(right))
            good.append(bool(right and fits))
            distances.append(distance(column, values))
        right = {"columns_right_in_kind": float(np.mean(kinds)), "columns_right": float(np.mean(good))}
        found.append({"distance": float(np.mean(distances)), **right, "tables_all_right": float(all(good))})
    told = {"rows": len(frame), "columns": frame.shape[1], "chosen_on": True}
    return [{**told, **{name: float(np.mean([one[name] for one in found])) for name in found[0]}}]


def speed(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """Many rows of twenty typed columns: seconds of the clock and of the processor for each step."""
    rows, rng = settings["table_rows"], np.random.default_rng(repeats[0])
    data: dict[str, Any] = {f"x{i}": rng.normal(size=rows) * 10.0 ** (i - 3) for i in range(8)}
    data |= {f"k{i}": rng.poisson(3.0**i, rows) for i in range(5)}
    data["amount"] = np.where(rng.random(rows) < 0.5, 0, rng.lognormal(5, 2, rows)).round(2)
    data["age"] = np.where(rng.random(rows) < 0.1, np.nan, rng.integers(18, 95, rows))
    data["flag"] = rng.random(rows) < 0.1
    data["when"] = np.datetime64("2019-01-01") + rng.integers(0, 10**8, rows).astype("timedelta64[s]")
    for place, levels in enumerate((5, 300, 20_000)):
        names = np.array([f"v{i}" for i in range(levels)], dtype=object)[rng.zipf(1.5, rows) % levels]
        data[f"c{place}"] = pd.Series(names, dtype="str" if place == 1 else "category")
    frame = pd.DataFrame(data)
    Coordinates.release(frame.head(1000), None, Budget(1.0, 1e-6))  # imports
    found: dict[str, float] = {"rows": rows, "columns": frame.shape[1]}

    def timed(step: str, work: Callable[[], Any]) -> Any:
        clock, processor = time.perf_counter(), time.process_time()
        result = work()
        found[f"{step}_seconds"] = round(time.perf_counter() - clock, 2)
        found[f"{step}_processor_seconds"] = round(time.process_time() - processor, 2)
        return result

    made = timed("release", lambda: Coordinates.release(frame, None, Budget(1.0, 1e-6)))
    timed("ranks", lambda: made.ranks(frame, rng))
    timed("codes", lambda: made.codes(frame, rng))
    return [found]


def parts(size: Size, repeats: int) -> list[Part]:
    quick = size == "quick"
    tables = CHOSEN_ON[:1] if quick else (*REPORTED, *CHOSEN_ON)
    made: list[Part] = []
    for table in tables:
        for budget in ("describe", "share"):
            for epsilon in EPSILONS:
                for schema in (False, True):
                    settings = {
                        "part": "tables",
                        "table": table,
                        "budget": budget,
                        "epsilon": epsilon,
                        "schema": schema,
                    }
                    said = f"{table}: {budget}, epsilon {epsilon:g}" + (", with a schema" if schema else "")
                    made.append(Part(said, "benchmarks.coordinates:describe", settings, repeats))
    if quick:
        return made[:2]
    for budget in ("describe", "share"):
        settings = {"part": "pima", "table": "pima", "budget": budget, "epsilon": 1.0, "schema": False}
        settings |= {"releases": PIMA_RELEASES}
        made.append(Part(f"pima: {budget}", "benchmarks.coordinates:describe_pima", settings, 1))
    for library in ("dpmm", "smartnoise"):
        for table in REPORTED:
            for epsilon in EPSILONS:
                settings = {"part": "peer", "table": table, "budget": library, "epsilon": epsilon, "schema": False}
                settings |= {"library": library}
                said = f"{table}: bounds by {library}, epsilon {epsilon:g}"
                made.append(Part(said, "benchmarks.coordinates:peer_bounds", settings, repeats))
    timed = {"part": "speed", "table": "made up", "table_rows": 10**6}
    return [*made, Part("speed", "benchmarks.coordinates:speed", timed, 1)]


KEYS = ("part", "table", "budget", "epsilon", "schema")


def summary(runs: Sequence[Row]) -> list[Row]:
    """The mean over releases."""
    found: list[Row] = []
    for group, mine in grouped(runs, *KEYS).items():
        row: Row = {**dict(zip(KEYS, group, strict=True)), "releases": sum(run.get("releases") or 1 for run in mine)}
        for name in dict.fromkeys(name for run in mine for name in run):
            values = [run[name] for run in mine if run.get(name) is not None]
            if name not in (*KEYS, "seed", "releases") and values:
                row[name] = values[0] if isinstance(values[0], bool | str) else float(np.mean(values))
        found.append(row)
    return found


BENCHMARK = Benchmark(
    id="coordinates",
    title="What a private description of a table gets right, on 22 tables and Pima",
    datasets=("pima",),
    repeats={"quick": 1, "full": 3},
    parts=parts,
    summary=summary,
    notes=(
        "Delta 1e-5 (Pima: 1e-6). `distance` is the total variation between rows and description on the rows' deciles or "
        "categories, averaged over columns. `share` gives the description a tenth of the precision. `older` is the search "
        "column by column at the same price. Tables that constants were chosen on say so.",
    ),
)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    export(Path(sys.argv[1]))
