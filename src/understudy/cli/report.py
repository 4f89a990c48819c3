"""`understudy report`, and `--report` for the commands that make a release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import Json, app, print_json

ReportOption = Annotated[Path | None, typer.Option("--report", help="Also write a page for people to this .html file.")]


def check_report(report: Path | None) -> None:
    """Refuse a page that cannot be written, before anything is spent."""
    if report is not None:
        from understudy.report.page import check_report_path

        check_report_path(report)


def write_report_for(
    report: Path | None, releases: Sequence[Path], *, ledger: str | None = None, dataset: str | None = None
) -> None:
    """Write the page of releases that were just made; nothing if no page was asked for."""
    if report is not None:
        from understudy.report import Sources, write_report

        write_report(Sources(list(releases), ledger=ledger, dataset=dataset), report)


@app.command()
def report(
    releases: Annotated[list[Path], typer.Argument(help="Folders of releases, or certificates.")],
    out: Annotated[Path, typer.Option(help="The page to write: one .html file.")] = Path("report.html"),
    evaluation: Annotated[
        list[Path] | None,
        typer.Option(help="A result of `understudy evaluate --out`, exact or with noise; may be repeated."),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            help="Real test rows to compare columns with. They are shown exactly: not covered by the promise."
        ),
    ] = None,
    audit: Annotated[
        list[Path] | None, typer.Option(help="JSON of attacks on these releases; may be repeated.")
    ] = None,
    ledger: Annotated[str | None, typer.Option(help="Show the history in this ledger. Needs --dataset.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Name of the dataset in the ledger.")] = None,
    title: Annotated[str | None, typer.Option(help="The headline of the page.")] = None,
    name: Annotated[str | None, typer.Option(help="What the sensitive table is called; --dataset if left out.")] = None,
    rows: Annotated[int | None, typer.Option(help="How many rows it has; what the releases say if left out.")] = None,
    as_json: Json = False,
) -> None:
    """Write one page that explains releases to people: the promise, its cost, how good and how sure. Spends nothing."""
    from understudy.report import Sources, write_report
    from understudy.report.audits import read_audits
    from understudy.report.evaluations import read_scores

    sources = Sources(
        list(releases), tuple(evaluation or ()), test, ledger, dataset, tuple(audit or ()), title, name, rows
    )
    target = write_report(sources, out)
    if as_json:
        print_json({"report": str(target), "bytes": target.stat().st_size})
    else:
        exact = " It shows exact figures of real rows, which the promise does not cover: mind who sees it."
        scores = [score for path in evaluation or () for score in read_scores(path)]
        private = any(found["private"] for found in read_audits(audit or ()))
        shown = exact if test or private or any(score.noise is None for score in scores) else ""
        typer.echo(f"Wrote {target}. It is one file: open it in a browser or print it.{shown}")
