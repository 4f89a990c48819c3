"""Columns that are one signal, sample after sample: their second moments are nearly diagonal in the cosine basis.

A recording is smooth: nearly all of its power lies in few of the frequencies. Noise that is spread over all of them
stands far above the signal where there is none. In the cosine basis the power of each frequency is one number.
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
    """The orthonormal cosine basis (DCT-II): row f is the cosine of frequency f."""
    return np.asarray(fft.dct(np.eye(d), axis=0, norm="ortho"))


def is_signal(moment: np.ndarray, noise: float) -> bool:
    """Whether the powers in the cosine basis explain what is off the diagonal of a noisy second moment."""
    d = len(moment)
    if d < _SHORTEST:
        return False
    off = moment - np.diag(np.diag(moment))
    total = float((off**2).sum()) - d * (d - 1) * noise**2
    explained = float((powers(off) ** 2).sum()) - 2 * d * noise**2
    return bool(explained > max(_EXPLAINED * total, 8 * math.sqrt(2 * d) * noise**2))


def powers(moment: np.ndarray) -> np.ndarray:
    """u' M u of every cosine u."""
    basis = cosines(len(moment))
    return ((basis @ moment) * basis).sum(axis=1)


def with_powers(each: np.ndarray) -> np.ndarray:
    """The second moment that has these powers, and no others."""
    basis = cosines(len(each))
    return (basis.T * each) @ basis


def clean_powers(moment: np.ndarray, noise: float) -> np.ndarray:
    """The powers of a noisy second moment, none negative; zero where the noise hides them."""
    single, average = _averaged(moment)
    return np.where(single > _STRONG * noise, single, np.where(average > _least(noise), average, 0.0))


def clean_difference(rest: np.ndarray, noise: float) -> np.ndarray:
    """The powers of a noisy difference of second moments, pulled to zero by what noise does."""
    single, average = _averaged(rest)
    weak = np.sign(average) * np.maximum(np.abs(average) - _least(noise), 0.0)
    return np.where(np.abs(single) > _STRONG * noise, single, weak)


def _least(noise: float) -> float:
    """What an average of powers must exceed to be more than noise."""
    return _WEAK * noise * math.sqrt(2 / _WINDOW)


def _averaged(moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The powers, each by itself and averaged with its neighbours."""
    single = powers(moment)
    padded = np.pad(single, _WINDOW // 2, mode="edge")
    return single, np.convolve(padded, np.full(_WINDOW, 1 / _WINDOW), "valid")
