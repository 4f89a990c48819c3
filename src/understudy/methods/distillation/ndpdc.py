"""NDPDC (Zheng and Li 2023, "Differentially private dataset condensation"): what random networks see of each class, released with
noise; then images that they see the same in, for free.

For every network that is drawn, which is public, the clipped features of the images of each class are summed and leave with noise. An image
is in one class, so all sums together move by no more than its own vector. How many images a class has is not known: a constant stands
beside the features of each image, so that the same sums count them too.

All sums are released first, and images are matched to them afterwards, as often as one likes.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from understudy.learn.convnets import ConvNet, Shape, coloured, standardised
from understudy.methods.convnet_gradients import PrivateImages
from understudy.methods.distillation.distiller import DistilledSet, Records
from understudy.methods.distillation.dpkip import check_batch
from understudy.methods.distillation.for_networks import ConvNetDistiller, NetworkTraining, labelled
from understudy.privacy import PrepaidSteps
from understudy.privacy.prepaid import pay_for_steps
from understudy.release.settings import Settings, or_none, positive, setting, share, whole

_ADAM: Any = optax.scale_by_adam()
_CHUNK = 50
# Images that a network looks at together.
_AT_ONCE = 256
# The share of a vector's squared length that counts images.
_COUNTED = 0.05
# The mean of a standard Gaussian's positive part: that of every feature, whatever the image, since blocks normalise.
_USUAL = 1 / math.sqrt(2 * math.pi)


@dataclass
class EmbeddingMatching(Settings):
    """How images are matched to what was released; none of it costs privacy. Each step is by one of the networks."""

    steps: int = setting(2000, whole())
    learning_rate: float = setting(2e-2, positive())


@dataclass(eq=False, repr=False)
class NDPDC(ConvNetDistiller):
    """Distilled images for a ConvNet from clipped embeddings of randomly drawn networks.

    - `epsilon`, `delta`: the budget; all of it is used. `per_class`: images a class.
    - `networks`: how many are drawn, each with one release. `batch`: the expected Poisson batch of each; None: all images, which is the
      best that a budget buys, and takes the longest.
    - `clip`: the longest vector of one image, in units in which features are divided by the root of their number.
    - `matching`, `network`: what is done with the releases, for free.
    """

    method: ClassVar[str] = "ndpdc"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability", ends="()"))
    per_class: int = setting(10, whole())
    _: KW_ONLY
    networks: int = setting(200, whole())
    batch: int | None = setting(None, or_none(whole()))
    clip: float = setting(0.2, positive())
    matching: EmbeddingMatching = field(default_factory=EmbeddingMatching)
    network: NetworkTraining = field(default_factory=NetworkTraining)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    def _check_records(self, data: Any) -> None:
        super()._check_records(data)
        check_batch("batch", self.batch or len(data), len(data))

    def learn(self, records: Records) -> DistilledSet:
        """Touches private data: through noisy sums of clipped embeddings; what is matched to them sees no image."""
        paid = pay_for_steps(self.networks, self.batch or len(records), self.clip, len(records), records.budget)
        drawing, starting, choosing = jax.random.split(records.key, 3)
        keys = jax.random.split(drawing, self.networks)
        shape = coloured(records.data.shape)
        noisy = self._look(records, paid, keys)
        goals, sureness = _means(noisy, paid)
        classes = noisy.shape[1]
        start = 0.5 + 0.2 * jax.random.normal(starting, (classes, self.per_class, *shape))
        state = (jnp.clip(start, 0, 1), _ADAM.init(start))
        steps = self.matching.steps
        decay = self.matching.learning_rate * (1 + np.cos(np.pi * np.arange(steps) / steps)) / 2
        order = jax.random.randint(choosing, (steps,), 0, self.networks)
        for begun in range(0, steps, _CHUNK):
            now = slice(begun, begun + _CHUNK)
            rates = jnp.asarray(decay[now], jnp.float32)
            state = _match(self._form(shape), state, keys, goals, sureness, order[now], rates)
            if records.tell is not None:
                records.tell(self.networks + begun + len(rates), self.networks + steps)
        facts = {"mechanism": "noisy sums of embeddings", "networks": self.networks}
        facts |= {"noise": paid.mechanism.noise_multiplier, "clip": self.clip}
        return DistilledSet(records.domain, labelled(state[0]), facts)

    def _form(self, shape: Shape) -> tuple[Shape, int, float]:
        return shape, self.network.width, self.clip

    def _look(self, records: Records, paid: PrepaidSteps, keys: Array) -> np.ndarray:
        """Touches private data: for each network and class the noisy sum of what it sees, and of ones (networks x classes x features + 1).
        Safe to publish: all of it is paid for.
        """
        images, classes = PrivateImages.of(records.data), len(records.domain.classes)
        found = []
        for number, key in enumerate(keys):
            slots, held, chosen = images.batch(paid, min(_AT_ONCE, paid.slots))
            form = self._form(coloured(records.data.shape))
            total = embedding_sums(form, classes, key, images.pixels, images.classes, slots, held)
            found.append(paid.release(np.asarray(total), chosen).astype(np.float32).reshape(classes, -1))
            if records.tell is not None:
                records.tell(number + 1, self.networks + self.matching.steps)
        return np.stack(found)


def embedded(form: tuple[Shape, int, float], key: Array, images: Array) -> Array:
    """What a random network sees of each image, with a one that counts it beside: of norm `clip` at most, a row an image."""
    shape, width, clip = form
    network = ConvNet(shape, 1, key=key, width=width)
    features = network.features(standardised(images)) - _USUAL
    features = features / math.sqrt(features.shape[1])
    length = jnp.sqrt(jnp.sum(jnp.square(features), axis=1, keepdims=True) + 1e-12)
    # The factor pays for the rounding of float32, so that no image is longer than `clip`.
    room = clip * (1 - 1e-5)
    kept = features * jnp.minimum(1.0, room * math.sqrt(1 - _COUNTED) / length)
    return jnp.concatenate([kept, jnp.full((len(images), 1), room * math.sqrt(_COUNTED))], axis=1)


@partial(jax.jit, static_argnums=(0, 1))
def embedding_sums(
    form: tuple[Shape, int, float], classes: int, key: Array, pixels: Array, given: Array, slots: Array, held: Array
) -> Array:
    """Touches private data: for each class the sum of what the network sees of its images, as one vector."""

    def part(total: Array, now: tuple[Array, Array]) -> tuple[Array, None]:
        places, taken = now
        seen = embedded(form, key, pixels[places]) * taken[:, None]
        return total + jax.ops.segment_sum(seen, given[places], classes), None

    width = jax.eval_shape(partial(embedded, form), key, pixels[:1]).shape[1]
    return jax.lax.scan(part, jnp.zeros((classes, width)), (slots, held))[0].ravel()


def _means(noisy: np.ndarray, paid: PrepaidSteps) -> tuple[Array, Array]:
    """What each network sees of a class on average, and how much that counts beside other classes: less where noise is all there is."""
    clip, noise = paid.mechanism.clip, paid.mechanism.noise_multiplier
    one = clip * (1 - 1e-5) * math.sqrt(_COUNTED)
    expected = noisy[:, :, -1].mean(axis=0) / one
    # A class that is hardly there is not divided by next to nothing.
    expected = np.maximum(expected, noise / math.sqrt(_COUNTED * len(noisy)))
    unsure = noise**2 / len(noisy) * (noisy.shape[2] - 1) / expected**2
    sureness = 1 / (1 + unsure)
    return jnp.asarray(noisy[:, :, :-1] / expected[:, None]), jnp.asarray(sureness / sureness.max(), jnp.float32)


@partial(jax.jit, static_argnums=0)
def _match(
    form: tuple[Shape, int, float], state: Any, keys: Array, goals: Array, sureness: Array, order: Array, rates: Array
) -> Any:
    """Some steps that bring what a network sees of the images of each class nearer to what was released."""

    def step(state: Any, now: tuple[Array, Array]) -> tuple[Any, None]:
        (images, opt_state), (place, rate) = state, now

        def apart(images: Array) -> Array:
            seen = embedded(form, keys[place], images.reshape(-1, *form[0]))[:, :-1]
            means = seen.reshape(*images.shape[:2], -1).mean(axis=1)
            return jnp.sum(sureness[:, None] * jnp.square(means - goals[place]))

        updates, opt_state = _ADAM.update(jax.grad(apart)(images), opt_state)
        return (jnp.clip(images - rate * updates, 0, 1), opt_state), None

    return jax.lax.scan(step, state, (order, rates))[0]
