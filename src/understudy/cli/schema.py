"""`understudy schema`: draft what is public about a table, fill it privately, check it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.app import Json, app, print_json, print_table
from understudy.cli.options import (
    DATA_HELP,
    DecimalOption,
    DeltaOption,
    EncodingOption,
    SeparatorOption,
    delta_for,
    source,
    tell_owner,
)
from understudy.errors import InputError
from understudy.wording import listed

if TYPE_CHECKING:
    from understudy.tables import Column, Schema

_GUESSED = (
    "these kinds are guesses from what the rows look like",
    "correct them: what you then save is your declaration",
)

schema = typer.Typer(
    name="schema", help="What is public about a table: kinds, bounds, categories.", no_args_is_help=True
)
app.add_typer(schema)


@schema.command()
def init(
    data: Annotated[Path, typer.Argument(help=DATA_HELP, parser=source)],
    out: Annotated[Path | None, typer.Option(help="File to write: .yaml or .json. Printed if left out.")] = None,
    target: Annotated[str | None, typer.Option(help="The column to be predicted.")] = None,
    start: Annotated[
        Path | None, typer.Option("--schema", help="Fill the gaps of this schema instead of drafting one.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Spend this much on a look at kinds, bounds and categories. Needs --out.")
    ] = None,
    delta: DeltaOption = None,
    ledger: Annotated[str | None, typer.Option(help="Charge this ledger. Needs --dataset.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Name of the dataset in the ledger.")] = None,
    separator: SeparatorOption = None,
    decimal: DecimalOption = None,
    encoding: EncodingOption = None,
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Ask nothing: take what names and types suggest, and nothing from the rows."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Say what is public about a table: in a terminal it asks, column by column, and shows what learning it would cost.

    Where there is no terminal it drafts a schema for you to fill in. With --epsilon, bounds and categories that are left
    open are bought.
    """
    from understudy.tables import Schema
    from understudy.tables.formats import with_text_options

    data = with_text_options(data, separator, decimal, encoding)
    _check_options(out, epsilon, delta, ledger, dataset)
    given = None if start is None else Schema.read(start)
    if given is not None and target is not None:
        given = given.with_target(target)
    if given is None:
        given = assisted(data, target, yes, asking=not as_json, delta=delta)
    result: dict[str, Any] = {"epsilon": 0.0, "delta": 0.0, "certificate": None}
    if epsilon is None or out is None or (given is not None and not given.missing()):
        made = _draft(data, target) if given is None else given
        if out is not None:
            made.write(out)
    else:
        made, delta = _buy(data, given, target, epsilon, delta, out, ledger, dataset)
        result = {"epsilon": epsilon, "delta": delta, "certificate": str(_certificate_path(out))}
    missing = made.missing()
    guessed = given is None and not result["certificate"]
    if as_json:
        place = None if out is None else str(out)
        notes = {"private_to_the_data_holder": {"kinds": ", ".join(_GUESSED)}} if guessed else {}
        print_json({"out": place, "missing": missing, **result, "schema": made.to_dict(), **notes})
    elif out is None:
        typer.echo((f"# For your eyes only: {', '.join(_GUESSED)}.\n" if guessed else "") + made.to_yaml(), nl=False)
    else:
        print_columns(f"Schema {out}", made)
        if result["certificate"]:
            typer.echo(f"Spent epsilon {epsilon:g}, delta {result['delta']:g}: see {result['certificate']}.")
        if guessed:
            tell_owner(*_GUESSED)
    if missing and out is not None and not as_json:
        typer.echo(
            f"Still to be said: {len(missing)} of {len(made)} columns. Write their bounds or categories into "
            f"{out}, or buy them with --schema {out} and --epsilon."
        )


