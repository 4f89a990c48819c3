"""The image generator: what its looks let out, its samples, and its release."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).parent.parent / "images"))
from small_images import bars  # pyright: ignore[reportMissingImports]

import understudy
from understudy.errors import BudgetExceeded, InputError
from understudy.images import ImageDataset
from understudy.learn.shrinkage import class_covariance, pooled_covariance
from understudy.methods.image_moments import ImageMoments
from understudy.methods.image_moments.looks import LookPlan, look
from understudy.privacy import Budget
from understudy.privacy.clipped_moments import ClippedMoments, Moments
from understudy.privacy.share import BudgetShare


@pytest.fixture(scope="module")
def fitted() -> ImageMoments:
    return ImageMoments(8.0, 1e-5, frequencies=4, edges=0.0, random_state=0, unsafe_noise_seed=0).fit(bars(3000))


def test_samples_look_like_their_class(fitted: ImageMoments) -> None:
    made = fitted.sample(300, 0)
    real = bars(300, 1)
    means = {c: real.flat()[real.labels == c].mean(axis=0) for c in range(3)}
    closest = np.stack([((made.flat() - means[c]) ** 2).sum(axis=1) for c in range(3)]).argmin(axis=0)
    assert (closest == made.labels).mean() > 0.85
    assert np.array_equal(np.bincount(made.labels), [100, 100, 100])
    assert np.array_equal(made.images, fitted.sample(300, 0).images)
    only = fitted.sample(5, 0, labels=np.full(5, 2))
    assert set(only.labels) == {2}


def test_a_release_comes_back_the_same(fitted: ImageMoments, tmp_path: Path) -> None:
    fitted.save(tmp_path / "release")
    back = understudy.load(tmp_path / "release")
    assert np.array_equal(back.sample(20, 3).images, fitted.sample(20, 3).images)
    assert back.certificate_.epsilon == fitted.certificate_.epsilon <= 8
    assert "fixed seed" in back.certificate_.unsafe[0]
    with pytest.raises(InputError, match="unsafe"):
        back.certificate_.verify()


@pytest.mark.parametrize("extra", [{}, {"components": 2}, {"straight": True}, {"straight": True, "sized": True}])
def test_the_whole_budget_is_charged_before_anything_leaves(extra: dict[str, Any]) -> None:
    generator = ImageMoments(1.0, 1e-5, frequencies=3, edges=0.0, random_state=0, **extra).fit(bars(600))
    assert 0.99 < generator.certificate_.verify() <= 1.0
    assert generator.sample(3, 0).shape == (8, 8)
    # A budget that is given is the limit, whatever `epsilon` says; its share too.
    given = Budget(0.8, 1e-5)
    ImageMoments(1.0, 1e-5, frequencies=3, edges=0.0, random_state=0, **extra).fit(
        bars(600), budget=BudgetShare(given, 0.5)
    )
    assert 0.49 < given.spent().epsilon <= 0.5
    ImageMoments(1.0, 1e-5, frequencies=3, edges=0.0, random_state=0, **extra).fit(bars(600), budget=given)
    assert 0.79 < given.spent().epsilon <= 0.8


def test_a_look_that_the_budget_does_not_hold_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever plans too little noise is stopped by the charge, before the draw."""
    monkeypatch.setattr("understudy.methods.image_moments.generator.smallest_noise", lambda *_: 0.5)
    budget = Budget(0.5, 1e-5)
    with pytest.raises(BudgetExceeded):
        ImageMoments(frequencies=3, edges=0.0, random_state=0).fit(bars(600), budget=budget)
    assert not budget.events


