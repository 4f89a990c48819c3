"""The look at edges: public features, what leaves, samples that are moved, and the release."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).parent.parent / "images"))
from small_images import bars  # pyright: ignore[reportMissingImports]

import understudy
from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.images.edges import EdgeMap
from understudy.learn.shrinkage import invertible_covariance
from understudy.methods.image_moments import ImageMoments
from understudy.methods.image_moments.edge_look import (
    EdgeMoments,
    EdgePlan,
    edge_look,
)
from understudy.methods.image_moments.refiner import Refiner
from understudy.privacy import Budget
from understudy.privacy.clipped_moments import ClippedMoments, Moments

_LENGTH = 4096.0


@pytest.fixture(scope="module")
def fitted() -> ImageMoments:
    return ImageMoments(8.0, 1e-5, frequencies=4, edges=0.5, random_state=0, unsafe_noise_seed=0).fit(bars(3000))


@pytest.mark.parametrize(("side", "colours"), [(7, 1), (8, 3)])
def test_features_have_length_one_at_most(side: int, colours: int) -> None:
    """Black, white, faint and harsh images; and the gradients there are numbers."""
    edges = EdgeMap()
    rng = np.random.default_rng(0)
    shape = (side, side, colours)
    images = np.stack([np.zeros(shape), np.ones(shape), 1e-6 * rng.uniform(size=shape), rng.uniform(size=shape) > 0.5])

    @jax.jit
    def both(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return edges(x), jax.grad(lambda y: jnp.sum(edges(y) ** 3))(x)

    found, gradients = (np.asarray(part) for part in both(jnp.asarray(images, jnp.float32)))
    assert found.shape == (4, edges.count(shape))
    assert np.all(np.isfinite(found))
    assert np.all(np.isfinite(gradients))
    assert np.linalg.norm(found, axis=1).max() <= 1 + 1e-5


def test_features_tell_directions_apart() -> None:
    upright = np.zeros((1, 8, 8, 1), np.float32)
    upright[:, :, 4:] = 1
    edges = EdgeMap()
    turned = edges(jnp.asarray(upright.transpose(0, 2, 1, 3)))
    assert float(jnp.sum(edges(jnp.asarray(upright)) * turned)) < 0.8
    chequered = (np.indices((8, 8)).sum(axis=0) % 2).astype(np.float32)[None, ..., None]
    grey = np.full_like(chequered, 0.5)
    assert float(jnp.sum(edges(jnp.asarray(chequered)) * edges(jnp.asarray(grey)))) < 0.8


@settings(max_examples=30)
@given(st.integers(0, 2**31), st.sampled_from([0.0, 1.0, 1e6, 1e100]), st.floats(1e-3, 1e3))
def test_blanking_a_record_moves_each_look_by_no_more_than_is_charged(seed: int, size: float, length: float) -> None:
    """Each look is attacked with a row of any size: whatever the features or the axes do, the clips hold."""
    from understudy.privacy.clipped_moments import _sum  # pyright: ignore[reportPrivateUsage]

    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(6, 4)) * length
    rows[0] *= size
    for one in EdgePlan(2, 4, 1.0).looks(length):
        attacked = rows if one.products != "diagonal" else np.linalg.norm(rows, axis=1, keepdims=True)
        classes = np.array([0] * 6) if len(one.clips) == 1 else np.array([0, *([1] * 5)])
        without = classes.copy()
        without[0] = -1
        parts = zip(*(_sum(attacked, c, one.clips, one.products) for c in (classes, without)), strict=True)
        counts, sums, products = (a - b for a, b in parts)
        assert np.abs(counts).sum() <= 1
        assert np.linalg.norm(sums) <= _LENGTH
        if one.products == "full":
            weights = np.where(np.eye(4, dtype=bool), 0.5, 1.0)
            assert np.sum(np.triu(np.asarray(products, float) ** 2 * weights)) <= _LENGTH**4 / 2 * (1 + 1e-12)
        elif one.products == "diagonal":
            assert np.linalg.norm(products) <= _LENGTH**2


def test_every_look_is_charged_and_noisy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the budget holds is the plan; two looks differ by noise of the size that was charged."""
    drawn: list[tuple[ClippedMoments, Moments]] = []
    release = ClippedMoments.release

    def keep(self: ClippedMoments, *args: Any) -> Moments:
        drawn.append((self, release(self, *args)))
        return drawn[-1][1]

    monkeypatch.setattr(ClippedMoments, "release", keep)
    rng = np.random.default_rng(0)
    rows, classes = 0.1 * rng.normal(size=(900, 12)), np.arange(900) % 3
    plain, shown = 0.1 * rng.normal(size=(300, 12)), np.arange(300) % 3
    plan = EdgePlan(3, 10, 4.0)
    for _ in range(2):
        budget = Budget(100.0, 1e-5)
        edge_look(rows, classes, plain, shown, plan, budget)
        assert list(budget.events) == plan.events()
    assert len(drawn) == 8
    first, again = drawn[0][1], drawn[4][1]
    assert 0.6 < ((first.sums - again.sums) / (np.sqrt(2) * first.sum_noise[:, None])).std() < 1.4
    for place in (1, 2, 3):  # later looks start from the first one's noise; their own is counted in the mechanism
        assert drawn[place][0].noise_multiplier == plan.looks()[place].noise_multiplier


