"""PATE by neighbours: what an image may say, that labels of public images are not looked at, the release, and that it learns."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent.parent / "images"))
from real_digits import digits  # pyright: ignore[reportMissingImports]
from small_images import bars  # pyright: ignore[reportMissingImports]

import understudy
from understudy import NeighbourPATE
from understudy.errors import InputError
from understudy.images import BLANK, ImageDataset
from understudy.learn.landmarks import Landmarks, smoothed
from understudy.methods.neighbours import Sight
from understudy.privacy import Budget, GaussianEvent

QUICK: dict[str, Any] = {
    **{"epsilon": 8.0, "landmarks": 40, "second_landmarks": 30, "width": 4, "units": 16, "batch": 32},
    **{"first_steps": 80, "steps": 120, "random_state": 0, "unsafe_noise_seed": 1},
}


# Where it does not matter what is learnt.
FEW = {"first_steps": 3, "steps": 3}


def unlabelled(data: ImageDataset) -> ImageDataset:
    return ImageDataset(data.images, np.zeros(len(data), dtype=int), data.classes)


def test_a_vote_has_length_one_whatever_the_point_is() -> None:
    rng = np.random.default_rng(0)
    landmarks = Landmarks.of(rng.normal(size=(100, 5)), 5, 20, 0.6, rng)
    odd = np.concatenate([rng.normal(size=(20, 5)), np.zeros((1, 5)), 1e3 * np.ones((1, 5)), -1e6 * np.eye(5)])
    np.testing.assert_allclose(np.linalg.norm(landmarks.votes(odd), axis=1), 1, rtol=1e-5)


def test_a_point_beyond_what_can_be_told_says_nothing_and_is_no_error() -> None:
    rng = np.random.default_rng(0)
    landmarks = Landmarks.of(rng.normal(size=(100, 5)).astype(np.float32), 5, 20, 0.6, rng)
    far = np.array([[0.0], [1e20], [1e38], [np.inf], [np.nan]], np.float32) * np.ones(5, np.float32)
    with warnings.catch_warnings(action="error"):
        votes = landmarks.votes(far)
    np.testing.assert_allclose(np.linalg.norm(votes, axis=1), [1, 0, 0, 0, 0], rtol=1e-5)


def test_without_noise_near_points_are_given_the_class_of_the_voters() -> None:
    rng = np.random.default_rng(0)
    places = rng.integers(0, 3, 600)
    points = (rng.normal(size=(600, 4)) * 0.3 + 2 * np.eye(4)[places]).astype(np.float32)
    landmarks = Landmarks.of(points[:200], 4, 30, 0.6, rng)
    tallies = landmarks.votes(points[200:]).T @ np.eye(3)[places[200:]]
    found = smoothed(landmarks.votes(points[:200]), tallies, 400, 1.0)
    assert (found.argmax(axis=1) == places[:200]).mean() > 0.98


def test_it_learns_without_a_label_of_a_public_image_and_all_looks_are_paid_for() -> None:
    private, public, test = bars(600), unlabelled(bars(300, seed=1)), bars(90, seed=2)
    budget = Budget(8.0, 1e-5, unsafe_noise_seed=1)
    made = NeighbourPATE.from_settings(**{**QUICK, "unsafe_noise_seed": None}).fit(private, public, budget=budget)
    assert made.score(test) > 0.9
    assert [(type(event), getattr(event, "count", 0)) for event in budget.events] == [(GaussianEvent, 2)]
    assert 7.9 < budget.spent().epsilon <= 8.0
    other = ImageDataset(public.images, np.arange(300) % 3, public.classes)
    again = NeighbourPATE.from_settings(**QUICK)
    np.testing.assert_array_equal(
        again.fit(private, other).predict_proba(test), again.fit(private, public).predict_proba(test)
    )


def test_a_blank_image_says_nothing_and_a_blank_public_one_is_left_out() -> None:
    private, public = bars(120), unlabelled(bars(60, seed=1))
    labels = np.append(private.labels, BLANK)
    pixels = [np.concatenate([private.images, np.full((1, 8, 8), value, np.uint8)]) for value in (0, 255)]
    made = [
        NeighbourPATE.from_settings(**{**QUICK, **FEW}).fit(ImageDataset(images, labels, private.classes), public)
        for images in pixels
    ]
    np.testing.assert_array_equal(made[0].predict_proba(private), made[1].predict_proba(private))
    shown = ImageDataset(
        np.concatenate([public.images, np.full((1, 8, 8), 255, np.uint8)]), np.append(public.labels, BLANK), public.classes
    )  # fmt: skip
    one, two = (NeighbourPATE.from_settings(**{**QUICK, **FEW}).fit(private, given) for given in (public, shown))
    np.testing.assert_array_equal(one.predict_proba(private), two.predict_proba(private))


def halves(images: Any) -> Any:
    """What another public function may see: how bright the halves are, and numbers that are none where an image is black."""
    left = images[:, :, :4].mean(axis=(1, 2, 3))
    return jnp.stack([left, 1 / left, images.mean(axis=(1, 2, 3)) - images.mean()], axis=1)


def test_other_public_features_look_at_each_image_alone_and_are_finite() -> None:
    pictures = np.concatenate([bars(6).images, np.zeros((1, 8, 8), np.uint8)])[..., None] / np.float32(255)
    see = Sight(halves)
    seen = see(pictures)
    assert np.isfinite(seen).all()
    np.testing.assert_array_equal(seen[:3], see(pictures[:3]))
    np.testing.assert_allclose(seen[:, 2], 0, atol=1e-6)  # the mean over images is that of one
    public = unlabelled(bars(60, seed=1))
    made = NeighbourPATE.from_settings(**{**QUICK, **FEW}).fit(bars(90), public, features=halves)
    assert any("which was given" in said for said in made.certificate_.body["assumed_public"])
    budget = Budget(8.0, 1e-5)
    with pytest.raises(InputError, match=r"shape \(1,\) of one picture"):
        NeighbourPATE.from_settings(**{**QUICK, "unsafe_noise_seed": None}).fit(
            bars(90), public, features=lambda images: images.mean(axis=(1, 2, 3)), budget=budget
        )
    assert not budget.events


def test_numbers_too_large_for_the_features_are_not_warned_of() -> None:
    """A warning would say that there is such a private image. In double precision a black one's number is beyond a single one."""
    with jax.enable_x64(True), warnings.catch_warnings(action="error"):
        seen = Sight(lambda images: 1 / (images.astype(np.float64).mean(axis=(1, 2, 3))[:, None] + 1e-200))(
            np.zeros((2, 8, 8, 1), np.float32)
        )
    np.testing.assert_array_equal(seen, [[1e6], [1e6]])