def test_noise_is_of_the_size_that_was_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two fits differ by noise of the plan's size: none left out, none drawn twice."""
    drawn: list[Moments] = []
    release = ClippedMoments.release

    def keep(self: ClippedMoments, *args: Any) -> Moments:
        drawn.append(release(self, *args))
        return drawn[-1]

    monkeypatch.setattr(ClippedMoments, "release", keep)
    data = bars(600)
    for _ in range(8):
        ImageMoments(1.0, 1e-5, frequencies=4, edges=0.0, random_state=0).fit(data)
    looks = drawn[:: len(drawn) // 8]  # the first of each fit
    sums = np.stack([look.sums for look in looks])
    apart = (sums - sums.mean(axis=0)) / looks[0].sum_noise[:, None]
    assert 0.75 < np.sqrt((apart**2).sum(axis=0).mean() / (len(looks) - 1)) < 1.25


@settings(max_examples=30)
@given(st.integers(0, 2**31), st.sampled_from([0.0, 1.0, 1e6, -1e300]), st.integers(1, 3))
def test_blanking_a_record_moves_each_look_by_no_more_than_is_charged(seed: int, size: float, components: int) -> None:
    """Each look is attacked with a record of any size, at whatever means the looks before it released."""
    from understudy.privacy.clipped_moments import _sum  # pyright: ignore[reportPrivateUsage]

    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(6, 4))
    rows[0] *= size
    means = rng.normal(size=4) * 5
    for one in LookPlan(2, components, 2.0, 1.5, 1.0).looks():
        classes = np.array([0, *([1] * 5)])
        with_it = _sum(rows - means, classes, one.clips, one.products)
        without = _sum(rows - means, np.array([-1, *([1] * 5)]), one.clips, one.products)
        counts, sums, products = (a - b for a, b in zip(with_it, without, strict=True))
        length = 4096.0
        assert np.abs(counts).sum() <= 1
        assert np.linalg.norm(sums) <= length
        if one.products == "full":
            weights = np.where(np.eye(4, dtype=bool), 0.5, 1.0)
            square = np.sum(np.triu(np.asarray(products, float) ** 2 * weights))
            assert square <= length**4 / 2 * (1 + 1e-12)


def test_cells_are_cut_by_what_was_released_alone() -> None:
    """The same released moments give the same cells, whatever the records are: only noise differs from run to run."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 3)) + np.array([[5.0, 0, 0]]) * rng.choice([-1, 1], size=(4000, 1))
    classes = np.zeros(4000, dtype=np.int64)
    plan = LookPlan(1, 2, 10.0, 8.0, 0.05)
    found = look(rows, classes, plan, Budget(1e6, 1e-5, unsafe_noise_seed=0), np.random.default_rng(0))
    assert found.means.shape == (1, 2, 3)
    assert sorted(np.sign(found.means[0, :, 0])) == [-1, 1]
    assert np.abs(found.means[0, :, 0]) == pytest.approx([5, 5], abs=0.5)
    assert found.weights.sum() == pytest.approx(1)


def test_shrinkage_keeps_what_stands_out_and_drops_what_drowns() -> None:
    rng = np.random.default_rng(0)
    truth = np.diag([4.0, 1.0, 0.25]) + 0.3
    noise = np.triu(rng.normal(size=(3, 3)), 1)
    clear = pooled_covariance(truth + 1e-4 * (noise + noise.T), 1e-4)
    np.testing.assert_allclose(clear, truth, rtol=0.01, atol=0.01)
    drowned = class_covariance(truth + 1e3 * (noise + noise.T), truth, 1e4)
    np.testing.assert_allclose(drowned, truth, rtol=1e-6)
    broken = pooled_covariance(np.diag([1.0, -5.0, 0.0]), 0.1)
    assert np.linalg.eigvalsh(broken).min() > 0


@pytest.mark.parametrize(
    ("settings_", "said"),
    [({"epsilon": 0.0}, "epsilon"), ({"components": 0}, "components"), ({"frequencies": 99}, "frequencies"), ({"spread_clip": -1.0}, "spread_clip"), ({"sized": True}, "straight")],
)  # fmt: skip
def test_wrong_settings_are_refused(settings_: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        ImageMoments(**settings_).fit(bars(60))


def test_what_is_not_there_is_said(fitted: ImageMoments, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fit"):
        ImageMoments().sample(3)
    with pytest.raises(InputError, match="labels"):
        fitted.sample(3, labels=np.array([0, 1, 7]))
    with pytest.raises(InputError, match="ImageDataset"):
        ImageMoments().fit(np.zeros((3, 4, 4)))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="fit"):
        ImageMoments().save(tmp_path / "x")
    with pytest.raises(InputError, match="give it to the `budget`"):
        ImageMoments(unsafe_noise_seed=1).fit(bars(60), budget=Budget(2.0, 1e-5))


def test_colour_images_work() -> None:
    rng = np.random.default_rng(0)
    data = ImageDataset(rng.integers(0, 256, (90, 6, 6, 3)).astype(np.uint8), np.arange(90) % 2, ("a", "b"))
    made = ImageMoments(5.0, frequencies=2, edges=0.0, random_state=0).fit(data).sample(4, 0)
    assert made.images.shape == (4, 6, 6, 3)
