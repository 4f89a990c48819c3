"""`ImageMoments`: a generator of images from one private look, with a certificate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import BaseEstimator

from understudy._private import KeepsPrivate
from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.images.basis import dct_basis
from understudy.images.deform import straighten
from understudy.images.edges import EdgeMap
from understudy.images.upright import stand
from understudy.methods.image_moments.edge_look import EdgeMoments, EdgePlan, edge_look
from understudy.methods.image_moments.looks import Plan, look
from understudy.methods.image_moments.refiner import Refiner
from understudy.methods.image_moments.sampler import SLANT_UNIT, Mixture
from understudy.privacy import Budget, Certificate, GaussianEvent
from understudy.privacy.calibration import smallest_noise
from understudy.privacy.clipped_moments import ClippedMoments
from understudy.privacy.events import check_count, check_positive
from understudy.release.bundle import Bundle, check_target, write_bundle

# Longest rows that are kept whole, in units of the square root of the number of pixels (28 x 28: 9.5 and 6.5).
_MEAN_CLIP, _SPREAD_CLIP, _TAIL_CLIP = 0.34, 0.232, 0.1
_TAIL_SHARE = 0.02
_CHUNK = 2048
# How many samples, for each feature, show along which axes to look at edges.
_SHOWN = 40
_MIXTURE = ("weights", "means", "factors", "tail")


class ImageMoments(KeepsPrivate, BaseEstimator):
    """Synthetic images from one private look at class means and covariances in the low frequencies of the DCT.

    Parameters
    ----------
    epsilon, delta : the budget; all of it is used by the look. Samples are free.
    frequencies : how many cosines a side the covariances have; None: 14, or 8 for colour. What lies above
        gets one released variance each.
    components : Gaussians a class; above 1 a second look is paid for, at cells that the first one shows.
    edges : the share of the precision for a look at edges, which says what outlines and textures a class has: samples are
        moved until theirs are the same. 0 leaves them as the Gaussians made them: cruder, and quicker without a GPU.
    straight : straighten slanted writing before the look, by a fixed function of each image, and slant the samples back.
    sized : bring straightened writing to one width and height before the look, and give samples theirs back, likewise.
    mean_clip, spread_clip : the longest row, and the longest distance from its class' mean, that is kept whole, on a scale
        where white is 1; None: 0.34 and 0.232 times the root of the number of pixels. Public: do not take them from the data.
    random_state : for the cells; never for the noise.

    Fitted: `mixture_`, `refiner_` (None without edges), `certificate_`, `shape_` and `classes_`, all public.
    """

    method: ClassVar[str] = "image-moments"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        frequencies: int | None = None,
        components: int = 1,
        edges: float = 0.6,
        straight: bool = False,
        sized: bool = False,
        mean_clip: float | None = None,
        spread_clip: float | None = None,
        random_state: int | None = None,
        unsafe_noise_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.frequencies = frequencies
        self.components = components
        self.edges = edges
        self.straight = straight
        self.sized = sized
        self.mean_clip = mean_clip
        self.spread_clip = spread_clip
        self.random_state = random_state
        self.unsafe_noise_seed = unsafe_noise_seed

    def fit(self, data: ImageDataset, budget: Budget | None = None) -> Self:
        """Touches private data (`data`). With `budget` the look is charged there, at `epsilon` alone."""
        self._check(data)
        low, high = self._bases(data.shape)
        clips = [share * np.sqrt(low.shape[1]) for share in (_MEAN_CLIP, _SPREAD_CLIP, _TAIL_CLIP)]
        mean_clip = float(clips[0] if self.mean_clip is None else self.mean_clip)
        spread_clip = float(clips[1] if self.spread_clip is None else self.spread_clip)

        # Discrete noise has the Rényi curve of continuous noise: one noise multiplier covers all looks and the tail.
        def events(noise: float) -> list[GaussianEvent]:
            found = [*self._plan(data, mean_clip, spread_clip, noise).events()]
            if len(high):
                found += _tail_look(float(clips[2]), noise).events()
            return found if not self.edges else [*found, *self._edge_plan(data, noise).events()]

        noise = smallest_noise(events, self.epsilon, self.delta)
        plan = self._plan(data, mean_clip, spread_clip, noise)
        paying = self._budget() if budget is None else budget
        pixels, stances = self._stood(data)
        rows = np.concatenate([pixels @ low.T, SLANT_UNIT * stances], axis=1)
        rng = np.random.default_rng(self.random_state)
        released = look(rows.astype(np.float64), data.labels, plan, paying, rng)
        tail = np.zeros(0)
        if len(high):
            found = _tail_look(float(clips[2]), noise).release(pixels @ high.T, np.zeros(len(data), np.int64), paying)
            tail = np.maximum(found.products[0] / max(found.counts[0], 1.0), 0.0)
        factors = np.linalg.cholesky(released.covariances)
        parts = (released.weights, released.means, factors, tail, np.concatenate([low, high]))
        self.mixture_ = Mixture(
            *(jnp.asarray(part, jnp.float32) for part in parts),
            shape=tuple(data.shape),
            slanted=self.straight,
            sized=self.sized,
        )
        self.shape_, self.classes_, self.value_range_ = data.shape, data.classes, data.value_range
        self._refine_by(self._look_at_edges(data, self._edge_plan(data, noise), paying) if self.edges else None)
        if budget is None:
            self.certificate_ = self._certify(paying, plan)
        return self

    def sample(self, n: int, random_state: int | None = None, *, labels: np.ndarray | None = None) -> ImageDataset:
        """`n` images of even classes, or of the given `labels`. Free."""
        mixture = self._fitted()
        check_count("n", n)
        rng = np.random.default_rng(random_state)
        wanted = rng.permutation(np.arange(n) % len(self.classes_)) if labels is None else np.asarray(labels)
        if (
            wanted.shape != (n,)
            or not np.issubdtype(wanted.dtype, np.integer)
            or not np.all((wanted >= 0) & (wanted < len(self.classes_)))
        ):
            raise InputError(f"`labels` must be {n} numbers of classes, 0 to {len(self.classes_) - 1}.")
        key = jax.random.key(int(rng.integers(2**63)))
        made = _in_chunks(
            lambda start, part: _draw(mixture, self.refiner_, jax.random.fold_in(key, start), part), wanted
        )
        return ImageDataset.from_flat(made, wanted, self.shape_, self.classes_, self.value_range_)

    def shares(self, data: ImageDataset) -> np.ndarray:
        """How much each image is of each class (images x classes, rows sum to 1), as the released edges say. Free.

        A linear discriminant on edge features. Soft labels for samples: one that looks like two classes says so.
        """
        shape = self._fitted().colours
        if (refiner := self.refiner_) is None:
            raise InputError("this generator has not looked at edges. Fit it with `edges` above 0.")
        if not isinstance(data, ImageDataset) or data.shape != self.shape_:
            raise InputError(f"`data` must be an `ImageDataset` of images of shape {self.shape_}.")
        return _in_chunks(lambda _, part: _shares(refiner, part), data.flat().reshape(len(data), *shape))

    def save(self, path: str | Path) -> None:
        """Write the release: a new folder with the moments and the certificate, and nothing private."""
        mixture = self._fitted()
        arrays = {name: np.asarray(getattr(mixture, name)) for name in _MIXTURE}
        if self.edge_moments_ is not None:
            arrays |= {f"edge_{name}": part for name, part in self.edge_moments_._asdict().items()}
        parameters = {
            "settings": self.get_params(deep=False),
            "shape": list(self.shape_),
            "classes": list(self.classes_),
            "value_range": list(self.value_range_),
        }
        if not hasattr(self, "certificate_"):
            raise InputError("this generator was fitted on somebody else's budget: it has no certificate of its own.")
        write_bundle(Bundle("generator", self.method, parameters, arrays, self.certificate_), check_target(path))

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        """The generator of a release."""
        try:
            generator = cls(**bundle.parameters["settings"])
        except TypeError as error:
            raise InputError(f"the release has settings unknown here ({error}): update understudy.") from None
        generator.shape_ = tuple(bundle.parameters["shape"])
        generator.classes_ = tuple(bundle.parameters["classes"])
        low, high = bundle.parameters["value_range"]
        generator.value_range_ = (low, high)
        basis = jnp.concatenate([jnp.asarray(part) for part in generator._bases(generator.shape_)])
        parts = {name: jnp.asarray(bundle.arrays[name]) for name in _MIXTURE}
        generator.mixture_ = Mixture(
            **parts, basis=basis, shape=generator.shape_, slanted=generator.straight, sized=generator.sized
        )
        found = [bundle.arrays.get(f"edge_{name}") for name in EdgeMoments._fields]
        generator._refine_by(None if found[0] is None else EdgeMoments(*found))  # type: ignore[arg-type]
        generator.certificate_ = bundle.certificate
        return generator

    # ---- inside --------------------------------------------------------------------------------------------

    def _check(self, data: ImageDataset) -> None:
        check_positive("epsilon", self.epsilon)
        check_count("components", self.components)
        for name in ("mean_clip", "spread_clip"):
            if (value := getattr(self, name)) is not None:
                check_positive(name, value)
        if not 0 <= self.edges <= 0.95:
            raise InputError(f"`edges` (={self.edges}) is a share of the precision: at least 0 and at most 0.95.")
        if self.sized and not self.straight:
            raise InputError("`sized` brings straightened writing to one size: set `straight` to True as well.")
        if not isinstance(data, ImageDataset):
            raise InputError(
                "`data` must be an `understudy.images.ImageDataset`: bytes, labels and the names of classes."
            )

    def _stood(self, data: ImageDataset) -> tuple[np.ndarray, np.ndarray]:
        """Touches private data: what is looked at, a row an image, and how the writing stood (images x none, 1 or 3)."""
        if self.sized:
            return stand(data)
        if self.straight:
            rows, slants = straighten(data)
            return rows, slants[:, None]
        return data.flat(), np.zeros((len(data), 0), np.float32)

    def _bases(self, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """The cosines whose covariance is released, and the others."""
        colour = len(shape) == 3 and shape[2] > 1
        side = min(shape[:2])
        frequencies = min(side, 8 if colour else 14) if self.frequencies is None else self.frequencies
        low = dct_basis(shape, frequencies)
        if colour or len(set(shape[:2])) > 1:
            return low, low[:0]
        every = dct_basis(shape, side)
        kept = np.add.outer(side * np.arange(frequencies), np.arange(frequencies)).ravel()
        return low, np.delete(every, kept, axis=0)

    def _plan(self, data: ImageDataset, mean_clip: float, spread_clip: float, noise: float) -> Plan:
        return Plan(
            len(data.classes),
            self.components,
            mean_clip,
            spread_clip,
            noise / (1 - _TAIL_SHARE - self.edges) ** 0.5,
        )

    def _edge_plan(self, data: ImageDataset, noise: float) -> EdgePlan:
        return EdgePlan.of(len(data.classes), EdgeMap().count(data.shape), len(data), noise / self.edges**0.5)

    def _look_at_edges(self, data: ImageDataset, plan: EdgePlan, budget: Budget) -> EdgeMoments:
        """Touches private data: the look at edges, along axes that samples of the mixture show."""
        mixture, key = self.mixture_, jax.random.key(0 if self.random_state is None else self.random_state)
        drawn = np.arange(_SHOWN * EdgeMap().count(data.shape)) % len(data.classes)
        plain = _in_chunks(
            lambda start, part: _plain_edges(mixture, jax.random.fold_in(key, start), part), drawn
        ).astype(np.float64)
        features = _in_chunks(lambda _, part: _edges(part), data.flat().reshape(len(data), *mixture.colours))
        return edge_look(features.astype(np.float64), data.labels, plain, drawn, plan, budget)

    def _refine_by(self, moments: EdgeMoments | None) -> None:
        self.edge_moments_ = moments
        self.refiner_ = None if moments is None else Refiner.of(moments, EdgeMap())

    def _budget(self) -> Budget:
        return Budget(self.epsilon, self.delta, unsafe_noise_seed=self.unsafe_noise_seed)

    def _certify(self, budget: Budget, plan: Plan) -> Certificate:
        release: dict[str, Any] = {
            "kind": "generator",
            "method": self.method,
            "components": plan.components,
            "edges": self.edges,
            "mean_clip": plan.mean_clip,
            "spread_clip": plan.spread_clip,
        }
        public = [
            "size, value range and set of classes of the images",
            "all settings of the method, chosen without a look at the images",
        ]
        return Certificate.from_budget(budget, release=release, assumed_public=public, unit="image")

    def _fitted(self) -> Mixture:
        if not hasattr(self, "mixture_"):
            raise InputError("this generator has learnt nothing yet. Call `fit` first.")
        return self.mixture_


def _tail_look(clip: float, noise: float) -> ClippedMoments:
    """Squares of the high frequencies, over all images together: one cell."""
    return ClippedMoments((clip,), noise / _TAIL_SHARE**0.5, (0.05, 0.05, 0.9), "diagonal")


@jax.jit
def _draw(mixture: Mixture, refiner: Refiner | None, key: jax.Array, classes: jax.Array) -> jax.Array:
    rows = mixture.images(key, classes)
    return rows if refiner is None else refiner(mixture.pictures(rows), classes).reshape(rows.shape)


@jax.jit
def _plain_edges(mixture: Mixture, key: jax.Array, classes: jax.Array) -> jax.Array:
    return EdgeMap()(mixture.pictures(mixture.images(key, classes)))


@jax.jit
def _shares(refiner: Refiner, images: jax.Array) -> jax.Array:
    return refiner.shares(images)


@jax.jit
def _edges(images: jax.Array) -> jax.Array:
    return EdgeMap()(images)


def _in_chunks(make: Callable[[int, jax.Array], jax.Array], items: np.ndarray) -> np.ndarray:
    """`make` of the place and the items of each part. All parts have one size, so that it compiles once."""
    size, count = min(_CHUNK, len(items)), len(items)
    parts = []
    for start in range(0, count, size):
        part = items[np.arange(start, start + size) % count]
        parts.append(np.asarray(make(start, jnp.asarray(part)))[: count - start])
    return np.concatenate(parts)
