"""MST (McKenna, Miklau and Sheldon 2021): single columns, then a tree of the pairs that go together most, then those pairs.

A third of rho counts every column. A third chooses d - 1 pairs, one after the other, that join the columns into a tree, each by the
exponential mechanism: a pair's score is how far its table is from what independent columns would give. The last third counts
the chosen pairs. Values that do not stand out of the noise on their column are one value to all pairs. A graphical model of all
these tables is the release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from understudy.learn.graphical import Clique, Measured, Model, fit, towards
from understudy.methods.marginals import CodedTable, MarginalGenerator, TableLook
from understudy.privacy.zcdp import ROUNDING, choice_rho, counts_rho
from understudy.release.driver import Draw
from understudy.release.intake import Intake
from understudy.release.settings import or_none, positive, setting, share, whole


@dataclass(eq=False, repr=False)
class MST(MarginalGenerator):
    """Synthetic tables by MST. `bins`: about so many for each numeric column; `steps`: of mirror descent, free."""

    method: ClassVar[str] = "mst"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability", ends="()"))
    _: KW_ONLY
    bins: int = setting(20, whole(2))
    steps: int = setting(1000, whole())
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    def begin(self, table: CodedTable, rows: Intake, rho: float) -> TreeLook:
        return TreeLook(table, rows, rho, self.steps)


class TreeLook(TableLook):
    """The steps of a run: all columns, each edge, all chosen pairs."""

    def __init__(self, table: CodedTable, rows: Intake, rho: float, steps: int) -> None:
        super().__init__(table, rows, rho)
        d, third = len(self.sizes), rho * (1 - ROUNDING) / 3
        self.steps, self.edges_wanted = steps, d - 1
        self.iterations = 1 if d == 1 else d + 1
        self.column_sigma = math.sqrt(d / (2 * (rho * (1 - ROUNDING) if d == 1 else third)))
        self.epsilon = math.sqrt(8 * third / max(d - 1, 1))
        self.pair_sigma = math.sqrt(max(d - 1, 1) / (2 * third))
        self.edges: list[Clique] = []
        self.pairs: list[Measured] = []
        self._scores: dict[Clique, int] | None = None

    def look(self, iteration: int, draw: Draw) -> dict[str, float]:
        """Touches private data."""
        if iteration == 0:
            self.count_columns(self.column_sigma, draw)
            self.put_together()
        elif iteration <= self.edges_wanted:
            scores = self._all_scores()
            group = self._groups()
            open_ = [pair for pair in scores if group[pair[0]] != group[pair[1]]]
            self.edges.append(open_[self.choose([scores[pair] for pair in open_], self.epsilon, draw)])
        else:
            self.pairs = [self.count(edge, self.pair_sigma, draw) for edge in self.edges]
        return {"edges": float(len(self.edges))}

    def _all_scores(self) -> dict[Clique, int]:
        """Private. How far each pair is from independence."""
        if self._scores is None:
            total, tables = self.total, [one.table for one in self.columns]
            shares = [np.maximum(table, 0) / max(float(np.maximum(table, 0).sum()), 1.0) for table in tables]
            self._scores = {
                (a, b): self.table.away(self.table.counts((a, b)), total * np.outer(shares[a], shares[b]))
                for a, b in combinations(range(len(self.sizes)), 2)
            }
        return self._scores

    def _groups(self) -> list[int]:
        """Which columns the edges join."""
        group = list(range(len(self.sizes)))
        for a, b in self.edges:
            group = [group[a] if g == group[b] else g for g in group]
        return group

    def finish(self) -> tuple[Model, dict[str, Any]]:
        measured, start = [*self.columns, *self.pairs], self.first_guess()
        for pair in self.pairs:
            a, b = (np.exp(start[(v,)]) / np.exp(start[(v,)]).sum() for v in pair.clique)
            start[pair.clique] = towards(pair, np.outer(a, b))
        model = fit(self.tree(*(m.clique for m in measured)), measured, self.total, start, self.steps)
        noise = {"columns": self.column_sigma, "pairs": self.pair_sigma, "choice_epsilon": self.epsilon}
        return model, {"noise": noise, "pairs": [list(pair.clique) for pair in self.pairs]}

    def seen(self) -> dict[str, np.ndarray]:
        tables = [np.zeros(0), *(pair.table for pair in self.pairs)]
        return self.packed_columns() | {
            "edges": np.array(self.edges, dtype=np.int64).reshape(-1, 2),
            "pairs": np.concatenate(tables),
        }

    def see(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.unpack_columns(arrays)
        self.edges = [(int(a), int(b)) for a, b in arrays["edges"]]
        for _ in self.edges:
            self.paid.skip(choice_rho(self.epsilon))
        if len(arrays["pairs"]):
            ends = np.cumsum([self.sizes[a] * self.sizes[b] for a, b in self.edges])[:-1]
            tables = np.split(arrays["pairs"], ends)
            self.pairs = [
                Measured(edge, table, self.pair_sigma) for edge, table in zip(self.edges, tables, strict=True)
            ]
            for _ in self.pairs:
                self.paid.skip(counts_rho(self.pair_sigma))
