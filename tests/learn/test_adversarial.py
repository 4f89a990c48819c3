"""A generator starts as the independent table, records are hard where a table is, and teachers say vectors of norm 1."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from understudy.learn.adversarial import Design, Heads, draw_latents, imitate, independent_table, make_records, records
from understudy.learn.discriminators import (
    GRID,
    Discriminators,
    Fakes,
    _signs,
    _unit,
    deal_rows,
    start_teachers,
    sum_directions,
    sum_scores,
    train_teachers,
)
from understudy.learn.partition import shards
from understudy.learn.teachers import TeacherAxis, one_device

HEADS = Heads(width=7, one_hot=((0, 3), (5, 7)), missing=((3, 4),))
DESIGN = Design(HEADS, (16,), label=(5, 7))
START = np.array([*np.log([0.7, 0.2, 0.1]), 0.0, np.log(0.25 / 0.75), 0.0, 0.0])


def made(network: Any, rng: np.random.Generator, n: int = 20_000, ratio: Any = (0.5, 0.5)) -> np.ndarray:
    return np.asarray(make_records(DESIGN, network, draw_latents(DESIGN, rng, np.array(ratio), n)))


def test_categories_are_whole_and_missing_values_are_zero() -> None:
    rng = np.random.default_rng(0)
    drawn = np.asarray(records(HEADS, jnp.asarray(rng.normal(size=(200, 7))), jnp.asarray(rng.random((200, 7)))))
    assert set(np.unique(drawn[:, :3])) == {0.0, 1.0}
    assert np.all(drawn[:, :3].sum(axis=1) == 1)
    assert set(np.unique(drawn[:, 4])) == {0.0, 1.0}
    assert np.all(drawn[drawn[:, 4] == 1, 3] == 0)


def test_the_start_is_the_independent_table() -> None:
    """Exactly: the raw outputs are the latents and the released logits, whatever the class."""
    rng = np.random.default_rng(1)
    start = independent_table(DESIGN, START, rng)
    latents = draw_latents(DESIGN, rng, np.array([0.5, 0.5]), 1000)
    raw = np.asarray(start.network(jnp.asarray(latents.z), jnp.asarray(latents.classes)))
    expected = np.where(HEADS.numbers, latents.z, START)
    assert np.allclose(raw, expected, atol=1e-6)
    drawn = made(start.network, rng)
    assert drawn[:, :3].mean(axis=0) == pytest.approx([0.7, 0.2, 0.1], abs=0.02)
    assert drawn[:, 4].mean() == pytest.approx(0.25, abs=0.02)
    there = drawn[drawn[:, 4] == 0]
    assert (there[:, 3].mean(), there[:, 3].std()) == pytest.approx((0.0, 1.0), abs=0.03)
    pairs = np.corrcoef(drawn[:, [0, 1, 3, 4, 5]].T) - np.eye(5)
    assert np.abs(pairs[np.ix_([0, 1], [2, 3, 4])]).max() < 0.03
    assert np.abs(pairs[4, :4]).max() < 0.03


def test_there_is_a_gradient_behind_hard_records() -> None:
    rng = np.random.default_rng(2)
    u = jnp.asarray(rng.random((4, 7)))
    gradient = jax.grad(lambda x: (records(HEADS, x, u) @ jnp.arange(1.0, 8.0)).sum())(jnp.zeros((4, 7)))
    assert np.count_nonzero(np.asarray(gradient)) >= 4 * 6


def test_noise_follows_the_ratio_and_the_seed() -> None:
    one, two = (draw_latents(DESIGN, np.random.default_rng(3), np.array([1.0, 0.0]), 40, 25) for _ in range(2))
    assert np.array_equal(one.z, two.z)
    assert one.z.shape == (40, 25, 7)
    assert np.bincount(np.asarray(one.classes).ravel(), minlength=2).tolist()[1] == 0


def test_a_generator_learns_public_rows_class_by_class() -> None:
    rng = np.random.default_rng(4)
    classes = np.arange(300) % 2
    rows = np.zeros((300, 7), np.float32)
    rows[np.arange(300), classes] = 1
    rows[np.arange(300), 5 + classes] = 1
    rows[:, 3] = np.where(classes == 0, -1.0, 1.0) + 0.1 * rng.normal(size=300)
    taught = imitate(DESIGN, 300, independent_table(DESIGN, START, rng), rng, rows, classes)
    for c, centre in ((0, -1.0), (1, 1.0)):
        drawn = made(taught.network, rng, 500, np.eye(2)[c])
        assert drawn[:, c].mean() > 0.8
        assert drawn[drawn[:, 4] == 0, 3].mean() == pytest.approx(centre, abs=0.2)
        assert drawn[:, 4].mean() < 0.15


# ---- teachers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_a_vector_is_brought_to_norm_one(scale: float) -> None:
    vector = jnp.asarray(np.random.default_rng(0).uniform(-1, 1, 5000) * scale, jnp.float32)
    whole = np.asarray(_unit(vector)).astype(np.float64)
    assert 0.99 < np.linalg.norm(whole) * GRID <= 1 + GRID * np.sqrt(5000) / 2


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_says_nothing(bad: float) -> None:
    vector = jnp.asarray([1.0, bad, 2.0])
    assert not np.asarray(_unit(vector)).any()
    assert not np.asarray(_signs(2, vector)).any()
    assert not np.asarray(_unit(jnp.zeros(3))).any()


def test_signs_are_those_of_the_largest() -> None:
    assert np.asarray(_signs(2, jnp.asarray([0.1, -3.0, 2.0, 0.0]))).tolist() == [0, -1, 1, 0]
    assert np.asarray(_signs(4, jnp.asarray([0.1, -3.0, 2.0, 0.0]))).tolist() == [1, -1, 1, 0]


def _staffed(teachers: int = 5) -> tuple[Discriminators, Any, Any]:
    """Teachers of rows of two classes; the second class is in the first teacher's shard alone."""
    rng = np.random.default_rng(5)
    dealt = shards(50, teachers, seed=0)
    values = rng.normal(size=(50, 4)).astype(np.float32)
    classes = np.zeros(50, dtype=np.int32)
    classes[dealt.of(0)[:3]] = 1
    classes[dealt.of(1)[0]] = -1
    plan = Discriminators(TeacherAxis(teachers, one_device()), 4, (8,), 1e-2)
    return plan, deal_rows(values, classes, dealt, plan.axis, 2), (values, classes, dealt)


