"""Means and covariances from numbers with noise of known size: what the noise hides is taken from what is known better.

A noisy symmetric matrix here has independent Gaussian noise of one known standard deviation in every entry beside the
diagonal, and sqrt(2) times that on it. Three tools, from the simplest to the most patient:

- a Wiener filter keeps signal / (signal + noise²) of a number (`wiener_share`, `pooled_covariance`, `class_covariance`);
- empirical Bayes lets a few numbers out of many keep all of their size (`shrink`, `shrink_means`);
- spectra: noise alone shows eigenvalues up to 2 noise sqrt(d) (Wigner's semicircle), and what stands above that edge
  is more than noise (`low_rank_plus_diagonal`, `invertible_covariance`, `class_shapes`).
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from understudy.learn import cosine_spectrum

_TINY = float(np.finfo(float).tiny)
# A direction keeps at least this share of the mean variance: samples that are flat in many directions teach badly.
_LEAST_VARIANCE = 1e-4
# Of the largest eigenvalue: less than this is lost when a matrix of a few thousand directions is put together again.
_ROUNDING = 1e-11
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
# From so many axes on a root is found without all eigenvalues.
_LARGE = 128
# The ridge of `ridged_covariance` in units of the edge of the noise.
_RIDGE = 0.15


# ---- single numbers and means ------------------------------------------------------------------------------------


def wiener_share(signal: np.ndarray, noise_variance: np.ndarray | float) -> np.ndarray:
    """How much to keep of numbers with that variance of signal and of noise."""
    return signal / np.maximum(signal + noise_variance, _TINY)


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


def shrink_means(means: np.ndarray, noise: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Class means pulled towards the mean of all rows by as much as their noise explains of the distance."""
    pooled = counts @ means / counts.sum()
    return np.stack([pooled + sd * shrink(away / sd) for away, sd in zip(means - pooled, noise, strict=True)])


def shrink_to_middle(means: np.ndarray, noise_variance: np.ndarray) -> np.ndarray:
    """Class means, pulled towards each other along axes where noise of that variance explains how they differ."""
    middle = means.mean(axis=0)
    signal = np.maximum(np.mean((means - middle) ** 2 - noise_variance, axis=0), 0)
    return middle + (means - middle) * wiener_share(signal, noise_variance)


# ---- covariances by a Wiener filter ------------------------------------------------------------------------------
#
# An entry (i, j) of a covariance is taken as sqrt(v_i v_j) times a number of variance t², plus noise; the filter keeps
# t² v_i v_j / (t² v_i v_j + noise²) of it, with t² from the noisy entries themselves.


def pooled_covariance(covariance: np.ndarray, noise: float) -> np.ndarray:
    """A covariance shrunk towards its own diagonal."""
    variance = _raised(np.diag(covariance))
    outer = np.outer(variance, variance)
    off = ~np.eye(len(variance), dtype=bool)
    relative = _relative_signal(covariance[off], outer[off], noise)
    kept = np.where(off, covariance * wiener_share(relative * outer, noise**2), np.diag(variance))
    return positive_part(kept)


def class_covariance(covariance: np.ndarray, pooled: np.ndarray, noise: float) -> np.ndarray:
    """A class' covariance, its difference from the pooled one shrunk in the pooled one's directions."""
    values, vectors = np.linalg.eigh(pooled)
    values = _raised(values)
    difference = vectors.T @ (covariance - pooled) @ vectors
    outer = np.outer(values, values)
    # On the diagonal both the noise and the expected difference are sqrt(2) larger: the same share is kept.
    relative = _relative_signal(difference, outer, noise)
    return positive_part(pooled + vectors @ (difference * wiener_share(relative * outer, noise**2)) @ vectors.T)


def positive_part(matrix: np.ndarray) -> np.ndarray:
    """The nearest matrix whose eigenvalues are all positive."""
    values, vectors = _spectrum(matrix)
    return _rebuilt(_raised(values), vectors)


def _raised(values: np.ndarray) -> np.ndarray:
    """Values that are all positive, the least of them large enough beside the largest to survive rounding.

    Noise can make the mean negative; then it says nothing of how large is small.
    """
    least = max(_LEAST_VARIANCE * max(float(values.mean()), _TINY), _ROUNDING * float(np.abs(values).max()))
    return np.maximum(values, least)


