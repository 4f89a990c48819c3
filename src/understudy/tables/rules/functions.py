"""The functions that a rule may call: what each takes, gives, and how far its values can reach.

Values are float64: numbers as they are, moments in seconds since 1970, spans of time in seconds, truth values 0 and 1, and
NaN where a value is missing. A number beside a span counts days.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

Sort: TypeAlias = Literal["number", "moment", "span", "truth", "text"]
"""What kind of value a part of a rule has."""
DAY = 86400.0
_UNITS = {"weeks": 7 * DAY, "days": DAY, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}


@dataclass(frozen=True)
class Function:
    """`takes` and `gives` are sorts; a unit of time (`unit`, in seconds) makes spans of numbers and numbers of spans."""

    apply: Callable[..., np.ndarray]
    takes: tuple[Sort, ...]
    gives: Sort | None = None
    arguments: tuple[int, int] = (1, 1)
    reach: tuple[float, float] | None = None
    unit: float | None = None
    rising: bool = False
    """Whether a larger value never gives a smaller one."""


def _days(seconds: np.ndarray) -> np.ndarray:
    return np.floor(seconds / DAY)


def _calendar(unit: str) -> Callable[[np.ndarray], np.ndarray]:
    """A part of the date: the month of the year, or the day of the month."""
    outer = {"Y": None, "M": "Y", "D": "M"}[unit]

    def part(seconds: np.ndarray) -> np.ndarray:
        missing = ~np.isfinite(seconds)
        moment = np.where(missing, 0, seconds).astype(np.int64).astype("datetime64[s]").astype(f"datetime64[{unit}]")
        if outer is None:
            found = moment.astype(np.int64) + 1970
        else:
            found = (moment - moment.astype(f"datetime64[{outer}]").astype(moment.dtype)).astype(np.int64) + 1
        return np.where(missing, np.nan, found.astype(np.float64))

    return part


def _rounded(values: np.ndarray, digits: np.ndarray | None = None) -> np.ndarray:
    if digits is None:
        return np.floor(values + 0.5)
    scale = 10.0 ** np.clip(np.rint(digits), -12, 12)
    return tidy(np.floor(values * scale + 0.5) / scale)


def tidy(values: np.ndarray) -> np.ndarray:
    """Numbers to twelve digits: what a sum of decimals means, 0.3 and not 0.30000000000000004."""
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(all="ignore"):
        size = np.floor(np.log10(np.abs(values)))
        digits = np.clip(11 - np.where(np.isfinite(size), size, 0), -22, 22)
        up, down = 10.0 ** np.maximum(digits, 0), 10.0 ** np.maximum(-digits, 0)
        made = np.rint(values * up / down) / up * down
    whole = (values == np.rint(values)) & (np.abs(values) < 2.0**53)
    return np.where(whole | ~np.isfinite(made), values, made)


_month = _calendar("M")
_NUMBERS: tuple[Sort, ...] = ("number", "span")
_ORDERED: tuple[Sort, ...] = ("number", "span", "moment")

FUNCTIONS: dict[str, Function] = {
    "year": Function(_calendar("Y"), ("moment",), "number", rising=True),
    "quarter": Function(lambda s: np.floor((_month(s) + 2) / 3), ("moment",), "number", reach=(1, 4)),
    "month": Function(_month, ("moment",), "number", reach=(1, 12)),
    "day": Function(_calendar("D"), ("moment",), "number", reach=(1, 31)),
    "weekday": Function(lambda s: np.mod(_days(s) + 3, 7) + 1, ("moment",), "number", reach=(1, 7)),
    "hour": Function(lambda s: np.floor(np.mod(s, DAY) / 3600), ("moment",), "number", reach=(0, 23)),
    "minute": Function(lambda s: np.floor(np.mod(s, 3600) / 60), ("moment",), "number", reach=(0, 59)),
    "date": Function(lambda s: _days(s) * DAY, ("moment",), "moment", rising=True),
    **{name: Function(lambda v: v, _NUMBERS, unit=unit) for name, unit in _UNITS.items()},
    "floor": Function(np.floor, _NUMBERS, "number", rising=True),
    "ceil": Function(np.ceil, _NUMBERS, "number", rising=True),
    "round": Function(_rounded, _NUMBERS, "number", (1, 2)),
    "abs": Function(np.abs, _NUMBERS),
    "min": Function(lambda *parts: np.minimum.reduce(parts), _ORDERED, None, (2, 50), rising=True),
    "max": Function(lambda *parts: np.maximum.reduce(parts), _ORDERED, None, (2, 50), rising=True),
}
