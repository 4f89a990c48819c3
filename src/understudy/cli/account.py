"""`understudy account`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import Json, app, print_json, print_table


@app.command()
def account(
    file: Annotated[Path, typer.Argument(help="JSON with `delta` and `queries`; see the guide on accounting.")],
    as_json: Json = False,
) -> None:
    """What a run cost: unconditional epsilon, and the data-dependent one where votes are given."""
    from understudy.privacy.account import account_file

    result = account_file(file)
    if as_json:
        print_json(result)
        return
    rows = [
        [g["mechanism"], g["queries"], g.get("answered"), g["epsilon"], g["epsilon_data_dependent"], g["method"]]
        for g in result["groups"]
    ]
    rows.append(["all together", None, None, result["epsilon"], result["epsilon_data_dependent"], result["method"]])
    columns = ["mechanism", "queries", "answered", "epsilon", "data-dependent", "by"]
    print_table(f"Privacy cost at delta = {result['delta']:g}", columns, rows)
    if "warning" in result:
        typer.echo(f"Warning: {result['warning']}")
