"""The teacher axis on one device: what it learns, what it counts, and who is touched by whose rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import InputError
from understudy.learn import ensemble as module
from understudy.learn.ensemble import Curriculum, Ensemble
from understudy.learn.networks import MLP
from understudy.learn.partition import Shards, shards

KEY = jax.random.key(0)
TEACHERS, ROWS, FEATURES = 5, 23, 3  # 23 rows for 5 teachers: two shards have an empty slot
SMALL = Ensemble(TEACHERS, hidden=(4,), classes=3, epochs=3, batch=2)
DEALT = shards(ROWS, TEACHERS, seed=0)


def _table(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(ROWS, FEATURES)).astype(np.float32), rng.integers(0, 3, ROWS)


def _parameters(X: np.ndarray, y: np.ndarray, dealt: Shards = DEALT, like: Ensemble = SMALL) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(replace(like).fit(X, y, dealt, KEY).teachers_)]


def _changed(before: list[np.ndarray], after: list[np.ndarray]) -> set[int]:
    """The teachers of which any parameter changed by as much as a bit."""
    moved = [a.view(np.uint32) != b.view(np.uint32) for a, b in zip(before, after, strict=True)]
    return {t for t in range(TEACHERS) if any(leaf[t].any() for leaf in moved)}


def _touched_by(row: int, dealt: Shards) -> set[int]:
    X, y = _table()
    before = _parameters(X, y, dealt)
    X[row], y[row] = 0, 0
    return _changed(before, _parameters(X, y, dealt))


@pytest.mark.parametrize("row", range(0, ROWS, 4))
def test_blanking_a_row_changes_its_own_teacher_alone(row: int) -> None:
    assert _touched_by(row, DEALT) == {DEALT.owner()[row]}


@given(st.integers(0, ROWS - 1), st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_editing_a_row_changes_no_other_teacher(row: int, seed: int) -> None:
    X, y = _table()
    before = _parameters(X, y)
    rng = np.random.default_rng(seed)
    X[row] = rng.normal(scale=10.0 ** rng.integers(0, 30), size=FEATURES)
    y[row] = rng.integers(0, 3)
    assert _changed(before, _parameters(X, y)) <= {DEALT.owner()[row]}


def test_a_shared_row_would_be_noticed() -> None:
    """The two tests above are worth something: a partition forced to share a row fails them."""
    index = DEALT.index.copy()
    row = index[0, 0]
    index[1, 0] = row
    shared = shards(ROWS, TEACHERS, seed=0)
    object.__setattr__(shared, "index", index)
    assert _touched_by(int(row), shared) == {0, 1}


def test_an_empty_slot_holds_nobodys_row() -> None:
    X = np.full((ROWS, FEATURES), 7, np.float32)
    plan = Curriculum(SMALL._axis, (4,), 3, "xavier", 1, 2, DEALT.width)
    dealt = np.asarray(plan.axis.deal(X, DEALT, plan.slots))
    assert dealt.shape == (TEACHERS, 6, FEATURES)
    np.testing.assert_array_equal((dealt == 7).all(axis=2).sum(axis=1), DEALT.sizes)
    assert set(np.unique(dealt).tolist()) == {0.0, 7.0}


def _alone(X: np.ndarray, y: np.ndarray, number: int, like: Ensemble) -> Any:
    """One teacher trained by itself on its own rows: no axis, no mask, no padding, ordinary gradients."""
    optimiser = optax.adamw(like.learning_rate, weight_decay=like.weight_decay, mask=(True, False))

    def loss(parts: Any) -> jax.Array:
        x = jnp.asarray(X)
        for weight, bias in zip(*(part[:-1] for part in parts), strict=True):
            x = jax.nn.relu(x @ weight.T + bias)
        logits = x @ parts[0][-1].T + parts[1][-1]
        return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.asarray(y)).mean()

    def step(_: Any, state: Any) -> Any:
        parts, moments = state
        change, moments = optimiser.update(jax.grad(loss)(parts), moments, parts)
        return optax.apply_updates(parts, change), moments

    @jax.jit
    def train() -> Any:
        key = jax.random.fold_in(jax.random.split(KEY)[0], number)
        start = MLP(FEATURES, like.hidden, like.classes, key=key)
        parts: Any = (start.weights, start.biases)
        return jax.lax.fori_loop(0, like.epochs, step, (parts, optimiser.init(parts)))[0]

    return train()


@pytest.mark.parametrize(("hidden", "weight_decay"), [((), 0.3), ((4, 3), 0.0)])
def test_a_teacher_on_the_axis_is_the_teacher_trained_alone(hidden: tuple[int, ...], weight_decay: float) -> None:
    X, y = _table()
    like = replace(SMALL, hidden=hidden, batch=ROWS, epochs=8, weight_decay=weight_decay)
    together = like.fit(X, y, DEALT, KEY).teachers_
    number = TEACHERS - 1
    rows = DEALT.of(number)
    assert len(rows) < DEALT.width
    alone = _alone(X[rows], y[rows], number, like)
    for ours, theirs in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
        np.testing.assert_allclose(ours[number], theirs, rtol=2e-4, atol=2e-5)


def test_batches_cover_a_shard_once_an_epoch() -> None:
    plan = Curriculum(SMALL._axis, (), 2, "xavier", 1, 3, 7)
    assert (plan.steps, plan.slots) == (3, 9)
    assert all(
        steps == -(-width // batch) and slots // steps <= batch and 0 <= slots - width < slots // steps
        for width in range(1, 40)
        for batch in range(1, 40)
        for plan in [Curriculum(SMALL._axis, (), 2, "xavier", 1, batch, width)]
        for steps, slots in [(plan.steps, plan.slots)]
    )


def test_equal_keys_give_equal_teachers_and_other_keys_others() -> None:
    X, y = _table()
    assert _changed(_parameters(X, y), _parameters(X, y)) == set()
    other = replace(SMALL).fit(X, y, DEALT, jax.random.key(1)).teachers_
    after = [np.asarray(leaf) for leaf in jax.tree.leaves(other)]
    assert _changed(_parameters(X, y), after) == set(range(TEACHERS))


def test_the_ensemble_learns() -> None:
    X = np.random.default_rng(0).uniform(size=(600, 2)).astype(np.float32)
    y = ((X[:, 0] > 0.5) != (X[:, 1] > 0.5)).astype(int)
    fitted = Ensemble(12, hidden=(16,), epochs=150, batch=16, learning_rate=0.03).fit(
        X, y, shards(600, 12, seed=0), KEY
    )
    assert np.mean(fitted.votes(X).argmax(axis=1) == y) > 0.9


def test_a_shard_of_one_class_learns_to_vote_for_it() -> None:
    X, _ = _table()
    y = (DEALT.owner() == 2).astype(int)
    fitted = replace(SMALL, learning_rate=0.3).fit(X, y, DEALT, KEY)
    np.testing.assert_array_equal(fitted.predictions(X), np.repeat(np.arange(TEACHERS)[:, None] == 2, ROWS, axis=1))


@given(queries=st.integers(0, 70), cells=st.sampled_from([1, 40, 100, 1 << 22]))
@settings(max_examples=15, deadline=None)
def test_votes_count_the_predictions_whatever_the_chunks(queries: int, cells: int) -> None:
    fitted = replace(SMALL).fit(*_table(), DEALT, KEY)
    asked = np.random.default_rng(queries).normal(size=(queries, FEATURES))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CELLS_ON_CPU", cells)
        votes, predictions = fitted.votes(asked), fitted.predictions(asked)
    assert votes.dtype == predictions.dtype == np.int32
    assert votes.shape == (queries, 3)
    assert predictions.shape == (TEACHERS, queries)
    np.testing.assert_array_equal(votes, (predictions[..., None] == np.arange(3)).sum(axis=0))


def test_every_teacher_has_one_vote_even_when_it_diverged() -> None:
    X, y = _table()
    fitted = replace(SMALL, learning_rate=1e30).fit(X * 1e20, y, DEALT, KEY)
    np.testing.assert_array_equal(fitted.votes(X).sum(axis=1), TEACHERS)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"teachers": 0}, r"`teachers` \(=0\) must be at least 1"),
        ({"classes": 1}, r"`classes` \(=1\) must be at least 2"),
        ({"epochs": 0}, r"`epochs` \(=0\)"),
        ({"batch": 0}, r"`batch` \(=0\)"),
        ({"learning_rate": 0.0}, r"`learning_rate` \(=0.0\)"),
        ({"learning_rate": float("nan")}, r"`learning_rate` \(=nan\)"),
        ({"weight_decay": -1.0}, r"`weight_decay` \(=-1.0\)"),
        ({"mesh": jax.sharding.Mesh(np.array(jax.devices()[:1]), ("rows",))}, r"axes \('rows',\).*named 'teachers'"),
    ],
)
def test_settings_that_make_no_sense(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(SMALL, **setting)


def _spoilt(X: np.ndarray, value: float) -> np.ndarray:
    X = X.copy()
    X[4, 1] = value
    return X


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (_spoilt(X, np.nan), y, DEALT), r"`X` is nan in row 4, column 1"),
        (lambda X, y: (_spoilt(X, np.inf), y, DEALT), r"`X` is inf in row 4, column 1"),
        (lambda X, y: (X[:, 0], y, DEALT), r"shape \(rows, features\).*not \(23,\)"),
        (lambda X, y: (X[:, :0], y, DEALT), r"at least one feature, not \(23, 0\)"),
        (lambda X, y: ([*X.tolist()[:-1], ["a", "b", "c"]], y, DEALT), "must be a table of numbers"),
        (lambda X, y: (X, y + 1, DEALT), r"`y` is 3 in row \d+, which is none of the classes \[0, 1, 2\]"),
        (lambda X, y: (X, np.where(np.arange(ROWS) == 6, np.nan, y), DEALT), "`y` is nan in row 6"),
        (lambda X, y: (X, y[:, None], DEALT), "one label for each row"),
        (lambda X, y: (X, y[:-1], DEALT), "23 rows but `y` has 22 labels"),
        (lambda X, y: (X, y, shards(24, TEACHERS, seed=0)), "made for 24 rows, but `X` has 23"),
        (lambda X, y: (X, y, shards(ROWS, 4, seed=0)), "for 4 teachers, but the ensemble has 5"),
    ],
)
def test_tables_that_cannot_be_learnt_from(change: Any, message: str) -> None:
    X, y, dealt = change(*_table())
    with pytest.raises(InputError, match=message):
        replace(SMALL).fit(X, y, dealt, KEY)


def test_a_hidden_layer_without_units() -> None:
    with pytest.raises(InputError, match="at least one unit"):
        replace(SMALL, hidden=(0,)).fit(*_table(), DEALT, KEY)


def test_asking_before_learning() -> None:
    with pytest.raises(InputError, match="Call `fit` first"):
        replace(SMALL).votes(_table()[0])


def test_queries_with_other_columns_or_no_numbers() -> None:
    fitted = replace(SMALL).fit(*_table(), DEALT, KEY)
    with pytest.raises(InputError, match="has 2 columns, but the teachers learnt from 3"):
        fitted.votes(np.zeros((4, 2)))
    with pytest.raises(InputError, match="`X` is nan in row 0, column 2"):
        fitted.predictions(np.array([[0, 0, np.nan]]))
