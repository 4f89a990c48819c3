"""A finished run as JSON that says how it was made: tables with one line a row, which are read back as dictionaries.

`rows` and `measured` are means with intervals, where a benchmark has a paper's numbers to stand beside; `runs` is every run,
where it has none, and `summary` what is made of them. `parts` says what was run with which settings.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.declare import Benchmark, Measured, Quote
from understudy.errors import InputError
from understudy.files import write_text

FORMAT = 2
RESULTS = Path(__file__).parent / "results"
Row = dict[str, Any]
_DIGITS = 5
# Scores that lie between 0 and 1, and so does what their mean may be.
_SHARES = ("AUROC", "AUPRC", "F1", "SRA", "agreement")


@dataclass
class Results:
    """What one benchmark found. `facts` are the columns of `runs` that say what was run: two rows that agree in all are one."""

    about: dict[str, Any]
    tables: dict[str, list[Row]] = field(default_factory=dict)
    facts: tuple[str, ...] = ()

    def table(self, name: str) -> list[Row]:
        return self.tables.get(name, [])

    def by_table(self) -> dict[str, list[Row]]:
        """The rows of each of the paper's tables, in the order in which they were declared."""
        return {table: rows for (table,), rows in grouped(self.table("rows"), "table").items()}

    def measured(self, part: str, name: str) -> Row:
        """Mean, interval and spread of one measurement."""
        return next(select(self.table("measured"), part=part, name=name))

    def has(self, part: str, name: str) -> bool:
        return any(True for _ in select(self.table("measured"), part=part, name=name))

    def settings(self, part: str) -> Mapping[str, Any]:
        return next(select(self.table("parts"), name=part))["settings"]

    def identity(self, row: Mapping[str, Any]) -> str:
        return json.dumps([row.get(name) for name in self.facts])

    def body(self) -> dict[str, Any]:
        """As plain data, for `--json`."""
        return {**self.about, **self.tables}

    def to_json(self) -> str:
        """One row a line: results are kept under version control, where lines are compared."""
        head = json.dumps({"format": FORMAT, **self.about}, indent=1, ensure_ascii=False)[:-2]
        texts = [head]
        for name, rows in self.tables.items():
            columns = list(dict.fromkeys(column for row in rows for column in row))
            lines = ",\n".join("  " + _line([row.get(column) for column in columns]) for row in rows)
            facts = f'"facts":{_line(self.facts)},' if name == "runs" else ""
            texts.append(f' "{name}": {{{facts}"columns":{_line(columns)},"rows":[\n{lines}\n ]}}')
        return ",\n".join(texts) + "\n}\n"

    def write(self, path: str | Path) -> None:
        write_text(Path(path), self.to_json())


def _line(cells: Iterable[Any]) -> str:
    """Nothing at the end of a row is left out."""
    kept = list(cells)
    while kept and kept[-1] is None:
        kept.pop()
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


def select(rows: Iterable[Row], /, **wanted: Any) -> Iterator[Row]:
    """The rows that have these values."""
    return (row for row in rows if all(row.get(name) == value for name, value in wanted.items()))


