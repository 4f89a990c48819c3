"""One private look at images, then a handful of them that train a *convolutional* network; all but the look is free."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.images.deform import Affine
from understudy.learn.convnet_training import Learner, Lessons, train_convnet
from understudy.learn.convnets import Shape
from understudy.methods.distillation.distiller import Distiller, Progress
from understudy.methods.distillation.domain import Domain, ImageDomain
from understudy.methods.distillation.matching import Deformation, Matching, match_samples, train_teachers
from understudy.methods.distillation.training import Support
from understudy.methods.image_moments import ImageMoments
from understudy.privacy import Budget, Certificate
from understudy.privacy.events import check_count, check_positive
from understudy.tables import Schema

# Three blocks of pooling leave something of images of this side.
_SMALLEST = 8


class Public(NamedTuple):
    """What distillation starts from, all of it made from a release: samples of each class, and networks that know them."""

    samples: np.ndarray
    teachers: list[Learner]


class OneLookConvNet(Distiller):
    """Distilled images for a ConvNet (three blocks of 128 kernels, instance norm, average pooling) from one private look.

    Wants an accelerator: on two cores the default settings would take hours. `predict` trains the network on the distilled
    images when it is first asked, with the same public deformations.

    Parameters
    ----------
    epsilon, delta : the budget; all of it is used by the look. per_class : images a class.
    frequencies, straight, components, edges : of `ImageMoments`.
    samples : how many are drawn of each class. teachers : how many networks are trained on them, for the labels.
    softness : what the teachers' logits are divided by to make labels.
    steps, batch, learning_rate : of the matching; `batch` samples of each class are looked at in a step.
    stretch : how far the contrast of samples is stretched at random (0: not), since those of Gaussians are grey.
    width : kernels a block. teacher_steps, train_steps : of teachers, and of the network that `predict` trains.
    mixed : train that network on weighted means of two images and labels.
    """

    method: ClassVar[str] = "one-look-convnet"
    # Of the kernel that other distillers use; a network has its own.
    depth = 1

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        per_class: int = 20,
        *,
        steps: int = 1000,
        batch: int = 128,
        learning_rate: float = 1e-2,
        samples: int = 4000,
        teachers: int = 4,
        softness: float = 2.0,
        stretch: float = 0.0,
        frequencies: int | None = None,
        straight: bool = False,
        components: int = 1,
        edges: float = 0.0,
        width: int = 128,
        teacher_steps: int = 3000,
        train_steps: int = 1500,
        mixed: bool = False,
        random_state: int | None = None,
        unsafe_noise_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.per_class = per_class
        self.steps = steps
        self.batch = batch
        self.learning_rate = learning_rate
        self.samples = samples
        self.teachers = teachers
        self.softness = softness
        self.stretch = stretch
        self.frequencies = frequencies
        self.straight = straight
        self.components = components
        self.edges = edges
        self.width = width
        self.teacher_steps = teacher_steps
        self.train_steps = train_steps
        self.mixed = mixed
        self.random_state = random_state
        self.unsafe_noise_seed = unsafe_noise_seed

    def _check(self) -> None:
        super()._check()
        for name in ("teachers", "width", "teacher_steps", "train_steps"):
            check_count(name, getattr(self, name))
        check_positive("softness", self.softness)
        if not 0 <= self.stretch < 1:
            raise InputError(f"`stretch` (={self.stretch}) is a share of the range of pixels: at least 0 and below 1.")
        if self.samples < self.per_class:
            raise InputError(
                f"`samples` (={self.samples}) of each class are fewer than `per_class` (={self.per_class}): the images start "
                "from them."
            )

    def _learn(
        self, data: Any, schema: Schema | None, key: jax.Array, progress: Progress | None
    ) -> tuple[Domain, Support, Certificate]:
        """Touches private data: through one release of moments; the rest works on its samples."""
        if not isinstance(data, ImageDataset):
            raise InputError("a ConvNet learns from images: give an `ImageDataset`, or use `OneLook` for a table.")
        domain = self._domain(data, None, None)
        if min(data.shape[:2]) < _SMALLEST:
            raise InputError(
                f"images of {data.shape[0]} x {data.shape[1]} pixels are too small for a network that halves them three times: "
                f"at least {_SMALLEST} are needed. Use `OneLook`."
            )
        budget = Budget(self.epsilon, self.delta, unsafe_noise_seed=self.unsafe_noise_seed)
        generator = ImageMoments(
            self.epsilon,
            self.delta,
            frequencies=self.frequencies,
            components=self.components,
            straight=self.straight,
            edges=self.edges,
            random_state=self.random_state,
        )
        self.drawn_ = True
        generator.fit(data, budget)
        support = self.distil(self.prepare(generator), key, progress)
        facts = {"mechanism": "moments", "post_processing_of": "generator/image-moments"}
        return domain, support, self._certify(budget, data, facts)

    # ---- free, and apart: several sets may be distilled from one release ------------------------------------------

    def prepare(self, generator: ImageMoments) -> Public:
        """Samples of a released generator, and teachers of them."""
        classes = len(generator.classes_)
        labels = np.arange(self.samples * classes) % classes
        made = generator.sample(len(labels), self.random_state, labels=labels)
        shape = _shape(made.shape)
        low, high = made.value_range
        pixels = made.images if (low, high) == (0, 255) else np.rint(made.flat() * 255).astype(np.uint8)
        samples = np.moveaxis(pixels.reshape(self.samples, classes, *shape), 1, 0)
        lessons = Lessons(self.teacher_steps, width=self.width)
        taught = train_teachers(samples, self._deformation(), lessons, self.teachers, self._seed())
        return Public(samples, taught)

    def distil(self, public: Public, key: jax.Array, progress: Progress | None = None) -> Support:
        """Images matched to the samples, with the teachers' labels (logits, centred)."""
        start = np.moveaxis(public.samples[:, : self.per_class], 0, 1).astype(np.float32) / 255
        matching = Matching(self.steps, self.batch, self.learning_rate, self.width)
        tell = None if progress is None else lambda done, _: progress(done, self.steps)
        found = match_samples(jnp.asarray(public.samples), start, self._deformation(), matching, key, tell)
        rows = np.rint(found * 255).reshape(-1, int(np.prod(found.shape[2:]))).astype(np.uint8)
        labels = np.mean([teacher.scores(rows) for teacher in public.teachers], axis=0) / self.softness
        return Support(jnp.asarray(rows.astype(np.float32) / 255), jnp.asarray(labels, jnp.float32))

    def train(self, support: Support, shape: tuple[int, ...], seed: int) -> Learner:
        """A network trained on distilled images."""
        lessons = Lessons(self.train_steps, width=self.width, mixed=self.mixed)
        points, labels = (np.asarray(part) for part in support)
        learner = train_convnet(points, labels, _shape(shape), lessons, self._deformation(), seed)
        return Learner(learner.network, learner.shape, self.softness)

    def _affine(self) -> Affine:
        return Affine() if self.straight else Affine(0.05, 0.05, 0.05, 1.0)

    def _deformation(self) -> Deformation:
        return Deformation(self._affine(), 0.4 * self.stretch, 0.6 * self.stretch)

    def _seed(self) -> int:
        return 0 if self.random_state is None else self.random_state

    def _predictor(self) -> Learner:
        self._check_fitted()
        if not hasattr(self, "learner_"):
            assert isinstance(self.domain_, ImageDomain)
            self.learner_ = self.train(self.support_, self.domain_.shape, self._seed())
        return self.learner_

    def _ready(self, domain: Domain, support: Support) -> None:
        super()._ready(domain, support)
        if hasattr(self, "learner_"):  # of an earlier fit
            del self.learner_


def _shape(shape: tuple[int, ...]) -> Shape:
    return (shape[0], shape[1], shape[2] if len(shape) == 3 else 1)