def test_nothing_leaves_but_what_the_mechanism_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    """With releases that do not depend on the records, two different sets of images give the same generator."""

    def blind(self: ClippedMoments, rows: Any, *_: Any) -> Moments:
        rng = np.random.default_rng(0)
        classes, d = len(self.clips), np.shape(rows)[1]
        products = {"full": (classes, d, d), "diagonal": (classes, d), "none": (classes, 0)}[self.products]
        root = rng.normal(size=products)
        return Moments(
            np.full(classes, 100.0), rng.normal(size=(classes, d)),
            root @ root.swapaxes(1, 2) if self.products == "full" else root**2, 1.0, np.ones(classes), np.ones(classes),
        )  # fmt: skip

    monkeypatch.setattr(ClippedMoments, "release", blind)
    dark = ImageDataset(np.zeros((300, 8, 8), np.uint8), np.zeros(300, np.int64), bars(3).classes)
    one, other = (ImageMoments(1.0, frequencies=3, edges=0.5, random_state=0).fit(data) for data in (bars(300), dark))
    assert np.array_equal(one.sample(9, 0).images, other.sample(9, 0).images)
    assert one.edge_moments_ is not None
    assert other.edge_moments_ is not None
    for mine, theirs in zip(one.edge_moments_, other.edge_moments_, strict=True):
        assert np.array_equal(mine, theirs)


def test_the_released_moments_are_those_of_the_records() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6)) / 20
    classes = np.arange(20_000) % 2
    centres = np.stack([np.full(6, 0.1), np.full(6, -0.1)])
    rows = rng.normal(size=(20_000, 6)) @ root.T + centres[classes]
    plain, shown = rng.normal(size=(4000, 6)) / 20, np.arange(4000) % 2
    found = edge_look(rows, classes, plain, shown, EdgePlan(2, 6, 0.01), Budget(1e9, 1e-5, unsafe_noise_seed=0))
    back = np.linalg.inv(found.axes)
    np.testing.assert_allclose(found.means @ back, centres, atol=0.01)
    shape = back.T @ found.covariance @ back
    assert np.corrcoef(shape.ravel(), (root @ root.T).ravel())[0, 1] > 0.97
    # Plain samples that are moved have the records' covariance.
    moved = (plain @ found.axes - found.before[shown]) @ found.move().T
    np.testing.assert_allclose(np.cov(moved.T), found.covariance, atol=0.15 * np.abs(found.covariance).max())
    weights, offsets = found.judge()
    assert ((rows @ weights + offsets).argmax(axis=1) == classes).mean() > 0.9


