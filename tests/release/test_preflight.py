"""Before a fit starts: what it takes is said from public sizes, and what cannot fit is refused with nothing spent."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from understudy import MomentsGenerator, registry
from understudy.audit import worlds
from understudy.cli.app import main
from understudy.errors import InputError, UnderstudyWarning
from understudy.release.preflight import Needs, PublicSizes, delta_warning, safe_delta, table_sizes
from understudy.tables import Column, Schema


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, Any]:
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words), "--json"])
    return int(ended.value.code or 0), json.loads(capsys.readouterr().out)


def test_sizes_are_those_of_the_schema_and_not_of_the_values() -> None:
    frame, schema = worlds.table(50), worlds.SCHEMA
    sizes = table_sizes(frame, schema, None)
    assert sizes == PublicSizes(50, 1 + 1 + 3 + 1, 2)
    other = frame.assign(ward="north", age=0, dose=0.0)
    assert table_sizes(other, schema, None) == sizes
    assert table_sizes(frame, None, "sick").rows == 50
    wide = Schema((Column("a", "categorical", categories=tuple(map(str, range(500)))),), "a")
    assert table_sizes(pd.DataFrame({"a": ["1"]}), wide, None) == PublicSizes(1, 500, 500)


@pytest.mark.parametrize("name", registry.names())
def test_every_method_says_what_it_needs_and_more_is_never_less(name: str) -> None:
    needs = registry.get(name).needs
    small, rows, width = (needs.estimate(PublicSizes(*s, 2), {}) for s in ((1000, 10), (100_000, 10), (1000, 1000)))
    assert 0 < small.bytes < 2**30
    assert rows.bytes > small.bytes
    assert width.bytes > small.bytes
    assert rows.seconds > small.seconds


def test_steps_count() -> None:
    needs = Needs(steps=("iterations", "batch"), per_step=1.0)
    at = PublicSizes(10, 10, 2)
    assert needs.estimate(at, {"iterations": 1000, "batch": 2}).seconds == pytest.approx(
        needs.estimate(at, {"iterations": 1, "batch": 1}).seconds + 1.999
    )


def test_what_cannot_fit_is_refused() -> None:
    estimate = Needs(per_pair=64).estimate(PublicSizes(1000, 100_000, 2), {})
    with pytest.raises(InputError, match=r"of memory.*are free: 1,000 rows of 100,000 numbers"):
        estimate.refuse_unfit(available=16 * 2**30)
    Needs().estimate(PublicSizes(1000, 10, 2), {}).refuse_unfit(available=16 * 2**30)


def test_a_hundred_thousand_declared_levels_reserve_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = worlds.table(40)
    frame.assign(code="c0").to_csv(tmp_path / "data.csv", index=False)
    many = Column("code", "categorical", categories=tuple(f"c{i}" for i in range(100_000)))
    Schema((*worlds.SCHEMA.columns, many), worlds.SCHEMA.target).write(tmp_path / "schema.json")
    book = tmp_path / "ledger.db"
    run(capsys, "ledger", "init", book, "--dataset", "ward", "--epsilon", 3, "--delta", 1e-4)
    words = ["synthesize", tmp_path / "data.csv", "--schema", tmp_path / "schema.json", "--out", tmp_path / "rows.csv"]
    code, said = run(capsys, *words, "--ledger", book, "--dataset", "ward")
    assert code == 2
    assert "Declare fewer levels" in said["message"]
    assert run(capsys, "ledger", "show", book)[1]["datasets"][0]["spent"]["epsilon"] == 0
    code, said = run(capsys, *words, "--dry-run")
    assert code == 0
    assert said["bytes"] > 2**38
    assert not (tmp_path / "rows.csv").exists()


def test_a_dry_run_spends_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worlds.table().to_csv(tmp_path / "data.csv", index=False)
    worlds.SCHEMA.write(tmp_path / "schema.yaml")
    book = tmp_path / "ledger.db"
    run(capsys, "ledger", "init", book, "--dataset", "ward", "--epsilon", 3, "--delta", 1e-4)
    words = [tmp_path / "data.csv", "--schema", tmp_path / "schema.yaml", "--ledger", book, "--dataset", "ward"]
    for command, out in (("synthesize", "rows.csv"), ("distill", "distilled")):
        code, said = run(capsys, command, *words, "--out", tmp_path / out, "--dry-run")
        assert code == 0
        assert said["seconds"] > 0
        assert said["rows"] == 400
        assert not (tmp_path / out).exists()
    assert run(capsys, "ledger", "show", book)[1]["datasets"][0]["spent"]["epsilon"] == 0


def test_a_delta_that_nobody_named_is_below_one_in_the_rows() -> None:
    assert safe_delta(50) == safe_delta(99_999) == 1e-5
    for rows in (100_000, 123_456, 999_999, 1_000_000, 10_000_000):
        assert safe_delta(rows) < 1 / rows
        assert safe_delta(rows) >= 0.009 / rows
        assert delta_warning(safe_delta(rows), rows) is None
    assert "whole row" in str(delta_warning(0.01, 100))


def test_a_delta_that_is_too_large_is_warned_of_wherever_it_is_used(tmp_path: Path) -> None:
    frame = worlds.table(200)
    with pytest.warns(UnderstudyWarning, match="whole row"):
        MomentsGenerator(5.0, 0.01, random_state=0).fit(frame, schema=worlds.SCHEMA)


def test_what_is_hopeless_is_refused_unless_one_insists() -> None:
    frame = worlds.table(30)
    with pytest.raises(InputError, match="anyway=true"):
        MomentsGenerator(0.05, random_state=0).fit(frame, schema=worlds.SCHEMA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)  # whether classes drown as well is a matter of noise
        made = MomentsGenerator(0.05, random_state=0, unsafe_noise_seed=0, anyway=True)
        made.fit(frame, schema=worlds.SCHEMA)
    assert made.verdict_.grade == "lost"
