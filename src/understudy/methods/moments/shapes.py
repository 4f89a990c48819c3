"""Noisy means and second moments made whole: what the noise hides is taken from what all classes share. Free."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from understudy.methods.moments import waves

# Eigenvalues below this part of the average are raised to it: no direction is without any spread. A signal has hardly any
# at most of its frequencies.
_FLOOR = 0.02
_SIGNAL_FLOOR = 0.002
# A class' power at a frequency is at least this part, and at most this multiple, of what all rows have there.
_LEAST_POWER = 0.1
_MOST_POWER = 8.0
_SHORTEST_SERIES = 16
# An axis of a class is at most so many times wider or narrower than its shape says.
_MOST_STRETCH = 4.0


def shrink_means(means: np.ndarray, noise: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Class means pulled towards the mean of all rows by as much as their noise explains of the distance."""
    pooled = counts @ means / counts.sum()
    return np.stack([pooled + sd * shrink(away / sd) for away, sd in zip(means - pooled, noise, strict=True)])


def shrink(noisy: np.ndarray) -> np.ndarray:
    """What numbers with standard normal noise most likely are, where a share of them, small or whole, is not zero.

    Empirical Bayes (Johnstone and Silverman 2004, with a Gaussian slab): the share and the size of what is not zero are
    those under which the noisy numbers are likeliest. A class that differs a little everywhere is pulled in evenly, as by
    James and Stein; one that differs in a few axes keeps those, and the others go to zero.
    """
    squares = noisy**2
    shares = np.geomspace(1 / max(len(noisy), 2), 1.0, 12)
    sizes = np.geomspace(0.02, max(4 * float(squares.max()), 0.04), 40)
    # The logarithm of how much likelier a number is with a variance of 1 + size than with one of 1.
    gain = 0.5 * (squares[:, None] * (sizes / (1 + sizes)) - np.log1p(sizes))
    likely = np.logaddexp(np.log1p(-shares[:-1])[:, None, None], np.log(shares[:-1])[:, None, None] + gain)
    total = np.concatenate([likely.sum(axis=1), gain.sum(axis=0)[None]])
    share, size = np.unravel_index(int(total.argmax()), total.shape)
    if total[share, size] <= 0:
        return np.zeros_like(noisy)
    chosen = np.log(shares[share]) + gain[:, size]
    odds = np.ones_like(noisy) if share == len(shares) - 1 else np.exp(chosen - likely[share][:, size])
    return noisy * odds * sizes[size] / (1 + sizes[size])


@dataclass(frozen=True)
class Spreads:
    """Public: mean absolute deviations of each axis (classes x d) and their noise (classes).

    A class of few rows has no second moments to speak of: those of d axes that share a length C are about C^2 / d, under
    noise in proportion to C^2. Absolute deviations are about C / sqrt(d), under noise in proportion to C.
    """

    deviations: np.ndarray
    noise: np.ndarray


def class_shapes(
    products: np.ndarray,
    noise: np.ndarray,
    counts: np.ndarray,
    means: np.ndarray,
    clips: np.ndarray,
    spreads: Spreads | None,
) -> np.ndarray:
    """A factor F for each class, F F' being its shape: what classes share, plus what stands out of the noise.

    Shapes are compared in units of the radius that their rows were clipped to: a class of far rows has no more say.
    Without `spreads` the diagonal of a class' second moments has to say how wide its axes are.
    """
    moments = products / (counts * clips**2)[:, None, None]
    each = noise / (counts * clips**2)
    pooled = np.einsum("c,cij->ij", counts, moments) / counts.sum()
    pooled_noise = math.sqrt(float(((each * counts) ** 2).sum())) / counts.sum()
    if waves.is_signal(pooled, pooled_noise):
        shared = _clean_signal(pooled, pooled_noise)
        return np.stack([_signal(moment, shared, one) for moment, one in zip(moments, each, strict=True)])
    shared = clean(pooled, pooled_noise)
    away = means - counts @ means / counts.sum()
    made = [_shape(moment, shared, *known) for moment, *known in zip(moments, away, each, strict=True)]
    if spreads is None:
        own = [_diagonal(np.diag(moment - shape), one) for moment, shape, one in zip(moments, made, each, strict=True)]
        return np.stack([_factor(shape + np.diag(one), _FLOOR) for shape, one in zip(made, own, strict=True)])
    deviations, unsure = spreads.deviations / clips[:, None], spreads.noise / clips
    common = np.maximum(counts @ deviations / counts.sum(), unsure.min() / 10) / np.sqrt(np.diag(shared))
    scaled = [_scaled(shape, common, *known) for shape, *known in zip(made, deviations, unsure, strict=True)]
    return np.stack([_factor(shape, _FLOOR) for shape in scaled])


def _shape(moment: np.ndarray, shared: np.ndarray, away: np.ndarray, noise: float) -> np.ndarray:
    found = _size(moment, shared) / max(float(np.trace(shared)), 1e-12) * shared
    found = found + _series(moment - found, noise)
    found = found + _direction(moment - found, away, noise)
    return found + _outstanding(moment - found, noise)


