"""Public features of images that need no data: edges, and filters that were learnt from pictures of a random process.

Dead leaves (Matheron; here discs, rectangles and triangles of all sizes, those in front hiding those behind) have edges, corners and
textures much as photographs have. The patches of some hundreds of such pictures are whitened and fall into 64 directions, by k-means:
public filters, the same whoever makes them. What is measured is how good labels of public images are after the first look of PATE by
neighbours, with the noise of epsilon 0.5, on training images that are held out from nothing else.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.methods import DELTA
from benchmarks.neighbours import EPSILON
from benchmarks.result import Row, grouped
from benchmarks.splits import split_images
from understudy.images.edges import EdgeMap
from understudy.learn.landmarks import Landmarks, smoothed
from understudy.methods.neighbours import Features, Neighbourhood, Sight
from understudy.privacy import GaussianEvent
from understudy.privacy.calibration import smallest_noise

FILTERS, PATCH, CELLS = 64, 6, 4
# Private and public training images: a quarter of what a release has, and noise is a quarter as well.
_PRIVATE, _PUBLIC, _WHOLE = 15_000, 4500, 60_000
_LEAVES, _ROUNDS, _AT_ONCE, _SOFT = 120, 10, 3000, 1e-3
# The axes on which landmarks lie: as many as are the default, and more, for what sees more.
LOOKS = (("edges", 120), ("edges", 200), ("both", 200), ("filters of dead leaves", 200))


def dead_leaves(count: int, side: int, rng: np.random.Generator) -> np.ndarray:
    """Grey pictures (count x side x side, from 0 to 1) of shapes that hide each other; radii r are as frequent as 1 / r³."""
    pictures = np.full((count, side, side), np.nan, np.float32)
    rows, columns = np.mgrid[:side, :side].astype(np.float32)
    least, most = 1.5, side / 1.5
    for _ in range(_LEAVES):  # from the front backwards: only what is free is painted
        radius = (least**-2 + rng.random(count) * (most**-2 - least**-2)) ** -0.5
        down, right = (axis - rng.uniform(-4, side + 4, (count, 1, 1)) for axis in (rows, columns))
        turn, long = rng.uniform(0, math.pi, (count, 1, 1)), np.exp(rng.uniform(-1, 1, count))
        along = (np.cos(turn) * right + np.sin(turn) * down) / (radius * long)[:, None, None]
        across = (np.cos(turn) * down - np.sin(turn) * right) / (radius / long)[:, None, None]
        shapes = [
            along**2 + across**2 < 1,
            np.maximum(abs(along), abs(across)) < 0.9,
            (across > -0.8) & (across + 1.6 * abs(along) < 1),
        ]
        free = np.choose(rng.integers(0, 3, (count, 1, 1)), shapes) & np.isnan(pictures)
        pictures = np.where(free, rng.random((count, 1, 1), np.float32), pictures)
    pictures = np.where(np.isnan(pictures), rng.random((count, 1, 1), np.float32), pictures)
    for axis in (1, 2):  # edges as soft as a lens makes them
        pictures = (pictures + np.roll(pictures, 1, axis)) / 2
    return pictures


@cache
def filters(seed: int = 0) -> np.ndarray:
    """Directions of whitened patches of dead leaves (pixels of a patch x filters), whitening included."""
    rng = np.random.default_rng(seed)
    pictures = dead_leaves(600, 32, rng)
    places = rng.integers(0, 32 - PATCH + 1, (25, 2))
    patches = np.concatenate([pictures[:, y : y + PATCH, x : x + PATCH].reshape(-1, PATCH**2) for y, x in places])
    patches = _evened(patches)
    lengths, axes = np.linalg.eigh(np.cov(patches.T))
    whitening = ((axes / np.sqrt(np.maximum(lengths, 0) + 0.1)) @ axes.T).astype(np.float32)
    white = patches @ whitening
    found = _long_as_one(rng.normal(size=(FILTERS, PATCH**2)).astype(np.float32))
    for _ in range(_ROUNDS):
        alike = white @ found.T
        best = abs(alike).argmax(axis=1)
        sums = np.zeros_like(found)
        np.add.at(sums, best, white * alike[np.arange(len(white)), best][:, None])
        found = _long_as_one(sums + np.float32(1e-4) * rng.normal(size=found.shape).astype(np.float32))
    return whitening @ found.T


def leaves(images: Array) -> Array:
    """How strongly, cell by cell, patches of the grey image are like each filter or its opposite. Length one."""
    grey = images.mean(axis=3)
    height, width = (side - PATCH + 1 for side in grey.shape[1:])
    near = [grey[:, i : i + height, j : j + width] for i in range(PATCH) for j in range(PATCH)]
    alike = _evened(jnp.stack(near, axis=-1)) @ jnp.asarray(filters())
    strong = jax.nn.relu(jnp.concatenate([alike, -alike], axis=3) - 0.5)
    cells = jnp.einsum("ay,nyxd,bx->nabd", _tents(height), strong, _tents(width)).reshape(len(images), -1)
    return _rooted(cells)


def both(images: Array) -> Array:
    """Edges beside filters of dead leaves."""
    return jnp.concatenate([EdgeMap()(images), leaves(images)], axis=1) / math.sqrt(2)


MAPS: dict[str, Features] = {"edges": EdgeMap(), "filters of dead leaves": leaves, "both": both}


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """A first look a repeat: other landmarks, and other noise."""
    small = settings["small"]
    train, _ = split_images(settings["dataset"], final=False, small=small)
    private, shown = (300, 200) if small else (_PRIVATE, _PUBLIC)
    data = train.take(slice(0, private + shown))
    pictures = data.flat().reshape(len(data), *data.shape[:2], -1)
    began, see = time.process_time(), Sight(MAPS[settings["features"]])
    points = np.concatenate([see(pictures[i : i + 2000]) for i in range(0, len(data), 2000)])
    seconds = (time.process_time() - began) / len(data)
    classes = np.eye(len(data.classes), dtype=np.float32)[data.labels]
    near = Neighbourhood(landmarks=50, axes=10) if small else Neighbourhood(axes=settings["axes"])
    whole = smallest_noise(lambda noise: [GaussianEvent(noise, 2, "discrete")], EPSILON, DELTA)
    noise, found = whole * private / _WHOLE, []
    for seed in repeats:
        rng = np.random.default_rng(seed)
        landmarks = Landmarks.of(points[private:], near.axes, near.landmarks, near.nearness, rng)
        votes = np.concatenate([landmarks.votes(points[i : i + _AT_ONCE]) for i in range(0, len(data), _AT_ONCE)])
        tallies = votes[:private].T @ classes[:private]
        tallies = tallies + rng.normal(scale=noise, size=tallies.shape)
        shares = smoothed(votes[private:], tallies, private, near.penalty * noise)
        right = float((shares.argmax(axis=1) == data.labels[private:]).mean())
        found.append({"accuracy": 100 * right, "milliseconds_an_image": 1000 * seconds})
    return found


def parts(size: Size, repeats: int) -> list[Part]:
    """Each map at each number of axes."""
    small = size == "quick"
    return [
        Part(
            f"fashion, {name}, {axes} axes",
            "benchmarks.image_features:measure",
            {"dataset": "fashion", "features": name, "axes": axes, "small": small},
            repeats,
        )
        for name, axes in (LOOKS[-1:] if small else LOOKS)
    ]


def summary(runs: Sequence[Row]) -> list[Row]:
    """The mean over landmarks and noise of each map, and the least and the greatest."""
    found: list[Row] = []
    for (name, axes), mine in grouped(runs, "features", "axes").items():
        scores = [run["accuracy"] for run in mine]
        told = {"mean": float(np.mean(scores)), "low": min(scores), "high": max(scores)}
        found.append({"features": name, "axes": axes, "runs": len(mine), **{k: round(v, 2) for k, v in told.items()}})
    return found


def _evened(patches: Any) -> Any:
    """Patches (last axis; of NumPy or JAX) of mean 0, and of one contrast where they have any."""
    patches = patches - patches.mean(axis=-1, keepdims=True)
    return patches / (patches.var(axis=-1, keepdims=True) + 0.01) ** 0.5


def _rooted(cells: Array) -> Array:
    roots = jnp.sqrt(cells + _SOFT) - math.sqrt(_SOFT)
    return roots / jnp.sqrt(jnp.maximum(jnp.sum(roots**2, axis=1, keepdims=True), 1e-6))


@cache
def _tents(side: int) -> np.ndarray:
    """Overlapping cells along a side (cells x side)."""
    width = side / CELLS
    middles = width * np.arange(CELLS)[:, None] + (width - 1) / 2
    return np.maximum(1 - abs(np.arange(side) - middles) / width, 0).astype(np.float32)


def _long_as_one(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


BENCHMARK = Benchmark(
    id="image-features",
    title="Public features of images that need no data",
    datasets=("fashion",),
    repeats={"quick": 1, "full": 3},
    parts=parts,
    summary=summary,
    alone=True,
    notes=(
        "Fashion-MNIST: 15,000 private training images, and labels of 4,500 others after the first look of PATE by neighbours at epsilon 0.5, with "
        "a quarter of its noise, since there are a quarter of its images. A figure of 4,500 images is sure to about half a point; all maps "
        "have the same images and seeds.",
    ),
)
