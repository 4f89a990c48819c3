"""`understudy schema import`: a codebook that exists already, as a schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import Json, print_json
from understudy.cli.schema import print_columns, schema, to_do
from understudy.errors import InputError


@schema.command("import")
def import_(
    codebook: Annotated[
        Path,
        typer.Argument(
            help="A REDCap dictionary (.csv), SPSS, Stata or SAS file, SDV metadata or Table Schema (.json), CREATE TABLE "
            "(.sql), or a Parquet or Feather file."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="File to write: .yaml or .json. Printed if left out.")] = None,
    format: Annotated[
        str | None, typer.Option(help="redcap, spss, stata, sas, sdv, frictionless, sql or arrow; told from the file.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column to be predicted.")] = None,
    table: Annotated[str | None, typer.Option(help="Which table (or REDCap form), where there are several.")] = None,
    as_json: Json = False,
) -> None:
    """Read what is public about a table from its codebook. No row is looked at, and nothing is spent."""
    from understudy.tables.codebooks import import_codebook
    from understudy.tables.schema_file import check_schema_path

    if out is not None:
        check_schema_path(out)
        if out.exists():
            raise InputError(
                f"{out} exists already, and may have been edited by hand. Remove it or choose another name."
            )
    made = import_codebook(codebook, format, target=target, table=table)
    if out is not None:
        made.write(out)
    if as_json:
        place = None if out is None else str(out)
        print_json({"out": place, "missing": made.missing(), "schema": made.to_dict()})
    elif out is None:
        typer.echo(made.to_yaml(), nl=False)
    else:
        print_columns(f"Schema {out}, from {codebook}", made)
        if made.missing():
            typer.echo(to_do(made, out))
