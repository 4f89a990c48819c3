"""One look, then images for a ConvNet: releases, refusals, and that all but the look is free."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

sys.path.append(str(Path(__file__).parent.parent / "images"))
from small_images import bars  # pyright: ignore[reportMissingImports]

import understudy
from understudy import ImageMoments, OneLookConvNet
from understudy.errors import InputError
from understudy.images import ImageDataset, write_npz
from understudy.images.deform import Affine
from understudy.images.files import write_arrays
from understudy.methods.distillation.correction import Correcting
from understudy.methods.distillation.matching import Deformation, Matching, folded, match_samples, unfolded
from understudy.privacy import Budget

QUICK: dict[str, Any] = {
    "steps": 50, "batch": 8, "samples": 40, "teachers": 1, "teacher_steps": 100, "train_steps": 100, "width": 4, "frequencies": 4,
    "parts": 1, "correct_share": 0.0, "random_state": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def made() -> OneLookConvNet:
    return OneLookConvNet.from_settings(epsilon=8.0, delta=1e-5, per_class=2, unsafe_noise_seed=1, **QUICK).fit(
        bars(300)
    )


def test_images_are_distilled_with_soft_labels(made: OneLookConvNet) -> None:
    assert made.distilled_.images.shape == (6, 8, 8)
    assert made.distilled_.images.dtype == np.uint8
    labels = np.asarray(made.support_.labels)
    np.testing.assert_allclose(labels.sum(axis=1), 0, atol=1e-4)
    assert len(np.unique(labels)) > len(labels)  # more than one-hot


def test_another_program_trains_on_what_was_released(made: OneLookConvNet, tmp_path: Path) -> None:
    given = made.training_set()
    assert given["images"].shape == (6, 8, 8)
    np.testing.assert_allclose(given["targets"].sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(given["targets"].argmax(axis=1), made.distilled_.labels)
    assert not given["mixed"]
    assert made.set_params(network__mixed=True).training_set()["mixed"]
    made.set_params(network__mixed=False)
    write_arrays(given | {"steps": np.array(60), "mixed": np.array(True)}, tmp_path / "training.npz")
    write_npz(bars(90, 3), tmp_path / "test.npz")
    program = Path(__file__).parents[2] / "docs" / "examples" / "train_jax.py"
    said = subprocess.run(
        [sys.executable, program, tmp_path / "training.npz", tmp_path / "test.npz"], capture_output=True, text=True
    )
    assert said.returncode == 0, said.stderr
    assert 0 <= float(said.stdout.split()[-1]) <= 1


@pytest.mark.slow
def test_the_predictor_is_a_network_trained_on_the_released_bytes() -> None:
    settings: dict[str, Any] = QUICK | {"teacher_steps": 500, "train_steps": 500, "width": 8}
    made = OneLookConvNet.from_settings(epsilon=8.0, delta=1e-5, per_class=2, unsafe_noise_seed=1, **settings).fit(
        bars(300)
    )
    np.testing.assert_allclose(made.distilled_.flat(), np.asarray(made.support_.points), atol=1e-6)
    shares = made.predict_proba(bars(30, 3))
    assert shares.shape == (30, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    assert made.score(bars(300, 3)) > 0.5


def test_the_whole_cost_is_that_of_the_look(made: OneLookConvNet) -> None:
    look = ImageMoments(8.0, 1e-5, frequencies=4, edges=0.0, random_state=0, unsafe_noise_seed=1).fit(bars(300))
    assert made.certificate_.body["events"] == look.certificate_.body["events"]
    assert made.certificate_.epsilon <= 8.0
    assert made.certificate_.body["release"]["post_processing_of"] == "generator/image-moments"


def test_what_follows_the_look_sees_no_record(made: OneLookConvNet) -> None:
    """The same release gives the same images, whatever the records were."""
    look = ImageMoments(8.0, 1e-5, frequencies=4, edges=0.0, random_state=0, unsafe_noise_seed=1).fit(bars(300))
    seed = int(np.random.SeedSequence(0).generate_state(1)[0] >> 1)
    again = OneLookConvNet.from_settings(epsilon=8.0, delta=1e-5, per_class=2, **QUICK)
    support = again.distil(again.prepare(look), jax.random.key(seed))
    np.testing.assert_allclose(support.points, made.support_.points, atol=2 / 255)
    np.testing.assert_allclose(support.labels, made.support_.labels, atol=1e-2)


def test_a_release_is_saved_and_read_back(made: OneLookConvNet, tmp_path: Path) -> None:
    made.save(tmp_path / "release")
    again = understudy.load(tmp_path / "release")
    assert isinstance(again, OneLookConvNet)
    np.testing.assert_array_equal(again.distilled_.images, made.distilled_.images)
    np.testing.assert_allclose(again.support_.labels, made.support_.labels)


@pytest.mark.slow
def test_a_look_at_edges_is_paid_for() -> None:
    settings: dict[str, Any] = QUICK | {"edges": 0.5, "mixed": True}
    made = OneLookConvNet.from_settings(epsilon=8.0, delta=1e-5, per_class=2, unsafe_noise_seed=1, **settings).fit(
        bars(300, side=16)
    )
    look = ImageMoments(8.0, 1e-5, frequencies=4, edges=0.5, random_state=0, unsafe_noise_seed=1).fit(
        bars(300, side=16)
    )
    assert made.certificate_.body["events"] == look.certificate_.body["events"]
    assert made.predict_proba(bars(9, 3, side=16)).shape == (9, 3)


@pytest.mark.slow
def test_a_second_fit_forgets_the_first_network() -> None:
    again = OneLookConvNet.from_settings(epsilon=8.0, delta=1e-5, per_class=2, unsafe_noise_seed=2, **QUICK).fit(
        bars(300)
    )
    again.predict(bars(3))
    before = again.learner_
    again.fit(bars(300))
    again.predict(bars(3))
    assert again.learner_ is not before


def test_matching_brings_the_means_of_features_together() -> None:
    """From noise; the sizes are those of the fixture, so that nothing is compiled again."""
    samples = np.stack([bars(120, 5).images[c::3] for c in range(3)])[..., None]
    start = np.random.default_rng(0).uniform(size=(2, 3, 8, 8, 1)).astype(np.float32)
    told: list[float] = []
    found = match_samples(
        jnp.asarray(samples),
        start,
        Deformation(Affine(0.05, 0.05, 0.05, 1.0)),
        Matching(400, 8, 0.05, 1),
        4,
        jax.random.key(0),
        lambda _, __, loss: told.append(loss),
    )
    assert found.min() >= 0
    assert found.max() <= 1
    assert told[-1] < 0.85 * told[0]


@pytest.mark.parametrize("floor", [0.0, 0.3])
def test_a_stretch_of_contrast_stays_in_range(floor: float) -> None:
    images = jnp.linspace(0, 1, 3 * 64).reshape(3, 8, 8, 1)
    out = Deformation(Affine(0, 0, 0, 0), floor, floor).stretched(jax.random.key(0), images)
    assert float(out.min()) >= 0
    assert float(out.max()) <= 1
    assert bool(jnp.allclose(out, images, atol=1e-6)) == (floor == 0)


@pytest.fixture(scope="module")
def twice() -> OneLookConvNet:
    """Two looks; all else as in the other fixture, so that little is compiled again."""
    settings: dict[str, Any] = QUICK | {"correct_share": 0.5}
    return OneLookConvNet.from_settings(epsilon=8.0, delta=1e-5, per_class=2, unsafe_noise_seed=1, **settings).fit(
        bars(300)
    )


@pytest.mark.slow
@pytest.mark.parametrize("labels_by", ["pupils", "teachers", "both"])
def test_an_image_holds_four_pictures_with_labels_of_their_own(labels_by: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = QUICK | {"parts": 2, "correct_share": 0.5, "labels_by": labels_by}
    twice = OneLookConvNet.from_settings(epsilon=8.0, delta=1e-5, per_class=2, unsafe_noise_seed=1, **settings).fit(
        bars(300)
    )
    assert twice.distilled_.images.shape == (6, 8, 8)
    assert np.asarray(twice.support_.labels).shape == (6, 4 * 3)
    assert twice.predict(bars(9)).shape == (9,)
    twice.save(tmp_path / "release")
    again = understudy.load(tmp_path / "release")
    np.testing.assert_allclose(again.support_.labels, twice.support_.labels)
    np.testing.assert_array_equal(again.distilled_.labels, twice.distilled_.labels)


def test_a_second_look_is_paid_for_beside_the_first(twice: OneLookConvNet) -> None:
    look = ImageMoments(4.0, 1e-5, frequencies=4, edges=0.0, random_state=0, unsafe_noise_seed=1).fit(bars(300))
    events = twice.certificate_.body["events"]
    first = look.certificate_.body["events"]
    assert events[: len(first)] == first
    assert [one["mechanism"] for one in events[len(first) :]] == ["subsampled-gaussian"]
    assert events[-1]["steps"] == Correcting().steps
    assert events[-1]["sampling_rate"] == 1.0
    assert 7.9 < twice.certificate_.epsilon <= 8.0
    assert "post_processing_of" not in twice.certificate_.body["release"]


def test_pictures_are_cut_and_enlarged_by_a_fixed_rule() -> None:
    pictures = np.repeat(np.arange(8, dtype=np.float32)[:, None, None, None], 8, 1).repeat(8, 2) / 8
    images = folded(pictures, 2)
    assert images.shape == (2, 8, 8, 1)
    np.testing.assert_allclose(images[1, 4:, :4], 6 / 8)  # the third picture of the second image is below, at the left
    np.testing.assert_allclose(np.asarray(unfolded(jnp.asarray(images), 2)), pictures, atol=1e-6)
    assert np.array_equal(folded(pictures, 1), pictures)
    assert np.array_equal(unfolded(jnp.asarray(pictures), 1), pictures)


def _refused(match: str, data: Any = None, **settings: Any) -> None:
    distiller = OneLookConvNet.from_settings(per_class=2, **(QUICK | settings))
    budget = Budget(8.0, 1e-5)
    with pytest.raises(InputError, match=match):
        distiller.fit(bars(60) if data is None else data, budget=budget)
    assert not budget.events


@pytest.mark.parametrize(
    "settings",
    [
        {"teachers": 0},
        {"width": 0},
        {"train_steps": 0},
        {"teacher_steps": 0},
        {"softness": 0.0},
        {"stretch": 1.0},
        {"samples": 1},
        {"samples": 7, "parts": 2},
        {"parts": 0},
        {"parts": 3},
        {"correct_share": 1.0},
        {"labels_by": "nobody"},
    ],
)
def test_settings_that_make_no_sense_cost_nothing(settings: dict[str, Any]) -> None:
    _refused(f"`{next(iter(settings))}`", **settings)


def test_a_table_is_refused_before_anything_is_drawn() -> None:
    table = pd.DataFrame({"a": [0, 1] * 30, "y": ["u", "v"] * 30})
    with pytest.raises(InputError, match="images"):
        OneLookConvNet.from_settings(epsilon=8.0, delta=1e-5, per_class=2, **QUICK).fit(table, "y")


def test_small_images_are_refused_before_anything_is_drawn() -> None:
    tiny = ImageDataset(np.zeros((60, 6, 9), np.uint8), np.arange(60) % 2, ("a", "b"))
    _refused("too small", tiny)


def test_asking_before_fitting_is_an_error() -> None:
    with pytest.raises(InputError, match="Call `fit` first"):
        OneLookConvNet().predict(bars(3))
