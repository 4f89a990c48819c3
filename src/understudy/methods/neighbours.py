"""PATE by neighbours: private images vote for the public images near them, in two releases of one Gaussian event each.

Private-kNN (Zhu et al. 2020) asks the k nearest private images of every public one for its class, of a random subsample. A record
is then among the neighbours of any number of public images, and where it is missing another takes its place. Here it is the other
way round: each private image says, once, which public landmarks are near it, by a vector of length one in the row of its class.
All answers together are one sum that a record moves by one. Subsampling would only thin that sum out.

1. Public: features of all images, a fixed function (edges and brightness, or one that is given); landmarks among the public ones.
2. First look: the sum of votes by class, with noise. Smoothed, it gives every public image shares of the classes.
3. A student, a small ConvNet, learns the public images whose shares are surest.
4. Second look: the same in the student's features, where classes lie further apart. Both looks are added up.
5. The student goes on with those labels, and is the release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from understudy.errors import InputError
from understudy.images import BLANK, ImageDataset
from understudy.images.deform import Affine
from understudy.images.edges import EdgeMap
from understudy.images.straighten import straighten
from understudy.learn.convnets import coloured
from understudy.learn.landmarks import Landmarks, smoothed
from understudy.learn.picture_students import Course, PictureStudent, scores, teach
from understudy.learn.picture_students import features as seen_by
from understudy.methods.image_classifier import ImageClassifier
from understudy.methods.image_moments.generator import PUBLIC
from understudy.privacy import Budget, ClippedSum, Event, GaussianEvent
from understudy.privacy.calibration import smallest_noise
from understudy.release.settings import Settings, or_none, positive, setting, share, truth, whole

_LOOKS = 2
# Votes are rounded to this, so that their noise is exact; a thousand of them lengthen a vote by less than a thousandth.
_GRID = 2.0**-15
_AT_ONCE = 2000
# Features beyond this are cut: squares of them must not overflow.
_MOST = np.float32(1e6)
Features = Callable[[jax.Array], jax.Array]
# How far the student's images are moved at random, as a share of their side.
_SHIFT = 1.5 / 28


@dataclass
class Neighbourhood(Settings):
    """Public: how near is near. Landmarks among the public images, of which no more are taken than there are.

    - `landmarks`, `axes`: of the first look, in edges and brightness; of the second, in those and in what the student sees.
    - `nearness`: how far a vote reaches, beside the usual distance. `penalty`: how strongly shares are smoothed.
    """

    landmarks: int = setting(1000, whole(2))
    axes: int = setting(120, whole())
    second_landmarks: int = setting(800, whole(2))
    second_axes: int = setting(80, whole())
    nearness: float = setting(0.6, positive())
    penalty: float = setting(5.7, positive())


@dataclass
class Schooling(Settings):
    """How the student learns; none of it meets the accountant.

    `first_sure` and `sure` are the shares of the public images, the surest, that it learns after each look.
    """

    width: int = setting(16, whole())
    units: int = setting(128, whole())
    batch: int = setting(128, whole())
    first_steps: int = setting(1200, whole())
    steps: int = setting(2000, whole())
    learning_rate: float = setting(2e-3, positive())
    first_sure: float = setting(0.93, share("the public images", ends="(]"))
    sure: float = setting(0.97, share("the public images", ends="(]"))


@dataclass(eq=False, repr=False)
class NeighbourPATE(ImageClassifier):
    """A ConvNet that tells the classes of images, taught by public images that private ones near them gave their labels.

    - `epsilon`, `delta`: the budget; all of it is used, half of its precision by each look.
    - `upright`: take slant and size out of each image first, which is for handwriting.
    - `neighbourhood`, `schooling`: what never meets the accountant.

    Fitted: `student_`, `certificate_`, `shape_` and `classes_`, all public.
    """

    method: ClassVar[str] = "neighbours"

    epsilon: float = setting(0.5, positive())
    delta: float = setting(1e-5, share("probability", ends="()"))
    _: KW_ONLY
    upright: bool = setting(False, truth())
    neighbourhood: Neighbourhood = field(default_factory=Neighbourhood)
    schooling: Schooling = field(default_factory=Schooling)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    def fit(
        self,
        data: ImageDataset,
        public: ImageDataset,
        *,
        features: Features | None = None,
        budget: Budget | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Touches private data (`data`). `budget` may hold earlier charges for the same images.

        `public` are images that are public, of the same size and kind; their labels are not looked at. Nothing protects them.
        `features` say what is seen of an image, in place of edges and brightness: a function of JAX that was made without the
        private images. It takes images (number x height x width x colours, from 0 to 1) and gives a row of numbers for each.
        """
        self._check_settings()
        self._check(data, public)
        shown = public.take(public.labels != BLANK)
        seed = self._seed()
        start = self.network(data.shape, len(data.classes), seed)
        paying = self._budget(budget, len(data))
        noise = self._noise(paying)
        pictures = self._pictures(shown)
        tell = progress or (lambda done, steps: None)

        see = Sight(EdgeMap() if features is None else features)
        plain = np.concatenate([see(part) for part in _parts(pictures)])
        first = self._look(data, plain, see, noise, paying, seed, 0)
        tell(1, 2 * _LOOKS)
        how = self.schooling
        student = self._taught(start, pictures, first, how.first_sure, how.first_steps, seed)
        tell(2, 2 * _LOOKS)
        seen = seen_by(student, pictures)
        weights = [1 / max(np.sqrt(np.var(part, axis=0).sum()), 1e-6) for part in (seen, plain)]

        def both(part: np.ndarray) -> np.ndarray:
            return np.concatenate([weights[0] * seen_by(student, part), weights[1] * see(part)], axis=1)

        points = np.concatenate([weights[0] * seen, weights[1] * plain], axis=1)
        second = self._look(data, points, both, noise, paying, seed, 1)
        tell(3, 2 * _LOOKS)
        student = self._taught(student, pictures, first + second, how.sure, how.steps, seed + 1)
        tell(4, 2 * _LOOKS)
        self._ready(student, data.shape, data.classes, data.value_range)
        facts = {"mechanism": "votes of neighbours", "noise": noise, "looks": _LOOKS, "images": len(data)}
        said = [PUBLIC, f"the {len(shown)} public images, which a student learnt from and nothing protects"]
        said += [] if features is None else ["the function that makes features of one image, which was given"]
        self._certify(paying, "classifier", facts | {"public_images": len(shown)}, said, unit="image")
        return self

    def _check(self, data: Any, public: Any) -> None:
        if not isinstance(data, ImageDataset) or not isinstance(public, ImageDataset):
            raise InputError(
                "`data` and `public` must each be an `understudy.images.ImageDataset`: bytes, labels and the names of classes."
            )
        if public.shape != data.shape or public.value_range != data.value_range:
            raise InputError(
                f"`public` has images of shape {public.shape} and values {public.value_range}; `data` of {data.shape} and "
                f"{data.value_range}: bring both to one size."
            )
        if (shown := int((public.labels != BLANK).sum())) < (least := 4 * len(data.classes)):
            raise InputError(f"`public` has {shown} images: {least} at least are needed to teach a student.")
        self._shapes(data.shape, len(data.classes))

    def _noise(self, paying: Budget) -> float:
        """The least noise at which all looks fit into what is left of the budget. Public."""

        def events(noise: float) -> list[Event]:
            return [*paying.events, GaussianEvent(noise, _LOOKS, "discrete")]

        return smallest_noise(events, paying.epsilon, paying.delta)

    def _look(
        self,
        data: ImageDataset,
        points: np.ndarray,
        seen: Callable[[np.ndarray], np.ndarray],
        noise: float,
        paying: Budget,
        seed: int,
        number: int,
    ) -> np.ndarray:
        """Touches private data: the sum of the votes of each class leaves with noise. What comes back is public: a score of each
        class for each public image, made of that and of public features (`points`)."""
        near, rng = self.neighbourhood, np.random.default_rng([seed, number])
        axes, count = ((near.axes, near.landmarks), (near.second_axes, near.second_landmarks))[number]
        landmarks = Landmarks.of(points, axes, count, near.nearness, rng)

        def voters() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
            for start in range(0, len(data), _AT_ONCE):
                part = data.take(slice(start, start + _AT_ONCE))
                # A blank image is of no class, and its vote is counted nowhere.
                yield landmarks.votes(seen(self._pictures(part))), part.labels, np.ones(len(part))

        votes = np.concatenate([landmarks.votes(part) for part in _parts(points)])
        mechanism = ClippedSum(1.0, noise, _GRID)
        tallies = mechanism.release_groups(voters(), votes.shape[1], len(data.classes), paying)
        return smoothed(votes, tallies.T, len(data), near.penalty * noise)

    def _taught(
        self, student: PictureStudent, pictures: np.ndarray, labels: np.ndarray, sure: float, steps: int, seed: int
    ) -> PictureStudent:
        """The student after it has learnt the images whose first class is furthest ahead of the second. Costs nothing."""
        ranked = np.sort(labels, axis=1)
        surest = np.argsort(ranked[:, -2] - ranked[:, -1], kind="stable")[: max(1, round(sure * len(labels)))]
        targets = np.eye(labels.shape[1], dtype=np.float32)[labels[surest].argmax(axis=1)]
        course = Course(steps, self.schooling.batch, self.schooling.learning_rate)
        moved = Affine(turn=0.15, scale=0.12, shear=0.15, shift=_SHIFT * min(pictures.shape[1:3]))
        return teach(student, pictures[surest], targets, course, moved, seed)

    def _pictures(self, data: ImageDataset) -> np.ndarray:
        """Each image by itself, from 0 to 1 and with colours; upright, if that is asked for."""
        rows = straighten(data, sized=True)[0] if self.upright else data.flat()
        return rows.reshape(len(data), *coloured(data.shape))

    def network(self, shape: tuple[int, ...], classes: int, seed: int) -> PictureStudent:
        how = self.schooling
        return PictureStudent(coloured(shape), classes, key=jax.random.key(seed), width=how.width, units=how.units)

    def _ready(
        self, network: PictureStudent, shape: tuple[int, ...], classes: tuple[str, ...], value_range: tuple[int, int]
    ) -> None:
        super()._ready(network, shape, classes, value_range)
        self.student_ = network

    def _released(self) -> PictureStudent:
        return self.student_

    def _scored(self, data: ImageDataset) -> np.ndarray:
        return scores(self.student_, self._pictures(data))


class Sight:
    """Features of pictures by a public function, which is shown each picture alone: no picture changes what is seen of another."""

    def __init__(self, features: Features) -> None:
        self._features = jax.jit(jax.vmap(lambda picture: features(picture[None])))

    def __call__(self, pictures: np.ndarray) -> np.ndarray:
        """Touches private data where the pictures are. A row for each, finite whatever the function says of a picture.

        Parts are filled up to one length, so that it is compiled once.
        """
        padded = np.zeros((max(_AT_ONCE, len(pictures)), *pictures.shape[1:]), np.float32)
        padded[: len(pictures)] = pictures
        with np.errstate(over="ignore"):  # a warning would say that there is such a picture
            found = np.asarray(self._features(jnp.asarray(padded)), np.float32)
        if found.ndim != 3 or found.shape[1] != 1:
            raise InputError(
                f"`features` made an array of shape {found.shape[1:]} of one picture: (1, features) is needed."
            )
        return np.clip(np.nan_to_num(found[: len(pictures), 0]), -_MOST, _MOST)


def _parts(rows: np.ndarray) -> Iterator[np.ndarray]:
    return (rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE))
