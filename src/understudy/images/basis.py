"""A public basis for small images: the low frequencies of the discrete cosine transform, orthonormal."""

from __future__ import annotations

import numpy as np

from understudy.errors import InputError


def dct_basis(shape: tuple[int, ...], frequencies: int) -> np.ndarray:
    """Rows are orthonormal images of the lowest `frequencies` x `frequencies` cosines, for each colour apart.

    Natural images have most of their variance there. Nothing is taken from data: the basis costs no budget.
    """
    height, width = shape[:2]
    if not 1 <= frequencies <= min(height, width):
        raise InputError(
            f"`frequencies` (={frequencies}) must be between 1 and {min(height, width)}, the images' side."
        )
    plane = np.kron(_cosines(height)[:frequencies], _cosines(width)[:frequencies])
    colours = shape[2] if len(shape) == 3 else 1
    # Colours are the last axis of an image, so a plane's cosine is repeated at every colour's places.
    return np.concatenate([np.kron(plane, np.eye(colours)[c]) for c in range(colours)]).astype(np.float32)


def _cosines(size: int) -> np.ndarray:
    """DCT-II, orthonormal: row f is the cosine of frequency f."""
    place, frequency = np.arange(size) + 0.5, np.arange(size)[:, None]
    rows = np.sqrt(2 / size) * np.cos(np.pi * frequency * place / size)
    rows[0] /= np.sqrt(2)
    return rows
