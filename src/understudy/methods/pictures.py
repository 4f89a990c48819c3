"""Adversarial generators of images: what a method plays on, and what it releases.

The games are those of tables. A record is the pixels of one image and its class. Where directions leave, they leave in the
lowest cosines of a picture, which are public: a few dozen numbers a fake instead of hundreds, and the noise on d numbers is
as long as the root of d.

A generator starts in one of two ways. "residual" (ours) buys an `ImageMoments` release with a share of epsilon first, and
learns what that leaves out: G(z, y) = picture(m_y + F_y (A_y z + b_y + MLP(z, y))), with the released means m and factors F of
covariances kept as they are, A the identity, and b and the last layer of the MLP zero. Before the first step it draws what was
released. "published" is the network of the papers, from a random start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import Array

from understudy.errors import InputError
from understudy.images import BLANK, ImageDataset, check_form
from understudy.images.basis import dct_basis
from understudy.images.dataset import check_images, check_labels, even_labels
from understudy.learn.adversarial import (
    Design,
    Generator,
    GeneratorState,
    Heads,
    NetworkState,
    PictureDesign,
    independent_table,
    start_learner,
    start_network,
)
from understudy.learn.discriminators import Picture
from understudy.learn.networks import MLP
from understudy.learn.picture_networks import DeconvGenerator, DenseGenerator, LabelledMLP, Shape, low_passed
from understudy.methods.adversarial import Game, Prepared
from understudy.methods.image_moments.generator import PUBLIC, ImageMoments
from understudy.methods.image_moments.sampler import ImageMixture
from understudy.methods.warmstart import image_moments_release
from understudy.privacy import Budget
from understudy.release.arrays import fitting
from understudy.release.bundle import Bundle
from understudy.release.driver import Progress, Run, closed_after, train
from understudy.release.estimator import Estimator
from understudy.release.generator import Learnt
from understudy.release.intake import Intake
from understudy.release.settings import Settings, one_of, or_none, setting, share, truth, whole

# Normal numbers that a published generator makes a picture of.
_NORMALS = 100
_DENSE = (128, 256, 512)
_CHUNK = 1024
_SHOWN = 10


@dataclass
class PictureStart(Settings):
    """Where the generator starts: "residual" pays `epsilon_share` of epsilon for an `ImageMoments` release without edges, of so
    many `frequencies`, `straight` or not, and learns what that leaves out. "published" are the paper's networks, drawn at random.
    """

    networks: Literal["residual", "published"] = setting("residual", one_of("residual", "published"))
    epsilon_share: float = setting(0.9, share(ends="()"))
    frequencies: int | None = setting(None, or_none(whole()))
    straight: bool = setting(False, truth())


class ResidualPictures(eqx.Module):
    """Pictures of a released mixture, whose normal numbers are moved first. `mixture` is public and stays as it is."""

    inner: Generator
    mixture: ImageMixture

    def __call__(self, z: Array, classes: Array) -> Array:
        mixture: ImageMixture = jax.lax.stop_gradient(self.mixture)
        known = mixture.means.shape[2]
        whitened = self.inner(z[:, :known], classes)
        spread = jnp.einsum("cij,nj->cni", mixture.factors, whitened)[classes, jnp.arange(len(z))]
        return mixture.painted(mixture.means[classes, 0] + spread, z[:, known:])


@dataclass(frozen=True)
class PictureForm:
    """Public: what images are like, and the networks that paint them. Programs are compiled for it."""

    shape: tuple[int, ...]
    classes: tuple[str, ...]
    value_range: tuple[int, int]
    networks: Literal["residual", "deconvolution", "dense"]
    hidden: tuple[int, ...]
    frequencies: int | None = None
    straight: bool = False
    seen: int | None = None

    @property
    def coloured(self) -> Shape:
        height, width = self.shape[:2]
        return height, width, (self.shape[2] if len(self.shape) == 3 else 1)

    @property
    def pixels(self) -> int:
        return math.prod(self.shape)

    def moments(self) -> ImageMoments:
        """The release that a residual generator starts from, not fitted."""
        return ImageMoments(edges=0.0, frequencies=self.frequencies, straight=self.straight)

    def sizes(self) -> tuple[int, int]:
        """Of a mixture: coordinates with a covariance, and others."""
        low, high = self.moments().bases(self.shape)
        return len(low) + int(self.straight), len(high)

    def design(self, learning_rate: float = 1.0, steps: int = 1, caution: float = 1.0) -> PictureDesign:
        normals = sum(self.sizes()) if self.networks == "residual" else _NORMALS
        label = (self.pixels, self.pixels + len(self.classes))
        return PictureDesign(
            Heads(label[1]), self.hidden, label, learning_rate, steps, caution, normals, self.coloured, self.seen
        )

    def network(self, seed: int, mixture: ImageMixture | None) -> Any:
        """The generator at its start. Public."""
        classes, key = len(self.classes), jax.random.key(seed)
        if self.networks == "deconvolution":
            return DeconvGenerator(self.coloured, classes, _NORMALS, key=key)
        if self.networks == "dense":
            return DenseGenerator(LabelledMLP(_NORMALS, _DENSE, self.pixels, classes, key=key))
        assert mixture is not None
        known = mixture.means.shape[2]
        inner = Design(Heads(known), self.hidden, (0, classes))
        start = independent_table(inner, np.zeros(known), np.random.default_rng(seed))
        return ResidualPictures(start.network, mixture)

    def inner(self, known: int) -> Generator:
        """A generator of the shape that moves so many normal numbers."""
        classes = len(self.classes)
        residual = MLP(known + classes, self.hidden, known, key=jax.random.key(0))
        return Generator(jnp.zeros((classes, known, known)), jnp.zeros((classes, known)), residual)

    def mixture(self, means: np.ndarray, factors: np.ndarray, tail: np.ndarray) -> ImageMixture:
        weights = np.ones((len(self.classes), 1))
        return self.moments().mixed(self.shape, weights, means[:, None], factors, tail)


@dataclass(frozen=True)
class PreparedPictures(Prepared):
    """Private: images as records, and the public start."""

    form: PictureForm
    start: ImageMixture | None
    kernels: int
    released: int
    light: bool

    @property
    def width(self) -> int:
        assert self.lens is not None
        return len(self.lens)

    @property
    def ratio(self) -> np.ndarray:
        return np.full(len(self.form.classes), 1 / len(self.form.classes))

    @property
    def picture(self) -> Picture:
        return Picture(self.form.coloured, self.kernels, self.light)

    @property
    def lens(self) -> np.ndarray | None:
        """The lowest cosines."""
        return dct_basis(self.form.shape, min(self.released, *self.form.shape[:2]))

    def design(self, learning_rate: float = 1.0, steps: int = 1, caution: float = 1.0) -> Design:
        return self.form.design(learning_rate, steps, caution if self.start is not None else 1.0)

    def start_generator(self, design: Design) -> GeneratorState:
        return start_network(design, self.form.network(int(self.rng(1).integers(2**31)), self.start))

    def start_critic(self, hidden: tuple[int, ...], rate: float) -> NetworkState:
        classes, key = len(self.form.classes), jax.random.key(int(self.rng(3).integers(2**31)))
        return start_learner(rate, LabelledMLP(self.form.pixels, hidden, 1, classes, key=key))


@dataclass(frozen=True)
class PictureModel:
    """A trained generator of pictures. Public."""

    form: PictureForm
    network: Any

    def draw(self, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One row of pixels, from 0 to 1, for each class number."""
        rows, normals = [], self.form.design().normals
        for first in range(0, len(labels), _CHUNK):
            part = np.zeros(_CHUNK, np.int32)
            part[: len(labels) - first] = labels[first : first + _CHUNK]
            z = rng.standard_normal((_CHUNK, normals), dtype=np.float32)
            rows.append(np.asarray(_paint(self.network, z, part))[: len(labels) - first])
        return np.concatenate(rows)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(leaf) for name, leaf in _leaves(self.network) if name not in _KNOWN and leaf.size}


