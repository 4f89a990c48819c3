"""What is public about one column, checked as soon as it is said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from understudy.errors import InputError
from understudy.tables.aside import ASIDE
from understudy.wording import did_you_mean

Kind: TypeAlias = Literal["continuous", "integer", "ordinal", "categorical", "boolean", "datetime"]
Scale: TypeAlias = Literal["linear", "log"]
Bound: TypeAlias = float | int | datetime
Category: TypeAlias = str | int | float

KINDS: tuple[Kind, ...] = get_args(Kind)
BOUNDED: tuple[Kind, ...] = ("continuous", "integer", "datetime")
LISTED: tuple[Kind, ...] = ("ordinal", "categorical")
OTHER = "other"


@dataclass(frozen=True)
class Column:
    """What is public about one column.

    - `bounds` (continuous, integer, datetime): lowest and highest value; what lies outside is clipped. Datetimes are
      kept to the second, in UTC.
    - `categories` (ordinal: in their order; categorical): all text or all numbers.
    - `nullable`: whether values may be missing.
    - `scale`: `log` spreads small values apart; needs a lower bound of at least 0.
    - `format` (datetime): how the table writes it, as `%d.%m.%Y` or `%Y-%m-%dT%H:%M:%SZ`; ISO 8601 if left out.
    - `other` (categorical): whether a value that is not listed becomes the category "other"; if not, it is an error.
    """

    name: str
    kind: Kind
    bounds: tuple[Bound, Bound] | None = None
    categories: tuple[Category, ...] | None = None
    nullable: bool = False
    scale: Scale = "linear"
    other: bool = False
    format: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"a column's `name` (={self.name!r}) must be text, and not empty.")
        where = f"column {self.name!r}"
        if self.kind not in KINDS:
            raise InputError(
                f"{where}: unknown `kind` {self.kind!r}; known are {', '.join((*KINDS, *ASIDE))}."
                + did_you_mean(self.kind, (*KINDS, *ASIDE))
            )
        for flag in ("nullable", "other"):
            if not isinstance(getattr(self, flag), bool):
                raise InputError(f"{where}: `{flag}` (={getattr(self, flag)!r}) must be true or false.")
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _bounds(self.bounds, self.kind, where))
        if self.categories is not None:
            object.__setattr__(self, "categories", _categories(self.categories, self.kind, where))
        self._check_scale(where)
        self._check_other(where)
        self._check_format(where)

    def _check_format(self, where: str) -> None:
        if self.format is None:
            return
        if self.kind != "datetime":
            raise InputError(f"{where}: `format` is for datetime columns, not {self.kind}.")
        sample = datetime(2023, 11, 29, 13, 37, 59)
        try:
            again = datetime.strptime(sample.strftime(self.format), self.format)
        except (ValueError, TypeError):
            again = None
        if again is None or again.date() != sample.date():
            raise InputError(
                f"{where}: `format` (={self.format!r}) does not say year, month and day; write it as %d.%m.%Y or "
                "%Y-%m-%dT%H:%M:%SZ."
            )

    def _check_scale(self, where: str) -> None:
        if self.scale not in get_args(Scale):
            raise InputError(f'{where}: `scale` (={self.scale!r}) must be "linear" or "log".')
        if self.scale == "log":
            if self.kind not in ("continuous", "integer"):
                raise InputError(f"{where}: a log `scale` is for continuous and integer columns, not {self.kind}.")
            if self.bounds is not None and self.number_bounds[0] < 0:
                raise InputError(
                    f"{where}: a log `scale` needs a lower bound of at least 0, not {self.bounds[0]}. "
                    "Raise the bound or use the linear scale."
                )
            if self.bounds is not None and self.number_bounds[1] * 2.0**-1000 > self.number_bounds[0] > 0:
                raise InputError(
                    f"{where}: the lower bound {self.bounds[0]} is too small for a log `scale`. Write 0 instead."
                )

    def _check_other(self, where: str) -> None:
        if not self.other:
            return
        if self.kind != "categorical":
            raise InputError(f"{where}: `other` is for categorical columns, not {self.kind}.")
        if self.categories is not None and OTHER in self.categories:
            raise InputError(
                f"{where}: {OTHER!r} is listed among the categories and `other` is true as well. "
                f"Leave {OTHER!r} out of the list: `other: true` already makes that category."
            )

    @property
    def complete(self) -> bool:
        """Whether nothing is left to say before the column can be encoded."""
        return self.needs is None

    @property
    def needs(self) -> Literal["bounds", "categories"] | None:
        """What the schema must still say about this column."""
        if self.kind in BOUNDED and self.bounds is None:
            return "bounds"
        if self.kind in LISTED and self.categories is None:
            return "categories"
        return None

    @property
    def number_bounds(self) -> tuple[float, float]:
        """The bounds as numbers; for a datetime column in whole seconds since 1970."""
        if self.bounds is None:
            raise InputError(f"column {self.name!r} has no bounds.")
        low, high = (seconds(bound) if isinstance(bound, datetime) else bound for bound in self.bounds)
        return low, high

    @property
    def labels(self) -> tuple[Category, ...]:
        """All values that a listed column can take, "other" included."""
        if self.categories is None:
            raise InputError(f"column {self.name!r} has no categories.")
        return (*self.categories, OTHER) if self.other else self.categories

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON or YAML; what is still needed shows as null, so that a draft says where to write."""
        plain: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.kind in BOUNDED:
            plain["bounds"] = None if self.bounds is None else [_plain(bound) for bound in self.bounds]
        if self.kind in LISTED:
            plain["categories"] = None if self.categories is None else list(self.categories)
        for name, default in (("nullable", False), ("scale", "linear"), ("other", False), ("format", None)):
            if getattr(self, name) != default:
                plain[name] = getattr(self, name)
        return plain


