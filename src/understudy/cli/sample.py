"""`understudy sample`: more synthetic rows or images from a release, for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy import registry
from understudy.cli.app import Json, app, print_json
from understudy.cli.images import makes_images, sample_images
from understudy.cli.options import read_value
from understudy.cli.visits import ChildOutOption, child_path
from understudy.errors import InputError


@app.command()
def sample(
    release: Annotated[Path, typer.Argument(help="The release folder that `synthesize` made.")],
    out: Annotated[
        Path,
        typer.Option(
            help="File for the rows: .csv, .csv.gz, .parquet or .feather. For images: .npz, .parquet, .png, or a folder."
        ),
    ],
    rows: Annotated[
        int, typer.Option(help="How many rows, or persons where whole ones are drawn; any number is free.")
    ] = 1000,
    condition: Annotated[
        list[str] | None,
        typer.Option(help="Only rows with COLUMN=VALUE, or 'age >= 65', as a rule is written; may be repeated."),
    ] = None,
    balance: Annotated[
        float, typer.Option(help="0: classes as common as released; 1: all alike; between: rare ones more often.")
    ] = 0.0,
    seed: Annotated[int | None, typer.Option(help="Makes the rows repeatable.")] = None,
    partitions: Annotated[
        int | None,
        typer.Option(help="Write up to so many Parquet files into the new folder OUT; the same rows however many."),
    ] = None,
    child_out: ChildOutOption = None,
    as_json: Json = False,
) -> None:
    """Draw synthetic rows from a release. Spends nothing."""
    from understudy.tables import check_table_path

    generator = registry.load(release)
    if makes_images(generator):
        sample_images(generator, out, rows, seed, (condition, balance or None, partitions), as_json)
        return
    if partitions is None:
        check_table_path(out)
    if not hasattr(generator, "sample_to"):
        raise InputError(f"{release} holds a {generator.__class__.__name__}, which makes no rows.")
    plain = [text for text in condition or [] if _is_plain(text)]
    conditions = dict(_condition(text, generator.schema_) for text in plain)
    where = [text for text in condition or [] if text not in plain]
    more: dict[str, Any] = {"balance": balance} if balance else {}
    visits = getattr(generator, "visits_", None)
    under = child_path(out, child_out, linked=visits is not None and visits.linked)
    more |= {} if under is None else {"child": under}
    more |= {} if partitions is None else {"partitions": partitions}
    drawn = generator.sample_to(out, rows, conditions, seed, where=where, **more)
    epsilon = generator.certificate_.epsilon
    if as_json:
        result = {
            **written(visits, out, under, rows, drawn),
            "epsilon": epsilon,
            "delta": generator.certificate_.delta,
        }
        print_json({**result, "drawn_again": drawn.drawn_again})
    else:
        what = f"{rows:,} rows" if visits is None else f"{rows:,} persons with {drawn.rows:,} rows"
        places = str(out) if under is None else f"{out} and {under}"
        typer.echo(f"Wrote {what} to {places}. Nothing was spent: the release holds at epsilon {epsilon:g}.")
        tell_rules(generator, drawn.drawn_again)


def _is_plain(text: str) -> bool:
    """Whether a condition is COLUMN=VALUE, and not written as a rule is."""
    name, equals, value = text.partition("=")
    return bool(equals) and not value.startswith("=") and name[-1:] not in ("<", ">", "!", "=")


def _condition(text: str, schema: Any) -> tuple[str, Any]:
    """COLUMN=VALUE in the type of the column's values."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--condition {text!r}: write it as COLUMN=VALUE.")
    column = schema[name]
    if column.kind == "boolean":
        return name, {"true": True, "1": True, "false": False, "0": False}.get(value.lower(), value)
    if column.categories is not None:
        return name, next((label for label in column.labels if str(label) == value), value)
    return name, read_value(value)


def written(visits: Any, out: Path, child: Path | None, rows: int, drawn: Any) -> dict[str, Any]:
    """What was written where; of a release that draws whole persons how many there are, and how many rows they have."""
    places = {"out": str(out)} if child is None else {"out": str(out), "child_out": str(child)}
    return {**places, "rows": rows} if visits is None else {**places, "persons": rows, "rows": drawn.rows}


def tell_rules(generator: Any, drawn_again: float) -> None:
    """How rules were kept, in one line."""
    if (book := generator.rules_) is not None:
        computed = [*book.facts()["computed"], *book.facts()["differences"]]
        built = f" ({', '.join(computed)} by construction)" if computed else ""
        many = len(book.schema.rules)
        typer.echo(
            f"Every row keeps {'the rule' if many == 1 else f'all {many} rules'}{built}; {drawn_again:.1%} of the rows that were drawn broke "
            "one, and others were drawn for them."
        )
