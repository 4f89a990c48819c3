"""Columns that are one signal, sample after sample: their second moments are nearly diagonal in the cosine basis. Free.

A recording is smooth: nearly all of its power lies in few of the frequencies. Noise that is spread over all of them
stands far above the signal where there is none. In the cosine basis, which is public, the power of each frequency is one number.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import fft

# Fewer columns are no signal to speak of.
_SHORTEST = 16
# What the powers must explain of all that is off the diagonal: about all in a signal, a few hundredths elsewhere.
_EXPLAINED = 0.5
# Weak powers are averaged over so many neighbouring frequencies; strong ones, this many deviations up, stand alone.
_WINDOW = 5
_STRONG = 6.0
_WEAK = 3.0


def cosines(d: int) -> np.ndarray:
    """The orthonormal cosine basis, a wave a row."""
    return np.asarray(fft.dct(np.eye(d), axis=0, norm="ortho"))


def is_signal(moment: np.ndarray, noise: float) -> bool:
    """Whether the powers in the cosine basis explain what is off the diagonal of a noisy second moment."""
    d = len(moment)
    if d < _SHORTEST:
        return False
    off = moment - np.diag(np.diag(moment))
    total = float((off**2).sum()) - d * (d - 1) * noise**2
    explained = float((powers(off) ** 2).sum()) - 2 * d * noise**2
    return explained > max(_EXPLAINED * total, 8 * math.sqrt(2 * d) * noise**2)


def powers(moment: np.ndarray) -> np.ndarray:
    """u' M u of every wave u."""
    waves = cosines(len(moment))
    return np.einsum("ki,ij,kj->k", waves, moment, waves)


def with_powers(found: np.ndarray) -> np.ndarray:
    """The second moment that has these powers, and no others."""
    waves = cosines(len(found))
    return (waves.T * found) @ waves


def spectrum(moment: np.ndarray, noise: float) -> np.ndarray:
    """The powers of a noisy second moment, none negative; zero where the noise hides them."""
    found, average = _averaged(moment)
    least = _WEAK * noise * math.sqrt(2 / _WINDOW)
    return np.where(found > _STRONG * noise, found, np.where(average > least, average, 0.0))


def difference(rest: np.ndarray, noise: float) -> np.ndarray:
    """The powers of a noisy difference of second moments, pulled to zero by what noise does."""
    found, average = _averaged(rest)
    least = _WEAK * noise * math.sqrt(2 / _WINDOW)
    weak = np.sign(average) * np.maximum(np.abs(average) - least, 0.0)
    return np.where(np.abs(found) > _STRONG * noise, found, weak)


def _averaged(moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = powers(moment)
    padded = np.pad(found, _WINDOW // 2, mode="edge")
    return found, np.convolve(padded, np.full(_WINDOW, 1 / _WINDOW), "valid")
