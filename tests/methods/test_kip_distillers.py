"""Distillers end to end: releases, refusals, and the mistakes that public code of these methods makes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

sys.path.append(str(Path(__file__).parent.parent / "images"))
from small_images import bars  # pyright: ignore[reportMissingImports]

import understudy
from understudy import ImageMoments, OneLookConvNet
from understudy.errors import InputError
from understudy.learn.kernels import ReLUKernel
from understudy.learn.krr import one_hot
from understudy.methods.distillation import DPKIP, KIP, OneLook, dpkip
from understudy.methods.distillation.training import Support, distil_privately
from understudy.privacy import Budget, PoissonGaussianStep, PrepaidSteps, SubsampledGaussianEvent
from understudy.tables import Schema
from understudy.tables.column import Column

ROWS = 400


def _table(rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    return pd.DataFrame(
        {
            "a": np.clip(0.3 + 0.4 * y + 0.1 * rng.normal(size=rows), 0, 1),
            "b": rng.uniform(size=rows),
            "c": np.where(rng.uniform(size=rows) < 0.2 + 0.6 * y, "u", "v"),
            "y": np.where(y, "yes", "no"),
        }
    )


def _schema() -> Schema:
    columns = (
        Column("a", "continuous", bounds=(0.0, 1.0)),
        Column("b", "continuous", bounds=(0.0, 1.0)),
        Column("c", "categorical", categories=("u", "v")),
        Column("y", "categorical", categories=("no", "yes")),
    )
    return Schema(columns, target="y")


QUICK: dict[str, Any] = {"batch": 50, "random_state": 0}


@pytest.mark.slow
def test_a_table_is_distilled_released_and_read_back(tmp_path: Path) -> None:
    made = DPKIP.from_settings(epsilon=8.0, delta=1e-5, per_class=3, epochs=20, unsafe_noise_seed=1, **QUICK).fit(
        _table(), "y", _schema()
    )
    assert list(made.distilled_.columns) == ["a", "b", "c", "y"]
    assert made.distilled_["y"].value_counts().to_dict() == {"yes": 3, "no": 3}
    assert set(made.distilled_["c"]) <= {"u", "v"}
    assert made.distilled_["a"].between(0, 1).all()
    fresh = _table(300, 1)
    assert made.score(fresh) > 0.8
    made.save(tmp_path / "release")
    back = understudy.load(tmp_path / "release")
    assert list(back.predict(fresh.drop(columns="y"))) == list(made.predict(fresh))
    np.testing.assert_allclose(back.predict_proba(fresh).sum(axis=1), 1, rtol=1e-5)
    assert back.certificate_.epsilon <= 8
    run = next(e for e in back.certificate_.events if isinstance(e, SubsampledGaussianEvent))
    assert (run.steps, run.sampling_rate) == (160, 50 / ROWS)


def test_one_look_at_a_table_is_post_processing_of_its_generator() -> None:
    made = OneLook.from_settings(epsilon=8.0, delta=1e-5, per_class=3, steps=100, samples=300, **QUICK).fit(
        _table(), "y", _schema()
    )
    assert made.score(_table(300, 1)) > 0.7
    release = made.certificate_.body["release"]
    assert (release["method"], release["post_processing_of"]) == ("one-look", "generator/moments")
    assert made.certificate_.verify() <= 8
    # One look pays for both, and a report can see that it was one: the promises are the same to the moment.
    generator = {**made.generator_.certificate_.body, "release": release}
    assert made.certificate_.body == generator


def test_kip_is_good_and_says_that_it_is_not_private() -> None:
    made = KIP.from_settings(per_class=3, steps=400, **QUICK).fit(_table(), "y", _schema())
    assert made.score(_table(300, 1)) > 0.8
    with pytest.raises(InputError, match="not private"):
        made.certificate_.verify()


@pytest.fixture(scope="module")
def images_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images") / "release"
    made = OneLook.from_settings(
        epsilon=8.0,
        delta=1e-5,
        per_class=2,
        steps=50,
        deform=False,
        refine_share=0.3,
        refine_epochs=1,
        refine_batch=50,
        **QUICK,
    ).fit(bars(900))
    made.save(folder)
    return folder


@pytest.mark.slow
def test_images_are_distilled_with_a_share_for_real_ones(images_release: Path) -> None:
    made = understudy.load(images_release)
    assert made.distilled_.images.shape == (6, 8, 8)
    assert made.score(bars(300, 1)) > 0.8
    assert 7.5 < made.certificate_.verify() <= 8
    kinds = {type(event).__name__ for event in made.certificate_.events}
    assert {"GaussianEvent", "SubsampledGaussianEvent"} <= kinds


# ---- mistakes of public code, each of which must show -----------------------------------------------------------


def test_the_start_holds_nothing_of_the_data() -> None:
    """The same seed starts at the same points whatever the records are, and those are a standard Gaussian's."""
    starts = []

    def keep(kernel: Any, ridge: Any, points: Any, targets: Any, present: Any, start: Support, *rest: Any) -> Support:
        del kernel, ridge, points, targets, present, rest
        starts.append(np.asarray(start.points))
        return start

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dpkip, "distil_privately", keep)
        for data in (bars(300), bars(300, 5)):
            DPKIP.from_settings(epsilon=1.0, delta=1e-5, per_class=10, epochs=1, **QUICK).fit(data)
    assert np.array_equal(*starts)
    assert starts[0].std() == pytest.approx(1, abs=0.05)


