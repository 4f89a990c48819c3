"""`understudy data`: the named datasets, and where each lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli.app import Json, app, print_json, print_table

if TYPE_CHECKING:
    from pathlib import Path

    from understudy.datasets.registry import DatasetInfo

data = typer.Typer(help="Named benchmark data with public schemas.", no_args_is_help=True)
app.add_typer(data, name="data")


@data.command("list")
def list_datasets(json: Json = False) -> None:
    """Show all datasets: size, label, licence, and where each one lies or comes from. Nothing is downloaded."""
    from understudy.datasets.locate import find
    from understudy.datasets.registry import info, names

    entries = [info(name) for name in names()]
    paths = {entry.name: find(entry) for entry in entries}
    if json:
        print_json(
            {
                "datasets": [
                    entry.to_dict() | {"path": None if paths[entry.name] is None else str(paths[entry.name])}
                    for entry in entries
                ]
            }
        )
        return
    rows = [
        (
            entry.name,
            entry.title,
            f"{entry.rows:,} x {entry.features:,}",
            _label(entry),
            entry.licence,
            _place(entry, paths[entry.name]),
        )
        for entry in entries
    ]
    print_table("Datasets", ("name", "title", "rows x features", "label", "licence", "where"), rows)


@data.command("path")
def show_path(
    name: Annotated[str, typer.Argument(help="One of the names that `understudy data list` shows.")],
    download: Annotated[bool, typer.Option(help="Fetch the dataset from OpenML if it is not here.")] = True,
    json: Json = False,
) -> None:
    """Print the file that holds a dataset, fetched first if need be."""
    from understudy.datasets.locate import path

    found = path(name, download=download)
    if json:
        print_json({"name": name, "path": str(found)})
    else:
        typer.echo(found)


def _label(entry: DatasetInfo) -> str:
    if entry.target is None:
        return f"{len(entry.class_names)} classes"
    return entry.target if entry.positive is None else f"{entry.target} = {entry.positive}"


def _place(entry: DatasetInfo, path: Path | None) -> str:
    if entry.embedded:
        return "built in"
    if path is None:
        return f"OpenML {entry.openml.id}" if entry.openml else "by hand"
    # One file name may stand for two editions; which of them it is shows only when it is read.
    notes = [edition.note for edition in entry.editions if edition.file == path.name]
    return f"here ({notes[0]})" if notes[0] else "here"
