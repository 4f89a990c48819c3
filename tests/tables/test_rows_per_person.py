"""The most rows of a person, chosen from a paid histogram: what it costs, how far a person moves it, and what follows."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy import DPKIP, PATEClassifier
from understudy.audit import worlds
from understudy.audit.listening import Recorder
from understudy.audit.ratio import moved, precision, ratio
from understudy.audit.replay import replay
from understudy.errors import InputError, UnderstudyWarning
from understudy.methods.moments import MomentsGenerator
from understudy.methods.moments.plan import multiplier
from understudy.methods.pategan import PATEGAN
from understudy.privacy import Budget, GaussianEvent
from understudy.privacy.noise import SystemNoise
from understudy.tables.persons import AUTO, Person
from understudy.tables.rows_per_person import ENDS, SHARE, chosen, with_rows

WHO = Person("who", AUTO)


def table(each: Any) -> pd.DataFrame:
    return pd.DataFrame({"who": np.repeat(np.arange(len(each)), each), "a": 1.0})


@pytest.mark.parametrize("rows", [1, 4, 5, 30, 999, 4000])
def test_a_person_moves_one_count_by_one(rows: int) -> None:
    here = table([rows, *[2] * 50])
    exits: list[Any] = []
    for shown in (here, worlds.without_person(here)):
        budget = Budget(1.0, 1e-5)
        budget.noise = recorder = Recorder(SystemNoise())
        with_rows(shown, WHO, budget)
        exits.append(recorder.exits)
    assert moved(*exits)[0] == pytest.approx(precision(budget.events))
    (event,) = budget.events
    assert isinstance(event, GaussianEvent)
    assert event.integer_unit  # one whole cell: the exact loss is known
    assert event.noise_multiplier == pytest.approx(multiplier(1.0, 1e-5) / math.sqrt(SHARE))


def test_the_number_is_one_that_hardly_anybody_passes() -> None:
    rng = np.random.default_rng(0)
    for most, expected in ((1, 1), (4, 4), (7, 8), (30, 32)):
        frame = table(rng.integers(1, most + 1, 4000))
        found = with_rows(frame, WHO, Budget(2.0, 1e-5, unsafe_noise_seed=1))
        assert found == Person("who", expected)
    assert with_rows(table([3, 3]), Person("who", 5), Budget(1.0)) == Person("who", 5)  # said: nothing is looked at
    assert chosen(np.full(len(ENDS), 1e6), 1.0, 100) == ENDS[-1]
    assert chosen(np.zeros(len(ENDS)), 1.0, 100) == 1


def _quiet(fit: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        return fit()


def test_methods_take_the_number_that_was_bought() -> None:
    frame: Any = worlds.visits(150)
    person: Any = {"person": "who", "rows_per_person": AUTO}
    made = _quiet(
        lambda: MomentsGenerator(2.0, 1e-5, model="gaussian", random_state=0, anyway=True).fit(frame, "sick", **person)
    )
    assert made.certificate_.body["release"]["rows_per_person"] in ENDS
    assert made.certificate_.verify() <= 2.0
    distiller = DPKIP(2.0, 1e-5, 2, epochs=1, batch=150, random_state=0)
    release = _quiet(lambda: distiller.fit(frame, "sick", worlds.SCHEMA, **person)).certificate_.body["release"]
    assert release["rows_per_person"] in ENDS
    features = ["age", "dose"]
    model = PATEClassifier(20, epsilon=4.0, queries=10, random_state=0, n_jobs=1)
    model.fit(frame[[*features, "who"]], frame["sick"], frame[features].head(30), **person)
    assert model.certificate_.body["release"]["rows_per_person"] in ENDS
    with pytest.raises(InputError, match="a run with a workspace needs the number"):
        PATEGAN(random_state=0).fit(frame, "sick", workspace="x.private", **person)


def test_a_person_moves_the_look_and_all_after_it_by_no_more_than_was_paid() -> None:
    def fit(frame: pd.DataFrame, budget: Budget) -> Any:
        made = MomentsGenerator(2.0, 1e-5, model="gaussian", random_state=0, anyway=True)
        return _quiet(lambda: made.fit(frame, "sick", worlds.SCHEMA, budget=budget, person="who", rows_per_person=AUTO))

    here = worlds.with_extreme_person(worlds.visits(150))
    run = replay(fit, here, worlds.without_person(here), 2.0, 1e-5)
    assert run.differences == ()
    assert ratio(run).holds
    assert ratio(run).worst > 0.05
