"""MST and AIM: they find what goes together, keep to their rho, go on after a kill, survive the disk, and say what is too wide."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy import AIM, MST, load
from understudy.errors import InputError, UnderstudyWarning
from understudy.methods import aim
from understudy.methods.marginals import CodedTable, MarginalGenerator
from understudy.privacy import PrepaidRho, ZCDPEvent
from understudy.tables import Column, Schema, validate_frame

SCHEMA = Schema(
    (
        Column("a", "categorical", categories=("x", "y", "z")),
        Column("b", "categorical", categories=("x", "y", "z")),
        Column("noise", "categorical", categories=("0", "1")),
        Column("value", "continuous", bounds=(-10, 10), nullable=True),
        Column("sick", "boolean"),
    ),
    "sick",
)
METHODS = {"mst": MST, "aim": AIM}


def table(rows: int = 4000, seed: int = 0) -> pd.DataFrame:
    """b mostly repeats a, value and sick go together, and noise with nothing."""
    rng = np.random.default_rng(seed)
    a = rng.choice(["x", "y", "z"], rows, p=[0.5, 0.3, 0.2])
    sick = rng.random(rows) < 0.3
    value = np.clip(rng.normal(3.0 * sick, 1.0), -10, 10)
    return pd.DataFrame(
        {
            "a": a,
            "b": np.where(rng.random(rows) < 0.9, a, rng.choice(["x", "y", "z"], rows)),
            "noise": rng.choice(["0", "1"], rows),
            "value": np.where(rng.random(rows) < 0.1, np.nan, value),
            "sick": sick,
        }
    )


def small(method: str, **changes: Any) -> MarginalGenerator:
    fixed: dict[str, Any] = {"epsilon": 4.0, "bins": 6, "steps": 200, "random_state": 0, "unsafe_noise_seed": 0}
    fixed |= {"rounds": 8} if method == "aim" else {}
    return METHODS[method].from_settings(**{**fixed, **changes})


@pytest.fixture(scope="module", params=sorted(METHODS))
def fitted(request: pytest.FixtureRequest) -> MarginalGenerator:
    return small(request.param).fit(table(), schema=SCHEMA)


def test_rows_fit_the_schema_and_columns_go_together(fitted: MarginalGenerator) -> None:
    rows = fitted.sample(4000, random_state=0)
    validate_frame(rows, SCHEMA)
    assert float((rows.a == rows.b).mean()) == pytest.approx(0.935, abs=0.05)
    assert float(rows.sick.mean()) == pytest.approx(0.3, abs=0.05)
    assert float(rows.value.isna().mean()) == pytest.approx(0.1, abs=0.04)
    apart = rows[rows.sick].value.mean() - rows[~rows.sick].value.mean()
    assert apart > 2


def test_rows_of_a_class_are_drawn_as_such(fitted: MarginalGenerator) -> None:
    rows = fitted.sample(500, {"sick": True}, 0)
    assert rows.sick.all()
    assert rows.value.mean() > 2


def test_all_of_it_is_paid_as_one_rho(fitted: MarginalGenerator) -> None:
    (event,) = [e for e in fitted.certificate_.events if isinstance(e, ZCDPEvent)]
    assert fitted.facts_["rho"] == event.rho
    assert 0.99 * 4.0 < fitted.certificate_.epsilon <= 4.0
    assert fitted.history_[-1]["rho"] <= event.rho
    assert fitted.history_[-1]["rho"] == pytest.approx(event.rho, rel=1e-6)


def test_a_release_draws_the_same_rows_from_the_disk(fitted: MarginalGenerator, tmp_path: Path) -> None:
    fitted.save(tmp_path / "out")
    pd.testing.assert_frame_equal(load(tmp_path / "out").sample(50, random_state=3), fitted.sample(50, random_state=3))


@pytest.mark.parametrize("array", ["members", "lengths", "shares"])
def test_a_damaged_release_is_refused(array: str, tmp_path: Path) -> None:
    generator = small("mst", steps=5).fit(table(300), schema=SCHEMA)
    arrays = generator.model_.arrays()
    arrays[array] = arrays[array][:-1]
    with pytest.raises(InputError, match="damaged"):
        generator.restore(arrays, SCHEMA, {})
    arrays = generator.model_.arrays()
    arrays["shares"] = arrays["shares"] / 2
    with pytest.raises(InputError, match="shares of a whole"):
        generator.restore(arrays, SCHEMA, {})


def test_mst_joins_what_goes_together_first() -> None:
    generator = small("mst", epsilon=20.0).fit(table(), schema=SCHEMA)
    pairs = {tuple(pair) for pair in generator.facts_["pairs"]}
    assert {(0, 1), (3, 4)} <= pairs
    assert len(pairs) == 4


def test_aim_leaves_alone_what_goes_with_nothing() -> None:
    generator = small("aim", rounds=4).fit(table(), schema=SCHEMA)
    chosen = [tuple(pair) for pair in generator.facts_["chosen"]]
    assert set(chosen[:2]) == {(0, 1), (3, 4)}


def test_aim_keeps_its_model_small() -> None:
    tiny = small("aim", megabytes=1e-4).fit(table(), schema=SCHEMA)  # 13 numbers: single columns
    large = small("aim").fit(table(), schema=SCHEMA)
    assert tiny.facts_["cliques"] == 5
    assert large.facts_["cliques"] < 5


def test_aim_says_beforehand_what_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aim, "memory_left", lambda: 1000)
    generator = small("aim", unsafe_noise_seed=None)
    with pytest.raises(InputError, match="two-way tables of 5 columns take"):
        generator.fit(table(200), schema=SCHEMA)


def test_aim_says_beforehand_what_does_not_end() -> None:
    wide = pd.DataFrame({f"c{i}": ["0", "1"] * 20 for i in range(500)})
    schema = Schema(tuple(Column(name, "categorical", categories=("0", "1")) for name in wide))
    with pytest.raises(InputError, match="500 columns would take about 20 hours"):
        small("aim").fit(wide, schema=schema)
    with pytest.warns(UnderstudyWarning, match=r"300 columns takes about 3\.5 hours"):
        small("aim").refuse_wide([2] * 300)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_stopped_run_goes_on_and_ends_like_one_that_was_not(method: str, tmp_path: Path) -> None:
    whole = small(method).fit(table(800), schema=SCHEMA)
    where = tmp_path / "run.private"

    class Killed(Exception):
        pass

    def kill(progress: Any) -> None:
        if progress.iteration == 3:
            raise Killed

    with pytest.raises(Killed):
        small(method).fit(table(800), schema=SCHEMA, workspace=where, progress=kill, checkpoint_seconds=0.0)
    resumed = small(method).fit(table(800), schema=SCHEMA, workspace=where, resume=True)
    for name, array in whole.model_.arrays().items():
        assert np.array_equal(resumed.model_.arrays()[name], array), name
    assert resumed.certificate_.epsilon == whole.certificate_.epsilon


@pytest.mark.parametrize("grid", [1, 5040])
def test_a_record_moves_a_score_by_no_more_than_its_sensitivity(grid: int) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (50, 2))
    expected = rng.random(9) * 10
    weights = None if grid == 1 else np.full(50, grid // 2)
    gone = 1 if grid == 1 else 2  # one row, or the two rows of a person
    here = CodedTable(codes, (3, 3), 0, weights, grid)
    there = CodedTable(codes[gone:], (3, 3), 0, None if weights is None else weights[gone:], grid)
    for goal, least in ((expected, 0), (np.zeros(9), here.sensitivity)):
        moved = here.away(here.counts((0, 1)), goal) - there.away(there.counts((0, 1)), goal)
        assert least <= abs(moved) <= here.sensitivity


@pytest.mark.parametrize("method", sorted(METHODS))
def test_no_score_moves_by_more_than_the_gate_is_told(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs that are given the same answers; of the second table one row is blank."""
    answers: list[Any] = []
    scored: list[list[tuple[np.ndarray, int]]] = []

    def again(draw: Callable[..., Any]) -> Callable[..., Any]:
        def at_the_gate(paid: PrepaidRho, exact: Any, *how: Any) -> Any:
            answer = draw(paid, exact, *how)
            if draw.__name__ == "choose":
                scored[-1].append((np.array(exact), how[1]))
            if len(scored) == 1:
                answers.append(answer)
            return answers[paid.draws - 1]

        return at_the_gate

    for name in ("choose", "release"):
        monkeypatch.setattr(PrepaidRho, name, again(getattr(PrepaidRho, name)))
    schema = Schema(tuple(column for column in SCHEMA if column.name != "value"), "sick")
    frame = table(300).drop(columns="value").astype(object)
    without = frame.copy()
    without.loc[7] = None
    for rows in (frame, without):
        scored.append([])
        small(method, steps=20).fit(rows, schema=schema)
    moved = [
        (int(np.abs(one - other).max()), sensitivity) for (one, sensitivity), (other, _) in zip(*scored, strict=True)
    ]
    assert len(moved) >= 3
    assert all(most <= sensitivity for most, sensitivity in moved)
    assert any(most == sensitivity for most, sensitivity in moved)


def test_one_column_alone_is_learnt_too() -> None:
    schema = Schema((SCHEMA["a"],))
    for method in METHODS:
        rows = small(method).fit(table(1000)[["a"]], schema=schema).sample(1000, random_state=0)
        assert float((rows.a == "x").mean()) == pytest.approx(0.5, abs=0.1)
