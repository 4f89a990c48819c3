"""The rules of a release: made once a model is learnt, kept with it, and applied to every row that is drawn from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.tables.column import BOUNDED, Column
from understudy.tables.encoder import Encoder
from understudy.tables.io import column_of
from understudy.tables.rules.building import REPLACED, How, Step, build
from understudy.tables.rules.evaluate import missing, read_values
from understudy.tables.rules.expressions import Call, Constant, Determines, parts
from understudy.tables.rules.finishing import Finisher, Lists, Sketch, final_sorts
from understudy.tables.rules.functions import Sort
from understudy.tables.rules.grammar import Rule
from understudy.tables.rules.taking_in import RuledTable
from understudy.tables.schema import Schema
from understudy.untrusted import damaged

# What a value determines is found in so many drawn rows; they are free.
_DRAWN = 1 << 15
_MOST_KEYS = 20_000
_GRAINS = (86400.0, 3600.0, 60.0)
# So many rows are drawn evenly from the bounds to see whether any can fulfil all rules.
_TRIED = 1 << 14
Draw = Callable[[int], pd.DataFrame]
"""So many rows of the learnt table."""


@dataclass(frozen=True)
class Rulebook:
    """Public: what it takes to finish the rows of one model. `kept` is the share of drawn rows that keep all rules."""

    schema: Schema
    learnt: Schema
    steps: tuple[Step, ...]
    sorts: Mapping[str, Sort | None]
    lists: Lists
    kept: float = 1.0
    broken: tuple[float, ...] = ()

    @classmethod
    def of(cls, prepared: RuledTable, learnt: Schema, draw: Draw) -> Rulebook:
        """From rows that a released model draws; looks at nothing private."""
        sorts = final_sorts(prepared, learnt)
        drawn = draw(_DRAWN)
        prepared = replace(prepared, steps=tuple(_with_grain(step, sorts, drawn) for step in prepared.steps))
        schema = Sketch(prepared, learnt, sorts, {}).schema(drawn)
        made = cls(schema, learnt, prepared.steps, sorts, {})
        for number, rule in enumerate(prepared.rules):
            if isinstance(rule.statement, Determines) and rule.statement.rows is None:
                made = replace(made, lists={**made.lists, number: _found(rule.statement, made, drawn)})
        _, kept = made.finisher.finish(drawn)
        shares = 1 - kept.mean(axis=0)
        return replace(made, kept=float(kept.all(axis=1).mean()), broken=tuple(float(share) for share in shares))

    @cached_property
    def finisher(self) -> Finisher:
        return Finisher(self.schema.rules, self.steps, self.sorts, self.schema, self.lists)

    @property
    def own(self) -> list[str]:
        """The columns that are learnt as they are: neither computed nor a difference."""
        made = {step.column for step in self.steps if step.how in ("computed", "looked up", "mapped", *REPLACED)}
        return [name for name in self.learnt.names if name not in made or name == self.learnt.target]

    def worst(self, kept: np.ndarray) -> str:
        """The rule that most drawn rows break, for a message."""
        shares = 1 - kept.mean(axis=0)
        place = int(shares.argmax())
        what = (
            "the bounds and categories of what is computed"
            if place == 0
            else f"rule {place} ({self.schema.rules[place - 1].short})"
        )
        return f"{what}, which {shares[place]:.1%} of drawn rows break"

    def facts(self) -> dict[str, Any]:
        """For the certificate and for people: what was said, what is built in, and what share is drawn again."""
        return {
            "said": [str(rule) if len(str(rule)) <= 400 else rule.short for rule in self.schema.rules],
            "computed": [step.column for step in self.steps if step.how in ("computed", "looked up", "mapped")],
            "differences": [step.column for step in self.steps if step.how in REPLACED],
            "drawn_again": round(1 - self.kept, 6),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the rules themselves stand in the schema."""
        return {
            "learnt": self.learnt.to_dict(),
            "steps": [step.to_dict() for step in self.steps],
            "sorts": dict(self.sorts),
            "lists": {str(n): [[part.value for part in row] for row in rows] for n, rows in self.lists.items()},
            "kept": self.kept,
            "broken": list(self.broken),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], schema: Schema) -> Rulebook:
        """What `to_dict` wrote, whoever wrote it."""
        with damaged("what the release says of its rules"):
            steps = tuple(Step.from_dict(step) for step in plain["steps"])
            lists = {
                int(n): tuple(tuple(Constant(value) for value in row) for row in rows)
                for n, rows in plain["lists"].items()
            }
            sorts = {str(name): sort for name, sort in plain["sorts"].items()}
            learnt = Schema.from_dict(plain["learnt"])
            made = cls(schema, learnt, steps, sorts, lists, float(plain["kept"]), tuple(map(float, plain["broken"])))
            made.check()
        return made

    def check(self) -> None:
        """Refuse what no release says, so that drawing from a crafted one ends in words."""
        known = {*self.schema.names}
        for step in self.steps:
            named = {step.column, *step.needs(self.schema.rules)}
            if step.how not in get_args(How) or not named <= known or not 0 <= step.rule < len(self.schema.rules):
                raise InputError("the rules of the release are damaged. Copy it again.")
        named = {name for rule in self.schema.rules for name in rule.columns} | set(self.learnt.names)
        if not named <= known or not set(self.sorts.values()) <= {*get_args(Sort), None}:
            raise InputError(
                "the rules of the release name columns that it does not have: it is damaged. Copy it again."
            )
        if set(self.schema.names) != {*self.learnt.names, *(step.column for step in self.steps)}:
            raise InputError("the release says of some columns not where they come from: it is damaged. Copy it again.")


