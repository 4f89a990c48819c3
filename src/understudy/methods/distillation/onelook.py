"""One look, then free distillation: the recommended way.

The budget buys one release of moments. Endless samples of that release cost nothing, and neither does any amount of
kernel-inducing-point descent on them, with learned labels and public deformations: all of it is post-processing. Part of
the budget may fit the labels to the real images, or go on with DP-SGD on them from there.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.images.deform import Affine
from understudy.learn.krr import one_hot
from understudy.methods.distillation.distiller import Distiller, Progress
from understudy.methods.distillation.domain import Domain, TableDomain
from understudy.methods.distillation.dpkip import check_batch, descend, pay_for_steps
from understudy.methods.distillation.labels import Fitting, fit_labels
from understudy.methods.distillation.training import Rows, Schedule, Support, distil
from understudy.methods.image_moments import ImageMoments
from understudy.methods.image_moments.sampler import Samples
from understudy.methods.moments import MomentsGenerator
from understudy.privacy import Budget, Certificate
from understudy.tables import Schema

# Ten times so many samples show along which axes labels are fitted.
_SHOWN = 1000


class OneLook(Distiller):
    """A distilled set from one private look.

    Parameters
    ----------
    epsilon, delta : the budget; all of it is used. per_class : records a class.
    steps, batch, learning_rate, label_rate, ridge, depth : of the free descent, as in `KIP`; none of them costs privacy.
    samples : rows a class that are drawn from a table's release for it. deform : deform sampled images at random, more
        for writing (`straight`) than for other images.
    frequencies, straight, sized, components : of `ImageMoments`.
    label_share : the share of epsilon for a second look, which fits the labels to the real images.
    refine_share : the share of epsilon for DP-SGD on the real images afterwards, `refine_epochs` of it.
    """

    method: ClassVar[str] = "one-look"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        per_class: int = 10,
        *,
        steps: int = 3000,
        batch: int = 1000,
        learning_rate: float = 5e-3,
        label_rate: float = 5e-3,
        ridge: float = 1e-4,
        depth: int = 1,
        samples: int = 4000,
        deform: bool = True,
        frequencies: int | None = None,
        straight: bool = False,
        sized: bool = False,
        components: int = 1,
        label_share: float = 0.0,
        refine_share: float = 0.0,
        refine_epochs: int = 5,
        refine_rate: float = 1e-3,
        schema_epsilon_share: float = 0.1,
        random_state: int | None = None,
        unsafe_noise_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.per_class = per_class
        self.steps = steps
        self.batch = batch
        self.learning_rate = learning_rate
        self.label_rate = label_rate
        self.ridge = ridge
        self.depth = depth
        self.samples = samples
        self.deform = deform
        self.frequencies = frequencies
        self.straight = straight
        self.sized = sized
        self.components = components
        self.label_share = label_share
        self.refine_share = refine_share
        self.refine_epochs = refine_epochs
        self.refine_rate = refine_rate
        self.schema_epsilon_share = schema_epsilon_share
        self.random_state = random_state
        self.unsafe_noise_seed = unsafe_noise_seed

    def _check(self) -> None:
        super()._check()
        for name in ("refine_share", "label_share"):
            if not 0 <= (share := getattr(self, name)) < 1:
                raise InputError(f"`{name}` (={share}) is a share of epsilon: at least 0 and below 1.")
        if self.refine_share and self.label_share:
            raise InputError("either `refine_share` or `label_share` may have a part of epsilon: set the other to 0.")

    def _learn(
        self, data: Any, schema: Schema | None, key: jax.Array, progress: Progress | None
    ) -> tuple[Domain, Support, Certificate]:
        """Touches private data: through one release of moments, and through DP-SGD if a share is left for it."""
        if isinstance(data, ImageDataset):
            return self._learn_images(data, key, progress)
        assert schema is not None
        return self._learn_table(data, schema, key, progress)

    def _learn_images(
        self, data: ImageDataset, key: jax.Array, progress: Progress | None
    ) -> tuple[Domain, Support, Certificate]:
        """Touches private data: the look, and DP-SGD."""
        domain = self._domain(data, None, None)
        if self.refine_share:
            check_batch(min(self.batch, 500), len(data))
        budget = Budget(self.epsilon, self.delta, unsafe_noise_seed=self.unsafe_noise_seed)
        generator = ImageMoments(
            (1 - self.refine_share - self.label_share) * self.epsilon,
            self.delta * (1 - self.refine_share / 2),
            frequencies=self.frequencies,
            components=self.components,
            edges=0.0,
            straight=self.straight,
            sized=self.sized,
            random_state=self.random_state,
        )
        self.drawn_ = True
        generator.fit(data, budget)
        classes = np.arange(self.per_class * len(domain.classes)) % len(domain.classes)
        first = generator.sample(len(classes), self.random_state, labels=classes)
        start = Support(jnp.asarray(first.flat()), jnp.asarray(one_hot(first.labels, len(domain.classes))))
        affine = (Affine() if self.straight else Affine(0.05, 0.05, 0.05, 1.0)) if self.deform else None
        source = Samples(generator.mixture_, affine)
        support = self._descend(domain, source, start, key, progress)
        facts: dict[str, Any] = {"mechanism": "moments", "post_processing_of": "generator/image-moments"}
        if self.label_share:
            how = Fitting()
            shown = [np.asarray(_points(source, jax.random.fold_in(key, part))) for part in range(10)]
            paid = pay_for_steps(how.steps, len(data), how.clip, len(data), budget)
            targets = one_hot(data.labels, len(domain.classes))
            kernel = self._kernel(domain)
            support = fit_labels(
                kernel, self.ridge, support, np.concatenate(shown), data.flat(), targets, paid, how.rate
            )
            facts = {"mechanism": "moments, then noisy gradients of the labels"}
        if self.refine_share:
            batch = min(self.batch, 500)
            steps = max(1, round(self.refine_epochs * len(data) / batch))
            paid = pay_for_steps(steps, batch, 1e-6, len(data), budget)
            support = descend(self, domain, data, support, paid, self.refine_rate, progress)
            facts = {"mechanism": "moments, then dp-sgd", "steps": steps, "noise": paid.mechanism.noise_multiplier}
        return domain, support, self._certify(budget, data, facts)

    def _learn_table(
        self, data: Any, schema: Schema, key: jax.Array, progress: Progress | None
    ) -> tuple[Domain, Support, Certificate]:
        """Touches private data: the look of `MomentsGenerator`; the rest works on its samples."""
        if self.refine_share or self.label_share:
            raise InputError(
                "`refine_share` and `label_share` are for images; a table's release is distilled as it is. Leave them at 0."
            )
        if not schema.missing():
            self._fits(TableDomain(schema), len(data))
        generator = MomentsGenerator(
            self.epsilon,
            self.delta,
            schema_epsilon_share=self.schema_epsilon_share,
            random_state=self.random_state,
            unsafe_noise_seed=self.unsafe_noise_seed,
        )
        generator.fit(data, schema.target, schema)
        self.generator_ = generator  # as public as the set that is distilled from it, and paid for by the same look
        plain = TableDomain(generator.schema_)
        self._fits(plain, len(data))
        made = [
            generator.sample(self.samples, {plain.label.name: value}, random_state=self.random_state)
            for value in plain.classes
        ]
        cubes = [plain.encoder.encode(frame) for frame in made]
        domain = plain.scaled_by(np.concatenate(cubes))
        points = [domain.points(frame) for frame in made]
        numbers = np.repeat(np.arange(len(plain.classes)), self.samples)
        rows = Rows(jnp.asarray(np.concatenate(points)), jnp.asarray(one_hot(numbers, len(plain.classes))))
        first = np.concatenate([part[: self.per_class] for part in points])
        labels = one_hot(np.repeat(np.arange(len(plain.classes)), self.per_class), len(plain.classes))
        start = Support(jnp.asarray(first), jnp.asarray(labels))
        support = self._descend(domain, rows, start, key, progress)
        body = generator.certificate_.body
        release = {
            "kind": "distilled",
            "method": self.method,
            "per_class": self.per_class,
            "post_processing_of": "generator/moments",
        }
        return domain, support, Certificate({**body, "release": release})

    def _descend(
        self, domain: Domain, source: Any, start: Support, key: jax.Array, progress: Progress | None
    ) -> Support:
        schedule = Schedule(self.steps, self.batch, self.learning_rate, self.label_rate)
        tell = None if progress is None else lambda done, _: progress(done, self.steps)
        return distil(self._kernel(domain), self.ridge, source, start, schedule, key, tell)


@jax.jit
def _points(source: Samples, key: jax.Array) -> jax.Array:
    return source.draw(key, _SHOWN)[0]
