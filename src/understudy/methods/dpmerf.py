"""DP-MERF (Harder, Adamczewski and Park 2021): mean embeddings of random Fourier features, released once.

Numbers have the features of a Gaussian kernel: cosines and sines of random projections, together of norm 1. Categories have a linear
one: their one-hot groups, divided so that a row's norm is 1. Both stand side by side, the sum of the two kernels, for each class by itself.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from understudy.learn.adversarial import Heads
from understudy.methods.adversarial import Prepared
from understudy.methods.embeddings import EmbeddingGenerator, choices
from understudy.release.settings import positive, setting, whole


@dataclass(eq=False, repr=False)
class DPMERF(EmbeddingGenerator):
    """Synthetic tables by DP-MERF.

    - `frequencies`: random projections of the numbers; each has a cosine and a sine.
    - `width`: of the kernel, in root mean square distances of two rows of independent ranks: public.
    """

    method: ClassVar[str] = "dpmerf"

    _: KW_ONLY
    frequencies: int = setting(500, whole())
    width: float = setting(1.0, positive())

    def features(self, prepared: Prepared) -> FourierFeatures:
        public = prepared.design()
        return FourierFeatures(
            public.heads, public.label, self.frequencies, self.width, int(prepared.rng(4).integers(2**31))
        )


@dataclass(frozen=True)
class FourierFeatures:
    """Public. Random Fourier features of the numbers beside the one-hot groups of the categories."""

    heads: Heads
    label: tuple[int, int] | None
    frequencies: int
    width: float
    seed: int

    @cached_property
    def numbers(self) -> np.ndarray:
        return np.flatnonzero(self.heads.numbers)

    @property
    def dimension(self) -> int:
        return max(2 * self.frequencies * (len(self.numbers) > 0) + len(choices(self.heads, self.label)[0]), 1)

    @property
    def norm(self) -> float:
        return float(np.sqrt(max((len(self.numbers) > 0) + (choices(self.heads, self.label)[1] > 0), 1)))

    def __call__(self, records: Array) -> Array:
        columns, groups = choices(self.heads, self.label)
        parts = [records[:, columns] / np.sqrt(max(groups, 1))]
        if len(self.numbers):
            # Two independent standard Gaussians of d numbers are 2 d apart, squared.
            drawn = np.random.default_rng(self.seed).standard_normal((len(self.numbers), self.frequencies))
            turned = records[:, self.numbers] @ jnp.asarray(
                drawn / (self.width * np.sqrt(2 * len(self.numbers))), jnp.float32
            )
            parts += [jnp.cos(turned) / np.sqrt(self.frequencies), jnp.sin(turned) / np.sqrt(self.frequencies)]
        made = jnp.concatenate(parts, axis=1)
        return made if made.shape[1] else jnp.zeros((len(records), 1))
