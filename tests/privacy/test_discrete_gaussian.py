"""Many exact Gaussian samples at once: no rounding decides any, and they are distributed as those of OpenDP."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import stats

from understudy.privacy import discrete_gaussian, noise
from understudy.privacy.noise import SystemNoise

SIGMAS = [0.1, 0.3, 1.0, 3.7, 41.3, 1e4, 3e8, 2.0**50]


def samples(sigma: float, size: int, seed: int = 0) -> np.ndarray:
    return discrete_gaussian.draw(sigma, size, np.random.default_rng(seed).bytes)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_floating_point_decides_as_exact_arithmetic_does(sigma: float) -> None:
    accepted = discrete_gaussian._accepted
    quick = accepted(sigma, 2000, np.random.default_rng(1).bytes)
    exact = accepted(sigma, 2000, np.random.default_rng(1).bytes, unsure=1.0)
    assert len(quick) > 300
    assert np.array_equal(quick, exact)


def test_exact_arithmetic_draws_bits_until_it_is_settled() -> None:
    """The first bits of 1/sqrt(e), the chance of k = sigma = 1 in block 0, decide nothing: those after them do."""
    with localcontext() as context:
        context.prec = 80
        p = Decimal("-0.5").exp()
        first = int(p * 2**53)
        after = int((p * 2**53 - first) * 2**64)

    def asked(*words: int) -> bool:
        given = iter(words)
        return discrete_gaussian._below(first, 0, 1, 1.0, lambda size: next(given).to_bytes(size, "little"))

    assert asked(after - 1)
    assert not asked(after + 1)
    assert asked(after, 0)
    assert not asked(after, 2**64 - 1)
    assert discrete_gaussian._below(first - 1, 0, 1, 1.0, lambda _: pytest.fail("no bits are needed"))
    assert discrete_gaussian._below(2**53 - 1, 0, 0, 1.0, lambda _: pytest.fail("zero is always taken"))


def proposed(block: int, place: int, word: int, sigma: float) -> list[int]:
    """What becomes of one proposal."""
    given = iter((1 << block, place, word))
    return discrete_gaussian._accepted(sigma, 1, lambda size: next(given).to_bytes(size, "little")).tolist()


def test_what_floating_point_cannot_tell_is_left_to_exact_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(discrete_gaussian, "_below", lambda uniform, *more: asked.append(uniform))
    near = int(math.exp(-0.5) * 2**53)
    # One proposes 1 at sigma 1 where the uniform number is that far from its chance.
    for away, taken in ((-(2**18), [1]), (-(2**16), []), (0, []), (2**16, []), (2**18, [])):
        assert proposed(0, 1, (near + away) << 11, 1.0) == taken
    assert asked == [near - 2**16, near, near + 2**16]


def test_places_that_are_not_even_signs_and_zeros_are_as_they_should_be() -> None:
    # Blocks of three: the last of 2^64 words has a place that would come once too often.
    assert proposed(0, 2**64 - 1, 0, 2.0) == []
    assert proposed(0, 2**64 - 2, 0, 2.0) == [2]
    assert proposed(0, 2**64 - 2, 1, 2.0) == [-2]
    assert proposed(0, 0, 0, 2.0) == [0]
    assert proposed(0, 0, 1, 2.0) == []
    assert proposed(1, 1, 0, 2.0) == [4]


@pytest.mark.parametrize("sigma", SIGMAS)
def test_no_chance_of_being_taken_is_above_one(sigma: float) -> None:
    width = max(math.ceil(sigma * discrete_gaussian._BLOCK), 1)
    with localcontext() as context:
        context.prec = 60
        for block in range(200):
            assert block * Decimal(2).ln() <= (Decimal(block * width) / Decimal(sigma)) ** 2 / 2


def test_blocks_halve_and_go_on_beyond_a_word_of_zeros() -> None:
    found = discrete_gaussian._leading(4, lambda size: (b"\0" * 16 + b"\x08" + b"\0" * 7 + b"\x01" * 8)[-size:])
    assert found.tolist() == [64 + 3, 64, 3, 0]
    many = discrete_gaussian._leading(100_000, np.random.default_rng(0).bytes)
    expected = np.append(0.5 ** np.arange(1, 9), 0.5**8)
    assert stats.chisquare(np.bincount(np.minimum(many, 8)), expected * len(many)).pvalue > 1e-6


@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.7])
def test_each_whole_number_has_its_chance(sigma: float) -> None:
    drawn = samples(sigma, 300_000)
    reach = max(math.floor(3 * sigma), 1)
    k = np.arange(-60, 61)
    weights = np.exp(-(k**2) / (2 * sigma**2))
    inside = np.abs(k) <= reach
    expected = np.append(weights[inside], weights[~inside].sum()) / weights.sum() * len(drawn)
    found = np.append([(drawn == at).sum() for at in k[inside]], (np.abs(drawn) > reach).sum())
    assert stats.chisquare(found, expected).pvalue > 1e-6


@pytest.mark.parametrize("sigma", [1e4, 3e8, 2.0**50])
def test_large_scales_are_gaussian_with_all_last_digits(sigma: float) -> None:
    drawn = samples(sigma, 200_000)
    assert stats.kstest((drawn + 0.5) / sigma, stats.norm.cdf).pvalue > 1e-6
    assert stats.chisquare(np.bincount(drawn % 7)).pvalue > 1e-6
    assert stats.chisquare(np.bincount(drawn % 16)).pvalue > 1e-6


def test_system_noise_is_the_same_few_or_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    many = SystemNoise().discrete_gaussian(5.5, (40, 1000)).ravel()
    monkeypatch.setattr(noise, "_MANY", 1 << 60)
    few = SystemNoise().discrete_gaussian(5.5, (40, 1000)).ravel()
    both = [np.bincount(np.clip(drawn, -14, 14) + 14, minlength=29) for drawn in (many, few)]
    # Two counts of one Poisson each: their difference, squared, by their sum.
    away = (both[0] - both[1]) ** 2 / np.maximum(both[0] + both[1], 1)
    assert stats.chi2.sf(away.sum(), 28) > 1e-6


def test_no_noise_comes_twice() -> None:
    found = [SystemNoise().discrete_gaussian(2.0**45, 5000) for _ in range(2)]
    assert len(np.unique(found)) == 10_000
    assert discrete_gaussian.draw(1.0, 0, np.random.default_rng(0).bytes).shape == (0,)