def _with_grain(step: Step, sorts: Mapping[str, Sort | None], drawn: pd.DataFrame) -> Step:
    """Dates that are drawn as days have other dates beside them that are days too."""
    if step.how not in REPLACED or step.form is None or sorts.get(step.column) != "moment":
        return step
    dates = [n for n in step.form.columns if sorts.get(n) == "moment" and n in drawn.columns]
    moments = np.concatenate([np.zeros(1), *(read_values(column_of(drawn, name), "moment") for name in dates)])
    moments = moments[~np.isnan(moments)] if dates else np.ones(1)
    return replace(step, grain=next((grain for grain in _GRAINS if not np.any(moments % grain)), 1.0))


def _found(statement: Determines, book: Rulebook, drawn: pd.DataFrame) -> tuple[tuple[Constant, ...], ...]:
    """What each value stands beside most often in drawn rows that keep what is known so far."""
    frame, _ = book.finisher.finish(drawn)
    columns = [*statement.columns, statement.target]
    read = {c.name: read_values(column_of(frame, c.name), book.sorts.get(c.name)) for c in columns}
    there = ~np.any([missing(values) for values in read.values()], axis=0)
    table = pd.DataFrame({name: values[there] for name, values in read.items()})
    counts = table.value_counts().rename("count").reset_index()
    most = counts.drop_duplicates([c.name for c in statement.columns]).head(_MOST_KEYS)
    rows = most[[c.name for c in columns]].itertuples(index=False, name=None)
    return tuple(
        tuple(Constant(_plain(value, book.sorts.get(c.name))) for value, c in zip(row, columns, strict=True))
        for row in rows
    )


def _plain(value: Any, sort: Sort | None) -> str | float | int | bool:
    if sort == "truth":
        return bool(value)
    return value if isinstance(value, str) else int(value) if value == int(value) else float(value)


def refuse_contradictions(prepared: RuledTable) -> None:
    """Refuse rules that no row fulfils together, before anything is spent: rows are drawn evenly from public bounds.

    Bounds that nobody said are stood in for; rules that compare such columns with a value are left out of it.
    """
    declared = {} if prepared.declared is None else {column.name: column for column in prepared.declared}
    open_ = {name for name in prepared.names if name not in declared or not declared[name].complete}
    asked = [
        number
        for number, rule in enumerate(prepared.rules)
        if not (isinstance(rule.statement, Determines) and rule.statement.rows is None)
        and (not open_ & set(rule.columns) or _said_of_any_bounds(rule, prepared))
    ]
    if not asked:
        return
    rules = tuple(prepared.rules[number] for number in asked)
    prepared = replace(prepared, rules=rules, steps=build(rules, prepared.sorts, prepared.target, declared))
    learnt = prepared.learnt_schema
    said = {} if learnt is None else {column.name: column for column in learnt}
    columns = [
        replace(said[name], nullable=False) if name in said and said[name].complete else _stand_in(name, prepared)
        for name in prepared.names
        if name not in prepared.computed
    ]
    even = Schema(tuple(columns))
    encoder = Encoder(even)
    drawn = encoder.decode(np.random.default_rng(0).random((_TRIED, encoder.width)))
    book = Rulebook.of(prepared, even, drawn.head)
    _, kept = replace(book, schema=_wide(book.schema, open_)).finisher.finish(drawn)
    if kept.all(axis=1).any():
        return
    never = [at for at in range(len(asked)) if not kept[:, at + 1].any()]
    if never:
        raise InputError(
            f"rule {asked[never[0]] + 1} ({rules[never[0]].short}) is kept by none of {_TRIED:,} rows drawn evenly from what the schema allows: "
            "it contradicts the schema or another rule. Correct one of them. Nothing was spent."
        )
    texts = "; ".join(rule.short for rule in rules[:5])
    raise InputError(
        f"none of {_TRIED:,} rows drawn evenly from what the schema allows keeps all rules ({texts}): they contradict each "
        "other, the bounds or the categories. Correct them, or leave one out. Nothing was spent."
    )


def _said_of_any_bounds(rule: Rule, prepared: RuledTable) -> bool:
    if any(isinstance(part, Constant | Call) for part in parts(rule.statement)):
        return False
    return all(prepared.sorts.get(name) in ("number", "moment") for name in rule.columns)


def _stand_in(name: str, prepared: RuledTable) -> Column:
    apart = any(step.column == name and step.how in REPLACED for step in prepared.steps)
    if prepared.sorts.get(name) == "moment" and not apart:
        return Column(name, "datetime", ("2000-01-01", "2020-12-31"))  # pyright: ignore[reportArgumentType]
    if prepared.sorts.get(name) == "number" or apart:
        return Column(name, "integer", (0, 1000))
    return Column(name, "categorical", categories=("a", "b"))


def _wide(schema: Schema, open_: set[str]) -> Schema:
    """The schema with bounds that nobody said so wide that nothing falls out of them."""
    wide: dict[str, Any] = {
        "datetime": ("0100-01-01", "9000-01-01"),
        "integer": (-(2**50), 2**50),
        "continuous": (-1e15, 1e15),
    }
    return replace(
        schema,
        columns=tuple(
            replace(c, bounds=wide[c.kind], scale="linear") if c.name in open_ and c.kind in BOUNDED else c
            for c in schema
        ),
    )
