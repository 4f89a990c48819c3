"""What is public about one column, checked as soon as it is said."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, TypeAlias, cast, get_args
from zoneinfo import ZoneInfo

import numpy as np

from understudy.errors import InputError
from understudy.tables.aside import ASIDE
from understudy.tables.forms import DURATION_FORMATS, duration_of, duration_text
from understudy.wording import did_you_mean

Kind: TypeAlias = Literal["continuous", "integer", "ordinal", "categorical", "code", "boolean", "datetime", "duration"]
Scale: TypeAlias = Literal["linear", "log"]
Bound: TypeAlias = float | int | datetime | timedelta
Category: TypeAlias = str | int | float

KINDS: tuple[Kind, ...] = get_args(Kind)
BOUNDED: tuple[Kind, ...] = ("continuous", "integer", "datetime", "duration")
LISTED: tuple[Kind, ...] = ("ordinal", "categorical", "code")
NOMINAL: tuple[Kind, ...] = ("categorical", "code")
"""Listed, and in no order."""
OTHER = "other"


@dataclass(frozen=True)
class Column:
    """What is public about one column.

    - `bounds` (continuous, integer, datetime, duration): lowest and highest value; what lies outside is clipped.
      Datetimes are kept to the second, in UTC, and durations to the second.
    - `categories` (ordinal: in their order; categorical): all text or all numbers; a code's are text.
    - `nullable`: whether values may be missing.
    - `scale`: `log` spreads small values apart; needs a lower bound of at least 0.
    - `format`: how the table writes it. Datetime: as `%d.%m.%Y` or `%Y-%m-%dT%H:%M:%SZ`; ISO 8601 if left out.
      Duration: `%H:%M:%S`, `%H:%M`, `%d days %H:%M:%S` or `ISO8601`. Integer and code: `%05d` for five digits with zeros.
      Boolean: the words for no and yes, as `0/1` or `nein/ja`; false and true if left out.
    - `zone` (datetime): in which zone it is shown, as `Europe/Berlin`; text without an offset is read as of that zone.
    - `other` (categorical, code): whether a value that is not listed becomes the category "other"; if not, it is an error.
    """

    name: str
    kind: Kind
    bounds: tuple[Bound, Bound] | None = None
    categories: tuple[Category, ...] | None = None
    nullable: bool = False
    scale: Scale = "linear"
    other: bool = False
    format: str | None = None
    zone: str | None = None

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
        self._check_format(where)
        if self.kind == "integer" and self.bounds is None and self.digits is not None:
            object.__setattr__(self, "bounds", (0, 10**self.digits - 1))
        if self.categories is not None:
            object.__setattr__(self, "categories", _categories(self.categories, self.kind, where, self.digits))
        self._check_scale(where)
        self._check_other(where)

    def _check_format(self, where: str) -> None:
        if self.zone is not None:
            _check_zone(self.zone, self.kind, where)
        if self.format is None:
            return
        if self.kind in ("integer", "code"):
            if not isinstance(self.format, str) or not re.fullmatch(r"%0([1-9]|1\d)d", self.format):
                raise InputError(
                    f"{where}: `format` (={self.format!r}) of digits is written as %05d: five, with zeros."
                )
            return
        if self.kind == "duration":
            if self.format not in DURATION_FORMATS:
                raise InputError(
                    f"{where}: `format` (={self.format!r}) of a duration is one of {', '.join(DURATION_FORMATS)}."
                )
            return
        if self.kind == "boolean":
            if len(set(self.words or ())) != 2:
                raise InputError(
                    f"{where}: `format` (={self.format!r}) of yes and no is two words, no first, as in 0/1."
                )
            return
        if self.kind != "datetime":
            raise InputError(f"{where}: a {self.kind} column has no `format`.")
        # With a zone: %z says nothing of a moment that has none.
        sample = datetime(2023, 11, 29, 13, 37, 59, tzinfo=UTC)
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
        if self.kind not in NOMINAL:
            raise InputError(f"{where}: `other` is for categorical and code columns, not {self.kind}.")
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
    def digits(self) -> int | None:
        """How many digits the `format` of a whole number or code writes."""
        return int(self.format[2:-1]) if self.format is not None and self.kind in ("integer", "code") else None

    @property
    def words(self) -> tuple[str, ...] | None:
        """The words for no and yes that the `format` of a truth value names."""
        told = isinstance(self.format, str) and self.kind == "boolean"
        return tuple(word for word in cast(str, self.format).split("/") if word) if told else None

    @property
    def number_bounds(self) -> tuple[float, float]:
        """The bounds as numbers; moments in whole seconds since 1970, durations in whole seconds."""
        if self.bounds is None:
            raise InputError(f"column {self.name!r} has no bounds.")
        low, high = (_as_number(bound) for bound in self.bounds)
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
        for name, default in (
            ("nullable", False),
            ("scale", "linear"),
            ("other", False),
            ("format", None),
            ("zone", None),
        ):
            if getattr(self, name) != default:
                plain[name] = getattr(self, name)
        return plain


def seconds(moment: datetime) -> int:
    """Whole seconds since 1970, UTC."""
    return int(moment.replace(tzinfo=UTC).timestamp())


def code_text(value: object, digits: int | None) -> str:
    """A code as text: whole numbers without a fraction, digits with their zeros."""
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return text.zfill(digits) if digits is not None and text.isdigit() else text


def repeated(values: Sequence[Any]) -> list[Any]:
    """The values that were there before, in their order."""
    seen: set[Any] = set()
    return [value for value in values if value in seen or seen.add(value)]


def _as_number(bound: Bound) -> float | int:
    if isinstance(bound, timedelta):
        return int(bound.total_seconds())
    return seconds(bound) if isinstance(bound, datetime) else bound


def _check_zone(zone: object, kind: Kind, where: str) -> None:
    if kind != "datetime":
        raise InputError(f"{where}: `zone` is for datetime columns, not {kind}.")
    try:
        # Types of files have offsets such as +02:00 as well.
        if re.fullmatch(r"[+-]\d\d:\d\d", str(zone)) is None:
            ZoneInfo(zone)  # pyright: ignore[reportArgumentType]
    except (KeyError, ValueError, TypeError, OSError):
        raise InputError(
            f"{where}: `zone` (={zone!r}) is no time zone; write it as UTC, Europe/Berlin or +02:00."
        ) from None


def _plain(bound: Bound) -> float | int | str:
    if isinstance(bound, timedelta):
        return duration_text(bound)
    if not isinstance(bound, datetime):
        return bound
    midnight = bound.hour == bound.minute == bound.second == 0
    return bound.date().isoformat() if midnight else bound.isoformat(sep=" ")


def _bounds(bounds: object, kind: Kind, where: str) -> tuple[Bound, Bound]:
    if kind not in BOUNDED:
        raise InputError(f"{where}: `bounds` are for {', '.join(BOUNDED)} columns, not {kind}.")
    if isinstance(bounds, str) or not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise InputError(f"{where}: `bounds` (={bounds!r}) must be two values, lowest and highest.")
    convert = {"datetime": _moment, "duration": _length}.get(kind, _number)
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


def _length(bound: Any, where: str) -> timedelta:
    """A duration, from text in any of its forms or a number of seconds."""
    if isinstance(bound, str):
        found = duration_of(bound)
    elif isinstance(bound, timedelta):
        found = float("nan") if str(bound) == "NaT" else bound.total_seconds()
    elif isinstance(bound, np.timedelta64):
        found = float(bound / np.timedelta64(1, "s"))
    else:
        found = float(_number(bound, where))
    if not math.isfinite(found) or abs(found) > timedelta.max.total_seconds():
        raise InputError(
            f"{where}: the bound {bound!r} is no duration; write it as 02:30:00, 1 days 02:30:00 or PT2H30M."
        )
    return timedelta(seconds=int(found))


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


def _categories(categories: object, kind: Kind, where: str, digits: int | None) -> tuple[Category, ...]:
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
    if kind == "code":
        values = tuple(code_text(value, digits) for value in values)
    if len({isinstance(value, str) for value in values}) > 1:
        raise InputError(f"{where}: `categories` mixes text and numbers. Quote the numbers if the column holds text.")
    if twice := repeated(values):
        raise InputError(f"{where}: the category {twice[0]!r} is listed more than once.")
    return values
