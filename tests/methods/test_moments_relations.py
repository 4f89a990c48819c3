"""Rules that real rows keep: found in noisy tables, and kept by the rows that are drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from understudy import MomentsGenerator, load
from understudy.errors import InputError
from understudy.methods.moments.mixture import Mixture, one_hot
from understudy.methods.moments.relations import Relations, find_relations
from understudy.tables import Column, Schema

SERVICES = ("security", "backup", "films")


def customers(rows: int, seed: int = 0) -> tuple[pd.DataFrame, Schema]:
    """Nobody without internet has its services, and everybody with it has a yes or a no there."""
    rng = np.random.default_rng(seed)
    net = rng.choice(["dsl", "fibre", "none"], rows, p=[0.4, 0.4, 0.2])
    kind, made = rng.normal(size=rows), {"internet": net}
    for name in SERVICES:
        made[name] = np.where(net == "none", "without", np.where(kind + rng.normal(size=rows) > 0, "yes", "no"))
    made["leaves"] = np.where(rng.random(rows) < 0.2 + 0.3 * (net == "fibre"), "yes", "no")
    frame = pd.DataFrame(made)
    columns = tuple(Column(name, "categorical", categories=tuple(sorted(set(frame[name])))) for name in frame)
    return frame, Schema(columns, target="leaves")


def broken(frame: pd.DataFrame) -> float:
    none = frame["internet"] == "none"
    return float(np.mean(np.any([(frame[name] == "without") != none for name in SERVICES], axis=0)))


def test_drawn_rows_keep_the_rules_of_real_ones(tmp_path: object) -> None:
    frame, schema = customers(10_000)
    generator = MomentsGenerator(1.0, random_state=0, unsafe_noise_seed=0, model="tables").fit(frame, schema=schema)
    assert broken(frame) == 0
    drawn = generator.sample(10_000, random_state=1)
    assert broken(drawn) < 0.002
    for name in frame:
        shares = [part[name].value_counts(normalize=True) for part in (frame, drawn)]
        assert (shares[0] - shares[1]).abs().max() < 0.03, name
    assert broken(generator.sample(2_000, conditions={"leaves": "yes"}, random_state=1)) < 0.005
    generator.save(tmp_path / "release")  # type: ignore[operator]
    again = load(tmp_path / "release").sample(10_000, random_state=1)  # type: ignore[operator]
    pd.testing.assert_frame_equal(drawn, again)


def tables_of(codes: np.ndarray, sizes: list[int], noise: float, seed: int = 0) -> np.ndarray:
    hot, rng = one_hot(codes, sizes).astype(np.float64), np.random.default_rng(seed)
    half = np.triu(rng.normal(0, noise, (hot.shape[1],) * 2))
    return (hot.T @ hot + half + np.triu(half, 1).T)[None]


def test_a_route_has_its_distance_though_no_single_route_is_clear() -> None:
    rng, sizes = np.random.default_rng(0), [100, 20]
    route = rng.integers(100, size=40_000)
    codes = np.column_stack([route, np.arange(100)[route] % 20])
    found = find_relations(tables_of(codes, sizes, 30.0), sizes, 30.0, 30.0)
    assert found is not None
    rule = found.allowed[:100, 100:]
    assert (rule.sum(axis=1) <= 2).all()
    assert rule[np.arange(100), np.arange(100) % 20].all()


def test_noise_is_no_rule_and_neither_is_a_tendency() -> None:
    rng, sizes = np.random.default_rng(0), [5, 4, 20]
    first = rng.integers(5, size=20_000)
    codes = np.column_stack([first, np.where(rng.random(20_000) < 0.8, first % 4, rng.integers(4, size=20_000))])
    codes = np.column_stack([codes, rng.integers(20, size=20_000)])
    for noise in (5.0, 40.0, 400.0):
        assert find_relations(tables_of(codes, sizes, noise), sizes, noise, noise) is None


def test_rules_that_cannot_all_be_kept_do_not_stop_a_draw() -> None:
    sizes = (2, 2, 2)
    allowed = np.ones((6, 6), dtype=bool)
    allowed[0, 4] = allowed[2, 5] = False  # a first code of 0 wants the third to be 1, a second of 0 wants it to be 0
    rules = Relations(allowed, np.array([0, 1, 2]), sizes)
    mixture = Mixture(np.full((1, 6), 0.5), np.ones((1, 1)), sizes)
    codes = rules.mended(np.zeros((50, 3), dtype=np.int64), mixture, np.ones(1), np.random.default_rng(0))
    assert (codes[:, 2] == 1).all()
    assert (codes[:, :2] == 0).all()


def test_damaged_rules_are_refused() -> None:
    sizes = (2, 2)
    assert Relations.from_arrays({}, sizes) is None
    whole = {"allowed": np.ones((4, 4), np.int8), "order": np.array([0, 1])}
    assert Relations.from_arrays(whole, sizes) is not None
    for name, wrong in (("allowed", np.ones((3, 4))), ("allowed", np.full((4, 4), 2)), ("order", np.array([0, 7]))):
        with pytest.raises(InputError):
            Relations.from_arrays({**whole, name: wrong}, sizes)


def test_a_function_is_found_where_no_code_is_clear_and_none_is_made_up() -> None:
    """Each of six codes decides one of two: at this noise no row of the table is sure, all of them together are."""
    rng, sizes, noise = np.random.default_rng(0), [6, 2], 24.0
    cause = rng.integers(6, size=1_000)
    for effect, follows in ((np.array([0, 1, 1, 0, 1, 0])[cause], True), (rng.integers(2, size=1_000), False)):
        codes = np.column_stack([cause, effect])
        tables, hot = tables_of(codes, sizes, noise), one_hot(codes, sizes).astype(np.float64)
        # A mixture that knows half of it.
        blurred = hot.T @ hot + np.outer(hot.sum(axis=0), hot.sum(axis=0)) / len(codes)
        assert find_relations(tables, sizes, noise, noise) is None
        found = find_relations(tables, sizes, noise, noise, blurred)
        assert (found is not None) == follows
        if found is not None:
            drawn = np.column_stack([cause, rng.integers(2, size=1_000)])
            keeps = np.stack([found.keeps(drawn, 1, code) for code in range(2)])
            assert keeps[effect, np.arange(1_000)].all()
            assert not keeps[1 - effect, np.arange(1_000)].any()


def test_a_rare_class_that_is_the_exception_is_not_put_right() -> None:
    """Two columns agree in all rows but those of a rare class: what tells that class must not be mended away."""
    rng, labels = np.random.default_rng(0), tuple("abcdefgh")
    first, rare = rng.integers(0, 8, 20_000), rng.random(20_000) < 0.03
    second = np.where(rare, (first + 1 + rng.integers(0, 7, 20_000)) % 8, first)
    frame = pd.DataFrame({"first": np.array(labels)[first], "second": np.array(labels)[second], "rare": rare})
    columns = [Column(name, "categorical", categories=labels) for name in ("first", "second")]
    schema = Schema((*columns, Column("rare", "boolean")), "rare")
    made = MomentsGenerator(epsilon=1, random_state=0, model="tables", unsafe_noise_seed=1).fit(frame, schema=schema)
    odd, usual = (made.sample(1000, {"rare": which}, random_state=0) for which in (True, False))
    assert np.mean(odd["first"] == odd["second"]) < 0.4
    assert np.mean(usual["first"] == usual["second"]) > 0.97