def grouped(rows: Iterable[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    """The rows that agree in these columns, together."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in keys), []).append(row)
    return groups


def number(value: float | None, large: str = ",.0f") -> str:
    """As people read it: three places after the point, one of per cents, fewer where it is large."""
    if value is None:
        return ""
    part = value != round(value)
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) <= 100 and part else f"{value:{large}}"


def brief(value: float | None) -> str:
    return number(value, ".1f")


def result_path(folder: str | Path, benchmark: str, size: str) -> Path:
    return Path(folder) / f"{benchmark}-{size}.json"


def read(path: str | Path) -> Results:
    """A result that a run wrote."""
    source = Path(path)
    try:
        body = json.loads(source.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"there is no {source}: make it with `python -m benchmarks run`, or name its folder."
        ) from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"cannot read {source} as a result: {error}.") from None
    if not isinstance(body, dict) or not {"format", "benchmark", "command"} <= set(body):
        raise InputError(f"{source} is JSON, but not the result of a benchmark.")
    if body.pop("format") != FORMAT:
        raise InputError(
            f"{source} has another format than {FORMAT}, which this version reads. Run the benchmark again."
        )
    stored = {name: value for name, value in body.items() if isinstance(value, dict) and "columns" in value}
    tables = {
        name: [dict(zip_longest(table["columns"], row)) for row in table["rows"]] for name, table in stored.items()
    }
    about = {name: value for name, value in body.items() if name not in stored}
    return Results(about, tables, tuple(stored.get("runs", {}).get("facts", ())))


def merge(parts: Sequence[Results], benchmark: Benchmark | None = None) -> Results:
    """Several results of one benchmark as one: what stands first counts. Each command is kept with its machine."""
    first = parts[0]
    for other in parts[1:]:
        if (other.about["benchmark"], other.about["size"]) != (first.about["benchmark"], first.about["size"]):
            raise InputError(
                f"{first.about['benchmark']} and {other.about['benchmark']} are not one benchmark and size."
            )
    facts = tuple(dict.fromkeys(name for part in parts for name in part.facts))
    merged = Results({**first.about, "made_by": _made_by(parts)}, {}, facts)
    runs: list[Row] = []
    for part in parts:
        known = {merged.identity(row) for row in runs}
        runs += [row for row in part.table("runs") if merged.identity(row) not in known]
    seen = [part for result in parts for part in result.table("parts")]
    merged.tables = {"parts": list({part["name"]: part for part in reversed(seen)}.values())[::-1]}
    if runs:
        merged.tables["runs"] = runs
        if benchmark is not None and benchmark.summary is not None:
            merged.tables["summary"] = list(benchmark.summary(runs))
        return merged
    named = {row["part"]: place for place, part in reversed(list(enumerate(parts))) for row in part.table("measured")}
    merged.tables["measured"] = [
        row for place, part in enumerate(parts) for row in part.table("measured") if named[row["part"]] == place
    ]
    if benchmark is not None:
        merged.tables["rows"] = quoted(benchmark, merged.table("measured"), merged.about.get("lacking", {}))
    else:
        rows = [row for part in reversed(parts) for row in part.table("rows")]
        merged.tables["rows"] = list({(row["table"], row["row"], row["metric"]): row for row in rows}.values())
    return merged


def _made_by(parts: Sequence[Results]) -> list[Row]:
    """Each command once, with its machine and versions where they are not those of the whole."""
    about = parts[0].about
    found: dict[str, Row] = {}
    for part in parts:
        own = {name: part.about[name] for name in ("command", "created", "machine", "versions") if name in part.about}
        for one in part.about.get("made_by", [own]):
            kept = {k: v for k, v in one.items() if k not in ("machine", "versions") or v != about.get(k)}
            found.setdefault(json.dumps(kept), kept)
    return list(found.values())


def summary(values: Sequence[float | list[float]]) -> Row:
    """Mean, its 95 % interval, and the range that holds 95 % of single repeats; elementwise for curves.

    The interval is Student's, over repeats. Repeats are random splits of one table: it says how well the mean over such
    splits is known, not how the method would do on other patients.
    """
    array = np.asarray(values, dtype=float)
    n = len(array)
    mean = array.mean(axis=0)
    half = half_width(array) if n > 1 else np.full(array.shape[1:], math.nan)
    ends = np.quantile(array, [0.025, 0.975], axis=0)
    found = {"mean": mean, "low": mean - half, "high": mean + half, "run_low": ends[0], "run_high": ends[1]}
    return {name: _plain(value) for name, value in found.items()} | {"repeats": n}


def half_width(array: np.ndarray) -> Any:
    """Half of Student's 95 % interval of the mean over the first axis."""
    from scipy import stats

    n = len(array)
    return float(stats.t.ppf(0.975, n - 1)) / math.sqrt(n) * array.std(axis=0, ddof=1)


def summaries(measured: Mapping[str, Sequence[Measured]]) -> list[Row]:
    """The summary of every measurement of every part."""
    return [
        {"part": part, "name": name, **summary([one[name] for one in repeats])}
        for part, repeats in measured.items()
        for name in repeats[0]
    ]


def quoted(benchmark: Benchmark, measured: Sequence[Row], lacking: Mapping[str, str]) -> list[Row]:
    """One row for each quote that was measured, or that should have been; what this size leaves out has none."""
    parts: dict[str, dict[str, Row]] = {}
    for one in measured:
        parts.setdefault(one["part"], {})[one["name"]] = one
    found: list[Row] = []
    for quote in benchmark.quotes:
        known = parts.get(quote.part)
        if known is not None and quote.key in known:
            found.append(_quoted(quote, known))
        elif quote.part in lacking and known is None:
            found.append(_quoted(quote, {}))
        else:
            continue
        if quote.part in lacking:
            found[-1]["note"] = lacking[quote.part]
    return found


def _quoted(quote: Quote, found: Mapping[str, Row]) -> Row:
    row: Row = {"table": quote.table, "row": quote.row, "metric": quote.metric, "paper": quote.paper}
    empty = dict.fromkeys(("mean", "low", "high", "run_low", "run_high")) | {"repeats": 0}
    row |= {name: value for name, value in found.get(quote.key, empty).items() if name not in ("part", "name")}
    if quote.metric in _SHARES and row["low"] is not None:
        row |= {"low": max(row["low"], 0.0), "high": min(row["high"], 1.0)}
    if found and (quote.paper_epsilon is not None or quote.epsilon is not None):
        row["paper_epsilon"] = quote.paper_epsilon
        row["epsilon"] = found[quote.epsilon]["mean"] if quote.epsilon else None
        row["data_dependent"] = found[quote.data_dependent]["mean"] if quote.data_dependent else None
    return row | ({} if quote.unsafe is None else {"unsafe": quote.unsafe})


def short(value: Any) -> Any:
    """A run's numbers with the five digits that they can carry, and null where there is none."""
    if isinstance(value, Mapping):
        return {name: short(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [short(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value


def _plain(value: Any) -> Any:
    """Numbers rounded to what a mean over repeats can carry, and null where there is none: JSON has no NaN."""
    if isinstance(value, np.ndarray) and value.ndim:
        return [_plain(v) for v in value]
    number = float(value)
    return round(number, _DIGITS) if math.isfinite(number) else None
