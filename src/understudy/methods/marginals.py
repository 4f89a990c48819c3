"""What MST and AIM share: a table of codes, a run that chooses tables and counts them, and the graphical model that is released.

Rows are codes in bins of the bought coordinates. A run pays one rho for everything that it will choose and count (`PrepaidRho`);
what it has seen is packed into one array for its checkpoints. The release is the tables of a junction tree, from which any
number of rows are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.learn.graphical import Clique, Measured, Model, Tree, draw, towards
from understudy.methods.moments.space import buy, buy_once
from understudy.methods.rare_codes import RareCodes
from understudy.privacy import PrepaidRho
from understudy.privacy.zcdp import choice_rho, counts_rho, largest_rho
from understudy.release.arrays import fitting
from understudy.release.bundle import Bundle
from understudy.release.driver import Draw, Trainer, train
from understudy.release.generator import Learnt, TableGenerator
from understudy.release.intake import Intake
from understudy.tables import Schema
from understudy.tables.coordinates import Bins, Coordinates

# The model's tables are rounded to so many parts of a row, so that scores of tables are whole numbers.
PARTS = 256


@dataclass(frozen=True)
class Grid:
    """Public. The columns of which something is known, as codes; the others are left empty."""

    coordinates: Coordinates
    number: int

    @cached_property
    def kept(self) -> list[int]:
        known = [place for place, column in enumerate(self.coordinates) if not column.empty]
        return known or [0]

    @cached_property
    def bins(self) -> Bins:
        return Coordinates(tuple(self.coordinates.columns[i] for i in self.kept), self.coordinates.rows).bins(
            self.number
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self.bins.sizes)

    @cached_property
    def target(self) -> int | None:
        """The place of a target that is a list, among the columns that are kept."""
        name = self.coordinates.target
        places = [at for at, i in enumerate(self.kept) if self.coordinates.columns[i].name == name]
        return places[0] if places and not self.bins.columns[places[0]].ordered else None

    def given(self, wanted: Mapping[str, Any]) -> tuple[int, int] | None:
        """The target's place and code, where a condition names its value."""
        if self.target is None or (column := self.bins.columns[self.target]).name not in wanted:
            return None
        values = [False, True] if column.kind == "boolean" else list(column.labels)
        return self.target, values.index(wanted[column.name])

    def codes(self, rows: Intake) -> np.ndarray:
        """Private. The codes of all rows."""
        cells = self.coordinates.cells(rows.frame, rows.chances(7))
        return self.bins.encode(cells[:, self.kept])

    def frame(self, codes: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
        """Rows of the table from codes; as public as they are."""
        cells = np.full((len(codes), len(self.coordinates)), np.nan)
        cells[:, self.kept] = self.bins.decode(codes, rng)
        return self.coordinates.frame(cells)


@dataclass(frozen=True)
class CodedTable:
    """Private: rows as codes, and exact tables of them."""

    codes: np.ndarray
    sizes: tuple[int, ...]
    target: int | None = None
    """A column that is to be in the first clique, with all its codes apart: conditions name one of them."""
    weights: np.ndarray | None = None
    grid: int = 1
    """Where a record is a person with several rows: what each row counts, and the parts of one in which that is said."""

    @property
    def sensitivity(self) -> int:
        """What a record moves `away` by, at most: it stands in one cell, or in several by parts that are one together."""
        return PARTS * self.grid

    def counts(self, clique: Clique) -> np.ndarray:
        """Private. How many records stand in each cell, in parts of the grid: each row in one."""
        at = np.zeros(len(self.codes), dtype=np.int64)
        for v in clique:
            at *= self.sizes[v]
            at += self.codes[:, v]
        cells = math.prod(self.sizes[v] for v in clique)
        # Sums of whole numbers below 2^53 are exact as floats.
        return np.bincount(at, weights=self.weights, minlength=cells).astype(np.int64)

    def away(self, counts: np.ndarray, expected: np.ndarray) -> int:
        """Private. How far a table is from expected counts, summed over its cells, in whole parts of a record.

        Without one record the sum differs by `sensitivity` at most.
        """
        rounded = np.rint(PARTS * expected.ravel()).astype(np.int64)
        return int(np.abs(PARTS * counts - self.grid * rounded).sum())


@dataclass(frozen=True)
class GridModel:
    """A released junction tree: the shares of its cliques' tables. Public."""

    grid: Grid
    cliques: tuple[Clique, ...]
    tables: Sequence[np.ndarray]
    rare: RareCodes | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.grid.sizes if self.rare is None else self.rare.sizes

    def draw(self, n: int, wanted: Mapping[str, Any], rng: np.random.Generator) -> pd.DataFrame:
        given = self.grid.given(wanted)
        if given is not None and given[0] not in self.cliques[0]:
            given = None  # other rows are sorted out
        codes = draw(self.sizes, self.cliques, self.tables, n, rng, given)
        return self.grid.frame(codes if self.rare is None else self.rare.widened(codes, rng), rng)

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "members": np.array([v for clique in self.cliques for v in clique], dtype=np.int64),
            "lengths": np.array([len(clique) for clique in self.cliques], dtype=np.int64),
            "shares": np.concatenate([table.ravel() for table in self.tables]),
            **({} if self.rare is None else self.rare.arrays()),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], grid: Grid) -> GridModel:
        """What `arrays` gave, from whoever."""
        rare, columns = RareCodes.from_arrays(arrays, grid.sizes, grid.target), len(grid.sizes)
        sizes = grid.sizes if rare is None else rare.sizes
        members = fitting(arrays, "members", None, least=0, most=columns - 1).astype(np.int64)
        lengths = fitting(arrays, "lengths", None, least=1, most=columns).astype(np.int64)
        shares = fitting(arrays, "shares", None, least=0.0, most=1.0 + 1e-6).astype(np.float64)
        if lengths.sum() != len(members) or set(members.tolist()) != set(range(columns)):
            raise InputError("the cliques do not hold every column: the release is damaged. Copy it again.")
        cliques = [tuple(part.tolist()) for part in np.split(members, np.cumsum(lengths)[:-1])]
        shapes = [tuple(sizes[v] for v in clique) for clique in cliques]
        cells = [math.prod(shape) for shape in shapes]
        if sum(cells) != len(shares) or any(sorted(set(clique)) != list(clique) for clique in cliques):
            raise InputError("the tables do not fit their cliques: the release is damaged. Copy it again.")
        tables = [
            part.reshape(shape) for part, shape in zip(np.split(shares, np.cumsum(cells)[:-1]), shapes, strict=True)
        ]
        if any(abs(table.sum() - 1) > 1e-3 for table in tables):
            raise InputError("a table does not hold shares of a whole: the release is damaged. Copy it again.")
        return cls(grid, tuple(cliques), tables, rare)


