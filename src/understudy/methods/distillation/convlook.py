"""Private looks at images, then a handful of them that train a *convolutional* network; all but the looks is free."""

from __future__ import annotations

from dataclasses import KW_ONLY, asdict, astuple, dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.learn.convnet_training import Lessons, TrainedNetwork, train_convnet
from understudy.learn.convnets import USUAL_PIXELS, Shape, coloured
from understudy.methods.distillation.correction import Committee, Correcting, Opinion, correct
from understudy.methods.distillation.distiller import DistilledSet, Records, Tell
from understudy.methods.distillation.domain import ImageDomain
from understudy.methods.distillation.for_networks import ConvNetDistiller, NetworkTraining
from understudy.methods.distillation.matching import (
    Deformation,
    Matching,
    drawn_labels,
    folded,
    match_samples,
    train_teachers,
    unfolded,
)
from understudy.methods.distillation.onelook import ImageLook
from understudy.methods.distillation.training import Support
from understudy.methods.image_moments import ImageMoments
from understudy.privacy import Budget
from understudy.privacy.prepaid import pay_for_steps
from understudy.privacy.share import BudgetShare
from understudy.release.settings import Settings, one_of, or_none, positive, setting, share, whole

# No class is ruled out by edges alone.
_DOUBT = 1e-4


class Public(NamedTuple):
    """What distillation starts from, all of it made from releases: samples of each class, and who labels pictures."""

    samples: np.ndarray
    teachers: tuple[Committee, ...]

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """What the teachers say of images as rows of pixels: logits, centred."""
        return np.mean([one.scores(rows) for one in self.teachers], axis=0)


@dataclass
class EdgeLook(ImageLook):
    """What is looked at; `edges` is the share of the precision for a look at edges."""

    edges: float = setting(0.0, share("the precision", most=0.95, ends="[]"))


@dataclass
class Teaching(Settings):
    """Who labels the distilled pictures: `teachers` networks, trained for `teacher_steps` on `samples` of each class.

    After a second look `labels_by` is "pupils", new networks that learnt what the corrected ones say of the samples;
    "teachers", the corrected ones; or "both". The teachers' logits are divided by `softness` to make labels.
    """

    samples: int = setting(4000, whole())
    teachers: int = setting(3, whole())
    teacher_steps: int = setting(2000, whole())
    labels_by: Literal["pupils", "teachers", "both"] = setting("pupils", one_of("pupils", "teachers", "both"))
    softness: float = setting(2.0, positive())


