"""Every row belongs to one teacher, and no value ever decides to which."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy.learn
from understudy.errors import InputError
from understudy.learn.partition import Shards, shards, shards_by_key


@st.composite
def deals(draw: st.DrawFn) -> tuple[int, int, int]:
    rows = draw(st.integers(1, 300))
    return rows, draw(st.integers(1, rows)), draw(st.integers(0, 2**32))


@given(deals())
def test_every_row_has_one_teacher_and_shards_are_even(deal: tuple[int, int, int]) -> None:
    rows, teachers, seed = deal
    dealt = shards(rows, teachers, seed=seed)
    held = np.concatenate([dealt.of(teacher) for teacher in range(teachers)])
    assert sorted(held.tolist()) == list(range(rows))
    assert dealt.sizes.max() - dealt.sizes.min() <= 1
    assert dealt.sizes.sum() == rows
    assert dealt.index.shape == dealt.mask.shape == (teachers, dealt.width)


@given(deals())
def test_owner_is_the_inverse_of_the_index(deal: tuple[int, int, int]) -> None:
    rows, teachers, seed = deal
    dealt = shards(rows, teachers, seed=seed)
    owner = dealt.owner()
    assert all(set(dealt.of(t).tolist()) == set(np.flatnonzero(owner == t).tolist()) for t in range(teachers))


@given(deals())
def test_the_same_seed_deals_the_same(deal: tuple[int, int, int]) -> None:
    rows, teachers, seed = deal
    first, second = (shards(rows, teachers, seed=seed) for _ in range(2))
    np.testing.assert_array_equal(first.index, second.index)


def test_another_seed_deals_differently() -> None:
    assert not np.array_equal(shards(100, 5, seed=0).index, shards(100, 5, seed=1).index)


def test_a_row_is_dealt_to_every_teacher_equally_often() -> None:
    owners = np.array([shards(12, 4, seed=seed).owner()[0] for seed in range(400)])
    counts = np.bincount(owners, minlength=4)
    assert counts.min() > 60  # 100 expected; a fair deal is below 61 once in 10^6 tries


def test_an_empty_slot_is_no_row() -> None:
    dealt = shards(7, 3, seed=0)
    with pytest.raises(IndexError):
        np.arange(7)[dealt.index]


def test_a_row_nobody_holds_has_no_owner() -> None:
    np.testing.assert_array_equal(Shards(np.array([[0], [2]]), rows=3).owner(), [0, -1, 1])


def test_the_assignment_cannot_be_changed_afterwards() -> None:
    dealt = shards(4, 2, seed=0)
    with pytest.raises(ValueError, match="read-only"):
        dealt.index[0, 0] = dealt.index[1, 0]


def test_fewer_rows_than_teachers() -> None:
    with pytest.raises(InputError, match=r"fewer rows \(3\) than teachers \(4\).*at most 3 teachers"):
        shards(3, 4, seed=0)


def test_no_teachers() -> None:
    with pytest.raises(InputError, match=r"`teachers` \(=0\) must be at least 1"):
        shards(3, 0, seed=0)


def test_a_negative_seed() -> None:
    with pytest.raises(InputError, match=r"`seed` \(=-1\)"):
        shards(3, 2, seed=-1)


def test_two_teachers_cannot_share_a_row() -> None:
    with pytest.raises(InputError, match=r"Row 1 is in 2 slots \(teachers \[0, 1\]\)"):
        Shards(np.array([[0, 1], [2, 1]]), rows=3)


def test_a_teacher_cannot_hold_a_row_twice() -> None:
    with pytest.raises(InputError, match=r"Row 0 is in 2 slots \(teachers \[0, 0\]\)"):
        Shards(np.array([[0, 0]]), rows=3)


@pytest.mark.parametrize("position", [-1, 4])
def test_positions_outside_the_table(position: int) -> None:
    with pytest.raises(InputError, match=f"Teacher 1 holds position {position} in slot 0.*3 rows"):
        Shards(np.array([[0], [position]]), rows=3)


def test_a_teacher_without_rows() -> None:
    with pytest.raises(InputError, match="Teacher 1 has no rows"):
        Shards(np.array([[0, 1], [3, 3]]), rows=3)


def test_an_index_of_the_wrong_shape() -> None:
    with pytest.raises(InputError, match=r"\(teachers, width\).*not \(2, 0\)"):
        Shards(np.zeros((2, 0), dtype=np.int64), rows=3)


def test_this_room_imports_no_other_room() -> None:
    for file in Path(next(iter(understudy.learn.__path__))).glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            ours = [name for name in modules if name.startswith("understudy")]
            assert all(name.startswith(("understudy.learn", "understudy.errors")) for name in ours), (file.name, ours)


def test_groups_are_dealt_whole_by_their_own_keys() -> None:
    keys = np.random.default_rng(0).integers(0, 2**63, 50).astype(np.uint64)
    dealt = shards_by_key(keys, 3, 7)
    owner = dealt.owner().reshape(50, 3)
    assert (owner == owner[:, :1]).all()
    assert (owner >= 0).all()
    # A group that goes moves no other.
    without = shards_by_key(np.delete(keys, 20), 3, 7).owner().reshape(49, 3)
    assert (without == np.delete(owner, 20, axis=0)).all()
    assert shards_by_key(keys[:2], 2, 40).teachers == 40  # most of them idle
