"""DP-HP (Vinaroz, Charusaie, Harder, Adamczewski and Park 2022): mean embeddings of Hermite polynomials, released once.

Mehler's formula writes a Gaussian kernel of one number as a sum over Hermite polynomials whose weights fall like r^n: a few orders
hold nearly all of it, where random features need hundreds, and so the noise is on few numbers. The *sum kernel* has the features
of every number by itself; the *product kernel* has products of the features of numbers that stand together in small groups, so
that the generator also learns how they go together. Categories are one-hot groups, as in DP-MERF.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import combinations
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.learn.adversarial import Heads
from understudy.methods.adversarial import Prepared
from understudy.methods.embeddings import EmbeddingGenerator, choices
from understudy.release.settings import setting, share, whole


@dataclass(eq=False, repr=False)
class DPHP(EmbeddingGenerator):
    """Synthetic tables by DP-HP.

    - `order`: the highest Hermite polynomial of the sum kernel; `product_order` that of products of two numbers.
    - `products`: pairs of numbers with a product kernel, chosen at random before the rows are seen; 0: none.
    - `decay`: r, which sets the kernel's width: exp(-r / (1 - r^2) (x - y)^2) on ranks. Public.
    """

    method: ClassVar[str] = "dphp"

    _: KW_ONLY
    order: int = setting(12, whole())
    product_order: int = setting(3, whole())
    products: int = setting(30, whole(0))
    decay: float = setting(0.5, share("one", ends="()"))

    def features(self, prepared: Prepared) -> HermiteFeatures:
        public = prepared.design()
        numbers = np.flatnonzero(public.heads.numbers)
        pairs = list(combinations(range(len(numbers)), 2))
        chosen = prepared.rng(4).permutation(len(pairs))[: self.products]
        return HermiteFeatures(
            public.heads,
            public.label,
            self.order,
            self.product_order,
            tuple(sorted(pairs[i] for i in chosen)),
            self.decay,
        )


@dataclass(frozen=True)
class HermiteFeatures:
    """Public. Hermite features of each number, products of pairs of them, and the one-hot groups of the categories."""

    heads: Heads
    label: tuple[int, int] | None
    order: int
    product_order: int
    pairs: tuple[tuple[int, int], ...]
    decay: float

    @cached_property
    def numbers(self) -> np.ndarray:
        return np.flatnonzero(self.heads.numbers)

    @property
    def dimension(self) -> int:
        single = len(self.numbers) * (self.order + 1)
        product = len(self.pairs) * (self.product_order + 1) ** 2
        return max(single + product + len(choices(self.heads, self.label)[0]), 1)

    @property
    def norm(self) -> float:
        """Each kind has norm 1 at most: Mehler's kernel of a number with itself is 1, and so is a product of such."""
        kinds = (len(self.numbers) > 0) + (len(self.pairs) > 0) + (choices(self.heads, self.label)[1] > 0)
        return float(np.sqrt(max(kinds, 1)))

    def __call__(self, records: Array) -> Array:
        columns, groups = choices(self.heads, self.label)
        parts = [records[:, columns] / np.sqrt(max(groups, 1))]
        if len(self.numbers):
            each = hermite(records[:, self.numbers], max(self.order, self.product_order), self.decay)
            single = each[:, :, : self.order + 1] / np.sqrt(len(self.numbers))
            parts.append(single.reshape(len(records), -1))
            if not self.pairs:
                return jnp.concatenate(parts, axis=1)
            first, second = (each[:, [p[i] for p in self.pairs], : self.product_order + 1] for i in (0, 1))
            joint = jnp.einsum("rpi,rpj->rpij", first, second) / np.sqrt(len(self.pairs))
            parts.append(joint.reshape(len(records), -1))
        made = jnp.concatenate(parts, axis=1)
        return made if made.shape[1] else jnp.zeros((len(records), 1))


def hermite(x: Array, order: int, decay: float) -> Array:
    """sqrt(lambda_n) f_n(x) for n = 0 to `order`, along a new last axis: squares sum to 1 at most (Mehler 1866)."""
    scale = ((1 + decay) / (1 - decay)) ** 0.25 * (1 - decay) ** 0.5
    before, now = jnp.zeros_like(x), scale * jnp.exp(-decay / (1 + decay) * x**2)
    found = [now]
    for n in range(order):
        # With the weight r^(n/2) in it, so that no polynomial grows large.
        after = x * np.sqrt(2 * decay / (n + 1)) * now - decay * np.sqrt(n / (n + 1)) * before
        before, now = now, after
        found.append(now)
    return jnp.stack(found, axis=-1)
