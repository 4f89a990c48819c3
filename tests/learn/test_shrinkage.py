"""Covariances from noise: whatever the noise was, what comes out can be factorised."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.learn.shrinkage import class_covariance, pooled_covariance, positive_part


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("middle", [-30.0, -3.0, 0.0, 1.0])
def test_noise_alone_gives_a_covariance_with_a_factor(seed: int, middle: float) -> None:
    """Black images with noise: the mean of the eigenvalues is then as often negative as not."""
    rng = np.random.default_rng(seed)
    noisy = rng.normal(0, 1, (3, 40, 40))
    noisy = noisy + noisy.transpose(0, 2, 1) + middle * np.eye(40)
    pooled = pooled_covariance(noisy.mean(axis=0), 1.0)
    np.linalg.cholesky(pooled)
    np.linalg.cholesky(np.stack([class_covariance(one, pooled, 1.5) for one in noisy]))


def test_a_covariance_that_is_one_is_left_as_it_is() -> None:
    rows = np.random.default_rng(0).normal(size=(500, 6))
    covariance = rows.T @ rows / 500
    np.testing.assert_allclose(positive_part(covariance), covariance, atol=1e-12)
