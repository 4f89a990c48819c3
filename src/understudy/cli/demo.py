"""`understudy demo`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import Json, app, print_json, print_table


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for what the demo makes.")] = Path("demo-output"),
    as_json: Json = False,
) -> None:
    """Make, judge and verify private stand-ins of the embedded table, and a page about them, in about a minute."""
    with _progress(not as_json) as tell:
        from understudy.demo import ALL_RELEASES, LIMIT, run_demo, summary

        result = run_demo(out, tell=tell)
    if as_json:
        print_json(summary(result))
        return
    print_table(
        "Made from 350 rows that play the sensitive table",
        ["release", "epsilon", "delta", "on real test rows", "without privacy", "folder"],
        [
            [one.what, one.epsilon, one.delta, f"{one.metric} {one.score:.3f}", f"{one.real:.3f}", str(one.folder)]
            for one in result.made
        ],
    )
    typer.echo(
        f"Spent: epsilon {result.spent[0]:.3g} of the {LIMIT:g} that the ledger allows: the generator and the distilled set "
        "come from one look. Every certificate verifies."
    )
    typer.echo(f"Verdict on the synthetic rows: {result.verdict}")
    typer.echo(f"Read {result.page} in a browser: what is promised, what it cost, how good it is.")
    typer.echo(f"All three releases together: {result.folder / ALL_RELEASES}")
    typer.echo(f"Try: understudy verify {result.made[0].folder}")
    typer.echo(f"     understudy sample {result.made[0].folder} --rows 20 --out more.csv")


@contextmanager
def _progress(shown: bool) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on a terminal, a line a step elsewhere, nothing for machines."""
    if not shown:
        yield lambda step, steps, what: None
        return
    if not sys.stderr.isatty():
        yield lambda step, steps, what: typer.echo(f"{step}/{steps}  {what}")
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = [BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")]
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("Start", total=None)

        def tell(step: int, steps: int, what: str) -> None:
            bar.update(task, total=steps, completed=step - 1, description=what)

        yield tell
        bar.update(task, completed=bar.tasks[0].total or 0, description="Done")
