"""The canaries on plain sums: power, silence where all is well, and the paths that fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from understudy.audit.canaries import canaries, likelihood_ratio
from understudy.audit.examine import Audit, document
from understudy.audit.listening import Exit
from understudy.audit.one_run import one_run
from understudy.audit.statistics import side_by_side, statistics
from understudy.errors import InputError
from understudy.privacy import Budget, ClippedSum, GaussianCounts, GaussianEvent, NoisyCounts
from understudy.privacy.calibration import smallest_noise

EPSILON, DELTA = 4.0, 1e-5
SIGMA = smallest_noise(lambda sigma: [GaussianEvent(sigma)], EPSILON, DELTA)
THERE = np.zeros((4, 3))
HERE = np.vstack([THERE[:3], np.ones(3)])


def one_sum(rows: np.ndarray, budget: Budget) -> np.ndarray:
    return ClippedSum(1.0, SIGMA).release(rows, budget)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_20_000_runs_of_one_sum_come_within_a_tenth_of_the_claim() -> None:
    (attack,) = canaries(one_sum, HERE, THERE, EPSILON, DELTA, 20_000, attackers=("transcript",))
    assert attack.claim.mu == pytest.approx(1 / SIGMA)
    assert attack.bound.mu > 0.9 / SIGMA


def test_4_000_runs_of_one_sum_have_power_and_accuse_nobody() -> None:
    (attack,) = canaries(one_sum, HERE, THERE, EPSILON, DELTA, 4000, attackers=("transcript",), confidence=1 - 1e-6)
    assert attack.holds
    assert attack.bound.mu > 0.7 / SIGMA
    assert attack.bound.epsilon > 0


@pytest.mark.parametrize("mechanism", [GaussianCounts(0.5, 1), pytest.param(NoisyCounts(2.0), marks=pytest.mark.slow)])
def test_counts_are_measured_below_their_claim(mechanism: Any) -> None:
    attacks = canaries(
        mechanism.release,
        np.array([3, 1]), np.array([3, 0]), 40.0, DELTA, 2000, confidence=1 - 1e-6,
    )  # fmt: skip
    assert [attack.attacker for attack in attacks] == ["transcript", "release"]
    for attack in attacks:
        assert attack.holds
        assert attack.bound.mu > 0.4 * (attack.claim.mu or 0)


def test_a_question_that_only_one_world_asks_tells_for_certain() -> None:
    def nosy(rows: np.ndarray, budget: Budget) -> np.ndarray:
        return np.stack([one_sum(rows, budget) for _ in range(1 + int(rows[-1, 0]))])

    transcript, _ = canaries(nosy, HERE, THERE, 20.0, DELTA, 100)
    assert transcript.bound.mu > 3
    assert not transcript.holds


def test_a_table_that_is_refused_tells_for_certain() -> None:
    def picky(rows: np.ndarray, budget: Budget) -> np.ndarray:
        noisy = one_sum(rows, budget)
        if rows.sum() == 0 and not picky.calm:  # type: ignore[attr-defined]
            raise InputError("nothing to learn here.")
        return noisy

    picky.calm = False  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="nothing to learn"):
        canaries(picky, HERE, THERE, 20.0, DELTA, 10)


def test_the_ratio_of_likelihoods_is_that_of_the_densities() -> None:
    def passages(kind: Any, exact: float, scale: float, private: bool = False) -> list[Exit]:
        return [Exit(kind, np.array([exact]), scale, np.array([1.0]), private), Exit("uniform", None, 1.0, np.ones(2))]

    gaussian = likelihood_ratio(passages("gaussian", 1.0, 2.0), passages("gaussian", 0.0, 2.0))
    laplace = likelihood_ratio(passages("discrete_laplace", 1, 2.0), passages("discrete_laplace", 0, 2.0))
    smooth = likelihood_ratio(passages("gaussian", 1.0, 2.0, True), passages("gaussian", 1.0, 4.0, True))
    assert gaussian == pytest.approx(1 / 8)
    assert laplace == pytest.approx(0.5)
    assert smooth == pytest.approx(np.log(2))


def test_releases_that_lack_a_figure_can_still_be_compared() -> None:
    one, two = side_by_side([{"a": 1.0, "b": np.inf}], [{"a": 2.0}])
    assert one.tolist() == [[1.0, 1e12]]
    assert two.tolist() == [[2.0, 0.0]]
    assert statistics(np.arange(6.0)) == statistics(np.arange(6.0))


def test_fewer_than_four_fits_are_refused() -> None:
    with pytest.raises(InputError, match="at least 4"):
        canaries(one_sum, HERE, THERE, EPSILON, DELTA, 3)


def test_one_run_finds_canaries_that_stand_alone_in_a_sum_without_noise_enough() -> None:
    """Each canary has a coordinate of its own, so that one sum says of each whether it was there."""
    number = 400

    def score(fitted: np.ndarray) -> np.ndarray:
        return fitted

    def fit(rows: np.ndarray, budget: Budget) -> np.ndarray:
        return ClippedSum(1.0, 0.3).release(rows, budget)

    run, claim = one_run(fit, lambda present: np.diag(present.astype(float)), score, number, 60.0, DELTA)
    assert claim.mu == pytest.approx(1 / 0.3)
    assert run.right > 0.85 * run.guesses
    assert 1 < run.epsilon < claim.epsilon


def test_an_audit_without_canaries_measures_nothing_and_says_so() -> None:
    from understudy.audit.claims import Claim

    audit = Audit("columns", Claim(1.0, 1e-5, None), 0, 0.95, leaks=("release.arrays differs",))
    plain = document([audit])["methods"]["columns"]
    assert not audit.holds
    assert plain["measured_lower_bound"] is None
    assert plain["replay"] == {"holds": False, "differences": ["release.arrays differs"]}
