"""What a private description of a table gets right: kinds, bounds, categories and one-way distances, and how fast.

    python benchmarks/coordinates.py export FOLDER   writes the tables that need other packages (statsmodels, lifelines, R)
    python benchmarks/coordinates.py run FOLDER      measures all tables; results in benchmarks/results/coordinates.json

`export` takes what it finds: statsmodels and lifelines where they can be imported, R's data sets where `Rscript` is there
with the packages MASS, survival, boot and rpart. The constants of `understudy.tables.coordinates` were chosen on the
tables of `CHOSEN_ON` and on Pima. One rule was added after a first run over all tables: a second round for columns with
declared bounds. It was checked on tables of `CHOSEN_ON`, but figures with a schema are no independent test of it.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

CHOSEN_ON = ("iris", "wine", "diabetes", "boston", "birthwt", "lung", "fair")
REPORTED = (
    "breast_cancer", "randhie", "anes96", "modechoice", "rossi", "gbsg2", "colon", "pbc", "mgus2", "rotterdam", "nwtco",
    "nafld1", "solder", "channing", "survey",
)  # fmt: skip
EPSILONS = (0.1, 1.0, 10.0)
DELTA = 1e-5
SHARE = 0.1
SEEDS = 3
RESULTS = Path(__file__).parent / "results" / "coordinates.json"

_SKLEARN = ("iris", "wine", "diabetes", "breast_cancer")
_STATSMODELS = ("fair", "randhie", "anes96", "modechoice")
_LIFELINES = ("rossi", "gbsg2")
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
        import statsmodels.api as sm

        for name in _STATSMODELS:
            getattr(sm.datasets, name).load_pandas().data.to_csv(folder / f"{name}.csv", index=False)
    except ImportError:
        print("statsmodels is not here", file=sys.stderr)
    try:
        import lifelines.datasets

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


def load(name: str, folder: Path) -> pd.DataFrame | None:
    """One table; None where it was not exported."""
    if name in _SKLEARN:
        from sklearn import datasets

        options = {"scaled": False} if name == "diabetes" else {}
        return getattr(datasets, f"load_{name}")(as_frame=True, **options).frame
    path = folder / f"{name}.csv"
    return pd.read_csv(path) if path.exists() else None


def distance(column: Any, values: pd.Series) -> float:
    """Total variation between rows and description: on the rows' deciles, or over categories; missing is a value."""
    from understudy.tables.coordinates.cells import factorise
    from understudy.tables.coordinates.rows import read_column, write_column

    missing = float(values.isna().mean())
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


def public_schema(frame: pd.DataFrame) -> Any:
    """What an owner might write: kinds, categories, and bounds twice as wide as the values."""
    from understudy.tables import Column, Schema

    columns = []
    for name in frame.columns:
        values = frame[name].dropna()
        nullable = bool(frame[name].isna().any())
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


def measure(frame: pd.DataFrame, made: Any) -> dict[str, float]:
    """Averages over the columns of one description."""
    bounds, widths, found = [], [], []
    for column in made:
        values = frame[column.name].dropna()
        if column.ordered and pd.api.types.is_numeric_dtype(values):
            low, high = column.bounds
            bounds.append(float(values.between(low - 1e-9, high + 1e-9).mean()))
            widths.append((high - low) / max(float(values.max() - values.min()), 1e-9))
        if not column.ordered and column.kind == "categorical" and column.declared is None:
            known = {str(label) for label in column.labels}
            found.append(float(values.astype(str).isin(known).mean()))
    return {
        "distance": float(np.mean([distance(column, frame[column.name]) for column in made])),
        "inside_bounds": float(np.mean(bounds)) if bounds else float("nan"),
        "width_over_range": float(np.median(widths)) if widths else float("nan"),
        "rows_in_found_categories": float(np.mean(found)) if found else float("nan"),
        "columns_found": float(np.mean([column.found for column in made])),
    }


def column_by_column(frame: pd.DataFrame, epsilon: float) -> dict[str, float]:
    """The older search for bounds and categories, one column at a time, at the same price."""
    from understudy.errors import InputError
    from understudy.privacy import Budget
    from understudy.tables import Schema, estimate_schema

    try:
        draft = Schema.draft(frame)
        made = estimate_schema(frame, draft, Budget(epsilon, DELTA), epsilon, DELTA)
    except InputError:
        return {"older_columns_found": 0.0, "older_inside_bounds": float("nan")}
    inside = [
        float(frame[column.name].dropna().between(*column.number_bounds).mean())
        for column in made
        if column.bounds is not None and pd.api.types.is_numeric_dtype(frame[column.name])
    ]
    return {
        "older_columns_found": 1 - len(made.missing()) / len(made),
        "older_inside_bounds": float(np.mean(inside)) if inside else float("nan"),
    }