class _Recording(PrepaidSteps):
    """Real steps that remember what went in and out."""

    def __init__(self, *args: Any, **kinds: Any) -> None:
        super().__init__(*args, **kinds)
        self.batches: list[np.ndarray] = []
        self.sums: list[np.ndarray] = []
        self.noise: list[np.ndarray] = []

    def batch(self) -> np.ndarray:
        self.batches.append(super().batch())
        return self.batches[-1]

    def release(self, clipped_sum: Any, records: int) -> np.ndarray:
        noisy = super().release(clipped_sum, records)
        self.sums.append(np.asarray(clipped_sum))
        self.noise.append(noisy - clipped_sum)
        return noisy


def _run(present: np.ndarray, steps: int = 40, seed: int | None = None) -> tuple[_Recording, Support]:
    data = bars(600)
    start = Support(jax.random.normal(jax.random.key(0), (6, 64)), jnp.asarray(one_hot(np.arange(6) % 3, 3)))
    budget = Budget(100.0, 1e-2, unsafe_noise_seed=seed)
    paid = _Recording(PoissonGaussianStep(0.01, 2.0, 0.05), steps, 600, 600, budget)
    found = distil_privately(
        ReLUKernel(64), 1e-3, data.flat(), one_hot(data.labels, 3), present, start, paid, 1e-2
    )  # fmt: skip
    return paid, found


def test_noise_is_fresh_batches_are_poisson_and_all_steps_are_taken() -> None:
    paid, _ = _run(np.ones(600, dtype=bool))
    noise = np.stack(paid.noise)
    assert noise.std() == pytest.approx(0.02, rel=0.05)
    assert len(np.unique(noise[:, 0])) == 40
    assert np.abs(np.corrcoef(noise) - np.eye(40)).max() < 0.35
    sizes = np.array([len(batch) for batch in paid.batches])
    assert sizes.mean() == pytest.approx(30, abs=4)
    assert 12 < sizes.var() < 60  # 28.5 for Poisson sampling, 0 for batches of one size
    assert paid.used == paid.steps == 40
    assert all(np.linalg.norm(s) <= 0.01 * len(b) for s, b in zip(paid.sums, paid.batches, strict=True))


def test_blanked_records_contribute_nothing_and_one_record_no_more_than_the_clip() -> None:
    nobody, _ = _run(np.zeros(600, dtype=bool), 3)
    assert all(np.all(total == 0) for total in nobody.sums)
    everybody, _ = _run(np.ones(600, dtype=bool), 1, seed=4)
    member = int(everybody.batches[0][0])
    without, _ = _run(np.arange(600) != member, 1, seed=4)
    assert 0 < np.linalg.norm(everybody.sums[0] - without.sums[0]) <= 0.01 * (1 + 1e-6)


def test_the_seed_of_the_user_does_not_drive_the_noise() -> None:
    first, second = (np.asarray(_run(np.ones(600, dtype=bool), 2)[1].points) for _ in range(2))
    assert not np.array_equal(first, second)