@dataclass(eq=False, repr=False)
class OneLookConvNet(ConvNetDistiller):
    """Distilled images for a ConvNet (three blocks of 128 kernels, instance norm, average pooling) from private looks.

    Wants an accelerator: on two cores the default settings would take hours. `predict` trains the network on the distilled
    images when it is first asked, with the same public deformations.

    - `epsilon`, `delta`: the budget; all of it is used by the looks. `per_class`: images a class.
    - `correct_share`: the share of epsilon for a second look, through the eyes of networks that were trained on samples of
      the first, that corrects them; the samples get the labels that the corrected ones give. 0 leaves it out.
    - `look`: what is looked at. `teaching`, `matching`, `network`: what is done with samples of it, for free.
    """

    method: ClassVar[str] = "one-look-convnet"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability", ends="()"))
    per_class: int = setting(20, whole())
    _: KW_ONLY
    correct_share: float = setting(0.16, share())
    look: EdgeLook = field(default_factory=EdgeLook)
    teaching: Teaching = field(default_factory=Teaching)
    matching: Matching = field(default_factory=Matching)
    network: NetworkTraining = field(default_factory=NetworkTraining)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.teaching.samples < (needed := self.per_class * self.matching.parts**2):
            raise InputError(
                f"`samples` (={self.teaching.samples}) of each class are fewer than the {needed} pictures of a class that "
                f"`per_class` (={self.per_class}) images hold: they start from samples."
            )

    def _check_records(self, data: Any) -> None:
        super()._check_records(data)
        height, width = data.shape[:2]
        if height % self.matching.parts or width % self.matching.parts:
            raise InputError(
                f"images of {height} x {width} pixels cannot be cut into `parts` (={self.matching.parts}) a side."
            )

    # ---- the looks -----------------------------------------------------------------------------------------------

    def learn(self, records: Records) -> DistilledSet:
        """Touches private data: through one release of moments, and one correction; the rest works on what they said."""
        budget = records.budget
        first = BudgetShare(budget, (1 - self.correct_share) * budget.epsilon)
        public = self.prepare(self.generator().fit(records.data, budget=first))
        facts = {"mechanism": "moments", "post_processing_of": "generator/image-moments"}
        if self.correct_share:
            public = self.correct(public, records.data, budget)
            facts = {"mechanism": "moments, then noisy gradients of a correction"}
        return DistilledSet(records.domain, self.distil(public, records.key, records.tell), facts)

    def generator(self) -> ImageMoments:
        """The generator of the first look, not yet fitted."""
        epsilon = (1 - self.correct_share) * self.epsilon
        return ImageMoments(epsilon, self.delta, random_state=self.random_state, **asdict(self.look))

    def correct(self, public: Public, data: ImageDataset, budget: Budget) -> Public:
        """Touches private data (`data`): teachers that were corrected by a second look. Safe to publish, as `public` was.

        What is left of the budget pays for it. New networks learn the corrected labels of the samples: they carry the
        correction over to pictures that are neither records nor samples.
        """
        how, labels_by = Correcting(), self.teaching.labels_by
        paid = pay_for_steps(how.steps, len(data), how.clip, len(data), budget)
        rows = public.samples.reshape(-1, data.flat().shape[1])
        (committee,) = public.teachers
        committee = correct(
            committee.with_axes(rows, how.axes), data.flat(), data.labels, len(data.classes), paid, how.rate
        )
        if labels_by == "teachers":
            return Public(public.samples, (committee,))
        labels = committee.scores(rows).astype(np.float32)
        seed = (self.random_state or 0) + self.teaching.teachers
        pupils = Committee(self._taught(public.samples, labels, seed))
        return Public(public.samples, (pupils,) if labels_by == "pupils" else (pupils, committee))

    # ---- free, and apart: several sets may be distilled from one release ------------------------------------------

    def prepare(self, generator: ImageMoments) -> Public:
        """Samples of a released generator, and teachers of them."""
        classes, number = len(generator.classes_), self.teaching.samples
        numbers = np.arange(number * classes) % classes
        made = generator.sample(len(numbers), self.random_state, labels=numbers)
        pixels = made.images if made.value_range == (0, 255) else np.rint(made.flat() * 255).astype(np.uint8)
        samples = np.moveaxis(pixels.reshape(number, classes, *coloured(made.shape)), 1, 0)
        labels, others = drawn_labels(classes, number), ()
        if self.correct_share and generator.refiner_ is not None:
            # A sample that looks like two classes says so; what is wrong with that is corrected.
            edges = _opinion_of_edges(generator)
            labels = np.moveaxis(edges(made.flat()).reshape(number, classes, classes), 1, 0)
            others = (edges,)
        return Public(samples, (Committee(self._taught(samples, labels, self.random_state or 0), others),))

    def _taught(self, samples: np.ndarray, labels: np.ndarray, seed: int) -> list[TrainedNetwork]:
        lessons = Lessons(self.teaching.teacher_steps, width=self.network.width)
        return train_teachers(samples, labels, self._deformation(), lessons, self.teaching.teachers, seed)

    def distil(self, public: Public, key: jax.Array, tell: Tell | None = None) -> Support:
        """Images matched to the samples, with the teachers' labels (logits, centred): those of all its pictures in a row."""
        parts = self.matching.parts
        pictures = np.moveaxis(public.samples[:, : self.per_class * parts**2], 0, 1).astype(np.float32) / 255
        start = np.stack([folded(pictures[:, c], parts) for c in range(pictures.shape[1])], axis=1)
        told = None if tell is None else lambda done, total, _: tell(done, total)
        images = match_samples(
            jnp.asarray(public.samples), start, self._deformation(), self.matching, self.network.width, key, told
        )
        return self.labelled(np.rint(images * 255).reshape(-1, *images.shape[2:]) / 255, public)

    def labelled(self, images: np.ndarray, public: Public) -> Support:
        """Images (number x height x width x colours, from 0 to 1) and what the teachers say of their pictures, softened."""
        points = images.reshape(len(images), -1).astype(np.float32)
        rows = self._pictures(points, (images.shape[1], images.shape[2], images.shape[3]))
        labels = public.scores(rows) / self.teaching.softness
        return Support(jnp.asarray(points), jnp.asarray(labels.reshape(len(images), -1), jnp.float32))

    def train(self, support: Support, shape: tuple[int, ...], seed: int) -> TrainedNetwork:
        """A network trained on distilled images."""
        rows = self._pictures(np.asarray(support.points), coloured(shape))
        labels = np.asarray(support.labels).reshape(len(rows), -1)
        trained = train_convnet(rows, labels, coloured(shape), self.network.lessons(), self._deformation(), seed)
        return replace(trained, sharpness=self.teaching.softness)

    def training_set(self) -> dict[str, np.ndarray]:
        """What a network of anybody's is to be trained on, all of it public: every picture of the distilled images at full size
        (bytes), `targets` (shares of the classes, pictures x classes) and the recipe. `deformation` is how far pictures are turned
        (radians), scaled, sheared, shifted (pixels), and their contrast stretched at both ends, at random in every step. Where it is
        `mixed`, a step learns weighted means of two pictures and of their targets.
        """
        self._check_fitted()
        assert isinstance(self.domain_, ImageDomain)
        shape, classes = self.domain_.shape, self.domain_.classes
        rows = self._pictures(np.asarray(self.support_.points), coloured(shape))
        logits = jnp.asarray(self.support_.labels).reshape(len(rows), -1)
        how = self._deformation()
        return {
            "images": np.rint(255 * rows).astype(np.uint8).reshape(-1, *shape),
            "targets": np.asarray(jax.nn.softmax(logits, axis=1), np.float32),
            "classes": np.array(classes),
            "deformation": np.array([*astuple(how.affine), how.floor, how.ceiling]),
            "mixed": np.array(self.network.mixed),
            "steps": np.array(self.network.train_steps),
            "width": np.array(self.network.width),
            "pixels": np.array(USUAL_PIXELS),
        }

    def _pictures(self, points: np.ndarray, shape: Shape) -> np.ndarray:
        """The pictures of images as rows of pixels (number · parts² x pixels)."""
        rows = unfolded(jnp.asarray(points).reshape(-1, *shape), self.matching.parts)
        return np.asarray(rows).reshape(len(rows), -1)

    def _deformation(self) -> Deformation:
        return self.matching.deformation(self.look.affine())

    # ---- the release ---------------------------------------------------------------------------------------------

    def _labels_a_point(self, classes: int) -> int:
        return self.matching.parts**2 * classes

    def _classes_of(self, labels: np.ndarray, classes: int) -> np.ndarray:
        return labels.reshape(len(labels), -1, classes).mean(axis=1).argmax(axis=1)


def _opinion_of_edges(generator: ImageMoments) -> Opinion:
    """What the released edges say of images (rows of pixels): logarithms of their shares."""

    def say(rows: np.ndarray) -> np.ndarray:
        values = rows.astype(np.float32) / 255 if rows.dtype == np.uint8 else rows
        none = np.zeros(len(rows), np.int64)
        shape, classes = generator.shape_, generator.classes_
        shares = generator.shares(ImageDataset.from_flat(values, none, shape, classes, generator.value_range_))
        return np.log(shares + _DOUBT).astype(np.float32)

    return say
