"""A start that was paid for: samples of a moments release, instead of a Gaussian that knows nothing.

DP-KIP moves its support by noisy steps, and at a small epsilon it does not get far. A share of epsilon buys a release of
moments; its samples are public, so a support may start from them for free, and a table's features may be scaled by them.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from understudy.images import ImageDataset
from understudy.learn.krr import one_hot
from understudy.methods.distillation.domain import Domain, TableDomain
from understudy.methods.distillation.training import Support
from understudy.methods.image_moments import ImageMoments
from understudy.methods.warmstart import moments_release
from understudy.privacy import Budget

# So many rows of each class say how features are scaled. Their number costs nothing.
_SCALING_ROWS = 1000


def released_start(
    data: Any, domain: Domain, per_class: int, epsilon: float, seed: int, budget: Budget
) -> tuple[Domain, Support]:
    """Touches private data: buy a release of moments for `epsilon`, and start from its samples.

    Safe to publish: everything comes from the release, which is charged to `budget` before its noise is drawn.
    """
    classes = np.arange(per_class * len(domain.classes)) % len(domain.classes)
    labels = jnp.asarray(one_hot(classes, len(domain.classes)))
    if isinstance(data, ImageDataset):
        images = ImageMoments(epsilon, budget.delta, edges=0.0, random_state=seed).fit(data, budget)
        made = images.sample(len(classes), seed, labels=classes)
        return domain, Support(jnp.asarray(made.flat()), labels)
    assert isinstance(domain, TableDomain)
    rows = moments_release(data, domain.encoder, epsilon, seed, budget)
    count = max(per_class, _SCALING_ROWS)
    name = domain.label.name
    frames = [rows.sample(count, {name: value}, random_state=seed) for value in domain.classes]
    scaled = domain.scaled_by(np.concatenate([domain.encoder.encode(frame) for frame in frames]))
    points = np.stack([scaled.points(frame[:per_class]) for frame in frames], axis=1)
    return scaled, Support(jnp.asarray(points.reshape(len(classes), -1)), labels)
