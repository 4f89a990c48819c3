"""`--rule`, `rules:` in a schema, conditions in the words of rules, and what the owner is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy.cli.app import load_commands, main

load_commands()
SCHEMA = {
    "version": 1,
    "columns": [
        {"name": "start", "kind": "datetime", "bounds": ["2020-01-01", "2020-12-31"]},
        {"name": "end", "kind": "datetime", "bounds": ["2020-01-01", "2021-03-31"]},
        {"name": "month", "kind": "integer", "bounds": [1, 12]},
        {"name": "sick", "kind": "categorical", "categories": ["no", "yes"]},
    ],
    "target": "sick",
    "rules": ["end >= start"],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    start = pd.Series(np.datetime64("2020-01-01") + rng.integers(0, 360, 800))
    end = start + pd.to_timedelta(rng.poisson(5, 800), unit="D")
    end[:3] = start[:3] - pd.Timedelta(days=1)
    sick = np.where((end - start).dt.days + rng.normal(size=800) > 5, "yes", "no")
    pd.DataFrame({"start": start, "end": end, "month": start.dt.month, "sick": sick}).to_csv(
        tmp_path / "data.csv", index=False
    )
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    return tmp_path / "data.csv"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out, told.err


def test_the_whole_way(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = data.parent
    schema, out = folder / "schema.json", folder / "made.csv"
    given = ["--schema", schema, "--set", "model=gaussian", "--rows", 300]
    code, told, _ = run(capsys, "synthesize", data, "--out", out, *given, "--rule", "month == month(start)", "--json")
    assert code == 0
    rules: Any = json.loads(told)["rules"]
    assert rules["said"] == ["end >= start", "month == month(start)"]
    assert rules["computed"] == ["month"]
    assert rules["differences"] == ["end"]
    assert 0 <= rules["drawn_again"] < 0.5
    made = pd.read_csv(out, parse_dates=["start", "end"])
    assert np.all(made["end"] >= made["start"])
    assert np.array_equal(made["month"], made["start"].dt.month)

    release, long = folder / "made.csv.release", folder / "long.csv"
    code, told, _ = run(
        capsys, "sample", release, "--out", long, "--rows", 50, "--condition", "end - start >= 3", "--condition", "sick=yes",
        "--condition", "month in (3, 4, 5)",
    )  # fmt: skip
    assert code == 0
    assert "Every row keeps all 2 rules (month, end by construction)" in told
    some = pd.read_csv(long, parse_dates=["start", "end"])
    assert ((some["end"] - some["start"]).dt.days >= 3).all()
    assert set(some["month"]) <= {3, 4, 5}
    assert set(some["sick"]) == {"yes"}

    page = folder / "page.html"
    code, _, _ = run(capsys, "report", release, "--out", page)
    assert code == 0
    assert "2 rules kept in every row" in page.read_text()


def test_the_owner_is_told_what_breaks_a_rule(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = data.parent / "schema.json"
    code, told, _ = run(capsys, "schema", "check", schema, data)
    assert code == 0
    assert "3 of 800 rows break `end >= start`" in " ".join(told.split())
    code, told, _ = run(capsys, "schema", "check", schema, "--data", data, "--json")
    assert json.loads(told)["private_to_the_data_holder"]["rules"] == [{"rule": "end >= start", "broken": 3}]
    code, _, said = run(capsys, "schema", "check", schema, data, "--data", data)
    assert code != 0
    assert "twice" in said
    schema.write_text(json.dumps({**SCHEMA, "rules": ["month >= start"]}))
    code, _, said = run(capsys, "schema", "check", schema)
    assert code != 0
    assert "rule 1 (month >= start): month >= start compares a number with a date" in " ".join(said.split())


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("end >= began", "no column 'began'"),
        ("end >", "ends too soon"),
        ("end < start", "Nothing was spent"),
        ("month == 13", "can never be true"),
    ],
)
def test_a_wrong_rule_is_refused_and_nothing_is_booked(
    data: Path, capsys: pytest.CaptureFixture[str], rule: str, words: str
) -> None:
    ledger = data.parent / "ledger.jsonl"
    assert run(capsys, "ledger", "init", ledger, "--dataset", "stays", "--epsilon", 1, "--delta", 1e-4)[0] == 0
    booked = ["--ledger", ledger, "--dataset", "stays", "--schema", data.parent / "schema.json"]
    code, _, said = run(capsys, "synthesize", data, "--out", data.parent / "made.csv", "--rule", rule, *booked)
    assert code != 0
    assert words in " ".join(said.split())
    (dataset,) = json.loads(run(capsys, "ledger", "show", ledger, "--json")[1])["datasets"]
    assert dataset["spent"] == {"epsilon": 0.0, "delta": 0.0}
