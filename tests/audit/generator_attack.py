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

from understudy import DPGAN, GPATE, PATEGAN
from understudy.audit.bounds import lower_bounds
from understudy.audit.listening import Kind, Wrapped
from understudy.errors import UnderstudyWarning
from understudy.privacy import Budget
from understudy.privacy.noise import Shape
from understudy.release.driver import Run
from understudy.tables import Column, Encoder, Schema

SCHEMA = Schema(
    (Column("a", "continuous", bounds=(0, 1)), Column("b", "continuous", bounds=(0, 1)), Column("y", "boolean")), "y"
)
EPSILON, DELTA = 1.0, 1e-5
TINY = {"generator_hidden": (4,), "random_state": 0, "learning_rate": 0.5, "batch": 4}
VOTES = {"teachers": 2, "iterations": 2}
STUDENT = {**TINY, **VOTES, "teacher_steps": 8, "student_steps": 1, "student_hidden": (4,), "batch": 8}
DIRECTIONS = {"dimensions": 2, "bins": 4, "threshold": 0.75, "teacher_steps": 8, **VOTES, **TINY}
CRITIC = {"iterations": 2, "critic_steps": 1, "critic_hidden": (4,), "weight_clip": 10.0, **TINY}

Make = Callable[[], Any]
CASES: dict[str, Make] = {
    "pategan-lnmax": lambda: PATEGAN(aggregator="lnmax", **STUDENT),
    "pategan-gnmax": lambda: PATEGAN(**STUDENT),
    "pategan-gnmax data-dependent": lambda: PATEGAN(mode="data-dependent", **{**STUDENT, "iterations": 4}),
    "pategan-gnmax conditional": lambda: PATEGAN(conditional=True, **STUDENT),
    "gpate": lambda: GPATE(**DIRECTIONS),
    "gpate data-dependent": lambda: GPATE(mode="data-dependent", **{**DIRECTIONS, "iterations": 4}),
    "dpgan": lambda: DPGAN(noise=6.0, **CRITIC),
    "dpgan conditional": lambda: DPGAN(noise=12.0, conditional=True, ratio_epsilon_share=0.2, **CRITIC),
}
# Stops when the data-dependent epsilon reaches the budget: not private as claimed, and never said to be.
UNSAFE: dict[str, Make] = {
    "pategan-lnmax as-published": lambda: PATEGAN(
        aggregator="lnmax", mode="as-published", noise=4.0, **{**STUDENT, "iterations": 40}
    ),
    "gpate as-published": lambda: GPATE(mode="as-published", noise=4.0, **{**DIRECTIONS, "iterations": 20}),
}


def scores(make: Make, present: bool, fits: int, tamper: Callable[[Budget], None] | None = None) -> np.ndarray:
    """What an attacker computes from each release: fits x statistics."""
    encoder = Encoder(SCHEMA)
    cube = np.zeros((5, encoder.width), dtype=np.float32)
    cube[4] = 1.0
    there = np.array([True] * 4 + [present])
    found: list[list[float]] = []
    noise: float | None = None
    for _ in range(fits):
        generator = _fit_only(make())
        if noise is not None:
            generator.set_params(noise=noise)  # what the first fit has computed; public, and slow to compute
        budget = Budget(EPSILON, DELTA)
        if tamper is not None:
            tamper(budget)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnderstudyWarning)
            generator._fit(cube, there, encoder, 0, budget, Run(), [])
        noise = generator.noise or _noise(generator)
        found.append(_seen(generator))
    return np.array(found)


def _fit_only(generator: Any) -> Any:
    """The certificate is the same in every fit but for the sanitised epsilon; that alone is computed here."""

    def certify(prepared: Any, trainer: Any, state: Any, facts: Any, estimated: Any) -> Any:
        del facts, estimated
        return generator._afterwards(prepared, trainer, state, {})[0]

    generator._certify = certify
    return generator


def _seen(generator: Any) -> list[float]:
    rows = generator.sample(256, random_state=0)
    means = [float(rows["a"].mean()), float(rows["b"].mean()), float(rows["y"].mean())]
    lines = generator.history_
    names = [name for name in lines[0] if name != "iteration"]
    public = [float(np.mean([line[name] for line in lines])) for name in names]
    public += [line[name] for line in lines[:2] for name in names] if len(lines) >= 2 else [0.0] * 2 * len(names)
    # DP-GAN's critic is made of noisy sums alone: whoever attacks may see it.
    critic = getattr(generator.private_["state"], "critic", None)
    weights = [] if critic is None else np.asarray(critic.network.weights[0]).ravel().tolist()
    sanitised = generator.certificate_
    mode = getattr(generator, "mode", "unconditional")
    told = [] if mode != "data-dependent" else [0.0 if sanitised is None else float(sanitised.epsilon)]
    return [*means, *public, float(len(lines)), *told, *generator.sampler_.ratio.tolist(), *weights]


def _noise(generator: Any) -> float:
    mechanism = generator.private_["trainer"].voting.mechanism
    scale = 1 / mechanism.gamma if hasattr(mechanism, "gamma") else mechanism.sigma
    return scale * (1 + 1e-9)


def lower_bound(here: np.ndarray, there: np.ndarray) -> float:
    """The largest epsilon that the statistics of the releases prove."""
    return lower_bounds(here, there, DELTA).epsilon


class NoNoise(Wrapped):
    """A noise source that forgot the noise: the mistake that the attack must notice."""

    def draw(self, kind: Kind, scale: float, shape: Shape) -> Any:
        return super().draw(kind, 1e-12 if kind == "gaussian" else min(scale, 0.02), shape)


def forget_the_noise(budget: Budget) -> None:
    budget.noise = NoNoise(budget.noise)