def test_rows_are_dealt_by_class_and_blank_ones_are_nobodys() -> None:
    _, rows, (values, classes, dealt) = _staffed()
    assert np.asarray(rows.counts).tolist() == [[7, 3], [9, 0], [10, 0], [10, 0], [10, 0]]
    first, rare = np.asarray(rows.first)[0]
    mine = dealt.of(0)
    held = np.asarray(rows.values)[0]
    assert sorted(map(tuple, held[rare : rare + 3])) == sorted(map(tuple, values[mine[classes[mine] == 1]]))
    assert sorted(map(tuple, held[first : first + 7])) == sorted(map(tuple, values[mine[classes[mine] == 0]]))


def test_a_teacher_without_a_class_says_nothing_about_its_fakes() -> None:
    plan, rows, _ = _staffed()
    rng = np.random.default_rng(6)
    teachers = start_teachers(plan, (0, 4))
    shape = (3, 6)
    fakes = Fakes(
        jnp.asarray(rng.normal(size=(*shape, 4)), jnp.float32),
        jnp.ones(shape, jnp.int32),
        *(jnp.asarray(rng.random(shape), jnp.float32) for _ in range(2)),
    )
    before = [np.asarray(leaf) for leaf in jax.tree.leaves(teachers.networks)]
    teachers = train_teachers(plan, teachers, rows, fakes)
    after = [np.asarray(leaf) for leaf in jax.tree.leaves(teachers.networks)]
    moved = np.any([np.any((a != b).reshape(5, -1), axis=1) for a, b in zip(before, after, strict=True)], axis=0)
    assert moved.tolist() == [True, False, False, False, False]
    asked, rare = fakes.values[0], jnp.ones(6, jnp.int32)
    total = np.asarray(sum_directions(plan, (None, (0, 1, 2, 3)), teachers, rows.counts, asked, rare))
    assert np.linalg.norm(total.astype(float)) * GRID == pytest.approx(1.0, abs=1e-2)
    scores = np.asarray(sum_scores(plan, True, teachers, rows.counts, asked, rare))
    assert np.abs(scores).max() == 1
    common = np.asarray(sum_scores(plan, True, teachers, rows.counts, asked, 0 * rare))
    assert np.abs(common).max() > 1
