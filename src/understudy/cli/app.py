"""The application itself and what every command shares: exit codes, JSON, error wording."""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from understudy._version import __version__
from understudy.errors import BudgetExceeded, InputError, UnderstudyWarning

EXIT_INPUT = 2
EXIT_BUDGET = 3
EXIT_INTERRUPTED = 130
_USUAL_WARNING = warnings.formatwarning

app = typer.Typer(
    name="understudy",
    help="Private stand-ins for sensitive data, each with a certificate that anybody can recompute.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of a table for people.")]


def _version(value: bool) -> None:
    if value:
        typer.echo(f"understudy {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version


# One module a command (or a family of commands); each registers itself on `app` when imported.
COMMANDS = (
    "demo",
    "describe",
    "classify",
    "synthesize",
    "sample",
    "distill",
    "evaluate",
    "report",
    "audit",
    "account",
    "plan",
    "verify",
    "sign",
    "registry",
    "ledger",
    "schema",
    "schema_import",
    "data",
)


def load_commands() -> None:
    for name in COMMANDS:
        importlib.import_module(f"understudy.cli.{name}")
    # one may import another's options: the order of the help is that of COMMANDS all the same
    places = {f"understudy.cli.{name}": place for place, name in enumerate(COMMANDS)}
    app.registered_commands.sort(key=lambda command: places.get(str(command.callback.__module__), len(places)))


def print_json(value: Mapping[str, Any]) -> None:
    """One JSON document on standard output; infinities become null, since JSON has none."""
    typer.echo(json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A readable table for people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for column in columns:
        table.add_column(Text(column))
    for row in rows:
        table.add_row(*(Text(number(cell)) for cell in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(console.width, 160))
    console.print(Text(title))
    console.print(table)


def number(cell: object) -> str:
    """Six significant digits for floats, plain text for the rest."""
    if isinstance(cell, float):
        return f"{cell:.6g}"
    return "" if cell is None else str(cell)


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point: wrong input exits with 2, a refused budget with 3, each with one plain message."""
    load_commands()
    warnings.formatwarning = _plain_warning
    wants_json = "--json" in (sys.argv[1:] if argv is None else argv)
    try:
        app(args=None if argv is None else list(argv))
    except InputError as error:
        _fail(EXIT_INPUT, "input", error, wants_json)
    except BudgetExceeded as error:
        _fail(EXIT_BUDGET, "budget", error, wants_json)
    except SystemExit as ended:
        if ended.code == EXIT_INTERRUPTED:
            _say_interrupted(at_once=argv is None)
        raise


def _say_interrupted(*, at_once: bool) -> None:
    """All of ours is put away by now. Threads of compiled code may still compute, and crash while Python is taken down: it ends `at_once`."""
    typer.echo("Interrupted.", err=True)
    if at_once:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(EXIT_INTERRUPTED)


def _plain_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """Our own warnings are for people who did not write the line that they come from; others are shown as ever."""
    if issubclass(category, UnderstudyWarning):
        return f"Warning: {message}\n"
    return _USUAL_WARNING(message, category, filename, lineno, line)


def _fail(code: int, kind: str, error: Exception, wants_json: bool) -> None:
    if wants_json:
        details = {"error": kind, "message": str(error)}
        if isinstance(error, BudgetExceeded):
            details |= {
                "requested": error.requested,
                "remaining": error.remaining,
                "difference": error.difference,
            }
        print_json(details)
    else:
        typer.echo(f"error: {error}", err=True)
    raise SystemExit(code)
