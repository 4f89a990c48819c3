"""What of the rules is built into the table that is learnt, so that no draw can break it. From names and kinds alone.

- *computed*: `total == a + b`. The column is not learnt, not looked at and not paid for; it follows from the others. An
  equation of two dates and a length is solved for the later date, since the length is what has a shape to learn.
- *above*, *below*: `discharge >= admission`. The difference is learnt in the place of the column; it is never negative.
- *at least*, *at most*: `length >= 0`. The value is clipped there, in private rows and in drawn ones.

Each is a change of one row by that row's own values. Neighbouring tables stay neighbours, a blank row stays blank, and no
row is left out for what it says. What cannot be built in is left to drawing again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from understudy.tables.column import Column
from understudy.tables.rules.expressions import Comparison, Determines, Expression, Named, names
from understudy.tables.rules.grammar import Rule
from understudy.tables.rules.limits import reach_of
from understudy.tables.rules.linear import Linear, difference
from understudy.tables.rules.sorts import Sorts

How: TypeAlias = Literal["computed", "above", "below", "at least", "at most", "looked up", "mapped"]
REPLACED: tuple[How, ...] = ("above", "below")
"""The column's place is taken by a difference."""
CLIPPED: tuple[How, ...] = ("at least", "at most")


@dataclass(frozen=True)
class Step:
    """Public: how one column comes about, from the rule of that number (from 0) and from what it needs.

    `form` is a sum of columns; where it is None, the side of the rule that is not the column itself, or its list.
    """

    how: How
    column: str
    rule: int
    form: Linear | None = None
    learnt: bool = False
    """Whether the column is learnt all the same: a target, since a model is made for it."""
    grain: float = 1.0
    """Of a date that is another one and a difference: the seconds that the other one is a multiple of."""

    def needs(self, rules: Sequence[Rule]) -> list[str]:
        if self.form is not None:
            return [name for name in self.form.columns if name != self.column]
        return [name for name in rules[self.rule].columns if name != self.column]

    def to_dict(self) -> dict[str, Any]:
        form = None if self.form is None else self.form.to_dict()
        plain: dict[str, Any] = {"how": self.how, "column": self.column, "rule": self.rule, "form": form}
        return {**plain, "learnt": self.learnt, "grain": self.grain}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Step:
        form = plain["form"]
        made = None if form is None else Linear.from_dict(form)
        grain = max(float(plain["grain"]), 1.0)
        return cls(plain["how"], str(plain["column"]), int(plain["rule"]), made, bool(plain["learnt"]), grain)


def other_side(rule: Rule, column: str) -> Expression:
    """What a column equals by a rule that is written so."""
    statement = rule.statement
    assert isinstance(statement, Comparison)
    return statement.right if statement.left == Named(column) else statement.left


def build(
    rules: Sequence[Rule], sorts: Sorts, target: str | None, columns: Mapping[str, Column] | None = None
) -> tuple[Step, ...]:
    """The steps, in the order in which a drawn row takes them. `columns` is what is declared."""
    made = _Building(rules, sorts, target, columns or {})
    for number, rule in enumerate(rules):
        match rule.statement:
            case Comparison("==", _, _):
                made.equation(number)
            case Determines():
                made.determined(number)
            case _:
                pass
    for number, rule in enumerate(rules):
        match rule.statement:
            case Comparison("<" | "<=" | ">" | ">=", _, _):
                made.order(number)
            case _:
                pass
    return made.ordered()