def _scaled(shape: np.ndarray, common: np.ndarray, deviations: np.ndarray, noise: float) -> np.ndarray:
    """The shape with its axes stretched to the class' own deviations, as far as those stand out of the noise.

    `common` is what all rows have of deviation for one of spread: for a number about 0.8, for a rare choice far less.
    """
    expected = common * np.sqrt(np.maximum(np.diag(shape), 1e-12))
    expected = expected * float(expected @ deviations) / float(expected @ expected)
    if expected.max() <= 0:
        return shape
    found = expected + noise * shrink((deviations - expected) / noise)
    ratio = np.clip(found / expected, 1 / _MOST_STRETCH, _MOST_STRETCH)
    return shape * np.outer(ratio, ratio)


def _size(moment: np.ndarray, shared: np.ndarray) -> float:
    return max(float(np.trace(moment)), 0.1 * float(np.trace(shared)), 1e-12)


def _clean_signal(moment: np.ndarray, noise: float) -> np.ndarray:
    """A noisy second moment of a signal: the powers of its waves, and what else stands out."""
    found = waves.with_powers(waves.spectrum(moment, noise))
    values, vectors = _strong(moment - found, noise)
    return found + (vectors * values) @ vectors.T


def _signal(moment: np.ndarray, shared: np.ndarray, noise: float) -> np.ndarray:
    """The shape of a class of signals. What the noise cost or added is given back evenly, not as noise in the rows."""
    size = _size(moment, shared)
    found = size / max(float(np.trace(shared)), 1e-12) * shared
    now = waves.powers(found)
    more = np.clip(waves.difference(moment - found, noise), (_LEAST_POWER - 1) * now, (_MOST_POWER - 1) * now)
    found = found + waves.with_powers(more)
    made = _factor(found + _outstanding(moment - found, noise), _SIGNAL_FLOOR)
    return made * math.sqrt(size / float((made**2).sum()))


def clean(moment: np.ndarray, noise: float) -> np.ndarray:
    """A noisy second moment as series plus low rank plus diagonal.

    Eigenvalues above the edge of the noise's own spectrum, 2 noise sqrt(d), are kept and corrected for what the noise
    adds to them; the rest of each axis' variance stays on the diagonal.
    """
    d = len(moment)
    series = _series(moment - np.diag(np.diag(moment)), noise)
    strong, vectors = _strong(moment - series, noise)
    smooth = series + (vectors * strong) @ vectors.T
    rest = np.diag(moment) - np.diag(smooth)
    average = max(float(rest.mean()), _FLOOR * float(np.trace(moment)) / d, 1e-12)
    steady = average + _diagonal(rest - average, noise)
    return smooth + np.diag(np.maximum(steady, 0.2 * average))


def _strong(moment: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues above the edge of the noise's own spectrum, less what the noise adds to them, and their vectors."""
    values, vectors = np.linalg.eigh((moment + moment.T) / 2)
    edge = 2 * noise * math.sqrt(len(moment))
    kept = values > edge
    return (values[kept] + np.sqrt(values[kept] ** 2 - edge**2)) / 2, vectors[:, kept]


def _series(rest: np.ndarray, noise: float) -> np.ndarray:
    """What depends only on how far apart two columns stand, as in a signal: averages along the diagonals.

    An average of d - k entries has little noise. Where the order of the columns means nothing the averages are about
    zero, and nothing is added.
    """
    d = len(rest)
    if d < _SHORTEST_SERIES:
        return np.zeros_like(rest)
    lags = np.zeros(d)
    for lag in range(d):
        mean = float(np.diagonal(rest, lag).mean())
        least = 3 * noise * (math.sqrt(2) if lag == 0 else 1) / math.sqrt(d - lag)
        lags[lag] = math.copysign(max(abs(mean) - least, 0.0), mean)
    places = np.arange(d)
    return lags[np.abs(places[:, None] - places[None, :])]


def _direction(rest: np.ndarray, away: np.ndarray, noise: float) -> np.ndarray:
    """How the line from the common mean to this class' mean varies, alone and together with the axes across it.

    That is one number and one for each axis, of little noise; the whole difference is one for each pair of axes. A rare
    class often lies along such a line, some of its rows near to the others and some far.
    """
    length = float(np.linalg.norm(away))
    if length < 1e-12:
        return np.zeros_like(rest)
    line = away / length
    along = float(line @ rest @ line)
    across = rest @ line - along * line
    # The noise of a quadratic form along a unit vector is sqrt(2) of that beside the diagonal, whatever the vector.
    along *= max(0.0, 1 - 2 * noise**2 / max(along**2, 1e-300))
    across = noise * shrink(across / max(noise, 1e-300))
    across -= float(across @ line) * line
    return along * np.outer(line, line) + np.outer(across, line) + np.outer(line, across)


def _outstanding(rest: np.ndarray, noise: float) -> np.ndarray:
    """What of a symmetric difference lies beyond the spectrum of the noise, and a little more: the edge is not sharp."""
    values, vectors = np.linalg.eigh((rest + rest.T) / 2)
    edge = 2.2 * noise * math.sqrt(len(rest))
    size = np.sqrt(np.maximum(values**2 - edge**2, 0.0))
    return (vectors * (np.sign(values) * size)) @ vectors.T


def _diagonal(rest: np.ndarray, noise: float) -> np.ndarray:
    """Differences on the diagonal, whose noise is sqrt(2) of that beside it, as far as they stand out of it."""
    unit = math.sqrt(2) * max(noise, 1e-300)
    return unit * shrink(rest / unit)


def _factor(shape: np.ndarray, floor: float) -> np.ndarray:
    values, vectors = np.linalg.eigh((shape + shape.T) / 2)
    least = floor * max(float(values.mean()), 1e-9)
    return vectors * np.sqrt(np.maximum(values, least))
