"""A second look through networks' eyes: what it lets out is clipped, noisy and paid for, and it helps."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from numpy.typing import ArrayLike

sys.path.append(str(Path(__file__).parent.parent / "images"))
from small_images import bars  # pyright: ignore[reportMissingImports]

from understudy.errors import BudgetExceeded
from understudy.learn.convnet_training import TrainedNetwork
from understudy.learn.convnets import ConvNet
from understudy.methods.distillation.correction import Committee, correct
from understudy.privacy import Budget, PoissonGaussianStep, PrepaidSteps

CLIP = 0.7


class Watched(PrepaidSteps):
    """The real thing, which also remembers what it was given."""

    def release(self, clipped_sum: ArrayLike, records: int) -> np.ndarray:
        self.given = [*getattr(self, "given", []), np.array(clipped_sum)]
        return super().release(clipped_sum, records)


@pytest.fixture(scope="module")
def committee() -> Committee:
    """Two networks that know nothing, with axes of samples."""
    networks = [ConvNet((8, 8, 1), 3, key=jax.random.key(i), width=4) for i in range(2)]
    return Committee([TrainedNetwork(one, (8, 8, 1)) for one in networks]).with_axes(bars(300, 7).flat(), 6)


def _paid(rows: int, steps: int, noise: float = 2.0, seed: int = 0, clip: float = CLIP) -> Watched:
    step = PoissonGaussianStep(clip, noise, 1.0)
    return Watched(step, steps, rows, rows, Budget(600.0, 1e-5, unsafe_noise_seed=seed))


@pytest.mark.parametrize("kind", ["white", "black", "noise", "one pixel", "chequered"])
def test_no_record_moves_a_sum_by_more_than_the_clip(committee: Committee, kind: str) -> None:
    rows = {
        "white": np.ones((1, 64)),
        "black": np.zeros((1, 64)),
        "noise": np.random.default_rng(0).uniform(size=(1, 64)),
        "one pixel": np.eye(64)[:1],
        "chequered": (np.indices((8, 8)).sum(axis=0) % 2).reshape(1, 64),
    }[kind].astype(np.float32)
    for label in range(3):
        paid = _paid(1, 4)
        correct(committee, rows, np.array([label]), 3, paid, 50.0)
        assert len(paid.given) == 4
        assert max(np.linalg.norm(one) for one in paid.given) <= CLIP


def test_blanking_a_record_changes_the_first_sum_by_at_most_the_clip(committee: Committee) -> None:
    data = bars(30)
    sums = []
    for rows in (30, 29):
        paid = _paid(30, 1)
        correct(committee, data.flat()[:rows], data.labels[:rows], 3, paid, 1.0)
        sums.append(paid.given[0])
    assert 0 < np.linalg.norm(sums[0] - sums[1]) <= CLIP


def test_every_sum_leaves_with_the_noise_that_was_paid_for(committee: Committee) -> None:
    data = bars(30)
    quiet, found = None, []
    for seed in range(40):
        paid = _paid(30, 1, noise=2.0, seed=seed)
        weights = correct(committee, data.flat(), data.labels, 3, paid, 1.0).weights
        quiet = paid.given[0].reshape(7, 3)
        assert weights is not None
        found.append(-30 * weights - quiet)
    noise = np.stack(found)
    assert abs(noise.std() / (2.0 * CLIP) - 1) < 0.1
    assert len(np.unique(noise)) == noise.size


def test_all_steps_are_paid_for_beforehand_and_none_more(committee: Committee) -> None:
    data, budget = bars(30), Budget(1.0, 1e-5)
    with pytest.raises(BudgetExceeded):
        PrepaidSteps(PoissonGaussianStep(CLIP, 1.0, 1.0), 10, 30, 30, budget)
    paid = PrepaidSteps(PoissonGaussianStep(CLIP, 100.0, 1.0), 3, 30, 30, budget)
    spent = budget.spent().epsilon
    correct(committee, data.flat(), data.labels, 3, paid, 1.0)
    assert budget.spent().epsilon == spent
    assert paid.used == 3
    with pytest.raises(BudgetExceeded):
        paid.release(np.zeros(3), 30)


def test_a_correction_teaches_networks_that_know_nothing(committee: Committee) -> None:
    data, new = bars(600), bars(300, 3)
    before = (committee.scores(new.flat()).argmax(axis=1) == new.labels).mean()
    better = correct(committee, data.flat(), data.labels, 3, _paid(600, 40, noise=0.5, clip=2.0), 3.0)
    after = better.scores(new.flat())
    np.testing.assert_allclose(after.sum(axis=1), 0, atol=1e-3)
    assert (after.argmax(axis=1) == new.labels).mean() > max(0.9, before)


def test_what_is_seen_of_samples_has_one_spread(committee: Committee) -> None:
    seen = committee.seen(bars(300, 7).flat())
    assert seen.shape == (300, 7)
    np.testing.assert_allclose(seen[:, -1], 1)
    np.testing.assert_allclose(seen[:, :-1].mean(axis=0), 0, atol=1e-2)
    assert np.all(seen[:, :-1].std(axis=0) < 1.01)
    assert seen[:, 0].std() > 0.9


def test_another_opinion_counts_for_half(committee: Committee) -> None:
    rows = bars(3).flat()
    plain = Committee(committee.learners)
    other = np.eye(3)[:, ::-1]
    found = Committee(committee.learners, (lambda _: other,)).scores(rows)
    np.testing.assert_allclose(found - plain.scores(rows), other / 2 - other.mean(axis=1, keepdims=True) / 2, atol=1e-6)
