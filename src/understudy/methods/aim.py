"""AIM (McKenna, Mullins, Sheldon and Miklau 2022): what is measured next is what the model so far gets most wrong.

The workload is all pairs of columns. First come the tables of single columns, in which values that do not stand out of the noise become
one. Then every round chooses one table by the exponential mechanism: of one or two columns, scored by how far it is from the model,
less what its noise would be, times how much of the workload it touches. It is counted, and the model is fitted again. Where a round
taught the model less than its noise, noise is halved from then on (the paper's annealing), so that no round is spent on a table that
drowns. A table that would make the model larger than what may be used by then is not among the choices.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from understudy.errors import InputError, UnderstudyWarning
from understudy.learn.graphical import Measured, Model, fit, towards
from understudy.learn.triangulation import Clique, Growth
from understudy.methods.marginals import CodedTable, MarginalGenerator, TableLook
from understudy.privacy.zcdp import choice_rho, counts_rho
from understudy.release.driver import Draw
from understudy.release.intake import Intake
from understudy.release.preflight import memory_left
from understudy.release.settings import or_none, positive, setting, share, whole

# Of rho, counting gets so much and choosing the rest; and rounds for each column (the paper's alpha and T = 16 d).
_COUNTING, _ROUNDS = 0.9, 16
# Of rho; so little is not worth a round.
_NOTHING = 1e-9
# Every round looks at all pairs, what they expect and how large they would make the model: so many seconds, times this power of the
# columns, for about two rounds a column (half of it was measured at 100 columns). And every round fits the model, which takes
# a second or two once it is as large as it may be. What would take longer than a quarter of an hour is said beforehand, and more than
# half a day is refused.
_LOOKING, _POWER, _FITTING, _LONG, _LONGEST = 2.5e-5, 3.5, 3.0, 900.0, 12 * 3600.0
# How far noise of deviation 1 is from 0 on average.
_AVERAGE = math.sqrt(2 / math.pi)
# Steps of mirror descent in a round, which goes on from the model before it.
_ROUND_STEPS = 200


@dataclass(eq=False, repr=False)
class AIM(MarginalGenerator):
    """Synthetic tables by AIM.

    - `rounds`: at most so many, by which the first noise is set; None: sixteen for each column, as published.
    - `megabytes`: the largest model. `bins`: about so many for each numeric column. `steps`: of the last fit, free.
    """

    method: ClassVar[str] = "aim"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability", ends="()"))
    _: KW_ONLY
    rounds: int | None = setting(None, or_none(whole(1)))
    megabytes: float = setting(4.0, positive())
    bins: int = setting(20, whole(2))
    steps: int = setting(1000, whole())
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    def refuse_wide(self, sizes: Sequence[int]) -> None:
        seconds = _LOOKING * len(sizes) ** _POWER + _FITTING * len(sizes)
        if seconds > _LONGEST:
            raise InputError(
                f"AIM on {len(sizes)} columns would take about {seconds / 3600:,.0f} hours of a processor: it looks at every pair in "
                "every round. Drop columns, or take MST or moments. The run was not charged."
            )
        if seconds > _LONG:
            warnings.warn(
                f"AIM on {len(sizes)} columns takes about {seconds / 3600:.1f} hours of a processor. MST and moments take minutes.",
                UnderstudyWarning,
                stacklevel=2,
            )
        pairs = 8 * sum(a * b for a, b in combinations(sizes, 2))
        room = memory_left()
        if room is not None and 3 * pairs > room:
            raise InputError(
                f"the two-way tables of {len(sizes)} columns take {pairs / 2**30:.1f} GB, and AIM looks at all of them in every "
                "round. Use fewer `bins`, drop columns, or take MST or moments. The run was not charged."
            )

    def begin(self, table: CodedTable, rows: Intake, rho: float) -> AdaptiveLook:
        return AdaptiveLook(table, rows, rho, self)


class AdaptiveLook(TableLook):
    """The rounds of a run. Iteration 0 counts all columns, with more noise than MST has: what is below it is not always little."""

    most_rare: ClassVar[float | None] = 0.1

    def __init__(self, table: CodedTable, rows: Intake, rho: float, settings: AIM) -> None:
        super().__init__(table, rows, rho)
        d = len(self.sizes)
        rounds = settings.rounds or _ROUNDS * d
        self.settings, self.iterations = settings, 1 + rounds
        self.sigma = math.sqrt((rounds + d) / (2 * _COUNTING * rho))
        self.epsilon = math.sqrt(8 * (1 - _COUNTING) * rho / rounds)
        self.candidates: list[Clique] = [(v,) for v in range(d)] if d == 1 else [
            *((v,) for v in range(d)), *combinations(range(d), 2)
        ]  # fmt: skip
        self.spent: list[tuple[float, float]] = []
        self.chosen: list[Measured] = []
        self.model: Model | None = None
        self._exact: dict[Clique, np.ndarray] = {}

    def finished(self, state: np.ndarray) -> bool:
        """Rho is used up. When that is follows from noisy answers, and the limit holds whenever it is."""
        del state
        return bool(self.one_way) and self.paid.left <= _NOTHING * self.paid.rho

    def look(self, iteration: int, draw: Draw) -> dict[str, float]:
        """Touches private data."""
        if iteration == 0:
            self.count_columns(self.sigma, draw)
            self.put_together()
            self.model = fit(self.tree(), self.columns, self.total, self.first_guess(), self.settings.steps)
            return {"sigma": self.sigma}
        if self.paid.left <= 2 * _least(self.sigma, self.epsilon) or iteration == self.iterations - 1:
            # The last round takes what is left.
            self.sigma = math.sqrt(1 / (2 * _COUNTING * self.paid.left))
            self.epsilon = math.sqrt(8 * (1 - _COUNTING) * self.paid.left)
        open_ = self._open()
        before = self._expected()
        scores = [self._score(clique, before[clique]) for clique in open_]
        clique = open_[self.choose(scores, self.epsilon, draw, weight=2)]
        self.chosen.append(self.count(clique, self.sigma, draw))
        self.spent.append((self.sigma, self.epsilon))
        self.model = self._fit(_ROUND_STEPS, before[clique])
        learnt = float(np.abs(self.total * self.model.marginal(clique) - before[clique]).sum())
        shown = {"sigma": self.sigma, "cells": float(self.model.tree.cells)}
        if learnt <= _AVERAGE * self.sigma * before[clique].size:
            self.sigma, self.epsilon = self.sigma / 2, self.epsilon * 2
        return shown

    def _score(self, clique: Clique, expected: np.ndarray) -> int:
        """Private. How far a table is from the model, less its noise, weighed by the part of the workload that it touches.

        A pair touches twice as many pairs as a column does: it is weighed by 2, and so is what a record moves it by.
        """
        if clique not in self._exact:
            self._exact[clique] = self.table.counts(clique)
        away = self.table.away(self._exact[clique], expected)
        return len(clique) * (away - round(self.table.sensitivity * _AVERAGE * self.sigma * expected.size))

    def _open(self) -> list[Clique]:
        """Public. The tables that leave the model as small as it may be by now."""
        limit = self.settings.megabytes * 2**20 / 8 * self.paid.used / self.paid.rho
        assert self.model is not None
        inside = {pair for clique in self.model.tree.cliques for pair in combinations(clique, 2)}
        grown = Growth(self.sizes, [m.clique for m in self.chosen])
        return [c for c in self.candidates if len(c) == 1 or c in inside or grown.with_pair(*c) <= limit]

    def _expected(self) -> dict[Clique, np.ndarray]:
        """Public. What the model expects in all tables."""
        assert self.model is not None
        total = self.total
        found = {(v,): total * self.model.marginal((v,)) for v in range(len(self.sizes))}
        return found | {pair: total * table for pair, table in self.model.pairs().items()}

    def _fit(self, steps: int, expected: np.ndarray | None = None) -> Model:
        """The model that goes on from the last one; with `expected`, of the table that was chosen last, from nearer to that."""
        assert self.model is not None
        measured, start = [*self.columns, *self.chosen], dict(self.model.potentials)
        if expected is not None and (last := self.chosen[-1]).clique not in start:
            start[last.clique] = towards(last, expected / expected.sum())
        return fit(self.tree(*(m.clique for m in measured)), measured, self.total, start, steps)

    def finish(self) -> tuple[Model, dict[str, Any]]:
        noise = {"columns": self.one_sigma, "last": self.sigma}
        return self._fit(self.settings.steps), {
            "noise": noise,
            "rounds_done": len(self.chosen),
            "chosen": [list(m.clique) for m in self.chosen],
        }

    def seen(self) -> dict[str, np.ndarray]:
        assert self.model is not None
        potentials = {",".join(map(str, clique)): p for clique, p in self.model.potentials.items()}
        return self.packed_columns() | potentials | {
            "chosen": np.array([(*m.clique, -1)[:2] for m in self.chosen], dtype=np.int64).reshape(-1, 2),
            "spent": np.array(self.spent, dtype=np.float64).reshape(-1, 2),
            "tables": np.concatenate([np.zeros(0), *(m.table for m in self.chosen)]),
            "noise": np.array([self.sigma, self.epsilon]),
        }  # fmt: skip

    def see(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.unpack_columns(arrays)
        cliques = [tuple(int(v) for v in row if v >= 0) for row in arrays["chosen"]]
        self.spent = [(float(sigma), float(epsilon)) for sigma, epsilon in arrays["spent"]]
        ends = np.cumsum([math.prod(self.sizes[v] for v in clique) for clique in cliques])[:-1]
        tables = np.split(arrays["tables"], ends)[: len(cliques)]
        self.chosen = []
        for clique, table, (sigma, epsilon) in zip(cliques, tables, self.spent, strict=True):
            self.paid.skip(choice_rho(epsilon))
            self.paid.skip(counts_rho(sigma))
            self.chosen.append(Measured(clique, table, sigma))
        self.sigma, self.epsilon = (float(x) for x in arrays["noise"])
        tree = self.tree(*(m.clique for m in [*self.columns, *self.chosen]))
        potentials = {m.clique: arrays[",".join(map(str, m.clique))] for m in [*self.columns, *self.chosen]}
        self.model = Model(tree, potentials, tree.tables(potentials))


def _least(sigma: float, epsilon: float) -> float:
    """What one round costs."""
    return counts_rho(sigma) + choice_rho(epsilon)
