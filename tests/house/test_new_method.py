"""A new method is one class and one entry: with nothing else touched it is everywhere a method can be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import understudy
from understudy import registry
from understudy.audit import worlds
from understudy.audit.ratio import ratio
from understudy.audit.replay import replay
from understudy.cli.app import main
from understudy.privacy import Certificate, GaussianCounts, GaussianEvent
from understudy.privacy.calibration import smallest_noise
from understudy.release.generator import Learnt, TableGenerator
from understudy.release.intake import Intake
from understudy.release.settings import positive, setting, whole
from understudy.tables import Encoder, Schema, read_table, validate_frame


# --8<-- [start:method]
@dataclass(frozen=True)
class Columns:
    """Public: how often each value of the coarse grid occurs in each column."""

    schema: Schema
    counts: np.ndarray

    def draw(self, n: int, wanted: Mapping[str, Any], rng: np.random.Generator) -> pd.DataFrame:
        shares = np.maximum(self.counts, 0) + 1e-9
        bins = [rng.choice(shares.shape[1], n, p=row / row.sum()) for row in shares]
        return Encoder(self.schema).decode((np.stack(bins, axis=1) + 0.5) / shares.shape[1])

    def arrays(self) -> dict[str, np.ndarray]:
        return {"counts": self.counts}


@dataclass(eq=False, repr=False)
class ColumnByColumn(TableGenerator):
    """Every encoded column by itself, as one noisy histogram."""

    method: ClassVar[str] = "columns"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, positive())
    bins: int = setting(8, whole(2))
    random_state: int | None = None
    unsafe_noise_seed: int | None = None

    def learn(self, rows: Intake) -> Learnt:
        """Touches private data: a row is in one bin of each column, so it moves as many cells as there are columns."""
        cube = rows.encoder().encode(rows.frame)
        at = np.minimum((cube * self.bins).astype(int), self.bins - 1)
        counts = np.stack([np.bincount(column, minlength=self.bins) for column in at.T])
        budget, columns = rows.budget, cube.shape[1]
        noise = smallest_noise(lambda s: [GaussianCounts(s, columns).event()], budget.epsilon, budget.delta)
        return Learnt(
            Columns(rows.schema, GaussianCounts(noise, columns).release(counts, budget)), {"columns": columns}
        )

    def restore(self, arrays: Mapping[str, np.ndarray], schema: Schema, facts: Mapping[str, Any]) -> Columns:
        return Columns(schema, arrays["counts"])


ENTRY = registry.Entry(
    "columns", "generator", ColumnByColumn, "columns", "Each column is counted by itself, with noise."
)
# --8<-- [end:method]


@pytest.fixture(autouse=True)
def entry() -> Iterator[registry.Entry]:
    registry.register(ENTRY)
    yield ENTRY
    registry.unregister("columns")


def run(capsys: pytest.CaptureFixture[str], *args: object) -> Any:
    with pytest.raises(SystemExit) as ended:
        main([*map(str, args), "--json"])
    assert not ended.value.code
    return json.loads(capsys.readouterr().out)


def test_it_is_on_the_command_line_in_bundles_and_in_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worlds.table().to_csv(tmp_path / "data.csv", index=False)
    worlds.SCHEMA.write(tmp_path / "schema.yaml")
    book = tmp_path / "ledger.db"
    run(capsys, "ledger", "init", book, "--dataset", "ward", "--epsilon", 3, "--delta", 1e-4)
    made = run(
        capsys, "synthesize", tmp_path / "data.csv", "--schema", tmp_path / "schema.yaml", "--method", "columns",
        "--epsilon", 2, "--set", "bins=6", "--out", tmp_path / "rows.csv", "--report", tmp_path / "page.html",
        "--ledger", book, "--dataset", "ward",
    )  # fmt: skip
    validate_frame(read_table(tmp_path / "rows.csv"), worlds.SCHEMA)
    assert run(capsys, "verify", made["release"])["epsilon"] <= 2
    assert "Each column is counted by itself, with noise." in (tmp_path / "page.html").read_text()
    more = run(
        capsys, "sample", made["release"], "--rows", 50, "--out", tmp_path / "more.csv", "--condition", "sick=true"
    )
    assert more["rows"] == 50
    assert bool(read_table(tmp_path / "more.csv")["sick"].all())
    loaded = understudy.load(made["release"])
    assert isinstance(loaded, ColumnByColumn)
    assert loaded.bins == 6
    assert len(loaded.sample(7)) == 7
    assert Certificate.load(made["certificate"]).verify() <= 2
    spent = run(capsys, "ledger", "show", book)["datasets"][0]["spent"]["epsilon"]
    assert 1.9 < spent <= 2


def test_its_settings_have_limits_and_a_refusal_costs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worlds.table().to_csv(tmp_path / "data.csv", index=False)
    worlds.SCHEMA.write(tmp_path / "schema.yaml")
    book = tmp_path / "ledger.db"
    run(capsys, "ledger", "init", book, "--dataset", "ward", "--epsilon", 3, "--delta", 1e-4)
    named = {"--schema": "schema.yaml", "--out": "rows.csv", "--ledger": "ledger.db"}
    options = [text for option, name in named.items() for text in (option, str(tmp_path / name))]
    words = ["synthesize", str(tmp_path / "data.csv"), "--method", "columns", "--set", "bins=1", "--dataset", "ward"]
    with pytest.raises(SystemExit) as ended:
        main([*words, *options])
    assert ended.value.code == 2
    assert "`bins` (=1) must be a whole number, at least 2" in capsys.readouterr().err
    assert run(capsys, "ledger", "show", book)["datasets"][0]["spent"]["epsilon"] == 0


def test_the_audits_try_it_and_notice_a_wrong_sensitivity(monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(data: pd.DataFrame, budget: Any) -> Any:
        return worlds.fit(ENTRY, data, budget)

    assert replay(fit, worlds.table(seed=0), worlds.table(seed=1), 2.0, 1e-5).holds
    frame = worlds.with_extreme_row(worlds.table())
    run = replay(fit, frame, worlds.blanked(frame), 2.0, 1e-5)
    assert run.holds
    assert 0.9 < ratio(run).worst <= 1
    # One column's sensitivity for all of them: the mistake that the ratio is there for.
    monkeypatch.setattr(
        GaussianCounts, "event", lambda self: GaussianEvent(self.sigma, 1, "discrete", integer_unit=True)
    )
    assert ratio(replay(fit, frame, worlds.blanked(frame), 2.0, 1e-5)).worst > 1


def test_the_guide_for_contributors_shows_this_very_method() -> None:
    root = Path(__file__).parents[2]
    code = Path(__file__).read_text("utf-8").split("# --8<-- [start:method]\n")[1].split("# --8<-- [end:method]")[0]
    assert code.strip() in (root / "CONTRIBUTING.md").read_text("utf-8")


def test_a_name_is_given_once(entry: registry.Entry) -> None:
    with pytest.raises(understudy.InputError, match="there is a method 'columns'"):
        registry.register(entry)