def _relative_signal(entries: np.ndarray, outer: np.ndarray, noise: float) -> float:
    """t²: how much larger the entries are than their noise, in units of sqrt(v_i v_j)."""
    return max(float(np.sum(entries**2 - noise**2)), 0.0) / float(np.sum(outer))


# ---- covariances by their spectrum -------------------------------------------------------------------------------


def invertible_covariance(covariance: np.ndarray, noise: float, least: float) -> np.ndarray:
    """A covariance that can be inverted, no eigenvalue below `least`.

    Eigenvalues below the edge of the noise become their own mean, which noise does not move; one above is what
    d noise² / value of noise made of a smaller one.
    """
    values, vectors = _spectrum(covariance)
    edge = _edge(noise, len(values))
    drowned = values <= edge
    mean = max(float(values[drowned].mean()) if drowned.any() else 0.0, least)
    clear = values - len(values) * noise**2 / np.maximum(values, max(edge, _TINY))
    return _rebuilt(np.maximum(np.where(drowned, mean, clear), mean), vectors)


def ridged_covariance(covariance: np.ndarray, noise: float) -> np.ndarray:
    """The covariance to tell classes apart by: even below the noise, an axis that seems wide is trusted less."""
    values, vectors = _spectrum(covariance)
    return _rebuilt(np.maximum(values, 0) + _RIDGE * _edge(noise, len(values)) + 1e-3, vectors)


def low_rank_plus_diagonal(moment: np.ndarray, noise: float) -> np.ndarray:
    """A noisy second moment as series plus low rank plus diagonal.

    Eigenvalues above the edge of the noise are kept and corrected for what the noise adds to them; the rest of each
    axis' variance stays on the diagonal.
    """
    d = len(moment)
    series = _series(moment - np.diag(np.diag(moment)), noise)
    smooth = series + _above_the_edge(moment - series, noise)
    rest = np.diag(moment) - np.diag(smooth)
    average = max(float(rest.mean()), _FLOOR * float(np.trace(moment)) / d, 1e-12)
    steady = average + _diagonal(rest - average, noise)
    return smooth + np.diag(np.maximum(steady, 0.2 * average))


