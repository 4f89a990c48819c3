"""G-PATE, DP-GAN and GAN on images, end to end on scikit-learn's digits: learnt, paid for, resumed, released."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import understudy
from understudy import ImageDPGAN, ImageGAN, ImageGPATE
from understudy.cli.app import main
from understudy.errors import BudgetExceeded, InputError
from understudy.images import ImageDataset, read_npz, write_npz
from understudy.images.basis import dct_basis
from understudy.learn import discriminators as d
from understudy.learn.partition import shards
from understudy.learn.picture_networks import patches
from understudy.learn.teachers import TeacherAxis, one_device
from understudy.methods.gpate import PUBLISHED_IMAGES
from understudy.methods.image_moments.sampler import within
from understudy.privacy import Budget

# One set of sizes for all tests of G-PATE, so that its programs are compiled once.
SMALL: dict[str, Any] = {
    **{"epsilon": 8.0, "teachers": 10, "iterations": 3, "batch": 8, "first_steps": 4, "teacher_steps": 2},
    **{"teacher_batch": 8, "teacher_kernels": 2, "teacher_hidden": (4,), "generator_hidden": (4,), "random_state": 0},
    **{"released_frequencies": 3, "start.frequencies": 4},
}


def digits(number: int = 600) -> ImageDataset:
    both: Any = load_digits()
    images = np.rint(both.images * 255 / 16).astype(np.uint8)
    return ImageDataset(images[:number], both.target[:number], tuple("0123456789"))


def fitted(**changes: Any) -> ImageGPATE:
    return ImageGPATE.from_settings(**{**SMALL, **changes}).fit(digits())


# ---- what leaves, and what it costs ----------------------------------------------------------------------------------


def test_a_release_is_paid_for_and_comes_back_the_same(tmp_path: Path) -> None:
    generator = fitted()
    certificate = generator.certificate_
    assert 7.9 < certificate.verify() <= 8.0
    assert certificate.body["unit"] == "image"
    # The start's five looks and the directions; nothing else left.
    assert [event.count for event in certificate.events] == [1, 1, 1, 1, 1, 1, 1, 1, 3]
    generator.save(tmp_path / "release")
    back = understudy.load(tmp_path / "release")
    made = generator.sample(40, 3)
    assert np.array_equal(back.sample(40, 3).images, made.images)
    assert np.array_equal(np.bincount(made.labels), np.full(10, 4))
    assert set(generator.sample(5, 0, labels=np.full(5, 7)).labels) == {7}
    with pytest.raises(InputError, match="`labels` must be 5"):
        generator.sample(5, labels=np.full(5, 10))


def run(*args: object) -> int:
    try:
        main([str(one) for one in args])
    except SystemExit as error:
        return int(error.code or 0)
    return 0


def test_the_command_writes_images_a_picture_and_a_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = tmp_path / "digits.npz", tmp_path / "gen"
    write_npz(digits(), data)
    own = ("epsilon", "teachers", "iterations", "random_state")
    settings = [f"--set={name}={json.dumps(value)}" for name, value in SMALL.items() if name not in own]
    options = ("--epsilon", 8, "--teachers", 10, "--iterations", 3, "--rows", 30, "--json", *settings)
    assert run("synthesize", data, "--method", "gpate", "--out", out, *options) == 0
    assert json.loads(capsys.readouterr().out)["method"] == "image-gpate"
    assert len(read_npz(out / "records.npz")) == 30
    assert (out / "records.png").stat().st_size > 0
    assert not (tmp_path / "gen.private").exists()
    assert run("verify", out) == 0
    assert run("sample", out, "--rows", 20, "--out", tmp_path / "more.npz") == 0
    assert read_npz(tmp_path / "more.npz").shape == (8, 8)
    for wrong in (("--target", "y"), ("--method", "nothing"), ("--method", "moments", "--resume")):
        assert run("synthesize", data, "--out", tmp_path / "no", *wrong) == 2
    assert not (tmp_path / "no").exists()


def test_noise_that_does_not_fit_is_refused_before_the_start_is_bought() -> None:
    budget = Budget(1.0, 1e-5)
    with pytest.raises(BudgetExceeded):
        ImageGPATE.from_settings(**{**SMALL, "noise": 0.5}).fit(digits(), budget=budget)
    assert budget.events == ()


@pytest.mark.parametrize("changes", [{"start.frequencies": 9}, {"teachers": 601}, {"teacher_hidden": ()}])
def test_what_does_not_fit_the_images_is_refused_before_anything_is_spent(changes: dict[str, Any]) -> None:
    budget = Budget(1.0, 1e-5)
    with pytest.raises(InputError):
        ImageGPATE.from_settings(**{**SMALL, **changes}).fit(digits(), budget=budget)
    assert budget.events == ()


@pytest.mark.slow
def test_published_votes_are_marked_unsafe_with_the_unconditional_epsilon_beside_them() -> None:
    settings = {**SMALL, **PUBLISHED_IMAGES, "teacher_kernels": 2, "teacher_hidden": (4,), "dimensions": 2, "bins": 4}
    published = {"mode": "as-published", "noise": 4.0, "epsilon": 1e6, "threshold": 0.2, "threshold_ratio": 1.0}
    generator = ImageGPATE.from_settings(**{**settings, **published, "iterations": 2}).fit(digits())
    assert "data-dependent" in generator.certificate_.unsafe[0]
    # The paper counts k queries an iteration; m k were made.
    assert generator.certificate_.epsilon > generator.facts_["data_dependent_epsilon"]
    assert generator.certificate_.events[0].count == 2 * 8 * 2  # type: ignore[union-attr]
    assert generator.sample(10, 0).shape == (8, 8)


# ---- learning --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_without_noise_directions_improve_on_the_start() -> None:
    real: Any = load_digits()
    unseen, truth = real.images[1300:].reshape(-1, 64) / 16, real.target[1300:]
    given = {"epsilon": 1e5, "teachers": 10, "first_steps": 30, "unsafe_noise_seed": 0, "random_state": 0}

    def accuracy(iterations: int, rate: float) -> float:
        more = {"start.epsilon_share": 5e-5, "iterations": iterations, "learning_rate": rate, "caution": 1.0}
        made = ImageGPATE.from_settings(**given, **more).fit(digits(1300)).sample(3000, 0)
        judge = KNeighborsClassifier(3).fit(made.flat(), made.labels)
        return float(judge.score(unseen, truth))

    assert accuracy(200, 3e-3) > accuracy(1, 1e-9) + 0.005


def test_a_run_that_was_cut_off_goes_on_to_the_same_generator(tmp_path: Path) -> None:
    def fit(name: str, stop_after: int | None) -> ImageGPATE:
        def stop(progress: Any) -> None:
            if progress.iteration == stop_after:
                raise RuntimeError("power cut")

        generator = ImageGPATE.from_settings(**SMALL, unsafe_noise_seed=5)
        place = tmp_path / f"{name}.private"
        return generator.fit(
            digits(), workspace=place, resume=True, progress=stop, checkpoint_seconds=0, shown=shown.append
        )

    shown: list[ImageDataset] = []

    with pytest.raises(RuntimeError, match="power cut"):
        fit("cut", 2)
    whole, resumed = fit("whole", None), fit("cut", None)
    assert [one.images.shape for one in shown] == [(100, 8, 8)] * 6  # two, three, and the one that was left
    assert np.array_equal(shown[-1].images, shown[-2].images)
    assert resumed.certificate_.events == whole.certificate_.events
    assert resumed.history_ == whole.history_
    for a, b in zip(resumed.model_.arrays().values(), whole.model_.arrays().values(), strict=True):
        assert np.array_equal(a, b)
    other = digits()
    other.images[0] = 0
    with pytest.raises(InputError, match="another run"):
        ImageGPATE.from_settings(**SMALL, unsafe_noise_seed=5).fit(
            other, workspace=tmp_path / "cut.private", resume=True
        )


@pytest.mark.slow
def test_dpgan_and_gan_of_the_paper_run(tmp_path: Path) -> None:
    sizes = {"iterations": 1, "critic_steps": 1, "batch": 50, "fakes": 8, "start.networks": "published"}
    private = ImageDPGAN.from_settings(epsilon=2.0, random_state=0, **sizes).fit(digits())
    assert 1.9 < private.certificate_.verify() <= 2.0
    private.save(tmp_path / "dpgan")
    assert np.array_equal(understudy.load(tmp_path / "dpgan").sample(10, 0).images, private.sample(10, 0).images)
    ceiling = ImageGAN.from_settings(iterations=1, critic_steps=1, batch=10, teacher_kernels=2, critic_hidden=(4,)).fit(
        digits()
    )
    with pytest.raises(InputError, match="not private"):
        ceiling.certificate_.verify()


# ---- parts -----------------------------------------------------------------------------------------------------------


def test_patches_are_those_of_a_convolution() -> None:
    rng = np.random.default_rng(0)
    images, kernel = rng.normal(size=(2, 7, 6, 3)).astype(np.float32), rng.normal(size=(4, 75)).astype(np.float32)
    seen = patches(jnp.asarray(images)) @ kernel.T
    shaped = jnp.asarray(kernel.reshape(4, 5, 5, 3).transpose(1, 2, 3, 0))
    wanted = jax.lax.conv_general_dilated(
        jnp.asarray(images), shaped, (2, 2), ((2, 2), (2, 2)), dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    assert np.allclose(seen.reshape(wanted.shape), wanted, atol=1e-4)


def test_what_is_cut_off_may_come_back_and_go_no_further() -> None:
    values = jnp.array([-0.5, 0.5, 1.5])
    for sign, wanted in ((1.0, [0.0, 1.0, 1.0]), (-1.0, [-1.0, -1.0, 0.0])):
        assert jax.grad(lambda x, s=sign: s * within(x).sum())(values).tolist() == wanted


@pytest.mark.slow
def test_light_moments_hardly_change_what_teachers_say() -> None:
    data, rng = digits(200), np.random.default_rng(0)
    records = np.concatenate([data.flat(), np.eye(10)[data.labels]], axis=1).astype(np.float32)
    fakes = d.Fakes(
        jnp.asarray(rng.random((6, 8, 74)), jnp.float32), jnp.asarray(rng.integers(0, 10, (6, 8)), jnp.int32),
        *(jnp.asarray(rng.random((6, 8)), jnp.float32) for _ in range(2)),
    )  # fmt: skip

    def said(light: bool) -> np.ndarray:
        axis = TeacherAxis(4, one_device())
        plan = d.Discriminators(axis, 74, (4,), 0.01, picture=d.Picture((8, 8, 1), 2, light))
        rows = d.deal_rows(records, data.labels.astype(np.int32), shards(200, 4, seed=0), axis, 10)
        teachers = d.train_teachers(plan, d.start_teachers(plan, (0, 0)), rows, fakes)
        kinds = {leaf.dtype.name for leaf in jax.tree.leaves(teachers.opt_state)}
        assert ("bfloat16" in kinds) == light
        lens = jnp.asarray(dct_basis((8, 8), 3))
        form = (None, tuple(range(64)))
        return np.asarray(d.sum_directions(plan, form, teachers, rows.counts, *(part[0] for part in fakes[:2]), lens))

    whole, light = said(False).astype(float), said(True).astype(float)
    assert whole @ light > 0.99 * np.linalg.norm(whole) * np.linalg.norm(light)