class TableLook(Trainer):
    """A run at work: `start` and `step` under the driver, then `finish`. What it has seen is public, and kept here.

    A method says what one step does (`look`), and which arrays stand for what it has seen (`seen`, `see`).
    """

    most_rare: ClassVar[float | None] = None
    """The share of a column whose values are put together, at most."""

    def __init__(self, table: CodedTable, rows: Intake, rho: float) -> None:
        self.table, self.sizes, self.rows = table, table.sizes, len(rows)
        self.paid = PrepaidRho(rho, rows.budget)
        self.keeps = rows.run.workspace is not None
        self.one_way: list[np.ndarray] = []
        self.one_sigma = math.inf
        self.rare: RareCodes | None = None

    def look(self, iteration: int, draw: Draw) -> dict[str, float]:
        """Touches private data: one step, all of it through the gate."""
        raise NotImplementedError

    def finish(self) -> tuple[Model, dict[str, Any]]:
        """The model of all that was counted, and facts."""
        raise NotImplementedError

    def seen(self) -> dict[str, np.ndarray]:
        """All that the steps before were answered, and what they made of it."""
        raise NotImplementedError

    def see(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take up what `seen` gave: count it as drawn."""
        raise NotImplementedError

    # ---- under the driver ------------------------------------------------------------------------------------

    def start(self) -> np.ndarray:
        return np.zeros(0, dtype=np.uint8)

    def step(self, iteration: int, state: np.ndarray, draw: Draw) -> tuple[np.ndarray, dict[str, float]]:
        shown = self.look(iteration, draw)
        return self._packed() if self.keeps else state, {**shown, "rho": self.paid.used}

    def restore(self, state: np.ndarray) -> None:
        if len(state):
            from safetensors.numpy import load

            self.see(load(state.tobytes()))

    def finished(self, state: np.ndarray) -> bool:
        del state
        return False

    def _packed(self) -> np.ndarray:
        from safetensors.numpy import save

        return np.frombuffer(save(self.seen()), dtype=np.uint8)

    # ---- the ways out ----------------------------------------------------------------------------------------

    def count(self, clique: Clique, sigma: float, draw: Draw) -> Measured:
        """Touches private data: a table with noise."""
        noisy = draw(
            f"table {clique}",
            lambda: self.paid.release(self.table.counts(clique), sigma, self.table.grid),
            lambda _: self.paid.skip(counts_rho(sigma)),
        )
        return Measured(clique, noisy, sigma)

    def count_columns(self, sigma: float, draw: Draw) -> None:
        """Touches private data: the tables of all single columns, with noise."""
        self.one_way = [self.count((v,), sigma, draw).table for v in range(len(self.sizes))]
        self.one_sigma = sigma

    def put_together(self) -> None:
        """Private, as the codes of the rows are. From now on they are those in which rare values are one."""
        self.rare = RareCodes.of(self.one_way, self.one_sigma, self.table.target, self.most_rare)
        self.sizes = self.rare.sizes
        self.table = replace(self.table, codes=self.rare.narrowed(self.table.codes), sizes=self.sizes)

    def choose(self, scores: Sequence[int], epsilon: float, draw: Draw, weight: int = 1) -> int:
        """Touches private data: the place of one of the best scores (`away`, at most `weight` times), by the exponential mechanism."""
        sensitivity = weight * self.table.sensitivity
        chosen = draw(
            "choice",
            lambda: np.array([self.paid.choose(np.array(scores, dtype=np.int64), epsilon, sensitivity)]),
            lambda _: self.paid.skip(choice_rho(epsilon)),
        )
        return int(chosen[0])

    # ---- free ------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> list[Measured]:
        if (rare := self.rare) is None:
            return [Measured((v,), table, self.one_sigma) for v, table in enumerate(self.one_way)]
        return [
            Measured((v,), rare.table(v, table), rare.sigma(v, self.one_sigma)) for v, table in enumerate(self.one_way)
        ]

    @property
    def total(self) -> float:
        """How many rows there are that are not blank, by the tables of single columns together: each is worth its precision."""
        weights = np.array([1 / len(table) for table in self.one_way])
        sums = np.array([table.sum() for table in self.one_way])
        return float(np.clip(weights @ sums / weights.sum(), 1.0, max(self.rows, 1)))

    def first_guess(self) -> dict[Clique, np.ndarray]:
        """Potentials of the table whose columns are as counted, and independent."""
        return {one.clique: towards(one, np.full(len(one.table), 1 / len(one.table))) for one in self.columns}

    def tree(self, *more: Clique) -> Tree:
        """The tree over these cliques."""
        return Tree.over(self.sizes, more, self.table.target or 0)

    def packed_columns(self) -> dict[str, np.ndarray]:
        return {"one_way": np.concatenate([np.zeros(0), *self.one_way]), "one_sigma": np.array(self.one_sigma)}

    def unpack_columns(self, arrays: Mapping[str, np.ndarray]) -> None:
        if not len(arrays["one_way"]):
            return
        self.one_way = np.split(arrays["one_way"], np.cumsum(self.sizes)[:-1])
        self.one_sigma = float(arrays["one_sigma"])
        for _ in self.sizes:
            self.paid.skip(counts_rho(self.one_sigma))
        self.put_together()


class MarginalGenerator(TableGenerator):
    """Base of MST and AIM. Fitted: `history_` is public too."""

    resumable: ClassVar[bool] = True
    buys_coordinates: ClassVar[bool] = True
    takes_persons: ClassVar[Literal["weighted", "dealt"] | None] = "weighted"
    bins: int

    def begin(self, table: CodedTable, rows: Intake, rho: float) -> TableLook:
        """Charge the whole run, and return what makes it."""
        raise NotImplementedError

    def refuse_wide(self, sizes: Sequence[int]) -> None:
        """Refuse, from public sizes and before the run is charged, a table that would not end or not fit."""

    def learn(self, rows: Intake) -> Learnt:
        """Touches private data: buy coordinates, then choose and count tables, all of it through the gate."""
        self.refuse_wide([self.bins + 1] * len(rows.frame.columns))
        grid = Grid(rows.coordinates or buy_once(rows, lambda: buy(rows)), self.bins)
        self.refuse_wide(grid.sizes)
        table = CodedTable(grid.codes(rows), grid.sizes, grid.target, rows.weights, rows.grid)
        run = self.begin(table, rows, largest_rho(rows.budget))
        _, self.history_ = train(run, rows.run)
        if not run.one_way:
            raise InputError("the run was stopped before anything was counted: there is nothing to release.")
        model, facts = run.finish()
        facts = {"columns": len(grid.sizes), "cliques": len(model.tree.cliques), "rho": run.paid.rho, **facts}
        released = GridModel(grid, model.tree.cliques, model.tables, run.rare)
        return Learnt(released, facts, coordinates=grid.coordinates)

    def restore(self, arrays: Mapping[str, np.ndarray], schema: Schema, facts: Mapping[str, Any]) -> GridModel:
        if self.coordinates_ is None:
            raise InputError("the release does not describe its columns: it is damaged.")
        return GridModel.from_arrays(arrays, Grid(self.coordinates_, self.bins))

    def _contents(self) -> Bundle:
        bundle = super()._contents()
        return replace(bundle, parameters={**bundle.parameters, "history": self.history_})

    def _restore(self, bundle: Bundle) -> None:
        super()._restore(bundle)
        self.history_ = list(bundle.parameters["history"])
