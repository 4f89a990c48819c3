"""A finished run: means with intervals beside the paper's numbers, as JSON that says how it was made."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy.benchmarks.declare import Benchmark, Measured, Quote
from understudy.errors import InputError

FORMAT = 1
_DIGITS = 5
# Scores that lie between 0 and 1, and so does what their mean may be.
_SHARES = ("AUROC", "AUPRC", "F1", "SRA", "agreement")


@dataclass(frozen=True)
class Result:
    """The JSON of a run, with names for what is read most."""

    body: Mapping[str, Any]

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        return self.body["rows"]

    def tables(self) -> dict[str, list[Mapping[str, Any]]]:
        """The rows of each table, in the order in which they were declared."""
        tables: dict[str, list[Mapping[str, Any]]] = {}
        for row in self.rows:
            tables.setdefault(row["table"], []).append(row)
        return tables

    def measured(self, part: str, name: str) -> Mapping[str, Any]:
        """Mean, interval and spread of one measurement."""
        return self.body["measured"][part][name]

    def has(self, part: str, name: str) -> bool:
        return name in self.body["measured"].get(part, {})

    def to_json(self) -> str:
        """One measurement a line: results are kept under version control, where lines are compared."""
        rest = {k: v for k, v in self.body.items() if k not in ("rows", "measured")}
        head = json.dumps(rest, indent=2, ensure_ascii=False)[:-2]
        rows = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in self.rows)
        parts = ",\n".join(
            f"    {json.dumps(part)}: {{\n"
            + ",\n".join(f"      {json.dumps(name)}: {json.dumps(value)}" for name, value in names.items())
            + "\n    }"
            for part, names in self.body["measured"].items()
        )
        return f'{head},\n  "rows": [\n{rows}\n  ],\n  "measured": {{\n{parts}\n  }}\n}}\n'


def summary(values: Sequence[float | list[float]]) -> dict[str, Any]:
    """Mean, its 95 % interval, and the range that holds 95 % of single repeats; elementwise for curves.

    The interval is Student's, over repeats. Repeats are random splits of one table: it says how well the mean over such
    splits is known, not how the method would do on other patients.
    """
    from scipy import stats

    array = np.asarray(values, dtype=float)
    n = len(array)
    mean, sd = array.mean(axis=0), array.std(axis=0, ddof=1) if n > 1 else np.full(array.shape[1:], math.nan)
    half = float(stats.t.ppf(0.975, n - 1)) / math.sqrt(n) * sd if n > 1 else np.full(array.shape[1:], math.nan)
    ends = np.quantile(array, [0.025, 0.975], axis=0)
    found = {"mean": mean, "low": mean - half, "high": mean + half, "run_low": ends[0], "run_high": ends[1]}
    return {name: _plain(value) for name, value in found.items()} | {"repeats": n}


def summaries(measured: Mapping[str, Sequence[Measured]]) -> dict[str, dict[str, Any]]:
    """The summary of every measurement of every part."""
    return {
        part: {name: summary([one[name] for one in repeats]) for name in repeats[0]}
        for part, repeats in measured.items()
    }


def rows(
    benchmark: Benchmark, measured: Mapping[str, Mapping[str, Any]], lacking: Mapping[str, str]
) -> list[dict[str, Any]]:
    """One row for each quote that was measured, or that should have been; what this size leaves out has none."""
    found: list[dict[str, Any]] = []
    for quote in benchmark.quotes:
        if quote.key in measured.get(quote.part, {}):
            found.append(_row(quote, measured[quote.part]))
        elif quote.part in lacking and quote.part not in measured:
            found.append(_empty(quote))
        else:
            continue
        if quote.part in lacking:
            found[-1]["note"] = lacking[quote.part]
    return found


def _row(quote: Quote, found: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"table": quote.table, "row": quote.row, "metric": quote.metric, "paper": quote.paper}
    row |= found[quote.key]
    if quote.metric in _SHARES and row["low"] is not None:
        row |= {"low": max(row["low"], 0.0), "high": min(row["high"], 1.0)}
    if quote.paper_epsilon is not None or quote.epsilon is not None:
        row["epsilon"] = {
            "paper": quote.paper_epsilon,
            "unconditional": found[quote.epsilon]["mean"] if quote.epsilon else None,
            "data_dependent": found[quote.data_dependent]["mean"] if quote.data_dependent else None,
        }
    if quote.unsafe is not None:
        row["unsafe"] = quote.unsafe
    return row


def _empty(quote: Quote) -> dict[str, Any]:
    row: dict[str, Any] = {"table": quote.table, "row": quote.row, "metric": quote.metric, "paper": quote.paper}
    row |= dict.fromkeys(("mean", "low", "high", "run_low", "run_high")) | {"repeats": 0}
    return row | ({} if quote.unsafe is None else {"unsafe": quote.unsafe})


def _plain(value: Any) -> Any:
    """Numbers rounded to what a mean over repeats can carry, and null where there is none: JSON has no NaN."""
    if isinstance(value, np.ndarray) and value.ndim:
        return [_plain(v) for v in value]
    number = float(value)
    return round(number, _DIGITS) if math.isfinite(number) else None


def result_path(folder: str | Path, benchmark: str, size: str) -> Path:
    return Path(folder) / f"{benchmark}-{size}.json"


def read(path: str | Path) -> Result:
    """A result that a run wrote."""
    source = Path(path)
    try:
        body = json.loads(source.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no {source}: make it with `understudy bench run`, or name its folder.") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"cannot read {source} as a result: {error}.") from None
    if not isinstance(body, dict) or not {"format", "rows", "measured", "benchmark"} <= set(body):
        raise InputError(f"{source} is JSON, but not the result of a benchmark.")
    if body["format"] != FORMAT:
        raise InputError(f"{source} has format {body['format']}; this version reads {FORMAT}. Run the benchmark again.")
    return Result(body)
