"""What is made of noisy means, second moments and radii: nearer to the truth than the noisy numbers themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.learn import cosine_spectrum, shrinkage
from understudy.learn.shrinkage import Spreads, class_shapes, shrink_means
from understudy.methods.moments.gaussian_model import settle
from understudy.methods.moments.targets import class_ratio

COUNTS = np.array([900.0, 100.0])


def shrunk_error(away: np.ndarray, noise: float, seed: int) -> tuple[float, float]:
    """The squared error of a rare class' mean, before and after."""
    true = np.stack([np.zeros_like(away), away])
    noisy = true + np.random.default_rng(seed).normal(size=true.shape) * [[0.0], [noise]]
    found = shrink_means(noisy, np.array([1e-9, noise]), COUNTS)
    return float(((noisy - true)[1] ** 2).sum()), float(((found - true)[1] ** 2).sum())


@pytest.mark.parametrize("kind", ["few axes", "all axes", "none"])
def test_means_are_pulled_the_way_that_suits_them(kind: str) -> None:
    away = np.zeros(60)
    away[: {"few axes": 3, "all axes": 60, "none": 0}[kind]] = 6.0 if kind == "few axes" else 0.7
    errors = np.array([shrunk_error(away, 1.0, seed) for seed in range(20)]).mean(axis=0)
    assert errors[1] < errors[0] * {"few axes": 0.4, "all axes": 0.6, "none": 0.15}[kind]


def test_what_is_far_above_the_noise_stays() -> None:
    means = np.array([[0.0] * 8, [5.0] * 8])
    assert np.allclose(shrink_means(means, np.array([1e-6, 1e-6]), COUNTS), means, atol=1e-4)


# ---- signals -------------------------------------------------------------------------------------------------


def signal(d: int) -> np.ndarray:
    """The second moment of a smooth signal, with a trace of one."""
    lag = np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    return np.exp(-((lag / 6.0) ** 2)) / d


def noisy(moment: np.ndarray, noise: float, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(0, noise, moment.shape)
    return moment + np.triu(drawn, 1) + np.triu(drawn, 1).T + np.sqrt(2) * np.diag(np.diag(drawn))


def roughness(moment: np.ndarray) -> float:
    """The variance of the second difference, beside that of the signal."""
    second = np.diff(np.eye(len(moment)), 2, axis=0)
    return float(np.trace(second @ moment @ second.T) / np.trace(moment))


def test_a_signal_is_told_from_a_table() -> None:
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(60, 3))
    table = (factor @ factor.T + np.diag(rng.uniform(1, 9, 60))) / 400
    for seed in range(5):
        assert cosine_spectrum.is_signal(noisy(signal(60), 0.001, seed), 0.001)
        assert not cosine_spectrum.is_signal(noisy(table, 0.001, seed), 0.001)
        assert not cosine_spectrum.is_signal(noisy(np.diag(np.linspace(1, 9, 60)) / 300, 0.001, seed), 0.001)
        assert not cosine_spectrum.is_signal(noisy(np.zeros((60, 60)), 0.001, seed), 0.001)
    assert not cosine_spectrum.is_signal(signal(12), 1e-9)


def test_rows_of_a_signal_are_as_smooth_as_it_is() -> None:
    d, noise = 80, 0.001
    counts, clips = np.array([4000.0, 1000.0]), np.ones(2)
    products = np.stack([noisy(signal(d), noise, 1), noisy(signal(d), noise, 2)]) * counts[:, None, None]
    unseen = Spreads(np.full((2, d), 0.8 / np.sqrt(d)), np.ones(2))
    factors = class_shapes(products, noise * counts, counts, np.zeros((2, d)), clips, unseen)
    for factor in factors:
        found = factor @ factor.T
        assert np.trace(found) == pytest.approx(1, rel=0.05)
        assert np.linalg.norm(found - signal(d)) < 0.35 * np.linalg.norm(noisy(signal(d), noise, 1) - signal(d))
        assert roughness(found) < 0.15  # of white noise 6, and about 1 of this noisy second moment


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 40), st.integers(0, 50))
def test_cosines_give_back_their_powers(d: int, seed: int) -> None:
    found = np.random.default_rng(seed).random(d)
    assert np.allclose(cosine_spectrum.powers(cosine_spectrum.with_powers(found)), found)
    assert np.allclose(cosine_spectrum.cosines(d) @ cosine_spectrum.cosines(d).T, np.eye(d))


# ---- what is a class' own ------------------------------------------------------------------------------------

D = 30


def shape_of(rows: np.ndarray, noise: float, unsure: float, means: np.ndarray | None = None) -> np.ndarray:
    """The shape found for a rare class of these rows beside a common one of even spread, with so much noise."""
    rng = np.random.default_rng(1)
    even = rng.normal(size=(40_000, D))
    products, deviations = [], []
    for points, seed in ((even, 2), (rows, 3)):
        short = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True) / np.sqrt(D), 1)
        products.append(noisy(short.T @ short / len(short), noise * (seed == 3) * D, seed))
        deviations.append(np.abs(short).mean(axis=0) + rng.normal(0, unsure * (seed == 3), D))
    counts, clips = np.array([40_000.0, 300.0]), np.full(2, np.sqrt(D))
    spreads = Spreads(np.stack(deviations), np.array([1e-6, max(unsure, 1e-6)]))
    noises = np.array([1e-6, max(noise, 1e-6)]) * counts * D
    centres = np.zeros((2, D)) if means is None else means
    factors = class_shapes(np.stack(products) * counts[:, None, None], noises, counts, centres, clips, spreads)
    return factors[1] @ factors[1].T


