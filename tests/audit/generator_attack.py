"""The attack on whole fits: from many releases on the worst pair of tables, a lower bound on the epsilon they have.

The pair is the one that broke six public implementations at a claimed epsilon of 1 (they measured 2.2 to 4.7): four
rows of zeros, with and without one row of ones, two teachers. The number of rows is public here, so "without" is a
fifth row that contributes nothing. The attacker knows all but that row, and sees all that a release lets out: synthetic
rows, the history, the class ratio, a sanitised epsilon, DP-GAN's critic.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from understudy import DPGAN, GPATE, PATEGAN
from understudy.audit.bounds import lower_bounds
from understudy.audit.listening import Kind, Wrapped
from understudy.errors import UnderstudyWarning
from understudy.privacy import Budget
from understudy.privacy.noise import Shape
from understudy.release.driver import Run
from understudy.release.generator import Learnt
from understudy.release.intake import Intake
from understudy.release.sampling import stream
from understudy.tables import Column, Schema

SCHEMA = Schema(
    (Column("a", "continuous", bounds=(0, 1)), Column("b", "continuous", bounds=(0, 1)), Column("y", "boolean")), "y"
)
EPSILON, DELTA = 1.0, 1e-5
TINY = {"generator_hidden": (4,), "random_state": 0, "learning_rate": 0.5, "caution": 1.0}
TAUGHT = {
    **{
        "teachers": 2,
        "iterations": 2,
        "first_steps": 8,
        "teacher_steps": 8,
        "teacher_batch": 4,
        "teacher_hidden": (4,),
    },
    **{"teacher_learning_rate": 0.1, **TINY},
}
STUDENT = {**TAUGHT, "student_steps": 1, "student_batch": 8, "student_hidden": (4,), "batch": 8}
DIRECTIONS = {**TAUGHT, "batch": 4}
BINS = {**DIRECTIONS, "aggregator": "votes", "dimensions": 2, "bins": 4, "threshold": 0.75}
VOTES = {**STUDENT, "aggregator": "votes", "ballot": "gnmax"}
CRITIC = {
    **{"iterations": 2, "critic_steps": 1, "critic_hidden": (4,), "weight_clip": 10.0, "batch": 4, "fakes": 4},
    **{"critic_learning_rate": 0.5, **TINY},
}

Make = Callable[[], Any]
CASES: dict[str, Make] = {
    "pategan": lambda: PATEGAN.from_settings(**STUDENT),
    "pategan comparisons": lambda: PATEGAN.from_settings(**STUDENT, aggregator="comparisons"),
    "pategan-lnmax": lambda: PATEGAN.from_settings(**{**VOTES, "ballot": "lnmax"}),
    "pategan-gnmax": lambda: PATEGAN.from_settings(**VOTES),
    "pategan-gnmax data-dependent": lambda: PATEGAN.from_settings(mode="data-dependent", **{**VOTES, "iterations": 4}),
    "gpate": lambda: GPATE.from_settings(**DIRECTIONS),
    "gpate signs": lambda: GPATE.from_settings(**DIRECTIONS, aggregator="signs"),
    "gpate votes": lambda: GPATE.from_settings(**BINS),
    "gpate votes data-dependent": lambda: GPATE.from_settings(mode="data-dependent", **{**BINS, "iterations": 4}),
    "dpgan": lambda: DPGAN.from_settings(noise=6.0, **CRITIC),
}
# Stops when the data-dependent epsilon reaches the budget: not private as claimed, and never said to be.
UNSAFE: dict[str, Make] = {
    "pategan-lnmax as-published": lambda: PATEGAN.from_settings(
        mode="as-published", noise=4.0, **{**VOTES, "ballot": "lnmax", "iterations": 40}
    ),
    "gpate as-published": lambda: GPATE.from_settings(mode="as-published", noise=4.0, **{**BINS, "iterations": 20}),
}


def scores(make: Make, present: bool, fits: int, tamper: Callable[[Budget], None] | None = None) -> np.ndarray:
    """What an attacker computes from each release: fits x statistics."""
    frame: Any = pd.DataFrame({"a": [0.0] * 4 + [1.0], "b": [0.0] * 4 + [1.0], "y": [False] * 4 + [True]})
    there = np.array([True] * 4 + [present])
    statistics: list[list[float]] = []
    noise: float | None = None
    for _ in range(fits):
        generator = make()
        if noise is not None:
            generator.set_params(noise=noise)  # what the first fit has computed; public, and slow to compute
        budget = Budget(EPSILON, DELTA)
        if tamper is not None:
            tamper(budget)
        rows = Intake(frame[there], there, SCHEMA, SCHEMA.target, 0, budget, Run())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnderstudyWarning)
            # Without a certificate, which is the same in every fit but for the sanitised epsilon and slow to compute.
            learnt = generator.learn(rows)
        noise = generator.noise or learnt.facts["noise"] * (1 + 1e-9)
        statistics.append(_seen(generator, learnt))
    return np.array(statistics)


def _seen(generator: Any, learnt: Learnt) -> list[float]:
    rows: Any = next(stream(learnt.model, SCHEMA, 256, None, 0))
    means = [float(rows["a"].mean()), float(rows["b"].mean()), float(rows["y"].mean())]
    lines = generator.history_
    names = [name for name in lines[0] if name != "iteration"]
    public = [float(np.mean([line[name] for line in lines])) for name in names]
    public += [line[name] for line in lines[:2] for name in names] if len(lines) >= 2 else [0.0] * 2 * len(names)
    # DP-GAN's critic is made of noisy sums alone: whoever attacks may see it.
    critic = getattr(generator.private_["state"], "critic", None)
    weights = [] if critic is None else np.asarray(critic.network.weights[0]).ravel().tolist()
    told = [0.0 if learnt.sanitised is None else float(learnt.sanitised.epsilon)]
    told = told if generator.mode == "data-dependent" else []
    return [*means, *public, float(len(lines)), *told, *learnt.model.space.ratio.tolist(), *weights]


def lower_bound(here: np.ndarray, there: np.ndarray) -> float:
    """The largest epsilon that the statistics of the releases prove."""
    return lower_bounds(here, there, DELTA).epsilon


class NoNoise(Wrapped):
    """A noise source that forgot the noise: the mistake that the attack must notice."""

    def draw(self, kind: Kind, scale: float, shape: Shape) -> Any:
        return super().draw(kind, 1e-12 if kind == "gaussian" else min(scale, 0.02), shape)


def forget_the_noise(budget: Budget) -> None:
    budget.noise = NoNoise(budget.noise)