# ---- refusals, before anything is spent -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [DPKIP, OneLook])
def test_more_records_than_rows_are_refused(kind: Any) -> None:
    with pytest.raises(InputError, match="at most 20"):
        kind.from_settings(per_class=21, batch=10).fit(_table(40), "y", _schema())
    with pytest.raises(InputError, match="at most 10"):
        kind.from_settings(per_class=11, batch=10).fit(bars(30))


def test_tables_without_classes_are_refused() -> None:
    with pytest.raises(InputError, match="target"):
        DPKIP().fit(_table(), None, Schema(_schema().columns))
    with pytest.raises(InputError, match="is a class"):
        DPKIP(batch=50).fit(_table(), "a", _schema())


def test_one_class_is_distilled_like_any_other() -> None:
    single = Schema((*_schema().columns[:3], Column("y", "categorical", categories=("no",))), target="y")
    made = DPKIP(batch=50, epochs=1, per_class=2).fit(_table().assign(y="no"), "y", single)
    assert set(made.predict(_table().drop(columns="y"))) == {"no"}


def test_labels_outside_the_schema_are_blank_rows_unless_somebody_asks() -> None:
    table = _table()
    table.loc[3, "y"] = "maybe"
    assert set(DPKIP(batch=50, epochs=1).fit(table, "y", _schema()).classes_) == set(_schema()["y"].labels)
    with pytest.raises(InputError, match=r"maybe.*Refused because of `strict`"):
        DPKIP(batch=50).fit(table, "y", _schema(), strict=True)


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"batch": 5000}, "at most 400"), ({"per_class": 0}, "per_class"), ({"clip": 0.0}, "clip"), ({"ridge": -1.0}, "ridge"), ({"epsilon": 0.0}, "epsilon"), ({"epochs": 0}, "epochs"), ({"depth": -1}, "depth")],
)  # fmt: skip
def test_wrong_settings_are_refused(settings: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        DPKIP.from_settings(**{"batch": 50, **settings}).fit(_table(), "y", _schema())


def test_refining_is_for_images_and_shares_are_shares() -> None:
    with pytest.raises(InputError, match="refine_share"):
        OneLook(refine_share=0.5).fit(_table(), "y", _schema())
    with pytest.raises(InputError, match="share of epsilon"):
        OneLook(refine_share=1.0).fit(bars(90))
    with pytest.raises(InputError, match="leave `target`"):
        OneLook().fit(bars(90), "y")


def test_nothing_is_predicted_before_the_fit() -> None:
    with pytest.raises(InputError, match="fit"):
        KIP().predict(_table())


# ---- settings and budgets ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [KIP, DPKIP, OneLook, OneLookConvNet, ImageMoments])
def test_settings_are_few_and_scikit_learn_reaches_all_of_them(kind: Any) -> None:
    """At most sixteen names at the top; groups are cloned, not shared."""
    made = kind()
    assert len(made.get_params(deep=False)) <= 16
    again: Any = clone(made)
    deep = made.get_params()
    assert again.get_params().keys() == deep.keys()
    for name in (name for name in deep if "__" in name):
        group = name.partition("__")[0]
        assert getattr(again, group) is not getattr(made, group)
        again.set_params(**{name: "changed"})
        assert again.get_params()[name] == "changed"
        assert made.get_params()[name] == deep[name]


def test_a_given_budget_pays_and_holds_what_was_drawn() -> None:
    budget = Budget(4.0, 1e-5)
    made = OneLook.from_settings(per_class=3, steps=20, samples=50, **QUICK).fit(
        _table(), "y", _schema(), budget=budget
    )
    assert 3.5 < budget.spent().epsilon <= 4.0
    assert made.certificate_.verify() == made.generator_.certificate_.verify() <= 4.0
    assert made.generator_.epsilon == 4.0, "the saved generator says what it was given"


def test_a_schema_that_was_paid_for_is_not_called_public() -> None:
    made = OneLook.from_settings(epsilon=8.0, per_class=2, steps=20, samples=50, **QUICK).fit(_table(3000), "y")
    for certificate in (made.certificate_, made.generator_.certificate_):
        told = " ".join(certificate.body["assumed_public"])
        assert "before it was completed" in told
        assert "bounds" not in told