def test_samples_are_moved_to_the_edges_that_were_released(fitted: ImageMoments) -> None:
    made, real = fitted.sample(300, 0), bars(300, 1)
    crude = (
        ImageMoments(8.0, 1e-5, frequencies=4, edges=0.0, random_state=0, unsafe_noise_seed=0)
        .fit(bars(3000))
        .sample(300, 0)
    )
    edges = jax.jit(EdgeMap())

    def means(data: ImageDataset) -> np.ndarray:
        found = np.asarray(edges(jnp.asarray(data.flat().reshape(-1, 8, 8, 1))))
        return np.stack([found[data.labels == c].mean(axis=0) for c in range(3)])

    assert np.linalg.norm(means(made) - means(real)) < 0.5 * np.linalg.norm(means(crude) - means(real))
    shares = fitted.shares(real)
    assert shares.sum(axis=1) == pytest.approx(np.ones(300), abs=1e-4)
    assert (shares.argmax(axis=1) == real.labels).mean() > 0.95


def test_a_release_with_edges_comes_back_the_same(fitted: ImageMoments, tmp_path: Path) -> None:
    fitted.save(tmp_path / "release")
    back = understudy.load(tmp_path / "release")
    assert np.array_equal(back.sample(20, 3).images, fitted.sample(20, 3).images)
    assert back.certificate_.body["release"]["edges"] == 0.5
    assert back.edges == 0.5


def test_the_budget_is_spent_once_and_whole() -> None:
    generator = ImageMoments(1.0, 1e-5, frequencies=3, edges=0.6, random_state=0).fit(bars(600))
    assert 0.99 < generator.certificate_.verify() <= 1.0
    colours = np.random.default_rng(0).integers(0, 256, (90, 6, 6, 3)).astype(np.uint8)
    data = ImageDataset(colours, np.arange(90) % 2, ("a", "b"))
    assert ImageMoments(5.0, frequencies=2, edges=0.5, random_state=0).fit(data).sample(4, 0).shape == (6, 6, 3)


def test_few_records_or_much_noise_get_few_axes() -> None:
    assert EdgePlan.of(10, 441, 55_000, 5.2).axes == pytest.approx(400, abs=5)
    assert EdgePlan.of(10, 441, 55_000, 0.5).axes == 441
    assert EdgePlan.of(10, 441, 500, 5.2).axes < 20
    assert EdgePlan.of(10, 441, 1, 1e6).axes == 1


def test_noise_is_taken_from_a_covariance() -> None:
    rng = np.random.default_rng(0)
    truth = np.diag([50.0, 20.0, 8.0, *([0.3] * 97)])
    noise = np.triu(rng.normal(size=(100, 100)), 1)
    noise = 0.2 * (noise + noise.T + np.diag(np.sqrt(2) * rng.normal(size=100)))
    cleaned = invertible_covariance(truth + noise, 0.2, 0.02)
    assert np.linalg.norm(cleaned - truth) < 0.3 * np.linalg.norm(noise)
    assert np.trace(cleaned) == pytest.approx(np.trace(truth), rel=0.05)
    assert np.linalg.eigvalsh(invertible_covariance(-truth, 0.2, 0.02)).min() > 0
    np.testing.assert_allclose(invertible_covariance(truth, 0.0, 0.02), truth, atol=1e-9)


def test_shares_need_edges_and_images_of_that_size(fitted: ImageMoments) -> None:
    with pytest.raises(InputError, match="fit"):
        ImageMoments().shares(bars(3))
    with pytest.raises(InputError, match="has not looked at edges"):
        ImageMoments(5.0, frequencies=2, edges=0.0).fit(bars(60)).shares(bars(3))
    with pytest.raises(InputError, match=r"shape \(8, 8\)"):
        fitted.shares(bars(3, side=9))


@pytest.mark.parametrize("share", [-0.1, 0.97, float("nan")])
def test_a_wrong_share_is_refused(share: float) -> None:
    with pytest.raises(InputError, match="edges"):
        ImageMoments(edges=share).fit(bars(60))


def test_refining_leaves_alone_what_is_right() -> None:
    """Where records and samples agree, nothing has to move."""
    images = jnp.asarray(np.random.default_rng(0).uniform(0.2, 0.8, (3, 8, 8, 1)), jnp.float32)
    axes = np.eye(EdgeMap().count((8, 8)))[:, :5]
    zeros = np.zeros((1, 5))
    same = Refiner.of(EdgeMoments(axes, zeros, zeros, np.ones(5), np.eye(5), np.zeros((5, 1))), EdgeMap())
    np.testing.assert_allclose(same(images, jnp.zeros(3, int)), images, atol=0.02)
