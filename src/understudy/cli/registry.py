"""`understudy registry`: a release in the words of registries and catalogues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import Json, app, print_json


@app.command()
def registry(
    release: Annotated[Path, typer.Argument(help="The folder of a release, or its certificate.")],
    name: Annotated[str, typer.Option(help="What the data product is called.")],
    curator: Annotated[list[str], typer.Option(help="Who publishes it; may be repeated.")],
    use: Annotated[str, typer.Option(help="What it is for.")],
    region: Annotated[str, typer.Option(help="Which region the data describes, or whose law applies.")],
    author: Annotated[list[str], typer.Option(help="Who writes this entry; may be repeated.")],
    sector: Annotated[str | None, typer.Option(help="Such as Healthcare, Government, Finance.")] = None,
    sources: Annotated[str | None, typer.Option(help="Links to what describes the product.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the entry to this .yaml file.")] = None,
    croissant: Annotated[Path | None, typer.Option(help="Also write Croissant metadata to this .json file.")] = None,
    rows: Annotated[Path | None, typer.Option(help="A .csv of rows of the release, for the Croissant file.")] = None,
    license: Annotated[str | None, typer.Option(help="Licence of the release, for the Croissant file.")] = None,
    as_json: Json = False,
) -> None:
    """Write an entry for the registry of deployments of differential privacy. Reads the release, spends nothing."""
    import yaml

    from understudy.files import check_writable, write_text
    from understudy.report.croissant import croissant as described
    from understudy.report.facts import read_release
    from understudy.report.registry_entry import Owner, registry_entry

    for target in (out, croissant):
        if target is not None:
            check_writable(target)
    found = read_release(release)
    entry = registry_entry(found, Owner(name, curator, use, region, author, sector, sources))
    if croissant is not None:
        metadata = described(found, name=name, rows=rows, license=license)
        write_text(croissant, json.dumps(metadata, indent=2, ensure_ascii=False) + "\n")
    text = yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=120)
    if out is not None:
        write_text(out, text)
    if as_json:
        print_json(entry)
    elif out is None:
        typer.echo(text, nl=False)
    else:
        typer.echo(f"Wrote {out}. Complete what it asks the curator for before you hand it in.")
