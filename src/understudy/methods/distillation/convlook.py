"""Private looks at images, then a handful of them that train a *convolutional* network; all but the looks is free."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.images.deform import Affine
from understudy.learn.convnet_training import Learner, Lessons, train_convnet
from understudy.learn.convnets import Shape
from understudy.methods.distillation.correction import Committee, Correcting, Opinion, correct
from understudy.methods.distillation.distiller import Distiller, Progress
from understudy.methods.distillation.domain import Domain, ImageDomain
from understudy.methods.distillation.dpkip import pay_for_steps
from understudy.methods.distillation.matching import (
    Deformation,
    Matching,
    drawn_labels,
    folded,
    match_samples,
    train_teachers,
    unfolded,
)
from understudy.methods.distillation.training import Support
from understudy.methods.image_moments import ImageMoments
from understudy.privacy import Budget, Certificate
from understudy.privacy.events import check_count, check_positive
from understudy.tables import Schema

# Three blocks of pooling leave something of images of this side.
_SMALLEST = 8
# No class is ruled out by edges alone.
_DOUBT = 1e-4
LabelsBy = Literal["pupils", "teachers", "both"]


class Public(NamedTuple):
    """What distillation starts from, all of it made from releases: samples of each class, and who labels pictures."""

    samples: np.ndarray
    teachers: tuple[Committee, ...]

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """What the teachers say of images as rows of pixels: logits, centred."""
        return np.mean([one.scores(rows) for one in self.teachers], axis=0)


class OneLookConvNet(Distiller):
    """Distilled images for a ConvNet (three blocks of 128 kernels, instance norm, average pooling) from private looks.

    Wants an accelerator: on two cores the default settings would take hours. `predict` trains the network on the distilled
    images when it is first asked, with the same public deformations.

    Parameters
    ----------
    epsilon, delta : the budget; all of it is used by the looks. per_class : images a class.
    frequencies, straight, sized, components, edges : of `ImageMoments`.
    samples : how many are drawn of each class. teachers : how many networks are trained on them, for the labels.
    correct_share : the share of epsilon for a second look, through the eyes of those networks, that corrects them; the
        samples get the labels that the corrected ones give, and new networks learn these. 0 leaves it out.
    labels_by : who labels the distilled pictures then: "pupils", those new networks; "teachers", the corrected ones; or "both".
    softness : what the teachers' logits are divided by to make labels.
    steps, batch, learning_rate : of the matching; `batch` samples of each class are looked at in a step.
    parts : every image holds parts x parts pictures, each with labels of its own, which the network learns from enlarged.
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
        teachers: int = 3,
        correct_share: float = 0.16,
        labels_by: LabelsBy = "pupils",
        softness: float = 2.0,
        parts: int = 2,
        stretch: float = 0.0,
        frequencies: int | None = None,
        straight: bool = False,
        sized: bool = False,
        components: int = 1,
        edges: float = 0.0,
        width: int = 128,
        teacher_steps: int = 2000,
        train_steps: int = 3000,
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
        self.correct_share = correct_share
        self.labels_by: LabelsBy = labels_by
        self.softness = softness
        self.parts = parts
        self.stretch = stretch
        self.frequencies = frequencies
        self.straight = straight
        self.sized = sized
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
        for name in ("teachers", "width", "teacher_steps", "train_steps", "parts"):
            check_count(name, getattr(self, name))
        check_positive("softness", self.softness)
        if not 0 <= self.stretch < 1:
            raise InputError(f"`stretch` (={self.stretch}) is a share of the range of pixels: at least 0 and below 1.")
        if not 0 <= self.correct_share < 1:
            raise InputError(f"`correct_share` (={self.correct_share}) is a share of epsilon: at least 0 and below 1.")
        if self.labels_by not in (known := get_args(LabelsBy)):
            raise InputError(f"`labels_by` (={self.labels_by!r}) must be one of {', '.join(known)}.")
        if self.samples < (needed := self.per_class * self.parts**2):
            raise InputError(
                f"`samples` (={self.samples}) of each class are fewer than the {needed} pictures of a class that `per_class` "
                f"(={self.per_class}) images hold: they start from samples."
            )

    def _learn(
        self, data: Any, schema: Schema | None, key: jax.Array, progress: Progress | None
    ) -> tuple[Domain, Support, Certificate]:
        """Touches private data: through one release of moments, and one correction; the rest works on what they said."""
        if not isinstance(data, ImageDataset):
            raise InputError("a ConvNet learns from images: give an `ImageDataset`, or use `OneLook` for a table.")
        domain = self._domain(data, None, None)
        if min(data.shape[:2]) < _SMALLEST:
            raise InputError(
                f"images of {data.shape[0]} x {data.shape[1]} pixels are too small for a network that halves them three times: "
                f"at least {_SMALLEST} are needed. Use `OneLook`."
            )
        if any(side % self.parts for side in data.shape[:2]):
            raise InputError(
                f"images of {data.shape[0]} x {data.shape[1]} pixels cannot be cut into `parts` (={self.parts}) a side."
            )
        budget = Budget(self.epsilon, self.delta, unsafe_noise_seed=self.unsafe_noise_seed)
        generator = self.generator()
        self.drawn_ = True
        generator.fit(data, budget)
        public = self.prepare(generator)
        facts: dict[str, Any] = {"mechanism": "moments", "post_processing_of": "generator/image-moments"}
        if self.correct_share:
            public = self.correct(public, data, budget)
            facts = {"mechanism": "moments, then noisy gradients of a correction"}
        return domain, self.distil(public, key, progress), self._certify(budget, data, facts)

    def generator(self) -> ImageMoments:
        """The generator of the first look, not yet fitted."""
        return ImageMoments(
            (1 - self.correct_share) * self.epsilon,
            self.delta,
            frequencies=self.frequencies,
            components=self.components,
            straight=self.straight,
            sized=self.sized,
            edges=self.edges,
            random_state=self.random_state,
        )

    def correct(self, public: Public, data: ImageDataset, budget: Budget) -> Public:
        """Touches private data (`data`): teachers that were corrected by a second look. Safe to publish, as `public` was.

        What is left of the budget pays for it. New networks learn the corrected labels of the samples: they carry the
        correction over to pictures that are neither records nor samples.
        """
        how = Correcting()
        paid = pay_for_steps(how.steps, len(data), how.clip, len(data), budget)
        rows = public.samples.reshape(-1, data.flat().shape[1])
        (committee,) = public.teachers
        committee = correct(
            committee.with_axes(rows, how.axes), data.flat(), data.labels, len(data.classes), paid, how.rate
        )
        if self.labels_by == "teachers":
            return Public(public.samples, (committee,))
        labels = committee.scores(rows).astype(np.float32)
        pupils = Committee(self._taught(public.samples, labels, self._seed() + self.teachers))
        return Public(public.samples, (pupils,) if self.labels_by == "pupils" else (pupils, committee))

    # ---- free, and apart: several sets may be distilled from one release ------------------------------------------

    def prepare(self, generator: ImageMoments) -> Public:
        """Samples of a released generator, and teachers of them."""
        classes = len(generator.classes_)
        numbers = np.arange(self.samples * classes) % classes
        made = generator.sample(len(numbers), self.random_state, labels=numbers)
        shape = _shape(made.shape)
        low, high = made.value_range
        pixels = made.images if (low, high) == (0, 255) else np.rint(made.flat() * 255).astype(np.uint8)
        samples = np.moveaxis(pixels.reshape(self.samples, classes, *shape), 1, 0)
        labels, others = drawn_labels(classes, self.samples), ()
        if self.correct_share and generator.refiner_ is not None:
            # A sample that looks like two classes says so; what is wrong with that is corrected.
            edges = _edges(generator)
            labels = np.moveaxis(edges(made.flat()).reshape(self.samples, classes, classes), 1, 0)
            others = (edges,)
        return Public(samples, (Committee(self._taught(samples, labels, self._seed()), others),))

    def _taught(self, samples: np.ndarray, labels: np.ndarray, seed: int) -> list[Learner]:
        lessons = Lessons(self.teacher_steps, width=self.width)
        return train_teachers(samples, labels, self._deformation(), lessons, self.teachers, seed)

    def distil(self, public: Public, key: jax.Array, progress: Progress | None = None) -> Support:
        """Images matched to the samples, with the teachers' labels (logits, centred): those of all its pictures in a row."""
        pictures = np.moveaxis(public.samples[:, : self.per_class * self.parts**2], 0, 1).astype(np.float32) / 255
        start = np.stack([folded(pictures[:, c], self.parts) for c in range(pictures.shape[1])], axis=1)
        matching = Matching(self.steps, self.batch, self.learning_rate, self.width, self.parts)
        tell = None if progress is None else lambda done, _: progress(done, self.steps)
        found = match_samples(jnp.asarray(public.samples), start, self._deformation(), matching, key, tell)
        return self.labelled(np.rint(found * 255).reshape(-1, *found.shape[2:]) / 255, public)

    def labelled(self, images: np.ndarray, public: Public) -> Support:
        """Images (number x height x width x colours, from 0 to 1) and what the teachers say of their pictures, softened."""
        points = images.reshape(len(images), -1).astype(np.float32)
        rows = self._pictures(points, (images.shape[1], images.shape[2], images.shape[3]))
        labels = public.scores(rows) / self.softness
        return Support(jnp.asarray(points), jnp.asarray(labels.reshape(len(images), -1), jnp.float32))

    def train(self, support: Support, shape: tuple[int, ...], seed: int) -> Learner:
        """A network trained on distilled images."""
        lessons = Lessons(self.train_steps, width=self.width, mixed=self.mixed)
        rows = self._pictures(np.asarray(support.points), _shape(shape))
        labels = np.asarray(support.labels).reshape(len(rows), -1)
        learner = train_convnet(rows, labels, _shape(shape), lessons, self._deformation(), seed)
        return Learner(learner.network, learner.shape, self.softness)

    def _pictures(self, points: np.ndarray, shape: Shape) -> np.ndarray:
        """The pictures of images as rows of pixels (number · parts² x pixels)."""
        rows = unfolded(jnp.asarray(points).reshape(-1, *shape), self.parts)
        return np.asarray(rows).reshape(len(rows), -1)

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

    def _labels_a_point(self, classes: int) -> int:
        return self.parts**2 * classes

    def _classes_of(self, labels: np.ndarray, classes: int) -> np.ndarray:
        return labels.reshape(len(labels), -1, classes).mean(axis=1).argmax(axis=1)


def _edges(generator: ImageMoments) -> Opinion:
    """What the released edges say of images (rows of pixels): logarithms of their shares."""

    def say(rows: np.ndarray) -> np.ndarray:
        values = rows.astype(np.float32) / 255 if rows.dtype == np.uint8 else rows
        none = np.zeros(len(rows), np.int64)
        shape, classes = generator.shape_, generator.classes_
        shares = generator.shares(ImageDataset.from_flat(values, none, shape, classes, generator.value_range_))
        return np.log(shares + _DOUBT).astype(np.float32)

    return say


def _shape(shape: tuple[int, ...]) -> Shape:
    return (shape[0], shape[1], shape[2] if len(shape) == 3 else 1)
