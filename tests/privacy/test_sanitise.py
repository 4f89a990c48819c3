"""The sanitised data-dependent epsilon: sound parameters only, paid for, and rarely below the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import InputError
from understudy.privacy import (
    Budget,
    ConfidentGNMaxEvent,
    DeltaEvent,
    Event,
    GaussianEvent,
    GNMaxEvent,
    LaplaceEvent,
    SmoothRelease,
    SmoothReleaseEvent,
)
from understudy.privacy.accountant import total_rdp, without
from understudy.privacy.rdp import rdp_to_epsilon, smooth_release_rdp
from understudy.privacy.smooth import gnmax_cost, gnmax_local_sensitivity, require_conditions, smooth_sensitivity

VOTES = np.array([[480, 20]] * 60 + [[400, 100]] * 20)
RELEASE = SmoothRelease(order=12.0, beta=0.02, sigma=20.0, sigma_log=20.0)
CHARGED = GNMaxEvent(60.0, len(VOTES), "discrete")


def _budget(*before: Event) -> Budget:
    """Votes that were paid for, after whatever was spent before them."""
    budget = Budget(10.0, 1e-5)
    budget.charge(*before, CHARGED)
    return budget


def test_release_charges_both_draws() -> None:
    budget = _budget()
    RELEASE.release(VOTES, CHARGED, budget)
    assert budget.events == (CHARGED, SmoothReleaseEvent(0.02, 20.0), GaussianEvent(20.0))


@pytest.mark.parametrize(
    "before",
    [LaplaceEvent(2.0), GaussianEvent(1.0), GNMaxEvent(60.0, 500, "discrete"), GNMaxEvent(50.0, 300, "discrete")],
)
def test_what_was_spent_before_the_votes_is_counted(before: Event) -> None:
    """Votes of an earlier run too, also where they have the same noise and were merged with these."""
    alone, after = (
        RELEASE.release(VOTES, CHARGED, _budget(*events), confidence=0.9999).epsilon for events in ((), (before,))
    )
    least = rdp_to_epsilon([12.0], total_rdp([before], [12.0]), 1e-5)[0]
    assert after > least, "what came before alone costs this"
    assert after > alone


def test_delta_that_was_paid_outright_is_not_used_again() -> None:
    budget = _budget(DeltaEvent(9e-6, "padding"))
    assert RELEASE.release(VOTES, CHARGED, budget).epsilon > 0
    assert RELEASE.release(VOTES, CHARGED, _budget()).delta == 1e-5


def test_votes_that_nobody_paid_for_are_refused() -> None:
    with pytest.raises(InputError, match="was not charged"):
        RELEASE.release(VOTES, CHARGED, Budget(10.0, 1e-5))
    with pytest.raises(InputError, match="paid for 80 answers only"):
        RELEASE.release(np.repeat(VOTES, 2, axis=0), CHARGED, _budget())


def test_a_run_of_votes_is_taken_out_of_what_it_was_merged_with() -> None:
    def confident(count: int, answered: int) -> ConfidentGNMaxEvent:
        return ConfidentGNMaxEvent(60.0, 40.0, 20.0, count, answered, "discrete")

    other = LaplaceEvent(0.5)
    assert without([confident(10, 4), other, confident(5, 3)], confident(5, 3)) == [confident(10, 4), other]
    assert without([GNMaxEvent(5.0, 3), other], GNMaxEvent(5.0, 3)) == [other]
    for absent in (confident(11, 4), confident(10, 5), GNMaxEvent(5.0)):
        with pytest.raises(InputError, match="was not charged"):
            without([confident(10, 4), other], absent)


def test_upper_value_covers_the_truth() -> None:
    truth = gnmax_cost(VOTES, 60.0, 12.0, noise="discrete")
    fixed = sum(smooth_release_rdp(0.02, 20.0, [12.0])) + 12.0 / (2 * 20.0**2)
    true_epsilon = rdp_to_epsilon([12.0], [truth + fixed], 1e-5)[0]
    found = [RELEASE.release(VOTES, CHARGED, _budget(), confidence=0.9) for _ in range(30)]
    covered = np.mean([f.epsilon_upper >= true_epsilon - 1e-5 for f in found])
    assert covered >= 0.75
    assert np.mean([f.epsilon >= true_epsilon - 1e-5 for f in found]) < 0.95, "the estimate itself is not a bound"


def test_never_above_the_unconditional_cost() -> None:
    worst = rdp_to_epsilon(
        [12.0], [len(VOTES) * 12.0 / 60.0**2 + smooth_release_rdp(0.02, 20.0, [12.0])[0] + 12.0 / 800], 1e-5
    )[0]
    for _ in range(10):
        assert RELEASE.release(VOTES, CHARGED, _budget()).epsilon_upper <= worst + 1e-5


def test_conditions_are_required_before_anything_is_spent() -> None:
    budget, charged = Budget(10.0, 1e-5), GNMaxEvent(20.0, 1, "discrete")
    budget.charge(charged)
    with pytest.raises(InputError, match="C6 fails"):
        SmoothRelease(order=25.0, beta=0.004, sigma=20.0, sigma_log=20.0).release(
            np.array([[200, 50, 0, 0, 0, 0, 0, 0, 0, 0]]), charged, budget
        )
    assert budget.events == (charged,)


def test_bad_parameters() -> None:
    with pytest.raises(InputError, match="too large for order"):
        SmoothRelease(order=20.0, beta=0.1, sigma=5.0, sigma_log=5.0)
    with pytest.raises(InputError, match="order"):
        SmoothRelease(order=1.0, beta=0.01, sigma=5.0, sigma_log=5.0)
    with pytest.raises(InputError, match="confidence"):
        RELEASE.release(VOTES, CHARGED, _budget(), confidence=1.0)


def _all_histograms(teachers: int, classes: int) -> list[list[int]]:
    if classes == 1:
        return [[teachers]]
    return [[i, *rest] for i in range(teachers + 1) for rest in _all_histograms(teachers - i, classes - 1)]


@pytest.mark.parametrize(
    ("teachers", "classes", "sigma", "order"), [(16, 3, 2.0, 2.0), (14, 2, 4.0, 2.0), (12, 3, 3.0, 3.0)]
)
@pytest.mark.parametrize("noise", ["continuous", "discrete"])
def test_smooth_sensitivity_covers_brute_force(
    teachers: int, classes: int, sigma: float, order: float, noise: str
) -> None:
    """Over all histograms of a small ensemble: SS dominates every step of the cost, and changes by at most
    exp(beta)."""
    try:
        require_conditions(sigma, classes, order)
    except InputError:
        pytest.skip("conditions fail here: refused in use")
    histograms = [h for h in _all_histograms(teachers, classes) if sum(h) == teachers]
    cost = {tuple(h): gnmax_cost([h], sigma, order, noise=noise) for h in histograms}  # type: ignore[arg-type]
    beta = 0.1
    local = {tuple(h): gnmax_local_sensitivity([h], sigma, order, noise=noise) for h in histograms}  # type: ignore[arg-type]
    smooth = {h: smooth_sensitivity(ls, beta) for h, ls in local.items()}
    for h, here in cost.items():
        for i in range(classes):
            for j in range(classes):
                if i != j and h[i] > 0:
                    moved = list(h)
                    moved[i] -= 1
                    moved[j] += 1
                    assert abs(cost[tuple(moved)] - here) <= smooth[h] * (1 + 1e-9) + 1e-12, (h, moved)
                    assert smooth[tuple(moved)] <= smooth[h] * np.exp(beta) * (1 + 1e-9) + 1e-15, (h, moved)


@settings(max_examples=200)
@given(st.floats(0.001, 0.1), st.floats(0.5, 50), st.floats(1.1, 30), st.floats(-1, 1), st.floats(-1, 1))
def test_smooth_release_covers_every_pair_of_gaussians(
    beta: float, sigma: float, order: float, ratio: float, shift: float
) -> None:
    """Rényi divergence of N(mu, (s sigma)^2) from N(mu', (s' sigma)^2), |log s/s'| <= beta, |mu - mu'| <= min(s,
    s')."""
    claim = smooth_release_rdp(beta, sigma, [order])[0]
    s1, s2 = 1.0, np.exp(ratio * beta)
    gap = shift * min(s1, s2)
    v1, v2 = (s1 * sigma) ** 2, (s2 * sigma) ** 2
    mixed = order * v2 + (1 - order) * v1
    if mixed <= 0:
        assert np.isinf(claim)
        return
    truth = order * gap**2 / (2 * mixed) + np.log(np.sqrt(v2 / v1)) - np.log(mixed / v2) / (2 * (order - 1))
    assert truth <= claim + 1e-9
