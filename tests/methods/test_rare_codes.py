"""Rare codes put together: what stands out stays, rows come back by the counts of the column, and a damaged release is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy import AIM, MST, load, registry
from understudy.audit.fitting import fitting
from understudy.audit.replay import replay
from understudy.errors import InputError
from understudy.methods.rare_codes import RareCodes
from understudy.tables import Column, Schema

TABLES = [np.array([900.0, 20.0, 60.0, -5.0, 500.0]), np.array([3.0, 4.0]), np.array([700.0, 10.0])]


def test_what_stands_out_stays_and_the_rest_is_one_code() -> None:
    rare = RareCodes.of(TABLES, 30.0, whole=1)
    assert rare.sizes == (3, 2, 2)  # the second stays whole, of the third one code alone is rare
    assert rare.codes[0].tolist() == [0, 2, 2, 2, 1]
    assert rare.within[0] == pytest.approx([1, 0.25, 0.75, 0, 1])
    assert rare.table(0, TABLES[0]).tolist() == [900, 500, 75]
    assert rare.sigma(0, 30.0) == pytest.approx([30, 30, 30 * 3**0.5])


def test_what_is_put_together_may_be_limited() -> None:
    """Codes below the noise on themselves may be most of a column: with a limit, those are put together that are little of it for certain."""
    table = np.array([150.0, 2.0, 9000.0, -3.0, 160.0, 170.0, 180.0])
    assert RareCodes.of([table], 60.0, whole=None).codes[0].tolist() == [2, 2, 0, 2, 2, 2, 1]
    assert RareCodes.of([table], 60.0, whole=None, most=0.05).codes[0].tolist() == [4, 4, 0, 4, 1, 2, 3]
    assert RareCodes.of([table / 10], 60.0, whole=None, most=0.05).sizes == (7,)


def test_a_column_of_noise_alone_is_one_code_dealt_out_alike() -> None:
    rare = RareCodes.of([np.array([-1.0, -2.0, -3.0]), np.ones(2)], 10.0, whole=1)
    assert rare.sizes == (1, 2)
    wide = rare.widened(np.zeros((9000, 2), dtype=np.int64), np.random.default_rng(0))
    assert np.bincount(wide[:, 0]) / 9000 == pytest.approx([1 / 3] * 3, abs=0.03)


def test_rows_come_back_by_the_counts_of_their_column() -> None:
    rare, rng = RareCodes.of(TABLES, 30.0, whole=1), np.random.default_rng(0)
    codes = np.stack([rng.integers(0, len(table), 8000) for table in TABLES], axis=1)
    narrow = rare.narrowed(codes)
    wide = rare.widened(narrow, rng)
    assert np.array_equal(rare.narrowed(wide), narrow)
    assert np.array_equal(wide[:, 1:], codes[:, 1:])
    among = wide[narrow[:, 0] == 2, 0]
    assert (among == 2).mean() == pytest.approx(0.75, abs=0.03)
    assert not np.any(among == 3)


@pytest.mark.parametrize("array", ["new_codes", "within"])
def test_a_damaged_release_is_refused(array: str) -> None:
    rare, sizes = RareCodes.of(TABLES, 30.0, whole=1), [len(table) for table in TABLES]
    assert RareCodes.from_arrays({}, sizes, 1) is None
    again = RareCodes.from_arrays(rare.arrays(), sizes, 1)
    assert again is not None
    assert again.sizes == rare.sizes
    for damaged in (rare.arrays()[array][:-1], np.roll(rare.arrays()[array], 1)):
        with pytest.raises(InputError, match="damaged"):
            RareCodes.from_arrays(rare.arrays() | {array: damaged}, sizes, 1)


def test_a_release_that_puts_values_of_the_target_together_is_refused() -> None:
    rare = RareCodes.of(TABLES, 30.0, whole=None)
    assert rare.sizes == (3, 1, 2)
    assert RareCodes.from_arrays(rare.arrays(), [5, 2, 2], None) is not None
    with pytest.raises(InputError, match="damaged"):
        RareCodes.from_arrays(rare.arrays(), [5, 2, 2], 1)


def test_without_a_target_rare_values_of_the_first_column_are_one_too() -> None:
    rng = np.random.default_rng(0)
    letters = tuple("abcdefghij")
    of = np.where(rng.random(2000) < 0.95, 0, rng.integers(1, 10, 2000))
    frame = pd.DataFrame({"first": np.array(letters)[of], "second": rng.random(2000) < 0.5})
    schema = Schema((Column("first", "categorical", categories=letters), Column("second", "boolean")))
    made = MST(1.0, random_state=0, unsafe_noise_seed=0).fit(frame, schema=schema).model_
    assert made.arrays()["new_codes"][:10].max() < 5  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("method", ["mst", "aim"])
def test_what_is_put_together_follows_from_the_counts_that_were_released(method: str) -> None:
    """Towns near the line, most of which other rows would put on its other side: with the same answers the release is the same."""
    towns = tuple(f"town {number}" for number in range(60))
    schema = Schema((Column("town", "categorical", categories=towns), Column("sick", "boolean")), "sick")

    def table(seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        chances = rng.permutation(np.repeat([1.0, 9.0], 30))
        town = rng.choice(60, 600, p=chances / chances.sum())
        return pd.DataFrame({"town": np.array(towns)[town], "sick": rng.random(600) < 0.5})

    fit = fitting(registry.get(method), schema)
    assert replay(fit, table(0), table(1), 2.0, 1e-5).differences == ()


@pytest.mark.parametrize("kind", [MST, AIM])
def test_pairs_are_counted_of_what_stands_out(kind: type[MST | AIM], tmp_path: Path) -> None:
    """Ninety towns of next to nobody beside two large ones: pairs have three towns, and rows have all of them again."""
    towns = tuple(f"town {number}" for number in range(92))
    rng = np.random.default_rng(0)
    town = np.where(rng.random(3000) < 0.9, rng.integers(0, 2, 3000), rng.integers(2, 92, 3000))
    sick = rng.random(3000) < np.where(town == 0, 0.8, 0.2)
    frame = pd.DataFrame({"town": np.array(towns)[town], "sick": sick})
    schema = Schema((Column("town", "categorical", categories=towns), Column("sick", "boolean")), "sick")
    generator = kind(1.0, random_state=0, unsafe_noise_seed=0).fit(frame, schema=schema)
    assert len(generator.model_.arrays()["shares"]) < 40
    rows = generator.sample(4000, random_state=0)
    assert float((~rows.town.isin(towns[:2])).mean()) == pytest.approx(0.1, abs=0.04)
    assert rows.town.nunique() > 20
    assert float(rows[rows.town == "town 0"].sick.mean()) == pytest.approx(0.8, abs=0.1)
    generator.save(tmp_path / "out")
    pd.testing.assert_frame_equal(
        load(tmp_path / "out").sample(50, random_state=3), generator.sample(50, random_state=3)
    )


def test_aim_keeps_values_apart_where_noise_is_larger_than_all_of_them() -> None:
    frame = pd.DataFrame({"town": np.array(list("abcdefghij"))[np.arange(2000) % 10], "sick": np.arange(2000) % 3 == 0})
    columns = (Column("town", "categorical", categories=tuple("abcdefghij")), Column("sick", "boolean"))
    made = AIM(0.2, random_state=0, unsafe_noise_seed=0).fit(frame, schema=Schema(columns, "sick"))
    assert len(set(made.model_.arrays()["new_codes"][:10])) == 10
