"""DP-MERF and DP-HP: features are as long as they say, means are what is released, and a trained generator has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from understudy import DPHP, DPMERF, load
from understudy.errors import InputError
from understudy.learn.adversarial import Heads
from understudy.methods.dphp import HermiteFeatures, hermite
from understudy.methods.dpmerf import FourierFeatures
from understudy.methods.embeddings import EmbeddingGenerator, Features
from understudy.privacy import Budget, ClippedSum, GaussianEvent
from understudy.tables import Column, Schema, validate_frame

# Two numbers, the second of which may be missing, a category of three, and a class of two.
HEADS = Heads(8, one_hot=((3, 6), (6, 8)), missing=((1, 2),))
LABEL = (6, 8)
FEATURES: dict[str, Features] = {
    "fourier": FourierFeatures(HEADS, LABEL, 7, 1.0, 0),
    "hermite": HermiteFeatures(HEADS, LABEL, 10, 3, ((0, 1),), 0.5),
    "hermite, sum kernel": HermiteFeatures(HEADS, LABEL, 10, 3, (), 0.5),
    "no numbers": FourierFeatures(Heads(5, one_hot=((0, 3), (3, 5))), (3, 5), 7, 1.0, 0),
    "numbers alone": HermiteFeatures(Heads(2), None, 6, 2, ((0, 1),), 0.3),
    "nothing": FourierFeatures(Heads(2, one_hot=((0, 2),)), (0, 2), 7, 1.0, 0),
}
SCHEMA = Schema(
    (
        Column("x", "continuous", bounds=(-10, 10)),
        Column("y", "continuous", bounds=(-10, 10), nullable=True),
        Column("ward", "categorical", categories=("n", "s")),
        Column("sick", "boolean"),
    ),
    "sick",
)
METHODS: dict[str, type[EmbeddingGenerator]] = {"dpmerf": DPMERF, "dphp": DPHP}


def records(heads: Heads, rows: int = 500) -> np.ndarray:
    rng = np.random.default_rng(0)
    made = np.zeros((rows, heads.width), dtype=np.float32)
    made[:, heads.numbers] = rng.normal(0, 2, (rows, int(heads.numbers.sum())))
    for start, stop in heads.one_hot:
        made[np.arange(rows), rng.integers(start, stop, rows)] = 1
    for number, flag in heads.missing:
        made[:, flag] = rng.random(rows) < 0.2
        made[made[:, flag] == 1, number] = 0
    return made


def table(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sick = rng.random(rows) < 0.4
    x = rng.normal(3.0 * sick, 1.0)
    y = np.where(rng.random(rows) < 0.1, np.nan, x + rng.normal(0, 0.5, rows))
    return pd.DataFrame(
        {
            "x": np.clip(x, -10, 10),
            "y": np.clip(y, -10, 10),
            "ward": np.where(rng.random(rows) < 0.2 + 0.6 * sick, "n", "s"),
            "sick": sick,
        }
    )


@pytest.mark.parametrize("name", FEATURES)
def test_no_record_is_longer_than_the_norm(name: str) -> None:
    features: Any = FEATURES[name]
    made = np.asarray(features(jnp.asarray(records(features.heads))))
    assert made.shape == (500, features.dimension)
    longest = np.linalg.norm(made, axis=1).max()
    assert longest <= features.norm * (1 + 1e-5)
    assert longest > 0.5 * features.norm or name == "nothing"


def test_hermite_features_make_a_gaussian_kernel() -> None:
    """Mehler's formula, with as many orders as it takes."""
    x, decay = np.linspace(-2, 2, 9, dtype=np.float32), 0.4
    each = np.asarray(hermite(jnp.asarray(x), 60, decay))
    kernel = np.exp(-decay / (1 - decay**2) * (x[:, None] - x) ** 2)
    assert np.allclose(each @ each.T, kernel, atol=1e-4)


def test_fourier_features_make_about_a_gaussian_kernel() -> None:
    features = FourierFeatures(Heads(2), None, 4000, 1.0, 0)
    x = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    made = np.asarray(features(jnp.asarray(x)))
    squares = ((x[:, None] - x) ** 2).sum(axis=2)
    assert np.allclose(made @ made.T, np.exp(-squares / (2 * 4.0)), atol=0.06)


def test_sums_of_groups_are_charged_once_and_exact() -> None:
    budget = Budget(1000.0, 1e-5)
    rows = np.array([[0.6, 0.8], [3.0, 4.0], [1.0, 0.0], [9.0, 9.0]])
    group = np.array([0, 0, 1, -1])
    mechanism = ClippedSum(1.0, 0.05, 2.0**-10)
    share = np.ones(4)
    parts = [(rows[:2], group[:2], share[:2]), (rows[2:], group[2:], share[2:])]
    noisy = mechanism.release_groups(parts, 2, 2, budget)
    assert budget.events == (GaussianEvent(0.05, noise="discrete"),)
    assert np.allclose(noisy, [[1.2, 1.6], [1.0, 0.0]], atol=0.4)
    assert np.allclose(noisy * 2**10, np.rint(noisy * 2**10))
    with pytest.raises(InputError, match="grid"):
        ClippedSum(1.0, 1.0).release_groups([(rows, group, share)], 2, 2, budget)
    with pytest.raises(InputError, match="rows of 3 numbers"):
        mechanism.release_groups([(rows, group, share)], 3, 2, budget)
    with pytest.raises(InputError, match="share of a record"):
        mechanism.release_groups([(rows, group, 2 * share)], 2, 2, budget)


@pytest.fixture(scope="module", params=sorted(METHODS))
def fitted(request: pytest.FixtureRequest) -> EmbeddingGenerator:
    given: dict[str, Any] = {"frequencies": 60} if request.param == "dpmerf" else {"order": 8, "products": 1}
    given |= {"epsilon": 8.0, "steps": 600, "batch": 100, "random_state": 0, "unsafe_noise_seed": 0}
    return METHODS[request.param].from_settings(**given).fit(table(), schema=SCHEMA)


def test_its_rows_fit_the_schema_and_go_together(fitted: EmbeddingGenerator) -> None:
    rows = fitted.sample(4000, random_state=0)
    validate_frame(rows, SCHEMA)
    real = table()
    assert float(rows.sick.mean()) == pytest.approx(0.4, abs=0.05)
    apart = [float(one[one.sick].x.mean() - one[~one.sick].x.mean()) for one in (rows, real)]
    assert apart[0] == pytest.approx(apart[1], abs=0.8)
    north = [float((one[one.sick].ward == "n").mean()) for one in (rows, real)]
    assert north[0] == pytest.approx(north[1], abs=0.12)
    there = rows.dropna()
    assert np.corrcoef(there.x, there.y)[0, 1] > 0.6


def test_one_look_is_all_that_is_charged_beside_the_coordinates(fitted: EmbeddingGenerator) -> None:
    noise = fitted.facts_["noise"]
    looks = [e for e in fitted.certificate_.events if isinstance(e, GaussianEvent) and e.noise_multiplier == noise]
    assert len(looks) == 1
    assert looks[0].count == 1
    assert fitted.certificate_.epsilon <= 8.0


def test_a_release_draws_the_same_rows_from_the_disk(fitted: EmbeddingGenerator, tmp_path: Path) -> None:
    fitted.save(tmp_path / "out")
    pd.testing.assert_frame_equal(load(tmp_path / "out").sample(50, random_state=3), fitted.sample(50, random_state=3))
