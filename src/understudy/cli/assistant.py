"""The dialogue of `understudy schema init` in a terminal: what is public about each column, asked one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from understudy.cli.options import delta_for
from understudy.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from understudy.tables import Column, Schema
    from understudy.tables.aside import Aside

T = TypeVar("T")

_INTRODUCTION = """\
{rows:,} rows, {columns} columns. For each column say what is known without these rows: from a codebook, a law, a natural
limit. What you say is free, and counts as public. What you leave open is learnt from the rows and paid for.
What is shown of the rows is for your eyes only: it is written nowhere, and Enter never takes it as an answer but for the kind.
Ctrl-C ends this; nothing is written before the end."""


def interview(frame: pd.DataFrame, target: str | None, delta: float | None) -> Schema | None:
    """Shows private rows to their owner, and asks; None where all is left to be learnt."""
    from understudy.tables import Schema
    from understudy.tables.coordinates.price import GOOD, price
    from understudy.tables.io import column_of
    from understudy.tables.questions import known_as

    drafted, delta = Schema.draft(frame, target), delta_for(delta, len(frame))
    typer.echo(_INTRODUCTION.format(rows=len(frame), columns=len(drafted)))
    found: list[Column | Aside] = []
    left = []
    for number, column in enumerate(drafted, start=1):
        goal = column.name == target
        typer.echo(f"\n[{number} of {len(drafted)}] {column.name}" + (" (the target)" if goal else ""))
        alone = price([known_as(column.name, None, target=goal)], len(frame), delta)
        answer = _ask_column(column_of(frame, column.name), len(found), goal, alone)
        if answer is not None:
            found.append(answer)
        if answer is None or getattr(answer, "needs", None) is not None:
            left.append(known_as(column.name, None if answer is None else answer.kind, target=goal))
    if left:
        whole = price(left, len(frame), delta)
        typer.echo(
            f"\nLeft to be learnt: {', '.join(column.name for column in left)}. Known to within {GOOD:.0%} of the rows "
            f"they take epsilon {whole:.2g}; with less they are known less well."
        )
    else:
        typer.echo("\nEverything is said: nothing has to be learnt before the release.")
    return Schema.from_entries(found, target)


def _ask_column(series: Any, place: int, target: bool, alone: float) -> Column | Aside | None:
    from understudy.tables.hints import hint_for
    from understudy.tables.questions import LETTERS, WORDS, asks_for, glance, letter_of, said

    name = str(series.name)
    seen, hint = glance(series), None if target else hint_for(name)
    typer.echo(f"  in the rows (for your eyes only): {seen.words}")
    if hint is not None:
        typer.echo(f"  by its name: {_in_words(hint)}")
    typer.echo(f"  to learn it instead: epsilon {alone:.2g} by itself")
    suggestion = seen.kind if hint is None else hint.kind
    if target and suggestion in ("integer", "id", "text"):
        suggestion = "categorical"
    letter = _until_valid(
        lambda text: _one_of(text, LETTERS),
        f"  What is it? ({WORDS})",
        letter_of(suggestion),
    )
    kind = LETTERS[letter]
    if kind is None:
        return None
    given: dict[str, Any] = {}
    more = asks_for(kind)
    if more == "bounds":
        given["bounds"] = _ask_bounds(name, kind, hint if hint is not None and hint.kind == kind else None)
    elif more == "categories":
        given |= _ask_categories(name, kind)
    elif more == "pattern":
        given["pattern"] = _ask_pattern(name)
    if more != "pattern" and kind not in ("text", "drop") and not target:
        given["nullable"] = typer.confirm("  May it be missing in some row?", default=True)
    elif target:
        given["nullable"] = False
    return said(name, kind, place, **given)


def _ask_bounds(name: str, kind: Any, hint: Any) -> Any:
    from understudy.tables.questions import bounds_from

    shown = "" if hint is None or hint.bounds is None else _range(hint.bounds)
    return _until_valid(
        lambda text: None if text == "-" else bounds_from(text, name, kind),
        "  Lowest and highest value that can occur, as in `0 to 120`; - to have them learnt",
        shown or "-",
    )


def _ask_categories(name: str, kind: Any) -> dict[str, Any]:
    from understudy.tables.questions import categories_from

    ordered = kind == "ordinal"
    words = "in their order, lowest first" if ordered else "a * among them if there may be others"
    text = "  All its values with commas between them, " + words + ("" if ordered else "; - to have them learnt")
    answer = _until_valid(
        lambda text: None if text == "-" and not ordered else categories_from(text, name, kind),
        text,
        None if ordered else "-",
    )
    return {} if answer is None else {"categories": answer[0], "other": answer[1]}


def _ask_pattern(name: str) -> str | None:
    from understudy.tables.aside import Aside

    def read(text: str) -> str | None:
        return None if text == "-" else Aside(name, "id", 0, text).pattern

    return _until_valid(read, "  How new ones look, as in P-#####; - for whole numbers", "-")


def _until_valid(read: Callable[[str], T], text: str, default: str | None) -> T:
    """Asks until the answer can be read."""
    while True:
        try:
            return read(typer.prompt(text, default=default).strip())
        except InputError as error:
            typer.echo(f"  {error}")


def _one_of(text: str, letters: dict[str, Any]) -> str:
    if text.lower() not in letters:
        raise InputError(f"{text!r}: type one of {', '.join(letters)}.")
    return text.lower()


def _in_words(hint: Any) -> str:
    return f"{hint.kind}" + ("" if hint.bounds is None else f", {_range(hint.bounds)}") + f" ({hint.why})"


def _range(bounds: tuple[Any, Any]) -> str:
    ends = [end.date().isoformat() if hasattr(end, "date") else f"{end:g}" for end in bounds]
    return f"{ends[0]} to {ends[1]}"
