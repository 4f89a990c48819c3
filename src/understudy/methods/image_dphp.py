"""DP-HP (Vinaroz, Charusaie, Harder, Adamczewski and Park 2022) for images: mean embeddings of Hermite polynomials, released once.

The sum kernel has the features of every pixel by itself, so it says how bright each is and how that varies; the product kernel has products
of those of two pixels, for pairs that are drawn at random before the images are seen. The authors draw new pairs now and then and pay for
each draw; here all are paid for at once.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.methods.dphp import hermite
from understudy.methods.image_embeddings import ImageEmbeddingGenerator, ImageFeatures
from understudy.release.settings import positive, setting, share, whole


@dataclass(eq=False, repr=False)
class ImageDPHP(ImageEmbeddingGenerator):
    """Synthetic images by DP-HP.

    - `epsilon`, `delta`: the budget; all of it is used, by one release.
    - `order`: the highest Hermite polynomial of the sum kernel; `product_order` that of products of two pixels.
    - `products`: pairs of pixels with a product kernel; 0: none.
    - `decay`: r, which with `spread` sets the kernel's width: exp(-r / (1 - r^2) (spread (x - y))^2) on pixels from 0 to 1. Public.
    - `training`: what is done with the release.
    """

    method: ClassVar[str] = "image-dphp"

    _: KW_ONLY
    order: int = setting(4, whole())
    product_order: int = setting(2, whole())
    products: int = setting(2000, whole(0))
    decay: float = setting(0.5, share("one", ends="()"))
    spread: float = setting(3.0, positive())

    def features(self, pixels: int, rng: np.random.Generator) -> HermitePixels:
        # Two different pixels each: the second lies so many further on, round about.
        first = rng.integers(0, pixels, self.products)
        second = (first + rng.integers(1, max(pixels, 2), self.products)) % pixels
        pairs = jnp.asarray(np.stack([first, second]), jnp.int32)
        return HermitePixels(pairs, self.order, self.product_order, self.decay, self.spread)


class HermitePixels(ImageFeatures):
    """Hermite features of each pixel, and products of pairs of them: each kind of norm 1 at most, half of the square for each."""

    pairs: Array
    order: int = eqx.field(static=True)
    product_order: int = eqx.field(static=True)
    decay: float = eqx.field(static=True)
    spread: float = eqx.field(static=True)

    def __call__(self, images: Array) -> Array:
        each = hermite((images - 0.5) * self.spread, max(self.order, self.product_order), self.decay)
        single = each[:, :, : self.order + 1].reshape(len(images), -1) / images.shape[1] ** 0.5
        if not (count := self.pairs.shape[1]):
            return single
        first, second = (each[:, places, : self.product_order + 1] for places in self.pairs)
        joint = jnp.einsum("npi,npj->npij", first, second).reshape(len(images), -1) / count**0.5
        return jnp.concatenate([single, joint], axis=1) / 2**0.5
