"""Which method, with which settings: from public facts alone, before any row is read.

Public are the schema, the number of rows, and the budget. What is recommended is what measured best
(`benchmarks/results/`, and the guide on choosing); what to expect is a matter of noise against signal, and that follows
from the sizes.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from understudy.errors import BudgetExceeded, InputError
from understudy.methods.measured import Reached, nearest
from understudy.methods.moments.plan import TARGET_BINS, multiplier, number_bins
from understudy.methods.moments.space import plan_features
from understudy.methods.sizing import HOPELESS, clearness, direction_sizes
from understudy.privacy import Budget
from understudy.privacy.events import check_count, check_delta, check_positive
from understudy.release.preflight import delta_warning, safe_delta
from understudy.tables import Column, Schema
from understudy.tables.coordinates.known import known_from
from understudy.tables.io import PrivateTable, read_private
from understudy.tables.schema_file import SUFFIXES

if TYPE_CHECKING:
    import pandas as pd

Outlook = Literal["good", "thin", "hopeless"]

# The noise on a mean of the rarest class, in standard deviations of a column: with less, synthetic rows were mostly good for a
# classifier, with more they mostly were not. Chosen on half of the tables of `benchmarks/verdict.py`.
_READABLE, _DROWNED = 0.1, 0.4
# What the rarest class is taken to have of an even share, where nobody says how common it is.
_UNEVEN = 0.5
# PATE on adult was best with about 130 rows for each of 250 teachers (benchmarks/results/pate-adult-full.json); fewer
# rows than ten teach a teacher nothing.
_ROWS_A_TEACHER, _MOST_TEACHERS, _FEWEST_TEACHERS, _FEWEST_ROWS = 130, 250, 25, 10
# So many labels a class teach a student. On 500 rows of Pima at epsilon 2, 26 labels gave an AUROC of .69, and a model trained on
# rows of moments, without a schema, .80.
_LABELS = 50
_PUBLIC_ROWS = 1000
# The fakes of an iteration of G-PATE, and the clearness at which adult came within 0.05 of its real rows' AUROC.
_BATCH, _CLEAR_ENOUGH = 64, 0.3
_LADDER = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)


@dataclass(frozen=True)
class Facts:
    """What is public. `width` is the number of encoded features, `classes` 1 where there is no class to predict.

    `rarest` is the share of the rarest class, where that is known; else it is taken to be half of an even share. A target that is
    a number is cut into about so many `bins` of equal share.
    """

    rows: int
    columns: int
    width: int
    classes: int
    epsilon: float
    delta: float
    rarest: float
    bins: int = 0

    @classmethod
    def of(cls, schema: Schema, rows: int, epsilon: float, delta: float, rarest: float | None = None) -> Facts:
        check_count("rows", rows)
        check_positive("epsilon", epsilon)
        check_delta(delta)
        target = None if schema.target is None else schema[schema.target]
        width = sum(_width(column) for column in schema.features)
        classes = 1 if target is None else _classes(target)
        bins = 0
        if target is not None and target.kind in ("integer", "continuous", "datetime"):
            bins = number_bins(rows, epsilon, delta, TARGET_BINS)
        if rarest is None:
            rarest = 1 / max(bins, 1) if classes == 1 else _UNEVEN / classes
        elif not 0 < rarest <= 1 / classes:
            raise InputError(
                f"--rarest (={rarest:g}) must be a share above 0 and at most 1/{classes}, for {classes} classes."
            )
        return cls(rows, len(schema.features), width, classes, epsilon, delta, rarest, bins)


def _width(column: Column) -> int:
    """Encoded features of a column; one that the schema leaves open counts as one."""
    listed = len(column.labels) if column.categories is not None else 1
    return listed + (1 if column.nullable else 0)


def _classes(column: Column) -> int:
    if column.kind == "boolean":
        return 2
    return max(len(column.labels), 1) if column.categories is not None else 1


@dataclass(frozen=True)
class Choice:
    """One way to go. `looks` says how often the rows are looked at: one release, so many votes, so many steps."""

    release: str
    method: str
    settings: dict[str, Any]
    looks: str
    steps: int
    outlook: Outlook
    why: str
    command: str


@dataclass(frozen=True)
class Advice:
    """The recommended way first; what else there is; and what should make you stop."""

    facts: Facts
    choices: tuple[Choice, ...]
    warnings: tuple[str, ...]
    coordinates: dict[str, Any] | None = None
    """How `moments` looks at what each column is and how it is spread, before the rest; None where it buys nothing of it."""
    measured: Reached | None = None
    """What moments reached on a public table of like noise, if there is one."""

    @property
    def recommended(self) -> Choice:
        return self.choices[0]

    def to_json(self) -> dict[str, Any]:
        return {
            "facts": asdict(self.facts),
            "recommended": asdict(self.recommended),
            "others": [asdict(choice) for choice in self.choices[1:]],
            "warnings": list(self.warnings),
            "coordinates": self.coordinates,
            "measured": None if self.measured is None else asdict(self.measured),
        }


def advise(
    schema: Schema,
    rows: int,
    epsilon: float,
    delta: float = 1e-5,
    *,
    public_rows: int | None = None,
    schema_file: str = "schema.yaml",
    table: str | None = None,
    rarest: float | None = None,
    person: tuple[str, int] | None = None,
) -> Advice:
    """What to do with a table of this schema and size at this budget. Reads no row, spends nothing.

    `person`: the column that says whose a row is, and the most rows of one; then `rows` are persons. `schema_file` and `table` are
    for the commands: where the schema is, or the table itself, which says what is public about it.
    """
    if not schema.columns:
        raise InputError(
            "the schema describes no column that is learnt: give the table itself (--data), or describe more columns."
        )
    facts = Facts.of(schema, rows, epsilon, delta, rarest)
    data = "DATA" if table is None else shlex.quote(table)
    target = f" --target {shlex.quote(schema.target)}" if schema.target else ""
    if person is not None:
        target += f" --person {shlex.quote(person[0])} --rows-per-person {person[1]}"
    said = target if table is not None else f" --schema {shlex.quote(schema_file)}{target}"
    choices = [_moments(facts, data, said)]
    if facts.classes > 1:
        choices += [_distilled(facts, data, said), _pate(facts, public_rows, data, target)]
    choices.append(_gpate(facts, data, said))
    plan = plan_features(known_from(schema), rows, epsilon, delta, each=1 if person is None else person[1])
    coordinates = None
    if plan is not None:
        share = (multiplier(epsilon, delta) / plan.noise) ** 2
        coordinates = {"share_of_precision": round(share, 4), **plan.to_dict()}
    warnings = tuple(_warnings(facts, schema, choices, public_rows))
    return Advice(facts, tuple(choices), warnings, coordinates, _measured(facts))


def _measured(facts: Facts) -> Reached | None:
    """By the noise on a class mean, of which the rest follows; tables without a class were not measured."""
    if facts.classes == 1:
        return None
    noise = cache(lambda epsilon: multiplier(epsilon, facts.delta))
    return nearest(
        _class_noise(noise(facts.epsilon), facts.width, facts.classes, facts.rows),
        lambda one: _class_noise(noise(one.epsilon), one.width, 2, one.rows),
    )


def mean_noise(facts: Facts, epsilon: float) -> float:
    """Noise on the mean of a column within the rarest class, in standard deviations of the column.

    One Gaussian release at (epsilon, delta) of a sum of rows clipped to norm sqrt(width) standard deviations, divided by
    the rows of that class.
    """
    return multiplier(epsilon, facts.delta) * math.sqrt(facts.width) / (facts.rarest * facts.rows)


def _class_noise(noise: float, width: int, classes: int, rows: int) -> float:
    return noise * math.sqrt(width) * classes / rows


def _outlook(facts: Facts) -> tuple[Outlook, str]:
    means = mean_noise(facts, facts.epsilon)
    rows = f"{facts.rarest * facts.rows:,.0f} rows"
    which = "the mean of all rows" if facts.classes == 1 else f"a mean of a class of {rows}"
    if facts.bins:
        which = f"a mean of each of {facts.bins} bins of the target, of {rows}"
    noise = f"noise on {which} is {means:.2g} standard deviations of a column"
    if facts.classes > 1:
        noise += f" (a class needs about {math.ceil(facts.rows * facts.rarest * means / _READABLE):,} rows; --rarest says what the rarest has)"
    if means >= _DROWNED:
        return "hopeless", f"{noise}: hardly anything stands out"
    return ("thin", f"{noise}: some of it stands out") if means >= _READABLE else ("good", f"{noise}: clearly readable")


def _moments(facts: Facts, data: str, said: str) -> Choice:
    outlook, why = _outlook(facts)
    return Choice(
        "synthetic rows",
        "moments",
        {"epsilon": facts.epsilon, "delta": facts.delta},
        "one look: a few statistics, once",
        1,
        outlook,
        why,
        f"understudy synthesize {data} --method moments{said} "
        f"--epsilon {facts.epsilon:g} --delta {facts.delta:g} --out synthetic.csv",
    )


def _distilled(facts: Facts, data: str, said: str) -> Choice:
    outlook, why = _outlook(facts)
    each = max(1, min(10, facts.rows // facts.classes))
    return Choice(
        "distilled set",
        "one-look",
        {"per_class": each, "epsilon": facts.epsilon, "delta": facts.delta},
        "one look: the same statistics",
        1,
        outlook,
        why,
        f"understudy distill {data}{said} --per-class {each} "
        f"--epsilon {facts.epsilon:g} --delta {facts.delta:g} --out distilled",
    )


def _pate(facts: Facts, public_rows: int | None, data: str, target: str) -> Choice:
    from understudy.methods.voting import Ballot, plan_round

    available = _PUBLIC_ROWS if public_rows is None else public_rows
    check_count("public_rows", available)
    teachers = min(_MOST_TEACHERS, max(_FEWEST_TEACHERS, facts.rows // _ROWS_A_TEACHER))
    each = facts.rows // teachers
    command = (
        f"understudy classify {data} --public PUBLIC{target} --teachers {teachers} "
        f"--epsilon {facts.epsilon:g} --delta {facts.delta:g} --out release"
    )
    settings: dict[str, Any] = {"teachers": teachers, "rows_a_teacher": each}
    try:
        ballot = Ballot("confident-gnmax", teachers, threshold=0.6)
        voting = plan_round(ballot, Budget(facts.epsilon, facts.delta), available=available)
    except BudgetExceeded as error:
        return Choice("classifier", "pate", settings, "no vote is affordable", 0, "hopeless", str(error), command)
    settings |= {"labels": voting.answers, "noise": voting.noise}
    share = voting.noise / teachers
    outlook: Outlook = "good" if share < 0.4 and voting.answers >= _LABELS * facts.classes else "thin"
    why = f"noise of {voting.noise:.3g} votes against {teachers} teachers; about {voting.answers} labels"
    if outlook == "thin":
        why += ": a model trained on the synthetic rows of moments is the better classifier"
    if share >= 1 or each < _FEWEST_ROWS or voting.answers < facts.classes:
        outlook = "hopeless"
        why += f", {each} rows for each teacher"
    return Choice(
        "classifier",
        "pate",
        settings,
        f"{voting.asked} votes",
        voting.asked,
        outlook,
        why,
        command + " --report page.html",
    )


def _gpate(facts: Facts, data: str, said: str) -> Choice:
    """The iterative generators, for comparison, by the rule that G-PATE itself goes by."""
    dimension = _BATCH * facts.width
    sizes = direction_sizes(facts.rows, dimension, facts.epsilon, facts.delta)
    clear = clearness(sizes.teachers, dimension, facts.epsilon, facts.delta)
    assert sizes.iterations is not None
    return Choice(
        "synthetic rows",
        "gpate",
        {"teachers": sizes.teachers, "iterations": sizes.iterations},
        f"{sizes.iterations:,} noisy sums of what {sizes.teachers:,} teachers say",
        sizes.iterations,
        "hopeless" if clear < HOPELESS else "thin" if clear < _CLEAR_ENOUGH else "good",
        f"a generator of the papers: what teachers agree on is {clear:.2g} times the noise over the whole run",
        f"understudy synthesize {data} --method gpate{said} "
        f"--epsilon {facts.epsilon:g} --delta {facts.delta:g} --out synthetic.csv",
    )


def _warnings(facts: Facts, schema: Schema, choices: list[Choice], public_rows: int | None) -> list[str]:
    found: list[str] = []
    first = choices[0]
    if first.outlook == "hopeless":
        enough = _enough(lambda epsilon: mean_noise(facts, epsilon))
        wanted = math.ceil(facts.rows * mean_noise(facts, facts.epsilon) / _READABLE)
        found.append(
            f"This budget is hopeless for {facts.rows:,} rows and {facts.width} encoded features: {first.why}. "
            + (f"About epsilon {enough:g} would do" if enough else "No epsilon up to 50 would do")
            + f", or {wanted:,} rows, or fewer columns."
        )
    if said := delta_warning(facts.delta, facts.rows):
        found.append(said)
    if facts.epsilon > 10:
        found.append(f"epsilon {facts.epsilon:g} promises next to nothing in the worst case; see the promise's table.")
    if gaps := schema.missing():
        found.append(
            f"The schema leaves {len(gaps)} column(s) open ({', '.join(map(repr, gaps[:5]))}): a share of the budget goes "
            "into looking at them. Write what is public about them instead."
        )
    if facts.bins:
        found.append(
            f"The target {schema.target!r} is a number: synthetic rows keep how it goes with the other columns, in {facts.bins} bins. "
            "Classifiers and distilled sets are for classes: cut it into a few for those."
        )
    elif facts.classes == 1:
        found.append("The schema names no class to predict: no classifier can be made, and rows keep no class apart.")
    if facts.classes > 1 and public_rows is None:
        found.append("A classifier (PATE) needs public rows; --public-rows says how many there are.")
    return found


def _enough(noise: Callable[[float], float]) -> float | None:
    return next((epsilon for epsilon in _LADDER if noise(epsilon) <= _READABLE), None)


def read_and_advise(
    data: str | os.PathLike[str],
    rows: int | None,
    epsilon: float | None,
    delta: float | None,
    public_rows: int | None,
    rarest: float | None,
    target: str | None = None,
    person: tuple[str, int] | None = None,
    types: pd.DataFrame | None = None,
) -> Advice:
    """The same for a schema in a file, a named dataset or a table; what is missing is named."""
    if epsilon is None:
        raise InputError("--data needs --epsilon: the budget you would spend.")
    schema, rows = told(data, rows, target, types)
    delta = safe_delta(rows) if delta is None else delta
    return advise(
        schema, rows, epsilon, delta,
        public_rows=public_rows, schema_file=os.fspath(data), rarest=rarest, person=person,
        table=None if Path(data).suffix.lower() in SUFFIXES else os.fspath(data),
    )  # fmt: skip


def told(
    data: str | os.PathLike[str], rows: int | None, target: str | None, types: pd.DataFrame | None = None
) -> tuple[Schema, int]:
    """A schema, and how many rows there are, both public: of a table its names, its types and its number of rows.

    A table that is not in memory says its `types` itself, and its rows. Without types a column is taken for one number; a target of which nothing is said for one of two classes.
    """
    named = getattr(data, "schema", None)
    if named is not None:
        rows = getattr(data, "rows", None) if rows is None else rows
        if rows is None:
            raise InputError("--data needs --rows: how many rows the table has.")
        return named.with_target(target or named.target), rows
    if Path(data).suffix.lower() in SUFFIXES:
        schema = Schema.read(data)
        if rows is None:
            raise InputError("--data needs --rows: how many rows the table has. The number is public; no row is read.")
        return schema if target is None else schema.with_target(target), rows
    table = PrivateTable(types, True) if types is not None else read_private(data)
    drafted = Schema.draft(table.frame, target)
    columns = drafted.columns if table.typed else [Column(c.name, "continuous", nullable=True) for c in drafted]
    columns = [Column(column.name, "boolean") if column.name == target else column for column in columns]
    return Schema(tuple(columns), target), len(table.frame) if rows is None else rows
