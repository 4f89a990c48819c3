"""A public basis for small images: the low frequencies of the discrete cosine transform, orthonormal."""

from __future__ import annotations

import numpy as np
from scipy import fft

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
    rows, columns = (np.asarray(fft.dct(np.eye(side), axis=0, norm="ortho"))[:frequencies] for side in (height, width))
    plane = np.kron(rows, columns)
    colours = shape[2] if len(shape) == 3 else 1
    # Colours are the last axis of an image, so a plane's cosine is repeated at every colour's places.
    return np.concatenate([np.kron(plane, np.eye(colours)[c]) for c in range(colours)]).astype(np.float32)