def settings() -> Iterator[tuple[str, float, float]]:
    for epsilon in EPSILONS:
        yield "describe", epsilon, 1.0
        yield "share", epsilon, SHARE


def describe_tables(folder: Path) -> list[dict[str, Any]]:
    from understudy.privacy import Budget, GaussianEvent
    from understudy.privacy.calibration import smallest_noise
    from understudy.tables.coordinates import Coordinates

    results: list[dict[str, Any]] = []
    for name in (*REPORTED, *CHOSEN_ON):
        frame = load(name, folder)
        if frame is None:
            print(f"{name}: not here", file=sys.stderr)
            continue
        for kind, epsilon, share in settings():
            whole = smallest_noise(lambda n: [GaussianEvent(n)], epsilon, DELTA, tolerance=1e-3)
            for schema in (None, public_schema(frame)):
                runs = []
                for _ in range(SEEDS):
                    options = {} if share == 1 else {"noise": whole / share**0.5}
                    made = Coordinates.release(frame, schema, Budget(epsilon, DELTA), **options)
                    older = column_by_column(frame, epsilon) if share == 1 and schema is None else {}
                    runs.append(measure(frame, made) | older)
                results.append(
                    {
                        "table": name,
                        "rows": len(frame),
                        "columns": frame.shape[1],
                        "chosen_on": name in CHOSEN_ON,
                        "budget": kind,
                        "epsilon": epsilon,
                        "schema": schema is not None,
                        **{key: float(np.mean([run[key] for run in runs])) for key in runs[0]},
                    }
                )
        print(name, flush=True)
    return results


def describe_pima(releases: int = 50) -> dict[str, Any]:
    """How often all of Pima's columns come out right at epsilon 1, and a share of it."""
    from understudy.privacy import Budget
    from understudy.tables.coordinates import Coordinates

    frame = pd.read_parquet(Path(os.environ["UNDERSTUDY_DATA"]) / "pima.parquet")
    steps = {"BMI": 0.1, "DiabetesPedigreeFunction": 0.001}
    found: dict[str, Any] = {"releases": releases}
    for part, epsilon in (("describe", 1.0), ("share", SHARE)):
        columns = tables = kinds = 0
        distances: list[float] = []
        for _ in range(releases):
            made = Coordinates.release(frame, None, Budget(1.0, 1e-6), epsilon=epsilon, target="Outcome")
            good = []
            for column in made:
                values = frame[column.name].astype(np.float64)
                if column.name == "Outcome":
                    right, fits = column.labels == (0, 1), True
                else:
                    right = column.kind == "number" and (column.step >= 1) == (column.name not in steps)
                    low, high = column.bounds
                    inside = values.between(low - 1e-9, high + 1e-9).mean()
                    fits = inside >= 0.95 and high - low <= 4 * (values.max() - values.min())
                good.append(bool(right and fits))
                kinds += bool(right)
                distances.append(distance(column, values))
            columns += sum(good)
            tables += all(good)
        found[part] = {
            "epsilon": epsilon,
            "columns_right_in_kind": kinds / releases / frame.shape[1],
            "columns_right": columns / releases / frame.shape[1],
            "tables_all_right": tables / releases,
            "distance": float(np.mean(distances)),
        }
    return found


def speed(rows: int = 10**6) -> dict[str, float]:
    """A million rows of twenty typed columns: seconds of the clock and of the processor for each step."""
    from understudy.privacy import Budget
    from understudy.tables.coordinates import Coordinates

    rng = np.random.default_rng(0)
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
    return found


def main(arguments: list[str]) -> None:
    if len(arguments) != 2 or arguments[0] not in ("export", "run"):
        raise SystemExit(__doc__)
    folder = Path(arguments[1])
    if arguments[0] == "export":
        export(folder)
        return
    found = {
        "command": "python benchmarks/coordinates.py run FOLDER",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f} at the start",
        "delta": DELTA,
        "share": SHARE,
        "seeds": SEEDS,
        "speed": speed(),
        "pima": describe_pima(),
        "tables": describe_tables(folder),
    }
    plain = json.loads(json.dumps(found), parse_constant=lambda _: None)
    RESULTS.write_text(json.dumps(plain, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