def test_what_is_released_predicts_the_same(tmp_path: Path) -> None:
    data = bars(150)
    given = {**QUICK, **FEW, "upright": True, "unsafe_noise_seed": None}
    made = NeighbourPATE.from_settings(**given).fit(data, unlabelled(bars(60, seed=1)))
    made.save(tmp_path / "release")
    back = understudy.load(tmp_path / "release")
    assert isinstance(back, NeighbourPATE)
    np.testing.assert_allclose(back.predict_proba(data), made.predict_proba(data), atol=1e-6)
    assert set(back.predict(data)) <= set(data.classes)
    assert back.certificate_.verify() <= 8.0
    assert any("60 public images" in said for said in back.certificate_.body["assumed_public"])
    with pytest.raises(InputError, match="images of shape"):
        back.predict(bars(9, side=12))


@pytest.mark.parametrize(
    ("data", "public", "said"),
    [
        (bars(60), bars(60, side=12), "one size"),
        (bars(60), bars(6), "12 at least"),
        (bars(60, side=7), bars(60, side=7), "too small"),
        (bars(60), np.zeros((60, 8, 8)), "ImageDataset"),
    ],
)
def test_what_cannot_be_learnt_is_refused_and_costs_nothing(data: Any, public: Any, said: str) -> None:
    budget = Budget(8.0, 1e-5)
    with pytest.raises(InputError, match=said):
        NeighbourPATE.from_settings(**{**QUICK, "unsafe_noise_seed": None}).fit(data, public, budget=budget)
    assert not budget.events


@pytest.mark.slow
def test_digits_are_learnt_from_unlabelled_ones() -> None:
    train, test = digits()
    shown = unlabelled(test)
    made = NeighbourPATE.from_settings(**{**QUICK, "epsilon": 20.0, "width": 16, "first_steps": 400, "steps": 400})
    assert made.fit(train, shown).score(test) > 0.85