# What a release does not keep, since it is cosines and ones.
_KNOWN = ("mixture.basis", "mixture.weights")


def _leaves(network: Any) -> list[tuple[str, Any]]:
    return [
        (jax.tree_util.keystr(path).lstrip("."), leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(network)
    ]


def _shown(form: PictureForm, pixels: np.ndarray) -> np.ndarray:
    """As private as the pixels: what teachers see of each image, a function of that image alone."""
    if form.seen is None:
        return pixels
    parts = [pixels[first : first + _CHUNK] for first in range(0, len(pixels), _CHUNK)]
    return np.concatenate([np.asarray(low_passed(jnp.asarray(part), form.coloured, form.seen)) for part in parts])


@jax.jit
def _paint(network: Any, z: Array, classes: Array) -> Array:
    return network(z, classes)


class AdversarialPictures(Estimator):
    """Base of the adversarial generators of images. Fitted: `model_`, `facts_`, `history_`, `certificate_`, `shape_` and
    `classes_` are public; `private_` is not, and is never saved.
    """

    resumable = True
    published: ClassVar[Literal["deconvolution", "dense"]] = "deconvolution"
    """The networks of the papers."""

    training: Any
    start: Any = None
    """A `PictureStart`, where one can be bought."""

    def begin(self, prepared: Prepared) -> Game:
        """Touches private data: fix noise and length, charge the whole run, and return what plays it."""
        raise NotImplementedError

    def _check_rows(self, rows: int) -> None:
        """Refuse a set that is too small for the settings, before anything is spent."""
        if rows < 2:
            raise InputError("one image is not a set to learn from.")

    # ---- learning ------------------------------------------------------------------------------------------------

    def fit(
        self,
        data: ImageDataset,
        *,
        budget: Budget | None = None,
        workspace: str | Path | None = None,
        resume: bool = False,
        progress: Callable[[Progress], None] | None = None,
        checkpoint_seconds: float = 60.0,
        shown: Callable[[ImageDataset], None] | None = None,
    ) -> Self:
        """Touches private data (`data`). `budget` may hold earlier charges for the same images.

        Checkpoints are kept in `workspace`, a folder named `*.private`; with `resume` the run in it goes on. Ctrl-C ends a run
        after the current iteration and leaves a generator that may be released: all of it is paid for. So is what `shown` is
        given at every checkpoint: ten images of each class, as the generator paints them by then.
        """
        self._check_settings()
        check_images(data)
        self._check_rows(len(data))
        self._form(data)
        paying = self._budget(budget, len(data))
        said = {"images": len(data), "classes": list(data.classes)}
        files = None if workspace is None else self._kept_in(workspace, resume, data.digest(), said)
        run = Run(files, progress, checkpoint_seconds, shown=None if shown is None else self._showing(data, shown))
        present = data.labels != BLANK
        with closed_after(files):
            # Images are rows of a table without columns: present, paid for and dealt alike.
            rows = Intake(pd.DataFrame(index=range(int(present.sum()))), present, None, None, self._seed(), paying, run)
            learnt = self.learn(rows, data)
        self.interrupted_ = run.stopped
        self._ready(learnt.model, learnt.facts)
        facts = {**learnt.facts, "images": len(data)}
        if learnt.unprotected is not None:
            self._certify_unprotected("generator", facts, learnt.unprotected)
        else:
            self._certify(
                learnt.budget or paying, "generator", facts, [PUBLIC], unit="image", sanitised=learnt.sanitised,
                unsafe=learnt.unsafe,
            )  # fmt: skip
        return self

    def learn(self, rows: Intake, data: ImageDataset) -> Learnt:
        """Touches private data: prepare, play, and keep what was played for the data holder (`private_`)."""
        form, how = self._form(data), self.training
        start = None if form.networks != "residual" else self._buy(rows, data, form)
        pixels = _shown(form, data.flat()) * rows.present[:, None]
        given = np.eye(len(data.classes), dtype=np.float32)[np.maximum(data.labels, 0)] * rows.present[:, None]
        prepared = PreparedPictures(
            rows, np.concatenate([pixels, given], axis=1).astype(np.float32),
            np.where(rows.present, data.labels, -1).astype(np.int32), form.hidden, form, start,
            getattr(how, "teacher_kernels", 1), getattr(how, "released_frequencies", 1), getattr(how, "light_moments", False),
        )  # fmt: skip
        game = self.begin(prepared)
        state, self.history_ = train(game, rows.run)
        self.private_ = {"state": state, "game": game}
        learnt = game.finish(state)
        done = self.history_[-1]["iteration"] if self.history_ else 0
        return learnt._replace(model=PictureModel(form, learnt.model), facts={**learnt.facts, "iterations_done": done})

    def _showing(self, data: ImageDataset, shown: Callable[[ImageDataset], None]) -> Callable[[Any], None]:
        """Of a state, what its generator paints: public where the generator is, since all steps were paid for before the first."""
        form = self._form(data)
        labels = np.repeat(np.arange(len(form.classes)), _SHOWN)

        def show(state: Any) -> None:
            rows = PictureModel(form, state.generator.average).draw(labels, np.random.default_rng(0))
            shown(ImageDataset.from_flat(rows, labels, form.shape, form.classes, form.value_range))

        return show

    def _form(self, data: ImageDataset) -> PictureForm:
        return self._form_of(data.shape, data.classes, data.value_range)

    def _form_of(self, shape: tuple[int, ...], classes: tuple[str, ...], value_range: tuple[int, int]) -> PictureForm:
        hidden, start = tuple(self.training.generator_hidden), self.start
        if start is None or start.networks == "published":
            return PictureForm(shape, classes, value_range, self.published, hidden)
        seen = getattr(self.training, "seen_frequencies", None)
        form = PictureForm(shape, classes, value_range, "residual", hidden, start.frequencies, start.straight, seen)
        form.sizes()  # refuses frequencies that the images do not have
        return form

    def _buy(self, rows: Intake, data: ImageDataset, form: PictureForm) -> ImageMixture:
        """Touches private data: the release to start from, paid for. Safe to publish."""
        known, rest = form.sizes()
        shapes = [(len(data.classes), known), (len(data.classes), known, known), (rest,)]

        def draw() -> np.ndarray:
            settings = {"frequencies": form.frequencies, "straight": form.straight}
            epsilon = self.start.epsilon_share * rows.budget.epsilon
            mixture = image_moments_release(data, epsilon, rows.seed, rows.budget, **settings).mixture_
            parts = (mixture.means[:, 0], mixture.factors, mixture.tail)
            return np.concatenate([np.asarray(part, np.float32).ravel() for part in parts])

        said = rows.run.prelude("moments", rows.budget, draw)
        ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        return form.mixture(*(part.reshape(shape) for part, shape in zip(np.split(said, ends), shapes, strict=True)))

    def _ready(self, model: PictureModel, facts: dict[str, Any]) -> None:
        self.model_, self.facts_ = model, facts
        self.shape_, self.classes_, self.value_range_ = model.form.shape, model.form.classes, model.form.value_range

    # ---- the release ---------------------------------------------------------------------------------------------

    def sample(self, n: int, random_state: int | None = None, *, labels: np.ndarray | None = None) -> ImageDataset:
        """`n` images of even classes, or of the given `labels`. Free."""
        self._check_fitted()
        whole().check("n", n)
        rng = np.random.default_rng(random_state)
        wanted = even_labels(n, len(self.classes_), rng) if labels is None else check_labels(n, labels, self.classes_)
        return ImageDataset.from_flat(
            self.model_.draw(wanted, rng), wanted, self.shape_, self.classes_, self.value_range_
        )

    def _contents(self) -> Bundle:
        form = {"shape": list(self.shape_), "classes": list(self.classes_), "value_range": list(self.value_range_)}
        parameters = {"settings": self._settings(), "facts": self.facts_, "history": self.history_, **form}
        return Bundle("generator", self.method, parameters, self.model_.arrays(), self.certificate_)

    def _restore(self, bundle: Bundle) -> None:
        said = bundle.parameters
        form = self._form_of(*check_form(*(said[name] for name in ("shape", "classes", "value_range"))))
        self.history_ = list(said["history"])
        self._ready(PictureModel(form, _restored(form, bundle.arrays)), dict(said["facts"]))

    def _settings(self) -> dict[str, Any]:
        """Where a run was computed is no part of it."""
        return {name: value for name, value in super()._settings().items() if name != "mesh"}


def _restored(form: PictureForm, arrays: Mapping[str, np.ndarray]) -> Any:
    """The network of a release. Shapes first: one of the sizes that a stranger's settings claim could fill any memory."""
    residual, (known, rest) = form.networks == "residual", (0, 0)
    if residual:
        known, rest = form.sizes()
    shapes = jax.eval_shape(lambda: form.inner(known) if residual else form.network(0, None))
    before = "inner." if residual else ""
    leaves = [jnp.asarray(fitting(arrays, before + name, *leaf.shape), jnp.float32) for name, leaf in _leaves(shapes)]
    network = jax.tree.unflatten(jax.tree.structure(shapes), leaves)
    if not residual:
        return network
    means = fitting(arrays, "mixture.means", len(form.classes), 1, known)
    factors = fitting(arrays, "mixture.factors", len(form.classes), known, known)
    tail = fitting(arrays, "mixture.tail", rest, least=0.0) if rest else np.zeros(0)
    return ResidualPictures(network, form.mixture(means[:, 0], factors, tail))
