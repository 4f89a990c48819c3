"""How many real rows break each rule: for the owner's eyes, since usually the rule is wrong, or the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from understudy.tables.aside import without_aside
from understudy.tables.io import Table, as_frame, column_of
from understudy.tables.rules.evaluate import holds, missing, read_values, truth
from understudy.tables.rules.expressions import Determines
from understudy.tables.rules.grammar import Rule
from understudy.tables.rules.limits import refuse_impossible
from understudy.tables.rules.sorts import check_sorts, check_values, column_sort, infer
from understudy.tables.rules.taking_in import check_named, prepare
from understudy.tables.schema import Schema
from understudy.tables.written import as_read


def check_rules(schema: Schema) -> None:
    """Refuse rules that do not go with what the schema says, as far as that goes; looks at no table."""
    columns = {column.name: column for column in schema}
    check_named(schema.rules, list(columns), [column.name for column in schema.aside])
    sorts = infer(schema.rules, {name: column_sort(column) for name, column in columns.items()})
    check_sorts(schema.rules, sorts)
    check_values(schema.rules, columns)
    refuse_impossible(schema.rules, columns, sorts)


def broken_rows(table: Table, schema: Schema | None, rules: Sequence[Rule]) -> list[int]:
    """Looks at private rows; nothing of this may be published. One count for each rule; what is missing breaks none."""
    frame = as_read(without_aside(as_frame(table), schema), schema)
    found = prepare(frame, schema, None if schema is None else schema.target, rules)
    counts: list[int] = []
    for rule in rules:
        values = {name: read_values(column_of(frame, name), found.sorts.get(name)) for name in rule.columns}
        if isinstance(rule.statement, Determines) and rule.statement.rows is None:
            there = ~np.any([missing(column) for column in values.values()], axis=0)
            known = pd.DataFrame({name: column[there] for name, column in values.items()})
            together = known.value_counts()
            most = together.groupby(level=[c.name for c in rule.statement.columns]).max()
            counts.append(int(there.sum() - np.asarray(most).sum()))
        else:
            counts.append(int((~holds(truth(rule.statement, values, found.sorts))).sum()))
    return counts
