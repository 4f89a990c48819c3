"""PSG (Chen, Kerkouche and Fritz 2022, "Private set generation with discriminative information"): images whose gradient in a network is
that of the private ones.

A network is drawn, which is public. In every round the gradient of its loss on a Poisson batch of private images, each image's own
clipped, leaves with noise, for each class by itself; the distilled images are moved until theirs points the same way, layer by layer; and the network learns from
the distilled images for a while, so that the next round asks what it does not know yet. After some rounds another network is drawn.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from understudy.learn.convnets import ConvNet, coloured
from understudy.methods.convnet_gradients import PrivateImages, loss
from understudy.methods.distillation.distiller import DistilledSet, Records
from understudy.methods.distillation.dpkip import check_batch
from understudy.methods.distillation.for_networks import ConvNetDistiller, NetworkTraining, labelled
from understudy.privacy.prepaid import pay_for_steps
from understudy.release.settings import Settings, or_none, positive, setting, share, whole

_ADAM: Any = optax.scale_by_adam()


@dataclass
class GradientMatching(Settings):
    """What is done in a round, for free: `image_steps` of Adam on the images, then `learner_steps` of Adam on the network.

    The rate of the images falls to zero along a cosine: the last gradients are as noisy as the first.
    """

    image_steps: int = setting(5, whole())
    image_rate: float = setting(1e-2, positive())
    learner_steps: int = setting(5, whole())
    learner_rate: float = setting(1e-3, positive())


@dataclass(eq=False, repr=False)
class PSG(ConvNetDistiller):
    """Distilled images for a ConvNet by private gradient matching.

    - `epsilon`, `delta`: the budget; all of it is used. A thousandth of delta covers batches that overflow their slots.
    - `per_class`: images a class. `networks`, `rounds`: how many are drawn, and how many noisy gradients each of them asks for.
    - `batch`, `clip`: the expected Poisson batch, and the norm of one image's gradient.
    - `matching`, `network`: what never meets the accountant.
    """

    method: ClassVar[str] = "psg"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability", ends="()"))
    per_class: int = setting(20, whole())
    _: KW_ONLY
    networks: int = setting(100, whole())
    rounds: int = setting(10, whole())
    batch: int = setting(1024, whole())
    clip: float = setting(0.1, positive())
    matching: GradientMatching = field(default_factory=GradientMatching)
    network: NetworkTraining = field(default_factory=NetworkTraining)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    def _check_records(self, data: Any) -> None:
        super()._check_records(data)
        check_batch("batch", self.batch, len(data))

    def learn(self, records: Records) -> DistilledSet:
        """Touches private data: through noisy sums of clipped gradients."""
        steps, how = self.networks * self.rounds, self.matching
        paid = pay_for_steps(steps, self.batch, self.clip, len(records), records.budget)
        private, classes = PrivateImages.of(records.data), len(records.domain.classes)
        shape = coloured(records.data.shape)
        drawing, starting = jax.random.split(records.key)
        start = 0.5 + 0.2 * jax.random.normal(starting, (classes, self.per_class, *shape))
        images, opt_state = jnp.clip(start, 0, 1), _ADAM.init(start)
        draw = jax.jit(lambda key: ConvNet(shape, classes, key=key, width=self.network.width))
        fixed = (how.image_steps, how.learner_steps, how.learner_rate)
        for key in jax.random.split(drawing, self.networks):
            network = draw(key)
            learner = _ADAM.init(network)
            for _ in range(self.rounds):
                noisy = private.noisy_gradient(network, paid, classes)
                rate = how.image_rate * (1 + math.cos(math.pi * (paid.used - 1) / steps)) / 2
                images, opt_state, network, learner = _round(fixed, images, opt_state, network, learner, noisy, rate)
                if records.tell is not None:
                    records.tell(paid.used, steps)
        facts = {"mechanism": "dp-sgd", "noise": paid.mechanism.noise_multiplier, "clip": self.clip, "steps": steps}
        return DistilledSet(records.domain, labelled(images), facts)


@partial(jax.jit, static_argnums=0)
def _round(
    fixed: tuple[int, int, float],
    images: Array,
    opt_state: Any,
    network: ConvNet,
    learner: Any,
    noisy: Array,
    image_rate: float,
) -> tuple[Array, Any, ConvNet, Any]:
    """Images moved towards the gradient that was released, and the network taught by them."""
    image_steps, learner_steps, learner_rate = fixed
    classes, per_class, *shape = images.shape
    targets = jnp.repeat(jnp.eye(classes), per_class, axis=0)
    unravel = ravel_pytree(network)[1]

    def apart(images: Array) -> Array:
        def of_class(images: Array, targets: Array, noisy: Array) -> Array:
            own = jax.grad(loss)(network, images, targets)
            both = zip(*map(jax.tree.leaves, (own, unravel(noisy))), strict=True)
            return sum((1 - _cosine(a, b) for a, b in both), jnp.zeros(()))

        given = targets.reshape(classes, per_class, classes)
        return jax.vmap(of_class)(images, given, noisy.reshape(classes, -1)).sum()

    def move(state: Any, _: None) -> tuple[Any, None]:
        images, opt_state = state
        updates, opt_state = _ADAM.update(jax.grad(apart)(images), opt_state)
        return (jnp.clip(images - image_rate * updates, 0, 1), opt_state), None

    (images, opt_state), _ = jax.lax.scan(move, (images, opt_state), None, image_steps)

    def teach(state: Any, _: None) -> tuple[Any, None]:
        network, learner = state
        updates, learner = _ADAM.update(jax.grad(loss)(network, images.reshape(-1, *shape), targets), learner)
        return (jax.tree.map(lambda weight, update: weight - learner_rate * update, network, updates), learner), None

    (network, learner), _ = jax.lax.scan(teach, (network, learner), None, learner_steps)
    return images, opt_state, network, learner


def _cosine(a: Array, b: Array) -> Array:
    return jnp.sum(a * b) / jnp.sqrt(jnp.sum(a * a) * jnp.sum(b * b) + 1e-20)
