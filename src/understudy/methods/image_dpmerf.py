"""DP-MERF (Harder, Adamczewski and Park 2021) for images: mean embeddings of random Fourier features, released once.

Features are cosines and sines of random projections of the pixels, together of norm 1: those of a Gaussian kernel. Where the authors' code
takes the kernel's width from the data, it is public here.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.methods.image_embeddings import ImageEmbeddingGenerator, ImageFeatures
from understudy.release.settings import positive, setting, whole


@dataclass(eq=False, repr=False)
class ImageDPMERF(ImageEmbeddingGenerator):
    """Synthetic images by DP-MERF.

    - `epsilon`, `delta`: the budget; all of it is used, by one release.
    - `frequencies`: random projections; each has a cosine and a sine.
    - `width`: of the kernel, in units of the root of the number of pixels, which are from 0 to 1. Do not take it from the data.
    - `training`: what is done with the release.
    """

    method: ClassVar[str] = "image-dpmerf"

    _: KW_ONLY
    frequencies: int = setting(1000, whole())
    width: float = setting(0.37, positive())

    def features(self, pixels: int, rng: np.random.Generator) -> Waves:
        drawn = rng.standard_normal((pixels, self.frequencies))
        return Waves(jnp.asarray(drawn / (self.width * math.sqrt(pixels)), jnp.float32))


class Waves(ImageFeatures):
    """Random Fourier features, of norm 1."""

    waves: Array

    def __call__(self, images: Array) -> Array:
        turned = images @ self.waves
        return jnp.concatenate([jnp.cos(turned), jnp.sin(turned)], axis=1) / math.sqrt(self.waves.shape[1])
