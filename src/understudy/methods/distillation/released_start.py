"""Supports that start from samples of a release, instead of a Gaussian that knows nothing. All of it is public, and free."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from understudy.learn.krr import one_hot
from understudy.methods.distillation.domain import Domain, TableDomain
from understudy.methods.distillation.training import KnownRows, Support
from understudy.methods.image_moments import ImageMoments
from understudy.methods.moments import MomentsGenerator

# So many rows of each class say how features are scaled.
SCALING_ROWS = 1000


def image_start(generator: ImageMoments, domain: Domain, per_class: int, seed: int | None) -> Support:
    """`per_class` sampled images of each class."""
    classes = np.arange(per_class * len(domain.classes)) % len(domain.classes)
    images = generator.sample(len(classes), seed, labels=classes)
    return Support(jnp.asarray(images.flat()), jnp.asarray(one_hot(classes, len(domain.classes))))


def table_start(
    generator: MomentsGenerator, domain: TableDomain, per_class: int, count: int, seed: int | None
) -> tuple[TableDomain, Support, KnownRows]:
    """`count` sampled rows of each class: the domain that is scaled by them, `per_class` of each as a start, and all."""
    name, classes = domain.label.name, len(domain.classes)
    frames = [generator.sample(count, {name: value}, random_state=seed) for value in domain.classes]
    scaled = domain.scaled_by(np.concatenate([domain.encoder.encode(frame) for frame in frames]))
    points = np.stack([scaled.points(frame) for frame in frames])
    targets = np.repeat(one_hot(np.arange(classes), classes), count, axis=0)
    first = np.moveaxis(points[:, :per_class], 0, 1).reshape(per_class * classes, -1)
    start = Support(jnp.asarray(first), jnp.asarray(one_hot(np.arange(len(first)) % classes, classes)))
    return scaled, start, KnownRows(jnp.asarray(points.reshape(classes * count, -1)), jnp.asarray(targets))
