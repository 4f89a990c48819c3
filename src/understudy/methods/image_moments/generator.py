"""`ImageMoments`: a generator of images from one private look, with a certificate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from understudy.errors import InputError
from understudy.images import ImageDataset, check_form
from understudy.images.basis import dct_basis
from understudy.images.dataset import check_images, check_labels, even_labels
from understudy.images.edges import EdgeMap
from understudy.images.straighten import straighten
from understudy.methods.image_moments.edge_look import EdgeMoments, EdgePlan, edge_look
from understudy.methods.image_moments.looks import LookPlan, look
from understudy.methods.image_moments.refiner import Refiner
from understudy.methods.image_moments.sampler import POSE_UNIT, ImageMixture
from understudy.privacy import Budget, Event
from understudy.privacy.calibration import smallest_noise
from understudy.privacy.clipped_moments import ClippedMoments
from understudy.release.arrays import fitting
from understudy.release.bundle import Bundle
from understudy.release.estimator import Estimator
from understudy.release.settings import or_none, positive, setting, share, truth, whole

# Longest rows that are kept whole, in units of the square root of the number of pixels (28 x 28: 9.5 and 6.5).
_MEAN_CLIP, _SPREAD_CLIP, _TAIL_CLIP = 0.34, 0.232, 0.1
_TAIL_SHARE = 0.02
_CHUNK = 2048
# How many samples, for each feature, show along which axes to look at edges.
_SHOWN = 40
_LARGEST_BASIS = 2**26  # numbers: half a gigabyte
_MIXTURE = ("weights", "means", "factors", "tail")
PUBLIC = "size, value range and set of classes of the images"


@dataclass(eq=False, repr=False)
class ImageMoments(Estimator):
    """Synthetic images from one private look at class means and covariances in the low frequencies of the DCT.

    - `frequencies`: how many cosines a side the covariances have; None: 14, or 8 for colour. What lies above gets one
      released variance each.
    - `components`: Gaussians a class; above 1 a second look is paid for, at cells that the first one shows.
    - `edges`: the share of the precision for a look at edges, which says what outlines and textures a class has: samples
      are moved until theirs are the same. 0 leaves them as the Gaussians made them: cruder, and quicker without a GPU.
    - `straight`: straighten slanted writing before the look, by a fixed function of each image, and slant the samples back.
    - `sized`: bring straightened writing to one width and height before the look, and give samples theirs back, likewise.
    - `mean_clip`, `spread_clip`: the longest row, and the longest distance from its class' mean, that is kept whole, on a
      scale where white is 1; None: 0.34 and 0.232 times the root of the number of pixels. Do not take them from the data.
    - `random_state`: for the cells; never for the noise.

    Fitted: `mixture_`, `refiner_` (None without edges), `certificate_`, `shape_` and `classes_`, all public.
    """

    method: ClassVar[str] = "image-moments"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability", ends="()"))
    _: KW_ONLY
    frequencies: int | None = setting(None, or_none(whole()))
    components: int = setting(1, whole())
    edges: float = setting(0.6, share("the precision", most=0.95, ends="[]"))
    straight: bool = setting(False, truth())
    sized: bool = setting(False, truth())
    mean_clip: float | None = setting(None, or_none(positive()))
    spread_clip: float | None = setting(None, or_none(positive()))
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.sized and not self.straight:
            raise InputError("`sized` brings straightened writing to one size: set `straight` to True as well.")

    # ---- learning ------------------------------------------------------------------------------------------------

    def fit(
        self, data: ImageDataset, *, budget: Budget | None = None, progress: Callable[[int, int], None] | None = None
    ) -> Self:
        """Touches private data (`data`): all looks. What is left of `budget`, or of one of its own, pays for them."""
        self._check_settings()
        check_images(data)
        tell = (lambda done, total: None) if progress is None else progress
        paying = self._budget(budget, len(data))
        low, high = self.bases(data.shape)
        plan, tail_plan, edge_plan = plans = self._plans(data, len(high) > 0, paying)
        steps = sum(one is not None for one in plans)

        pixels, poses = self._straightened(data)
        rows = np.concatenate([pixels @ low.T, POSE_UNIT * poses], axis=1)
        rng = np.random.default_rng(self.random_state)
        released = look(rows.astype(np.float64), data.labels, plan, paying, rng)
        tell(1, steps)
        tail = np.zeros(0)
        if tail_plan is not None:
            squares = tail_plan.release(pixels @ high.T, np.zeros(len(data), np.int64), paying)
            tail = np.maximum(squares.products[0] / max(squares.counts[0], 1.0), 0.0)
            tell(2, steps)
        factors = np.linalg.cholesky(released.covariances)
        arrays = (released.weights, released.means, factors, tail)
        self.shape_, self.classes_, self.value_range_ = data.shape, data.classes, data.value_range
        self.mixture_ = self.mixed(self.shape_, *arrays)
        self._refine_by(None if edge_plan is None else self._look_at_edges(data, edge_plan, paying))
        tell(steps, steps)
        clips = {"mean_clip": plan.mean_clip, "spread_clip": plan.spread_clip}
        facts = {"components": plan.components, "edges": self.edges, **clips}
        self._certify(paying, "generator", facts, [PUBLIC], unit="image")
        return self

    def _plans(
        self, data: ImageDataset, with_tail: bool, budget: Budget
    ) -> tuple[LookPlan, ClippedMoments | None, EdgePlan | None]:
        """All looks, with the least noise that what is left of the budget allows. Public sizes decide, and nothing else."""
        classes, root = len(data.classes), float(np.sqrt(np.prod(data.shape)))
        mean_clip = self.mean_clip or _MEAN_CLIP * root
        spread_clip = self.spread_clip or _SPREAD_CLIP * root
        features = EdgeMap().count(data.shape)

        def at(noise: float) -> tuple[LookPlan, ClippedMoments | None, EdgePlan | None]:
            first = noise / (1 - _TAIL_SHARE - self.edges) ** 0.5
            # Squares of the high frequencies, over all images together: one cell.
            tail = ClippedMoments((_TAIL_CLIP * root,), noise / _TAIL_SHARE**0.5, (0.05, 0.05, 0.9), "diagonal")
            edges = EdgePlan.of(classes, features, len(data), noise / self.edges**0.5) if self.edges else None
            plan = LookPlan(classes, self.components, float(mean_clip), float(spread_clip), first)
            return plan, tail if with_tail else None, edges

        # Discrete noise has the Rényi curve of continuous noise: one noise multiplier covers all looks.
        def events(noise: float) -> list[Event]:
            return [*budget.events, *(event for one in at(noise) if one is not None for event in one.events())]

        return at(smallest_noise(events, budget.epsilon, budget.delta))

    def _straightened(self, data: ImageDataset) -> tuple[np.ndarray, np.ndarray]:
        """Touches private data: what is looked at, a row an image, and how its writing stood (images x 0, 1 or 3)."""
        if self.straight:
            return straighten(data, sized=self.sized)
        return data.flat(), np.zeros((len(data), 0), np.float32)

    def bases(self, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """The cosines whose covariance is released, and the others."""
        colour = len(shape) == 3 and shape[2] > 1
        side = min(shape[:2])
        frequencies = min(side, 8 if colour else 14) if self.frequencies is None else self.frequencies
        rows = 3 * frequencies**2 if colour else max(frequencies, side) ** 2
        if rows * math.prod(shape) > _LARGEST_BASIS:
            raise InputError(
                f"images of shape {shape} need a basis of {rows * math.prod(shape):,} numbers, more than "
                f"{_LARGEST_BASIS:,}. Make the images smaller."
            )
        low = dct_basis(shape, frequencies)
        if colour or len(set(shape[:2])) > 1:
            return low, low[:0]
        every = dct_basis(shape, side)
        kept = np.add.outer(side * np.arange(frequencies), np.arange(frequencies)).ravel()
        return low, np.delete(every, kept, axis=0)

    def _look_at_edges(self, data: ImageDataset, plan: EdgePlan, budget: Budget) -> EdgeMoments:
        """Touches private data: the look at edges, along axes that samples of the mixture show."""
        mixture, key = self.mixture_, jax.random.key(self.random_state or 0)
        drawn = np.arange(_SHOWN * EdgeMap().count(data.shape)) % len(data.classes)
        plain = _in_chunks(
            lambda start, part: _plain_edges(mixture, jax.random.fold_in(key, start), part), drawn
        ).astype(np.float64)
        features = _in_chunks(lambda _, part: _edges(part), data.flat().reshape(len(data), *mixture.colours))
        return edge_look(features.astype(np.float64), data.labels, plain, drawn, plan, budget)

    def mixed(self, shape: tuple[int, ...], *arrays: np.ndarray) -> ImageMixture:
        """The mixture of arrays in the order of `_MIXTURE`, for images of that shape."""
        parts = (jnp.asarray(one, jnp.float32) for one in (*arrays, np.concatenate(self.bases(shape))))
        return ImageMixture(*parts, shape=tuple(shape), poses=self._poses)

    @property
    def _poses(self) -> int:
        return 3 if self.sized else int(self.straight)

    def _refine_by(self, moments: EdgeMoments | None) -> None:
        self.edge_moments_ = moments
        self.refiner_ = None if moments is None else Refiner.of(moments, EdgeMap())

    # ---- the release ---------------------------------------------------------------------------------------------

    def sample(self, n: int, random_state: int | None = None, *, labels: np.ndarray | None = None) -> ImageDataset:
        """`n` images of even classes, or of the given `labels`. Free."""
        self._check_fitted()
        whole().check("n", n)
        rng = np.random.default_rng(random_state)
        wanted = even_labels(n, len(self.classes_), rng) if labels is None else check_labels(n, labels, self.classes_)
        key = jax.random.key(int(rng.integers(2**63)))
        rows = _in_chunks(
            lambda start, part: _draw(self.mixture_, self.refiner_, jax.random.fold_in(key, start), part), wanted
        )
        return ImageDataset.from_flat(rows, wanted, self.shape_, self.classes_, self.value_range_)

    def shares(self, data: ImageDataset) -> np.ndarray:
        """How much each image is of each class (images x classes, rows sum to 1), as the released edges say. Free.

        A linear discriminant on edge features. Soft labels for samples: one that looks like two classes says so.
        """
        self._check_fitted()
        if (refiner := self.refiner_) is None:
            raise InputError("this generator has not looked at edges. Fit it with `edges` above 0.")
        if not isinstance(data, ImageDataset) or data.shape != self.shape_:
            raise InputError(f"`data` must be an `ImageDataset` of images of shape {self.shape_}.")
        images = data.flat().reshape(len(data), *self.mixture_.colours)
        return _in_chunks(lambda _, part: _shares(refiner, part), images)

    def _contents(self) -> Bundle:
        arrays = {name: np.asarray(getattr(self.mixture_, name)) for name in _MIXTURE}
        if self.edge_moments_ is not None:
            arrays |= {f"edge_{name}": part for name, part in self.edge_moments_._asdict().items()}
        parameters = {
            "settings": self._settings(),
            "shape": list(self.shape_),
            "classes": list(self.classes_),
            "value_range": list(self.value_range_),
        }
        return Bundle("generator", self.method, parameters, arrays, self.certificate_)

    def _restore(self, bundle: Bundle) -> None:
        said = (bundle.parameters[name] for name in ("shape", "classes", "value_range"))
        self.shape_, self.classes_, self.value_range_ = check_form(*said)
        low, high = self.bases(self.shape_)
        arrays, classes, poses = bundle.arrays, len(self.classes_), self._poses
        weights = fitting(arrays, "weights", classes, None, shares=True)
        means = fitting(arrays, "means", classes, weights.shape[1], len(low) + poses)
        factors = fitting(arrays, "factors", classes, len(low) + poses, len(low) + poses)
        tail = fitting(arrays, "tail", len(high), least=0.0) if len(high) else np.zeros(0)
        self.mixture_ = self.mixed(self.shape_, weights, means, factors, tail)
        self._refine_by(self._edges_of(arrays) if "edge_axes" in arrays else None)

    def _edges_of(self, arrays: Mapping[str, np.ndarray]) -> EdgeMoments:
        classes = len(self.classes_)
        axes = fitting(arrays, "edge_axes", EdgeMap().count(self.shape_), None)
        k = axes.shape[1]
        shapes = {"before": (classes, k), "means": (classes, k), "covariance": (k, k), "along": (k, classes)}
        rest = {name: fitting(arrays, f"edge_{name}", *shape) for name, shape in shapes.items()}
        return EdgeMoments(axes=axes, deviations=fitting(arrays, "edge_deviations", k, least=1e-12), **rest)


@jax.jit
def _draw(mixture: ImageMixture, refiner: Refiner | None, key: jax.Array, classes: jax.Array) -> jax.Array:
    rows = mixture.images(key, classes)
    return rows if refiner is None else refiner(mixture.pictures(rows), classes).reshape(rows.shape)


@jax.jit
def _plain_edges(mixture: ImageMixture, key: jax.Array, classes: jax.Array) -> jax.Array:
    return EdgeMap()(mixture.pictures(mixture.images(key, classes)))


@jax.jit
def _shares(refiner: Refiner, images: jax.Array) -> jax.Array:
    return refiner.shares(images)


@jax.jit
def _edges(images: jax.Array) -> jax.Array:
    return EdgeMap()(images)


def _in_chunks(make: Callable[[int, jax.Array], jax.Array], items: np.ndarray) -> np.ndarray:
    """`make` of the start and the items of each part. All parts have one size, so that it compiles once."""
    size, count = min(_CHUNK, len(items)), len(items)
    parts = []
    for start in range(0, count, size):
        part = items[np.arange(start, start + size) % count]
        parts.append(np.asarray(make(start, jnp.asarray(part)))[: count - start])
    return np.concatenate(parts)
