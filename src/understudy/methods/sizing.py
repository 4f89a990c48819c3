"""How many teachers and iterations, and how fast: one rule, from public sizes alone, so that a budget is all that is asked for.

Public are the number of rows, how many numbers a release has, epsilon and delta. K teachers who point the same way to a part a
add up to a signal of length a K in each release; the noise on d numbers has length 2 sigma sqrt(d). T releases cost sqrt(T)
times the noise and add up to T times the signal, so that signal over noise of a whole run does not depend on T:

    clearness = a K / (2 sigma_1 sqrt(d)),

with sigma_1 the noise multiplier of a single release for the whole budget. What follows from it was chosen on validation rows
of adult and credit (`benchmarks/adversarial.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from understudy.methods.moments.plan import multiplier

ALIGNED = 0.3
"""The part to which teachers point the same way, as measured (0.2 to 0.5)."""
HOPELESS = 0.1
"""At this clearness nothing was ever learnt."""
# A teacher has at least so many rows, where there are enough; more teachers than so many say nothing new.
_ROWS_EACH, _MOST = 32, 2000
# What the rule fixes of a method's group of settings.
_GROUPED = ("learning_rate", "caution", "memory", "crossed", "student_steps", "generator_steps")


@dataclass(frozen=True)
class Sizes:
    """Public. What a run is given where its settings leave it open. `iterations` is None where the noise decides."""

    teachers: int
    iterations: int | None
    learning_rate: float
    caution: float


def clearness(teachers: int, dimension: int, epsilon: float, delta: float) -> float:
    """Signal over noise of a whole run."""
    return ALIGNED * teachers / (2 * multiplier(epsilon, delta) * math.sqrt(dimension))


def direction_sizes(rows: int, dimension: int, epsilon: float, delta: float, teachers: int | None = None) -> Sizes:
    """G-PATE, of so many numbers in a release. Where it is clear, a run is longer and less cautious."""
    teachers, clear = _staff(rows, dimension, epsilon, delta, teachers, 20, (2.0, 10.0))
    return Sizes(teachers, round(100 * 4**clear), 0.01, 0.1 ** (1 - clear))


@dataclass(frozen=True)
class StudentSizes(Sizes):
    """Public. And how many fakes a student asks about, how long it remembers, how many of them are crossed, and the steps
    of student and generator for each release."""

    batch: int
    memory: float
    crossed: float
    student_steps: int
    generator_steps: int


def student_sizes(rows: int, epsilon: float, delta: float, teachers: int | None = None) -> StudentSizes:
    """PATE-GAN. Where it is clear, more is asked for and less is remembered: what teachers said before is out of date.

    And the generator goes a step at a time, and some fakes are crossed: a student that saw the generator's own fakes alone
    would know nothing of where it has not been.
    """
    teachers, clear = _staff(rows, 256, epsilon, delta, teachers, 20, (10.0, 30.0))
    return StudentSizes(
        teachers,
        round(100 * 6**clear),
        0.01 * 0.5**clear,
        0.3 ** (1 - clear),
        round(256 * 4**clear),
        0.97 - 0.17 * clear,
        0.3 * clear,
        round(20 * 2**clear),
        round(3 ** (1 - clear)),
    )


def _staff(
    rows: int, dimension: int, epsilon: float, delta: float, teachers: int | None, least: int, ends: tuple[float, float]
) -> tuple[int, float]:
    """As few teachers as are clear, since each of them knows more then; as many as there can be if none are.

    And where they stand between faint (0) and clear (1).
    """
    faint, clear = ends
    one = clearness(1, dimension, epsilon, delta)
    most = max(2, min(rows // _ROWS_EACH, _MOST))
    teachers = teachers or min(most, max(least, math.ceil(clear / one)))
    return teachers, min(max(math.log(teachers * one / faint) / math.log(clear / faint), 0.0), 1.0)


def critic_batch(rows: int) -> int:
    """DP-GAN: a twenty-fifth of the rows."""
    return min(8192, max(rows // 25, 1))


def critic_sizes(rarest: float) -> Sizes:
    """DP-GAN, with so many rows of the rarest class in a batch. Where there are few, noise soon undoes what was learnt."""
    return Sizes(1, round(min(max(75 * math.sqrt(rarest), 300), 1200)), 5e-3, 1.0)


def as_set(sizes: Any, settings: Any) -> Any:
    """The rule, where settings leave it open. A run whose noise is given has no length yet."""
    how = settings.training
    said = {name: getattr(how, name) for name in _GROUPED if hasattr(how, name) and hasattr(sizes, name)}
    said |= {"batch": settings.batch} if isinstance(sizes, StudentSizes) else {}
    length = settings.iterations or (None if settings.noise is not None else sizes.iterations)
    return replace(sizes, iterations=length, **{name: value for name, value in said.items() if value is not None})