def test_deviations_tell_the_widths_of_a_rare_class_that_second_moments_do_not() -> None:
    widths = np.where(np.arange(D) % 3 == 0, 2.0, 0.7)
    rows = np.random.default_rng(0).normal(size=(300, D)) * widths
    # The noise of 300 rows at epsilon 1: second moments as large as their own noise, deviations five times larger.
    wide = np.sqrt(np.diag(shape_of(rows, 0.03, 0.15)))
    assert wide[widths == 2].mean() > 1.8 * wide[widths < 2].mean()
    blind = np.sqrt(np.diag(shape_of(rows, 0.03, 1e3)))
    assert blind[widths == 2].mean() < 1.2 * blind[widths < 2].mean()


def test_a_class_that_is_as_wide_as_the_others_stays_so() -> None:
    rows = np.random.default_rng(0).normal(size=(300, D))
    wide = np.sqrt(np.diag(shape_of(rows, 0.03, 0.15)))
    assert wide.std() < 0.1 * wide.mean()


def test_what_varies_along_the_way_to_a_class_is_found_under_noise_that_hides_pairs() -> None:
    line = np.where(np.arange(D) < 10, 1.0, 0.0) / np.sqrt(10)
    far = np.random.default_rng(0).normal(size=(300, 1)) * 3
    aside = np.eye(D)[20]
    rows = np.random.default_rng(4).normal(size=(300, D)) * 0.6 + far * (line + 0.6 * aside)
    found = shape_of(rows, 0.01, 1e3, np.stack([np.zeros(D), 5 * line]))
    unit = found / np.trace(found)
    assert line @ unit @ line > 3 / D
    assert line @ unit @ aside > 1 / D


# ---- many axes -----------------------------------------------------------------------------------------------


def wide_shapes(d: int, strength: float) -> np.ndarray:
    """F F' of two classes of d axes, from moments whose noise hides all but a few directions, and makes some eigenvalues negative."""
    rng = np.random.default_rng(0)
    both, own = rng.normal(size=(d, 3)), rng.normal(size=(d, 2))
    shared = (np.diag(rng.uniform(1, 3, d)) + strength * both @ both.T) / (2 * d)
    special = shared + strength * own @ own.T / (2 * d) - 0.5 * strength * both[:, :1] @ both[:, :1].T / (2 * d)
    noise = 0.2 / (2 * d * np.sqrt(d))
    counts, clips = np.array([3000.0, 2000.0]), np.ones(2)
    products = np.stack([noisy(shared, noise, 1), noisy(special, noise, 2)]) * counts[:, None, None]
    spreads = Spreads(rng.uniform(0.7, 0.9, (2, d)) / np.sqrt(d), np.full(2, 0.1 / np.sqrt(d)))
    factors = class_shapes(products, noise * counts, counts, rng.normal(size=(2, d)) / d, clips, spreads)
    return factors @ factors.transpose(0, 2, 1)


@pytest.mark.parametrize("strength", [0.0, 0.3, 3.0])
def test_many_axes_have_the_shapes_that_all_their_eigenvalues_would_give(
    strength: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shrinkage, "_LARGE", 60)
    quick = wide_shapes(60, strength)

    def all_beyond(matrix: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        return values[values > least], vectors[:, values > least]

    monkeypatch.setattr(shrinkage, "_beyond", all_beyond)
    monkeypatch.setattr(shrinkage, "_LARGE", 10**9)
    assert np.allclose(quick, wide_shapes(60, strength), rtol=1e-9, atol=1e-9 * np.abs(quick).max())


def test_no_axis_of_many_is_without_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shrinkage, "_LARGE", 60)
    flat = np.diag(np.linspace(-0.5, 2.0, 60))
    flat[0, 1] = flat[1, 0] = 3.0
    root = shrinkage._factor(flat, 0.02)
    values, vectors = np.linalg.eigh(flat)
    assert np.allclose(root @ root.T, (vectors * np.maximum(values, 0.02 * values.mean())) @ vectors.T)


# ---- radii and classes ---------------------------------------------------------------------------------------


def test_a_small_class_keeps_its_distance_and_gets_no_far_rows() -> None:
    true = np.zeros((2, 28))
    true[0, 12:18] = [100, 500, 2000, 2000, 500, 100]
    true[1, 16:22] = [10, 50, 120, 120, 50, 10]
    middle = (true[1] @ np.arange(28)) / true[1].sum()
    for seed in range(10):
        counts = settle(true + np.random.default_rng(seed).normal(0, 17, true.shape), 17.0)
        assert (counts >= 0).all()
        assert counts[0, 24:].sum() + counts[0, :6].sum() == 0
        assert counts[1] @ np.arange(28) / counts[1].sum() == pytest.approx(middle, abs=1.5)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(0, 40))
def test_every_class_has_radii_however_few_its_rows_are(seed: int, rows: int) -> None:
    true = np.zeros((2, 28))
    true[0, 12:18] = 100
    true[1, 14] = rows
    counts = settle(true + np.random.default_rng(seed).normal(0, 17, true.shape), 17.0)
    assert (counts >= 0).all()
    assert (counts.sum(axis=1) > 0).all()


def test_a_class_in_the_noise_is_not_drawn_while_two_others_are() -> None:
    counts = np.array([60.0, 39.0, 1.0])
    assert class_ratio(counts, np.array([2])) == pytest.approx([60 / 99, 39 / 99, 0])
    assert class_ratio(counts, np.array([1, 2])) == pytest.approx([0.6, 0.39, 0.01])
    assert class_ratio(counts, np.array([], dtype=int)) == pytest.approx([0.6, 0.39, 0.01])
