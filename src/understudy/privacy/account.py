"""`understudy account`: what a run cost, from a description of its queries. Also for runs that were made elsewhere."""

from __future__ import annotations

# pyright: reportUnnecessaryIsInstance=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from understudy.errors import InputError
from understudy.privacy.accountant import Epsilon, Observed, compose, data_dependent_epsilon
from understudy.privacy.argmax import check_votes
from understudy.privacy.events import (
    NOISES,
    ConfidentGNMaxEvent,
    Event,
    GaussianEvent,
    GNMaxEvent,
    LaplaceEvent,
    LNMaxEvent,
    Noise,
    SubsampledGaussianEvent,
    check_delta,
)
from understudy.privacy.rdp import check_orders
from understudy.untrusted import read_text, strict_json

# Votes are rows of counts; for more of them `count` gives the unconditional cost.
LARGEST_FILE, _MOST_VALUES = 64 * 2**20, 8_000_000

_FIELDS: dict[str, tuple[str, ...]] = {
    "lnmax": ("gamma", "votes", "count", "noise"),
    "gnmax": ("sigma", "votes", "count", "noise"),
    "confident-gnmax": ("threshold", "sigma_threshold", "sigma", "votes", "answered", "count", "noise"),
    "subsampled-gaussian": ("noise_multiplier", "sampling_rate", "steps", "noise"),
    "laplace": ("epsilon", "count"),
    "gaussian": ("noise_multiplier", "count", "noise"),
}


@dataclass(frozen=True)
class QueryGroup:
    """One group of queries: the event, and, where votes were given, what was observed."""

    event: Event
    observed: Observed | None

    @property
    def queries(self) -> int:
        return self.event.steps if isinstance(self.event, SubsampledGaussianEvent) else cast(Any, self.event).count


def account_file(path: str | Path) -> dict[str, Any]:
    """Read a description and account for it; every mistake in it is an `InputError` that says where."""
    text = read_text(path, most=LARGEST_FILE, what="the description")
    return account(strict_json(text, where=str(path), most_values=_MOST_VALUES))


def account(document: object) -> dict[str, Any]:
    """The unconditional and, where votes are given, the data-dependent epsilon of all groups and of each."""
    if not isinstance(document, Mapping):
        raise InputError('the description must be an object such as {"delta": 1e-5, "queries": [...]}.')
    given = {str(k): v for k, v in document.items()}
    known = {"delta", "queries", "orders", "moments", "conversion"}
    if unknown := sorted(set(given) - known):
        raise InputError(f"unknown key {unknown[0]!r} at the top; known are {', '.join(sorted(known))}.")
    if "delta" not in given:
        raise InputError("`delta` is missing: give the delta at which epsilon is to be stated, such as 1e-5.")
    delta = given["delta"]
    check_delta(delta)
    options = _options(given)
    listed = given.get("queries")
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not listed:
        raise InputError("`queries` must be a list of at least one query group.")
    groups = [_group(g, f"queries[{i}]") for i, g in enumerate(listed)]

    total = compose([g.event for g in groups], delta, **options)
    result: dict[str, Any] = {
        "epsilon": total.epsilon,
        "epsilon_data_dependent": None,
        "delta": delta,
        "order": total.order,
        "order_data_dependent": None,
        "method": total.method,
        "groups": [_describe(g, delta, options) for g in groups],
    }
    if any(g.observed for g in groups):
        seen = _data_dependent(groups, total, delta, options)
        result["epsilon_data_dependent"] = seen.epsilon
        result["order_data_dependent"] = seen.order
        result["warning"] = (
            "epsilon_data_dependent depends on the votes: it is itself private, holds for this dataset only, and is no "
            "guarantee. Do not publish it."
        )
    return result


def _describe(group: QueryGroup, delta: float, options: Mapping[str, Any]) -> dict[str, Any]:
    alone = compose([group.event], delta, **options)
    row: dict[str, Any] = {
        "mechanism": group.event.mechanism,
        "queries": group.queries,
        "epsilon": alone.epsilon,
        "epsilon_data_dependent": None,
        "method": alone.method,
        "order": alone.order,
    }
    if isinstance(group.event, ConfidentGNMaxEvent):
        row["answered"] = group.event.answered
    if group.observed is not None:
        row["epsilon_data_dependent"] = _data_dependent([group], alone, delta, options).epsilon
    return row


