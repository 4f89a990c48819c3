"""Settings of a method: what each may be is declared beside it, and checked before anything is spent.

An estimator is a dataclass, so its constructor stores its settings and does nothing else, as scikit-learn wants it. What
never appears in an event of the certificate (sizes of networks, learning rates, numbers of free steps) stands in a group
of its own, a `Settings`: a reviewer of the promise need not read it. `get_params`, `set_params` and `clone` reach into
groups (`training__batch`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Self

from understudy.errors import InputError
from understudy.wording import did_you_mean


@dataclass(frozen=True)
class Limit:
    """What a setting may be, in words and as a test."""

    words: str
    holds: Callable[[Any], bool]

    def check(self, name: str, value: Any) -> None:
        if not self.holds(value):
            raise InputError(f"`{name}` (={value!r}) {self.words}.")


def whole(least: int = 1) -> Limit:
    """A whole number from `least` on."""
    return Limit(
        f"must be a whole number, at least {least}",
        lambda v: isinstance(v, int) and not isinstance(v, bool) and least <= v <= 2**53,
    )


def positive() -> Limit:
    return Limit("must be a finite number above 0", lambda v: _is_number(v) and math.isfinite(v) and v > 0)


def share(of: str = "epsilon", *, least: float = 0.0, most: float = 1.0, ends: str = "[)") -> Limit:
    """A part of something; `ends` says which ends belong to it, as mathematics writes it."""
    low = "at least" if ends[0] == "[" else "above"
    high = "at most" if ends[1] == "]" else "below"

    def holds(value: Any) -> bool:
        if not _is_number(value) or not least <= value <= most:
            return False
        return (ends[0] == "[" or value > least) and (ends[1] == "]" or value < most)

    return Limit(f"is a share of {of}: {low} {least:g} and {high} {most:g}", holds)


def one_of(*known: str) -> Limit:
    quoted = [f'"{name}"' for name in known]
    words = f"must be {' or '.join(quoted)}" if len(known) < 3 else f"must be one of {', '.join(quoted)}"
    return Limit(words, lambda v: isinstance(v, str) and v in known)


def truth() -> Limit:
    return Limit("must be True or False", lambda v: isinstance(v, bool))


def layers(least: int = 0) -> Limit:
    """Sizes of hidden layers, at least so many of them."""
    size = whole().holds
    return Limit(
        "must be a tuple of whole numbers, the sizes of hidden layers" + (f", at least {least}" if least else ""),
        lambda v: isinstance(v, tuple | list) and len(v) >= least and all(size(each) for each in v),
    )


def or_none(limit: Limit) -> Limit:
    return Limit(f"{limit.words}, or None", lambda v: v is None or limit.holds(v))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def setting(default: Any, limit: Limit | None = None) -> Any:
    """A field of a method with its default and its limit."""
    return field(default=default, metadata={} if limit is None else {"limit": limit})


@dataclass
class Settings:
    """A group of settings that cannot affect privacy."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name, as scikit-learn asks for them."""
        del deep
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def set_params(self, **changes: Any) -> Self:
        known = self.get_params()
        for name, value in changes.items():
            if name not in known:
                raise InputError(f"there is no setting {name!r}.{did_you_mean(name, known)}")
            setattr(self, name, value)
        return self


def check_settings(owner: Any) -> None:
    """Refuse a setting beyond its declared limit, in the estimator or in one of its groups."""
    for one in fields(owner):
        value = getattr(owner, one.name)
        if (limit := one.metadata.get("limit")) is not None:
            limit.check(one.name, value)
        if (group := _group(one)) is not None:
            if not isinstance(value, group):
                raise InputError(f"`{one.name}` (={value!r}) must be of type {group.__name__}.")
            check_settings(value)


def as_json(owner: Any) -> dict[str, Any]:
    """All settings as plain values; groups are objects."""
    return {one.name: _plain(getattr(owner, one.name)) for one in fields(owner)}


def from_names(kind: type[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for `kind` from settings by name: plain, in a group's object, or of a group without naming it.

    A name is looked for among the settings themselves first, then in the groups: `batch` finds `training.batch`.
    """
    own = {one.name: one for one in fields(kind)}
    groups = {name: group for name, one in own.items() if (group := _group(one)) is not None}
    given: dict[str, Any] = {}
    inside: dict[str, dict[str, Any]] = {}
    for name, value in named.items():
        head, dot, rest = name.replace("__", ".").partition(".")
        if dot and head in groups:
            inside.setdefault(head, {})[rest] = value
        elif name in groups and isinstance(value, Mapping):
            inside.setdefault(name, {}).update(value)
        elif name in own:
            given[name] = _rich(value)
        else:
            holders = [head for head, group in groups.items() if name in {one.name for one in fields(group)}]
            if not holders:
                known = [*own, *(one.name for group in groups.values() for one in fields(group))]
                raise InputError(f"there is no setting {name!r}.{did_you_mean(name, known)}")
            inside.setdefault(holders[0], {})[name] = value
    for name, values in inside.items():
        known = {one.name for one in fields(groups[name])}
        if unknown := [key for key in values if key not in known]:
            raise InputError(f"`{name}` has no setting {unknown[0]!r}.{did_you_mean(unknown[0], known)}")
        given[name] = groups[name](**{key: _rich(value) for key, value in values.items()})
    return given


def _group(one: Field[Any]) -> type[Settings] | None:
    factory: Any = one.default_factory
    return factory if factory is not MISSING and isinstance(factory, type) and issubclass(factory, Settings) else None


def _plain(value: Any) -> Any:
    if isinstance(value, Settings):
        return as_json(value)
    return list(value) if isinstance(value, tuple) else value


def _rich(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
