"""The class of a synthetic row, drawn from an additive model of its columns: sharper than what a mixture says. Free.

A mixture that was fitted to noisy tables carries interactions that only the noise put there, and a flexible classifier
learns them. A softmax regression on the codes has one number for each code and class, so the noise averages out; it is
fitted to the mixture's own posterior on the mixture's own rows, and needs no second look at the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.methods.moments.mixture import Mixture, one_hot


@dataclass(frozen=True)
class LabelModel:
    """Public. `effects` is D + 1 x classes, the last row being the intercept."""

    effects: np.ndarray
    sizes: tuple[int, ...]

    def chances(self, codes: np.ndarray) -> np.ndarray:
        """The chance of each class given the codes, rows x classes."""
        logits = one_hot(codes, self.sizes) @ self.effects[:-1].astype(np.float32) + self.effects[-1]
        raised = np.exp(logits - logits.max(axis=1, keepdims=True))
        return raised / raised.sum(axis=1, keepdims=True)

    def draw(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A class for each row of codes."""
        upto = np.cumsum(self.chances(codes), axis=1)
        return np.minimum((rng.random(len(codes))[:, None] > upto).sum(axis=1), upto.shape[1] - 1)


def fit_label_model(mixture: Mixture, ratio: np.ndarray, *, rows: int, seed: int, ridge: float = 1.0) -> LabelModel:
    """Softmax regression on the mixture's posterior. `ridge` is the usual L2 penalty."""
    rng = np.random.default_rng(seed)
    codes = mixture.draw(rng.choice(len(ratio), size=rows, p=ratio), rng)
    wanted = mixture.posterior(codes, ratio)
    return LabelModel(_regress(codes, mixture.sizes, wanted, ratio, ridge), mixture.sizes)


def _regress(
    codes: np.ndarray, sizes: Sequence[int], wanted: np.ndarray, ratio: np.ndarray, ridge: float
) -> np.ndarray:
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    features = np.concatenate([one_hot(codes, sizes), np.ones((len(codes), 1), np.float32)], axis=1)
    wanted = wanted.astype(np.float32)
    shape = (features.shape[1], wanted.shape[1])

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        effects = flat.reshape(shape).astype(np.float32)
        logits = features @ effects
        logits -= logits.max(axis=1, keepdims=True)
        total = np.log(np.exp(logits).sum(axis=1, keepdims=True))
        value = float(-(wanted * (logits - total)).sum(dtype=np.float64))
        slope = features.T @ (np.exp(logits - total) - wanted)
        penalty = flat.reshape(shape).copy()
        penalty[-1] = 0.0
        return value + ridge / 2 * float((penalty**2).sum()), (slope + ridge * penalty).astype(np.float64).ravel()

    start = np.zeros(shape)
    start[-1] = np.log(np.maximum(ratio, 1e-12))
    with threadpool_limits(1):  # each product takes milliseconds; threads would wait for one another
        found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 60})
    return found.x.reshape(shape)