def assisted(data: Path, target: str | None, yes: bool, *, asking: bool, delta: float | None) -> Schema | None:
    """What the owner answers in a terminal, or what names and types suggest; None where nobody is asked."""
    import sys

    from understudy.cli.assistant import interview
    from understudy.tables import Schema, read_table
    from understudy.tables.hints import suggested
    from understudy.tables.io import has_types

    if yes:
        typed = has_types(data)
        made = Schema.from_entries(suggested(Schema.draft(read_table(data), target), typed=typed), target)
    elif asking and sys.stdin.isatty() and sys.stdout.isatty():
        made = interview(read_table(data), target, delta)
    else:
        return None
    if made is None:
        raise InputError(
            f"nothing was said about any column that is to be learnt, so there is no schema to write. `understudy "
            f"synthesize {data}` learns all of it, and `understudy schema init {data} --epsilon 0.5 --out schema.yaml` "
            "buys a schema."
        )
    return made


@schema.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="SCHEMA", help="The schema: .yaml or .json.")],
    data: Annotated[
        Path | None, typer.Argument(help="A table that should fit it, and keep its rules.", parser=source)
    ] = None,
    named: Annotated[
        Path | None, typer.Option("--data", help="The same table, named as an option.", parser=source)
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a schema, and whether a table fits it. What is said about the table is for its holder only."""
    from understudy.tables import Schema, read_table, validate_frame
    from understudy.tables.rules.counting import broken_rows, check_rules

    if data is not None and named is not None:
        raise InputError("the table is named twice: leave --data out.")
    data = data or named
    checked = Schema.read(file)
    check_rules(checked)
    table = None if data is None else read_table(data)
    notes = () if table is None else validate_frame(table, checked)
    broken = [] if table is None else broken_rows(table, checked, checked.rules)
    missing = checked.missing()
    if as_json:
        result = {"valid": True, "complete": not missing, "missing": missing, "schema": checked.to_dict()}
        counts = [{"rule": str(r), "broken": n} for r, n in zip(checked.rules, broken, strict=False)]
        private = {"notes": list(notes)} | ({"rules": counts} if counts else {})
        print_json(result | {"private_to_the_data_holder": private})
        return
    print_columns(f"Schema {file}: valid, {'with gaps' if missing else 'complete'}", checked, gaps_only=bool(missing))
    if missing:
        typer.echo(to_do(checked, file))
    if data is not None:
        rows = 0 if table is None else len(table)
        counts = [f"{n:,} of {rows:,} rows break `{r.short}`" for r, n in zip(checked.rules, broken, strict=True)]
        tell_owner(f"{data} fits it", *notes, *counts)
        if any(broken):
            typer.echo(
                "Look at those rows: usually the rule is wrong, or the data. No rule is applied to real rows but one by one."
            )


def _check_options(
    out: Path | None, epsilon: float | None, delta: float | None, ledger: str | None, dataset: str | None
) -> None:
    from understudy.release.spending import check_ledger_options
    from understudy.tables import check_writable
    from understudy.tables.schema_file import check_schema_path

    if epsilon is None and (delta is not None or ledger is not None or dataset is not None):
        raise InputError("--delta, --ledger and --dataset are about spending; say how much with --epsilon.")
    check_ledger_options(ledger, dataset)
    if epsilon is not None and out is None:
        raise InputError("--epsilon needs --out: what is paid for goes to a file, with its certificate beside it.")
    if out is None:
        return
    check_schema_path(out)
    if out.exists():
        raise InputError(f"{out} exists already, and may have been edited by hand. Remove it or choose another name.")
    if epsilon is not None:
        check_writable(_certificate_path(out))


def _draft(data: Path, target: str | None) -> Schema:
    """Looks at private rows: in a file without types they alone tell the kinds, so this is for its owner to correct."""
    from understudy.tables import Schema, read_table

    return Schema.draft(read_table(data), target)


def _buy(
    data: Path,
    given: Schema | None,
    target: str | None,
    epsilon: float,
    delta: float | None,
    out: Path,
    ledger: str | None,
    dataset: str | None,
) -> tuple[Schema, float]:
    """Touches private data: reserve, charge, draw, write, commit, in this order, so that nothing leaves unpaid.

    Without a schema to start from every column is looked at; with one, its gaps are.
    """
    from dataclasses import replace

    from understudy.privacy import Certificate
    from understudy.release.estimator import paid_before
    from understudy.release.intake import check_table
    from understudy.release.spending import spending
    from understudy.tables import Coordinates, Schema
    from understudy.tables.io import read_private

    table = read_private(data)
    frame, present, declared, target = check_table(table.frame, target, given)
    delta = delta_for(delta, len(present))
    gaps = list(frame.columns) if declared is None else declared.missing()
    if ordinal := [] if declared is None else [name for name in gaps if declared[name].kind == "ordinal"]:
        raise InputError(
            f"the categories of the ordinal {listed(ordinal)} cannot be looked at: counts do not say their order. Write "
            "them in the schema, or use `kind: categorical`."
        )
    asked = None if declared is None else Schema(tuple(declared[name] for name in gaps))
    with spending(epsilon, delta, purpose=f"schema {out.name}", ledger=ledger, dataset=dataset) as run:
        bought = Coordinates.release(
            frame[gaps],
            asked,
            run.budget,
            target=target if target in gaps else None,
            rows=len(present),
            typed=table.typed,
        )
        found = {column.name: column.column for column in bought}
        columns = bought.schema.columns if declared is None else tuple(found.get(c.name, c) for c in declared)
        public = ["names of the columns", *(["their types"] if table.typed else [])]
        run.certificate = Certificate.from_budget(
            run.budget,
            release={"kind": "schema", "estimated": gaps},
            assumed_public=[*public, *([] if declared is None else ["what the schema said before"])],
            builds_on=paid_before(declared),
        )
        made = Schema(columns, target)
        made = replace(made, certificate=run.certificate.to_json())
        made.write(out)
        run.certificate.save(_certificate_path(out))
    return made, delta


def _certificate_path(out: Path) -> Path:
    return out.with_suffix(".certificate.json")


_ONE_SCREEN = 25


def to_do(described: Schema, file: Path) -> str:
    """What a schema still has to say, and the ways to say it."""
    needs = {what: [c.name for c in described if c.needs == what] for what in ("bounds", "categories")}
    gaps = "; ".join(f"{what} of {', '.join(names)}" for what, names in needs.items() if names)
    return (
        f"Still to be said: {gaps}. Write them into {file} if they are public (`understudy schema import` reads them from a "
        "codebook), or leave them out: a release then learns them and pays for it."
    )


def print_columns(title: str, described: Schema, *, gaps_only: bool = False) -> None:
    rows = [
        [
            column.name + (" (target)" if column.name == described.target else ""),
            column.kind,
            _says(column),
            "may be missing" if column.nullable else "",
            column.needs,
        ]
        for column in described
    ]
    for column in sorted(described.aside, key=lambda column: column.place):
        made = {"id": "new ones are made", "text": "left empty", "drop": "left out"}[column.kind]
        rows.insert(column.place, [column.name, column.kind, "", f"not learnt: {made}", None])
    if gaps_only and len(rows) > _ONE_SCREEN:
        complete = [row for row in rows if row[-1] is None]
        rows = [row for row in rows if row[-1] is not None][:_ONE_SCREEN]
        title += f"; {len(complete)} columns say all, these do not"
    print_table(title, ["column", "kind", "values", "", "needs"], rows)


def _says(column: Column) -> str:
    plain = column.to_dict()
    if plain.get("bounds"):
        low, high = plain["bounds"]
        return f"{low} to {high}" + (", log scale" if column.scale == "log" else "")
    if plain.get("categories"):
        labels = [str(label) for label in column.labels]
        return ", ".join(labels[:6]) + (f", ... ({len(labels)} in all)" if len(labels) > 6 else "")
    return ""
