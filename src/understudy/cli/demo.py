"""`understudy demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import Json, app, print_json, print_table


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for what the demo makes.")] = Path("demo-output"),
    as_json: Json = False,
) -> None:
    """Plan, release, verify and use private stand-ins of the embedded table, in under a minute."""
    from understudy.demo import run_demo

    result = run_demo(out, say=(lambda _: None) if as_json else typer.echo)
    if as_json:
        print_json(
            {
                "folder": str(result.folder),
                "report": str(result.folder / "report.md"),
                "accuracy": result.accuracy,
                "ceiling": result.ceiling,
                "majority": result.majority,
                "spent": {"epsilon": result.spent[0], "delta": result.spent[1]},
                "certificates": [{"release": n, "epsilon": e, "delta": d} for n, e, d in result.certificates],
            }
        )
        return
    print_table("Released", ["what", "epsilon", "delta"], result.certificates)
    typer.echo(f"Read {result.folder / 'report.md'}; everything is in {result.folder}/.")
