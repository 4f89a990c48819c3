"""What (epsilon, delta) means for one person, as odds: the best that any attacker can do.

The attacker sees the release, knows every other row and the method, and tests "this row took part" against "it was
blank". (epsilon, delta)-differential privacy says exactly which pairs of error rates such a test can have: those on
or above the trade-off function

    f(a) = max(0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a))

(Wasserman and Zhou 2010; Kairouz, Oh and Viswanath 2015; Dong, Roth and Su 2022, eq. 5), where `a` is the share of
people who did not take part and are accused all the same, and f(a) the share of those who did and are missed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from understudy.errors import InputError


@dataclass(frozen=True)
class Odds:
    """The best attack against a release of (epsilon, delta); epsilon may be infinite (no promise at all)."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if math.isnan(self.epsilon) or self.epsilon < 0:
            raise InputError(f"`epsilon` (={self.epsilon}) must be a number of at least 0.")
        if not 0 <= self.delta <= 1:
            raise InputError(f"`delta` (={self.delta}) must lie between 0 and 1.")

    def missed(self, false_alarms: float) -> float:
        """The trade-off function f: the least share of true members that a test with this many false alarms misses."""
        if not 0 <= false_alarms <= 1:
            raise InputError(f"`false_alarms` (={false_alarms}) is a share: between 0 and 1.")
        left = 1 - self.delta - _scaled(false_alarms, self.epsilon)
        right = math.exp(-self.epsilon) * (1 - self.delta - false_alarms)
        return max(0.0, left, right)

    def found(self, false_alarms: float) -> float:
        """The largest share of true members that a test with this share of false alarms can find."""
        return 1 - self.missed(false_alarms)

    def corner(self) -> tuple[float, float]:
        """The bend of the curve, (false alarms, found): the test that is right most often."""
        alarms = (1 - self.delta) * _logistic(-self.epsilon)
        return alarms, 1 - alarms

    def best_guess(self) -> float:
        """How often the best attacker is right about a row that took part with a chance of one half."""
        return self.corner()[1]

    def posterior(self, prior: float = 0.5) -> float:
        """How sure the attacker can become that a row took part, from `prior`; a failure of probability delta aside."""
        if not 0 <= prior <= 1:
            raise InputError(f"`prior` (={prior}) is a probability: between 0 and 1.")
        if prior in (0.0, 1.0):
            return prior
        return _logistic(self.epsilon + math.log(prior) - math.log1p(-prior))

    def for_rows(self, rows: int) -> Odds:
        """The promise for a person who has several rows (group privacy, Vadhan 2017, Lemma 2.2)."""
        if rows < 1:
            raise InputError(f"`rows` (={rows}) must be at least 1.")
        if rows == 1 or math.isinf(self.epsilon):
            return self
        # sum of e^(i epsilon) for i below rows, without overflow where the result is 1 anyway
        growth = sum(math.exp(min(i * self.epsilon, 700.0)) for i in range(rows))
        return Odds(rows * self.epsilon, min(1.0, growth * self.delta))


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def _scaled(share: float, epsilon: float) -> float:
    """e^epsilon times a share; infinite rather than an overflow."""
    if share == 0:
        return 0.0
    power = epsilon + math.log(share)
    return math.exp(power) if power < 700 else math.inf