def _spectrum(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with _one_thread():
        return np.linalg.eigh((matrix + matrix.T) / 2)


def _root(matrix: np.ndarray) -> np.ndarray | None:
    """The Cholesky root; None where an eigenvalue is not positive. A tenth of the time of the eigenvalues."""
    with _one_thread():
        try:
            return np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            return None


def _beyond(matrix: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues above `least`, and their vectors. Mostly there is none, and a Cholesky root says so."""
    from scipy import linalg

    even = (matrix + matrix.T) / 2
    if _root(_raised_by(-even, least)) is not None:
        return np.empty(0), np.empty((len(even), 0))
    with _one_thread():
        values, vectors = linalg.eigh(even, subset_by_value=(least, np.inf), driver="evr", check_finite=False)
    return values, vectors


def _raised_by(matrix: np.ndarray, value: float) -> np.ndarray:
    """The matrix with that added to its diagonal."""
    raised = matrix.copy()
    raised[np.diag_indices(len(raised))] += value
    return raised


def _one_thread() -> AbstractContextManager[object]:
    """Decompositions go from product to product so quickly that a second thread mostly waits; on a busy machine it costs sixfold."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)


def _rebuilt(values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (vectors * values) @ vectors.T


def _edge(noise: float, d: int) -> float:
    """The largest eigenvalue that noise alone shows."""
    return 2 * noise * math.sqrt(d)


def _above_the_edge(moment: np.ndarray, noise: float) -> np.ndarray:
    """The part whose eigenvalues are above the edge of the noise, less what the noise adds to them."""
    edge = _edge(noise, len(moment))
    strong, vectors = _beyond(moment, edge)
    return _rebuilt((strong + np.sqrt(strong**2 - edge**2)) / 2, vectors)


def _outstanding(rest: np.ndarray, noise: float) -> np.ndarray:
    """What of a symmetric difference lies beyond the spectrum of the noise, and a little more: the edge is not sharp."""
    edge = 1.1 * _edge(noise, len(rest))
    above, below = (
        _rebuilt(np.sqrt(values**2 - edge**2), vectors)
        for values, vectors in (_beyond(rest, edge), _beyond(-rest, edge))
    )
    return above - below


def _diagonal(rest: np.ndarray, noise: float) -> np.ndarray:
    """Differences on the diagonal, whose noise is sqrt(2) of that beside it, as far as they stand out of it."""
    unit = math.sqrt(2) * max(noise, 1e-300)
    return unit * shrink(rest / unit)


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
    columns = np.arange(d)
    return lags[np.abs(columns[:, None] - columns[None, :])]


# ---- the shapes of classes ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spreads:
    """Mean absolute deviations of each axis (classes x d) and their noise (classes).

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
    if cosine_spectrum.is_signal(pooled, pooled_noise):
        shared = _shared_signal(pooled, pooled_noise)
        return np.stack([_signal_shape(moment, shared, one) for moment, one in zip(moments, each, strict=True)])
    shared = low_rank_plus_diagonal(pooled, pooled_noise)
    away = means - counts @ means / counts.sum()
    shapes = [_shape(moment, shared, *known) for moment, *known in zip(moments, away, each, strict=True)]
    if spreads is None:
        own = [
            _diagonal(np.diag(moment - shape), one) for moment, shape, one in zip(moments, shapes, each, strict=True)
        ]
        return np.stack([_factor(shape + np.diag(one), _FLOOR) for shape, one in zip(shapes, own, strict=True)])
    deviations, unsure = spreads.deviations / clips[:, None], spreads.noise / clips
    common = np.maximum(counts @ deviations / counts.sum(), unsure.min() / 10) / np.sqrt(np.diag(shared))
    scaled = [_stretched(shape, common, *known) for shape, *known in zip(shapes, deviations, unsure, strict=True)]
    return np.stack([_factor(shape, _FLOOR) for shape in scaled])


def _shape(moment: np.ndarray, shared: np.ndarray, away: np.ndarray, noise: float) -> np.ndarray:
    shape = _size(moment, shared) / max(float(np.trace(shared)), 1e-12) * shared
    shape = shape + _series(moment - shape, noise)
    shape = shape + _direction(moment - shape, away, noise)
    return shape + _outstanding(moment - shape, noise)


def _stretched(shape: np.ndarray, common: np.ndarray, deviations: np.ndarray, noise: float) -> np.ndarray:
    """The shape with its axes stretched to the class' own deviations, as far as those stand out of the noise.

    `common` is what all rows have of deviation for one of spread: for a number about 0.8, for a rare choice far less.
    """
    expected = common * np.sqrt(np.maximum(np.diag(shape), 1e-12))
    expected = expected * float(expected @ deviations) / float(expected @ expected)
    if expected.max() <= 0:
        return shape
    own = expected + noise * shrink((deviations - expected) / noise)
    ratio = np.clip(own / expected, 1 / _MOST_STRETCH, _MOST_STRETCH)
    return shape * np.outer(ratio, ratio)


def _size(moment: np.ndarray, shared: np.ndarray) -> float:
    return max(float(np.trace(moment)), 0.1 * float(np.trace(shared)), 1e-12)


def _shared_signal(moment: np.ndarray, noise: float) -> np.ndarray:
    """A noisy second moment of a signal: the powers of its cosines, and what else stands out."""
    smooth = cosine_spectrum.with_powers(cosine_spectrum.clean_powers(moment, noise))
    return smooth + _above_the_edge(moment - smooth, noise)


def _signal_shape(moment: np.ndarray, shared: np.ndarray, noise: float) -> np.ndarray:
    """The factor of a class of signals. What the noise cost or added is given back evenly, not as noise in the rows."""
    size = _size(moment, shared)
    shape = size / max(float(np.trace(shared)), 1e-12) * shared
    now = cosine_spectrum.powers(shape)
    more = cosine_spectrum.clean_difference(moment - shape, noise)
    shape = shape + cosine_spectrum.with_powers(np.clip(more, (_LEAST_POWER - 1) * now, (_MOST_POWER - 1) * now))
    factor = _factor(shape + _outstanding(moment - shape, noise), _SIGNAL_FLOOR)
    return factor * math.sqrt(size / float((factor**2).sum()))


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


def _factor(shape: np.ndarray, floor: float) -> np.ndarray:
    """A root of the shape, whose eigenvalues below this part of their mean are raised to it."""
    least = floor * max(float(np.trace(shape)) / len(shape), 1e-9)
    if len(shape) >= _LARGE:
        below, vectors = _beyond(-shape, -least)
        root = _root(shape + _rebuilt(least + below, vectors))
        if root is not None:
            return root
    values, vectors = _spectrum(shape)
    return vectors * np.sqrt(np.maximum(values, least))