class _Building:
    def __init__(self, rules: Sequence[Rule], sorts: Sorts, target: str | None, columns: Mapping[str, Column]) -> None:
        self.rules, self.sorts, self.target, self.columns = rules, sorts, target, columns
        self.steps: dict[str, Step] = {}
        self.clips: list[Step] = []

    def _leads_to(self, start: Sequence[str], goal: str) -> bool:
        """Whether one of the columns comes about with the help of the goal."""
        seen, left = set[str](), list(start)
        while left:
            name = left.pop()
            if name == goal:
                return True
            if name not in seen and name in self.steps:
                left += self.steps[name].needs(self.rules)
            seen.add(name)
        return False

    def _never_whole(self, step: Step) -> bool:
        """Whether a column of whole numbers would come about as something else."""
        column = self.columns.get(step.column)
        if (
            column is None
            or column.kind in ("continuous", "boolean", "datetime")
            or step.how in ("looked up", "mapped")
        ):
            return False
        if any(name not in self.columns for name in step.needs(self.rules)):
            return False
        if step.form is not None:
            return not step.form.reach(self.columns, self.sorts).whole
        node = other_side(self.rules[step.rule], step.column)
        fractions = any(self.columns[name].kind == "continuous" for name in names(node))
        return fractions and not reach_of(node, self.columns, self.sorts).whole

    def _add(self, step: Step) -> bool:
        if self._never_whole(step):
            return False
        if step.column in self.steps or self._leads_to(step.needs(self.rules), step.column):
            return False
        self.steps[step.column] = step
        return True

    def equation(self, number: int) -> None:
        statement = self.rules[number].statement
        assert isinstance(statement, Comparison)
        whole = difference(statement, self.sorts)
        for column, bare in self._candidates(statement, whole):
            form = None if bare or whole is None else whole.without(column)
            if self._add(Step("computed", column, number, form, column == self.target)):
                return

    def _candidates(self, statement: Comparison, whole: Linear | None) -> list[tuple[str, bool]]:
        """Columns that the equation can be solved for, the best first, and whether they stand alone on one side."""
        found: list[tuple[str, bool]] = []
        if whole is not None:
            found += [(name, False) for name in self._later_dates(whole)]
        for side, other in ((statement.left, statement.right), (statement.right, statement.left)):
            if isinstance(side, Named) and side.name not in names(other):
                found.append((side.name, True))
        if whole is not None:
            found += [(name, False) for name, times in whole.terms if abs(times) == 1]
        return sorted(dict.fromkeys(found), key=lambda one: one[0] == self.target)

    def _later_dates(self, whole: Linear) -> list[str]:
        """Of an equation of two dates and a length: the date that is the other one and the length together."""
        dates = [name for name in whole.columns if self.sorts.get(name) == "moment"]
        if len(dates) != 2 or len(whole.columns) < 3:
            return []
        return [
            date
            for date in dates
            if all(t > 0 for name, t in whole.without(date).terms if self.sorts.get(name) != "moment")
        ]

    def determined(self, number: int) -> None:
        statement = self.rules[number].statement
        assert isinstance(statement, Determines)
        goal = statement.target.name
        known = statement.rows is not None
        self._add(Step("looked up" if known else "mapped", goal, number, None, not known or goal == self.target))

    def order(self, number: int) -> None:
        statement = self.rules[number].statement
        assert isinstance(statement, Comparison)
        whole = difference(statement, self.sorts)
        if whole is None:
            return
        if statement.sign in ("<", "<="):
            whole = whole.times(-1)
        for _ in self.steps:  # what is computed as a sum is replaced by it, so that the sum is what is compared
            computed = [n for n in whole.columns if n in self.steps and self.steps[n].how == "computed"]
            forms = {n: self._sum(n) for n in computed}
            name = next((n for n, form in forms.items() if form is not None), None)
            if name is None:
                break
            whole = whole.replaced(name, forms[name])  # pyright: ignore[reportArgumentType]
        if len(whole.terms) == 1:
            (name, times) = whole.terms[0]
            if name not in self.steps:
                clip: How = "at least" if times > 0 else "at most"
                self.clips.append(Step(clip, name, number, whole.without(name)))
            return
        ways: tuple[tuple[How, float], ...] = (("above", 1.0), ("below", -1.0))
        for how, wanted in ways:
            for name, times in whole.terms:
                free = name != self.target and not any(clip.column == name for clip in self.clips)
                if times == wanted and free and self._add(Step(how, name, number, whole.without(name))):
                    return

    def _sum(self, name: str) -> Linear | None:
        """A computed column as a sum of others, if it is one."""
        step = self.steps[name]
        if step.form is not None:
            return step.form
        statement = self.rules[step.rule].statement
        assert isinstance(statement, Comparison)
        whole = difference(statement, self.sorts)
        return None if whole is None or not whole.factor(name) else whole.without(name)

    def ordered(self) -> tuple[Step, ...]:
        done: list[Step] = []
        left = dict(self.steps)
        while left:
            ready = [s for s in left.values() if not any(name in left for name in s.needs(self.rules))]
            assert ready, "a column was built on itself"
            done += ready
            left = {name: step for name, step in left.items() if step not in ready}
        kept = [clip for clip in self.clips if clip.column not in self.steps]
        return (*kept, *done)