def seconds(moment: datetime) -> int:
    """Whole seconds since 1970, UTC."""
    return int(moment.replace(tzinfo=UTC).timestamp())


def repeated(values: Sequence[Any]) -> list[Any]:
    """The values that were there before, in their order."""
    seen: set[Any] = set()
    return [value for value in values if value in seen or seen.add(value)]


def _plain(bound: Bound) -> float | int | str:
    if not isinstance(bound, datetime):
        return bound
    midnight = bound.hour == bound.minute == bound.second == 0
    return bound.date().isoformat() if midnight else bound.isoformat(sep=" ")


def _bounds(bounds: object, kind: Kind, where: str) -> tuple[Bound, Bound]:
    if kind not in BOUNDED:
        raise InputError(f"{where}: `bounds` are for {', '.join(BOUNDED)} columns, not {kind}.")
    if isinstance(bounds, str) or not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise InputError(f"{where}: `bounds` (={bounds!r}) must be two values, lowest and highest.")
    convert = _moment if kind == "datetime" else _number
    low, high = (convert(bound, where) for bound in bounds)
    if kind == "integer":
        low, high = _whole(low, where), _whole(high, where)
    elif kind == "continuous" and not math.isfinite(high - low):  # pyright: ignore
        raise InputError(f"{where}: `bounds` (={bounds!r}) are further apart than a float can say.")
    if low > high:  # pyright: ignore[reportOperatorIssue]
        raise InputError(f"{where}: `bounds` are inverted: {bounds[0]} is above {bounds[1]}. Write the lowest first.")
    return low, high


def _number(bound: Any, where: str) -> float | int:
    if isinstance(bound, np.integer | np.floating):
        bound = bound.item()
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        raise InputError(f"{where}: the bound {bound!r} must be a number.")
    if not math.isfinite(bound):
        raise InputError(f"{where}: the bound {bound!r} must be finite; write the widest value that can occur.")
    return bound


def _whole(bound: Any, where: str) -> int:
    if int(bound) != bound:
        raise InputError(f"{where}: the bound {bound!r} of an integer column must be a whole number.")
    if not -(2**63) <= bound < 2**63:
        raise InputError(f"{where}: the bound {bound!r} does not fit 64 bits.")
    return int(bound)


def _moment(bound: Any, where: str) -> datetime:
    if isinstance(bound, np.datetime64):
        bound = bound.astype("datetime64[s]").item()
    if isinstance(bound, str):
        try:
            bound = datetime.fromisoformat(bound)
        except ValueError:
            raise InputError(
                f"{where}: the bound {bound!r} is not a date; write it as 2024-12-31 or 2024-12-31 23:59:59."
            ) from None
    if isinstance(bound, date) and not isinstance(bound, datetime):
        bound = datetime(bound.year, bound.month, bound.day)
    if not isinstance(bound, datetime) or str(bound) == "NaT":
        raise InputError(f"{where}: the bound {bound!r} of a datetime column must be a date.")
    if bound.tzinfo is not None:
        bound = bound.astimezone(UTC)
    return datetime(bound.year, bound.month, bound.day, bound.hour, bound.minute, bound.second)


def _categories(categories: object, kind: Kind, where: str) -> tuple[Category, ...]:
    if kind not in LISTED:
        raise InputError(f"{where}: `categories` are for {', '.join(LISTED)} columns, not {kind}.")
    if isinstance(categories, str) or not isinstance(categories, Sequence):
        raise InputError(f"{where}: `categories` must be a list, not {type(categories).__name__}.")
    if not categories:
        raise InputError(f"{where}: `categories` is empty; leave it out if they are not known yet.")
    values = tuple(value.item() if isinstance(value, np.generic) else value for value in categories)
    for value in values:
        if isinstance(value, bool):
            raise InputError(
                f"{where}: the category {value!r} is a truth value. Use `kind: boolean`, or quote it if it is text."
            )
        if not isinstance(value, str | int | float):
            raise InputError(f"{where}: the category {value!r} must be text or a number; quote it if it is text.")
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{where}: the category {value!r} must be finite; use `nullable` for missing values.")
    if len({isinstance(value, str) for value in values}) > 1:
        raise InputError(f"{where}: `categories` mixes text and numbers. Quote the numbers if the column holds text.")
    if twice := repeated(values):
        raise InputError(f"{where}: the category {twice[0]!r} is listed more than once.")
    return values
