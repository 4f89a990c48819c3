"""Records are hard where a table is, and a generator learns public rows class by class."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from understudy.learn.adversarial import Design, Heads, draw_latents, imitate, make_records, records, start_generator

HEADS = Heads(width=5, one_hot=((0, 3),), binary=(4,), missing=((3, 4),))
DESIGN = Design(HEADS, (16,), 1e-3, label=(0, 3), codes=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))


def test_categories_are_whole_and_missing_values_are_zero() -> None:
    rng = np.random.default_rng(0)
    made = np.asarray(records(HEADS, jnp.asarray(rng.normal(size=(200, 5))), jnp.asarray(rng.random((200, 5)))))
    assert set(np.unique(made[:, :3])) == {0.0, 1.0}
    assert np.all(made[:, :3].sum(axis=1) == 1)
    assert set(np.unique(made[:, 4])) == {0.0, 1.0}
    assert np.all(made[made[:, 4] == 1, 3] == 0)
    assert np.all(made[made[:, 4] == 0, 3] > 0)


def test_chances_of_categories_are_those_of_the_logits() -> None:
    rng = np.random.default_rng(1)
    logits = np.tile(np.log([0.7, 0.2, 0.1, 1.0, 0.25 / 0.75]), (20_000, 1))
    made = np.asarray(records(HEADS, jnp.asarray(logits), jnp.asarray(rng.random((20_000, 5)))))
    assert made.mean(axis=0)[[0, 1, 2, 4]] == pytest.approx([0.7, 0.2, 0.1, 0.25], abs=0.02)


def test_there_is_a_gradient_behind_hard_records() -> None:
    rng = np.random.default_rng(2)
    u = jnp.asarray(rng.random((4, 5)))
    gradient = jax.grad(lambda x: (records(HEADS, x, u) @ jnp.arange(5.0)).sum())(jnp.zeros((4, 5)))
    assert np.count_nonzero(np.asarray(gradient)) >= 4 * 4


def test_noise_follows_the_ratio_and_the_seed() -> None:
    one, two = (draw_latents(DESIGN, np.random.default_rng(3), np.array([0.5, 0.5, 0.0]), 40, 25) for _ in range(2))
    assert np.array_equal(one.z, two.z)
    assert one.z.shape == (40, 25, 5)
    assert np.bincount(np.asarray(one.classes).ravel(), minlength=3).tolist()[2] == 0


def test_a_generator_learns_public_rows_class_by_class() -> None:
    rng = np.random.default_rng(4)
    classes = np.arange(300) % 2  # the third class has no rows, and is left as it is
    rows = np.zeros((300, 5), np.float32)
    rows[np.arange(300), classes] = 1
    rows[:, 3] = np.where(classes == 0, 0.2, 0.8) + 0.05 * rng.random(300)
    taught = imitate(DESIGN, 300, start_generator(DESIGN, rng), rng, rows, classes)
    for c, centre in ((0, 0.225), (1, 0.825)):
        made = np.asarray(make_records(DESIGN, taught.network, draw_latents(DESIGN, rng, np.eye(3)[c], 500)))
        assert np.all(made[:, c] == 1)
        assert made[made[:, 4] == 0, 3].mean() == pytest.approx(centre, abs=0.06)
        assert made[:, 4].mean() < 0.1
