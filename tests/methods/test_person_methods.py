"""Persons in the methods beside moments: one teacher each, or clipped together; and what leaves says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from understudy import DPKIP, KIP, OneLook, PATEClassifier, load
from understudy.audit import worlds
from understudy.audit.fitting import fitting
from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.learn.kernels import ReLUKernel
from understudy.methods.distillation.onelook import SampleDescent
from understudy.methods.distillation.training import clipped_sum
from understudy.privacy import Budget
from understudy.privacy.units import PERSON
from understudy.registry import get

FEATURES = ["age", "dose", "ward"]


def _teachers(frame: pd.DataFrame, model: PATEClassifier) -> np.ndarray:
    """What each teacher says of some rows."""
    owner = model.whose(model.schema)
    model.described_ = worlds.SCHEMA
    given = frame[[*FEATURES, "who"]], frame[worlds.TARGET]
    held = model._private(*given, 3, False, owner)
    teachers = model._train_teachers(held, model._dealt(held, 3), 3)
    return np.asarray(teachers.predictions(model.encoder_.encode(worlds.table(50, seed=9)[FEATURES])))


@pytest.mark.parametrize("estimator", [None, "network"])
def test_a_person_moves_one_vote(estimator: Any) -> None:
    """The others go by their own ids: wherever a person's rows stand in the file, and whether there are any."""
    here = worlds.with_extreme_person(worlds.visits(40))
    model = PATEClassifier(12, schema=worlds.VISITS, classes=[False, True], estimator=estimator, n_jobs=1)
    one, two = _teachers(here, model), _teachers(worlds.without_person(here), model)
    changed = np.flatnonzero((one != two).any(axis=1))
    assert len(changed) <= 1
    gone: Any = here[here["who"] != 0].reset_index(drop=True)  # nor does it, where not even the id is left
    assert np.flatnonzero((one != _teachers(gone, model)).any(axis=1)).tolist() in ([], changed.tolist())
    # Dealt by rows, the same person's four rows are four teachers'.
    rows = replace(worlds.SCHEMA)
    pretend = PATEClassifier(12, schema=rows, classes=[False, True], n_jobs=1)
    pretend.described_ = rows
    parts = [
        pretend._private(t[FEATURES], t[worlds.TARGET], 3, False, None) for t in (here, here.where(here["who"] != 0))
    ]
    assert len(set(pretend._dealt(parts[0], 3).owner()[parts[0].present != parts[1].present])) > 1


def test_pate_takes_at_most_so_many_rows_and_says_whose_the_promise_is(tmp_path: Path) -> None:
    frame = worlds.visits(60)
    fitted = fitting(get("pate"), worlds.VISITS, teachers=20, queries=10, n_jobs=1)(frame, Budget(2.0, 1e-5))
    body = fitted.certificate_.body
    assert body["unit"] == PERSON
    assert (body["release"]["persons"], body["release"]["rows_per_person"]) == (60, 4)
    fitted.save(tmp_path / "release")
    again = load(tmp_path / "release")
    assert again.schema.person is None  # what is used has nothing to do with whose rows taught it
    assert (again.predict(frame[FEATURES]) == fitted.predict(frame[FEATURES])).all()


def test_pate_of_an_array_takes_persons_from_a_table() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200), "who": np.arange(200) // 4})
    model = PATEClassifier(20, epsilon=5.0, queries=20, random_state=0, n_jobs=1)
    model.fit(frame, frame["a"] > 0, frame[["a", "b"]].head(50), person="who", rows_per_person=4)
    assert model.certificate_.body["unit"] == PERSON
    assert model.n_features_in_ == 2
    with pytest.raises(InputError, match="fewer rows"):
        PATEClassifier(60).fit(frame, frame["a"] > 0, frame[["a", "b"]], person="who", rows_per_person=4)
    with pytest.raises(InputError, match="`public` is missing"):
        PATEClassifier(20, unsafe_public_from_private=True).fit(frame, frame["a"] > 0, person="who", rows_per_person=4)


def test_a_persons_rows_are_clipped_together() -> None:
    """However long their gradients are, and however alike: never longer than the clip; and not cut where they are short."""
    rng = np.random.default_rng(1)
    each, persons = 5, 6
    with jax.enable_x64(True):
        support, labels = jnp.asarray(rng.normal(size=(4, 3))), jnp.asarray(np.eye(2)[[0, 1, 0, 1]] - 0.5)
        rows = jnp.asarray(np.repeat(rng.normal(size=(persons, 3)), each, axis=0), jnp.float32)  # all alike: the worst
        targets = jnp.asarray(np.repeat(np.eye(2)[rng.integers(0, 2, persons)], each, axis=0) - 0.5, jnp.float32)
        seats, held = np.arange(persons * each, dtype=np.int32), rng.random(persons * each) < 0.8

        def total(shown: np.ndarray, clip: float) -> np.ndarray:
            known = (ReLUKernel(3), 1e-3, support, labels, rows, targets, seats, jnp.asarray(shown))
            return np.asarray(clipped_sum(*known, clip, each), dtype=np.float64)

        for person in range(persons):
            without = held & (seats // each != person)
            assert np.linalg.norm(total(held, 1e-4) - total(without, 1e-4)) <= 1e-4
            whole = float(np.linalg.norm(total(held, 1e9) - total(without, 1e9)))
            clip = 0.5 * whole  # rows that are all alike are cut to the clip exactly
            assert np.linalg.norm(total(held, clip) - total(without, clip)) == pytest.approx(clip, rel=1e-4)


@pytest.mark.parametrize(
    "distiller",
    [
        DPKIP(2.0, 1e-5, 2, epochs=2, batch=150, random_state=0),
        DPKIP(8.0, 1e-5, 2, epochs=2, batch=150, warm_start="moments", random_state=0),
        OneLook(2.0, 1e-5, 2, descent=SampleDescent(steps=4, batch=20, samples=30), random_state=0),
    ],
    ids=["dpkip", "dpkip-warm", "one-look"],
)
def test_distilled_sets_of_persons(distiller: Any, tmp_path: Path) -> None:
    frame = worlds.visits(150)
    distiller.fit(frame, worlds.TARGET, worlds.VISITS)
    body = distiller.certificate_.body
    assert body["unit"] == PERSON
    assert (body["release"]["persons"], body["release"]["rows_per_person"]) == (150, 4)
    assert list(distiller.distilled_.columns) == list(worlds.SCHEMA.names)
    distiller.save(tmp_path / "release")
    assert (load(tmp_path / "release").predict(frame) == distiller.predict(frame)).all()


def test_what_cannot_keep_it_refuses() -> None:
    pictures = ImageDataset(np.zeros((8, 4, 4), np.uint8), np.arange(8) % 2, ("a", "b"))
    with pytest.raises(InputError, match="does not say whose an image is"):
        OneLook().fit(pictures, person="who", rows_per_person=2)
    with pytest.raises(InputError, match="not for a person with several"):
        KIP().fit(worlds.visits(20), worlds.TARGET, worlds.VISITS)