def _data_dependent(groups: Sequence[QueryGroup], total: Epsilon, delta: float, options: Mapping[str, Any]) -> Epsilon:
    observed = [g.observed for g in groups if g.observed is not None]
    others = [g.event for g in groups if g.observed is None]
    seen = data_dependent_epsilon(observed, others, delta, **options)
    return seen if seen.epsilon <= total.epsilon else total  # the unconditional one holds for this dataset too


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if given.get("orders") is not None:
        if not isinstance(given["orders"], list) or any(isinstance(o, bool) for o in given["orders"]):
            raise InputError("`orders` must be a list of numbers above 1.")
        options["orders"] = check_orders(given["orders"])
        if len(options["orders"]) > 10_000:
            raise InputError("`orders` holds more than 10000 orders.")
    if (moments := given.get("moments")) is not None:
        if isinstance(moments, bool) or not isinstance(moments, int):
            raise InputError(f"`moments` (={moments!r}) must be the whole number L of moments 1..L.")
        options["moments"] = moments
    conversion = given.get("conversion", "tight")
    if conversion not in ("tight", "classical", "classic"):
        raise InputError(f'`conversion` (={conversion!r}) must be "tight" or "classical".')
    options["conversion"] = "tight" if conversion == "tight" else "classical"
    return options


def _group(value: object, where: str) -> QueryGroup:
    if not isinstance(value, Mapping):
        raise InputError(f"{where}: expected an object with a `mechanism`, got {type(value).__name__}.")
    given = {str(k): v for k, v in value.items()}
    mechanism = given.pop("mechanism", None)
    if not isinstance(mechanism, str) or mechanism not in _FIELDS:
        raise InputError(f"{where}: unknown mechanism {mechanism!r}; known are {', '.join(_FIELDS)}.")
    if unknown := sorted(set(given) - set(_FIELDS[mechanism])):
        raise InputError(
            f"{where} ({mechanism}): unknown key {unknown[0]!r}; known are {', '.join(_FIELDS[mechanism])}."
        )
    try:
        return _parse(mechanism, given)
    except InputError as error:
        raise InputError(f"{where} ({mechanism}): {error}") from None


def _parse(mechanism: str, given: dict[str, Any]) -> QueryGroup:
    noise = given.get("noise", "continuous")
    if noise not in NOISES:
        raise InputError(f'`noise` (={noise!r}) must be "continuous" or "discrete".')
    match mechanism:
        case "laplace":
            return QueryGroup(LaplaceEvent(_need(given, "epsilon"), given.get("count", 1)), None)
        case "gaussian":
            return QueryGroup(GaussianEvent(_need(given, "noise_multiplier"), given.get("count", 1), noise), None)
        case "subsampled-gaussian":
            step = (_need(given, "noise_multiplier"), _need(given, "sampling_rate"), _need(given, "steps"))
            return QueryGroup(SubsampledGaussianEvent(*step, noise), None)
        case _:
            return _voted(mechanism, given, noise)


def _voted(mechanism: str, given: dict[str, Any], noise: Noise) -> QueryGroup:
    if ("votes" in given) == ("count" in given):
        raise InputError("give either `votes` (rows of counts) or `count` (for the unconditional cost alone).")
    votes = check_votes(given["votes"]) if "votes" in given else None
    count = given["count"] if votes is None else len(votes)
    answered = None
    match mechanism:
        case "lnmax":
            event: LNMaxEvent | GNMaxEvent | ConfidentGNMaxEvent = LNMaxEvent(_need(given, "gamma"), count)
        case "gnmax":
            event = GNMaxEvent(_need(given, "sigma"), count, noise)
        case _:
            answered, number = _answered(given, count, votes is not None)
            threshold = _need(given, "threshold")
            event = ConfidentGNMaxEvent(
                threshold, _need(given, "sigma_threshold"), _need(given, "sigma"), count, number, noise
            )
    if votes is None:
        return QueryGroup(event, None)
    return QueryGroup(event, Observed(event, votes, answered, noise))


def _answered(given: Mapping[str, Any], count: object, voted: bool) -> tuple[np.ndarray[Any, Any] | None, int]:
    """Which queries were answered, and how many; without the list, all of them, which is the most it can cost."""
    answered = given.get("answered")
    if isinstance(answered, list):
        if not all(isinstance(a, bool) for a in answered) or len(answered) != count:
            raise InputError(f"`answered` must be a list of {count} times true or false, one a query.")
        return np.array(answered, dtype=bool), sum(answered)
    if voted:
        raise InputError("`answered` is missing: a list with true or false for each row of votes.")
    if answered is None:
        return None, cast(int, count)
    return None, answered


def _need(given: Mapping[str, Any], name: str) -> Any:
    if name not in given:
        raise InputError(f"`{name}` is missing.")
    value = given[name]
    if isinstance(value, int) and not isinstance(value, bool) and name != "steps":
        if abs(value) > 2**53:
            raise InputError(f"`{name}` (={str(value)[:20]}...) is out of range.")
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"`{name}` (={value}) must be a finite number.")
    return value
