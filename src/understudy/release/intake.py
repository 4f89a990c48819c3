"""A private table on its way in: checked against the schema, its gaps paid for, its rows settled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.privacy import Budget
from understudy.release.driver import Run
from understudy.tables import Encoder, Schema, estimate_schema, settle_target, validate_frame
from understudy.tables.io import Table, as_frame


@dataclass(frozen=True)
class Intake:
    """Private: a table as a method takes it in.

    A row whose cells are all missing is blank: it contributes nothing, and is not in `frame`. How many rows there are,
    blank ones included, is public: that is the length. `present` says which of them are in `frame`. `estimated` names
    what the schema did not say and was paid for.
    """

    frame: pd.DataFrame
    present: np.ndarray
    schema: Schema
    estimated: list[str]
    seed: int
    budget: Budget
    run: Run

    def __len__(self) -> int:
        return len(self.present)

    def at_their_places(self, values: np.ndarray) -> np.ndarray:
        """Private. One value (or row of values) for each row of `frame`, with zeros where a row is blank."""
        if len(values) == len(self.present):
            return values
        whole = np.zeros((len(self.present), *values.shape[1:]), dtype=values.dtype)
        whole[self.present] = values
        return whole

    def encoder(self) -> Encoder:
        return Encoder(self.schema)

    def rng(self, *path: int) -> np.random.Generator:
        """Public randomness of one place in the run; never that of the noise."""
        return np.random.default_rng([self.seed, *path])

    @property
    def assumed_public(self) -> str:
        """What the certificate says was known of the columns before the look."""
        if self.estimated:
            return "names and types of the columns, and what the schema said before it was estimated"
        return "the schema: kinds, bounds and categories of all columns"


def check_table(frame: Table, target: str | None, schema: Schema | None) -> tuple[pd.DataFrame, np.ndarray, Schema]:
    """Looks at private rows: those that are not blank, where they stand, and the schema as far as it goes.

    Refuses what does not fit. Nothing is charged.
    """
    table = as_frame(frame)
    given = Schema.draft(table, target) if schema is None else schema
    given = given if target is None else given.with_target(target)
    known = [name for name in given.names if name in table.columns]
    present = np.any(np.asarray(table[known].notna(), dtype=bool), axis=1, keepdims=True)[:, 0]
    rows = table if present.all() or not present.any() else table.loc[present].reset_index(drop=True)
    validate_frame(rows, given)
    return rows, present if present.any() else np.ones_like(present), given


def take_in(
    table: pd.DataFrame, present: np.ndarray, given: Schema, share: float, seed: int, budget: Budget, run: Run
) -> Intake:
    """Touches private data: pay a share of the budget for what the schema does not say, and settle rare classes."""
    complete = _completed(table, given, share, budget, run)
    settled = settle_target(table, given, complete, seed)
    return Intake(settled, present, complete, given.missing(), seed, budget, run)


def _completed(table: pd.DataFrame, given: Schema, share: float, budget: Budget, run: Run) -> Schema:
    """Touches private data: the schema with its gaps paid for, or a refusal."""
    if not given.missing():
        return given
    if share <= 0:
        given.require_complete()
    epsilon, delta = share * budget.epsilon, share * budget.delta

    def draw() -> np.ndarray:
        return np.frombuffer(estimate_schema(table, given, budget, epsilon, delta).to_json().encode(), dtype=np.uint8)

    complete = Schema.from_json(run.prelude("schema", budget, draw).tobytes().decode())
    if gaps := complete.missing():
        raise InputError(
            f"epsilon {epsilon:g} was spent on the gaps of the schema, and {', '.join(gaps)} did not stand out "
            "from the noise. Write what is public about them into a schema, or raise `schema_epsilon_share`."
        )
    return complete
