"""Options that several commands share: a ledger to charge, and any setting of a method as NAME=VALUE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from understudy.errors import InputError

LedgerOption = Annotated[str | None, typer.Option("--ledger", help="Charge this ledger. Needs --dataset.")]
DatasetOption = Annotated[str | None, typer.Option("--dataset", help="Name of the dataset in the ledger.")]
SettingsOption = Annotated[
    list[str] | None, typer.Option("--set", help="Any other setting of the method, as NAME=VALUE; may be repeated.")
]


def check_ledger(ledger: str | None, dataset: str | None) -> None:
    """Both or neither."""
    if (ledger is None) != (dataset is None):
        raise InputError("--ledger and --dataset belong together: the file, and the name of the dataset in it.")


def check_chargeable(made: Any) -> None:
    """Refuse to book in a ledger what has no epsilon that holds."""
    if not made.private or getattr(made, "mode", None) == "as-published":
        raise InputError(
            "--ledger: such a run has no epsilon that holds beforehand, so there is nothing true to book. Leave --ledger "
            "out, and treat what it makes as private; or take a method and a mode that keep to a budget."
        )


def make(
    method: str,
    methods: Mapping[str, str],
    epsilon: float,
    delta: float,
    given: Mapping[str, Any],
    extra: Sequence[str],
) -> Any:
    """The estimator of `method` with the options that were given; one that it does not have is refused.

    Epsilon and delta have options of their own, which a ledger goes by: no setting may say them by the back door.
    """
    import inspect

    from understudy import methods as ours
    from understudy.wording import did_you_mean

    if method not in methods:
        raise InputError(f"unknown method {method!r}; known are {', '.join(methods)}.{did_you_mean(method, methods)}")
    kind = getattr(ours, methods[method])
    known = list(inspect.signature(kind).parameters)
    chosen = {name: value for name, value in given.items() if value is not None}
    if kind.private:
        chosen |= {"epsilon": epsilon, "delta": delta}
    for text in extra:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--set {text!r}: write it as NAME=VALUE.")
        if name in ("epsilon", "delta"):
            raise InputError(f"--set {text!r}: say it with --{name}, which is what a ledger is charged.")
        chosen[name] = read_value(value)
    for name in chosen:
        if name not in known:
            raise InputError(f"method {method!r} has no setting {name!r}.{did_you_mean(name, known)}")
    return kind(**chosen)


def read_value(text: str) -> Any:
    """A number, true, false, null or a list as JSON has them; anything else is text."""
    import json

    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return tuple(value) if isinstance(value, list) else value
