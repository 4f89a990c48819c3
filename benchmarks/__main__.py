"""`python -m benchmarks`: run the papers' tables and our own figures, print theirs beside ours, and make the pages of results."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import registry
from benchmarks.declare import SIZES, Size
from benchmarks.result import RESULTS, Results, Row, brief, merge, read, result_path
from understudy.cli.app import Json, print_json, print_table
from understudy.errors import InputError

app = typer.Typer(
    help="Re-run the papers' tables and our own figures.", no_args_is_help=True, pretty_exceptions_enable=False
)

SizeOption = Annotated[str, typer.Option(help="quick: minutes; full: what the docs quote.")]
Out = Annotated[Path, typer.Option(help="Folder of the results.", show_default=False)]


@app.command("list")
def list_benchmarks(json: Json = False) -> None:
    """Show all benchmarks: id, what is run, the paper, the data it needs."""
    entries = [registry.get(name) for name in registry.names()]
    if json:
        keys = ("id", "title", "paper", "datasets", "repeats")
        print_json({"benchmarks": [{key: getattr(entry, key) for key in keys} for entry in entries]})
        return
    columns = ("id", "what", "paper", "data", "repeats (quick, full)")
    rows = [(e.id, e.title, e.paper, ", ".join(e.datasets), ", ".join(map(str, e.repeats.values()))) for e in entries]
    print_table("Benchmarks", columns, rows)


@app.command("run")
def run_benchmarks(
    names: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Ids that `list` shows.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All benchmarks, in place of ids.")] = False,
    size: SizeOption = "quick",
    repeats: Annotated[int | None, typer.Option(help="Repeats, in place of the size's own number.")] = None,
    first: Annotated[int, typer.Option(help="Added to the number of the first repeat.")] = 0,
    only: Annotated[
        list[str] | None, typer.Option(help="Parts whose name holds this text; may be given again.")
    ] = None,
    fill: Annotated[bool, typer.Option("--fill", help="Leave out what the result holds already.")] = False,
    out: Out = RESULTS,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one a core.")] = -1,
    as_is: Annotated[
        bool,
        typer.Option("--as-is", help="Measure nothing: write what an interrupted run has kept, and what is lacking."),
    ] = False,
    json: Json = False,
) -> None:
    """Run benchmarks, print the paper's figures beside ours, and write JSON and SVG figures.

    Several ids share what they have in common. Interrupted with Ctrl-C nothing is lost: the same command goes on with the
    repeats that are missing.
    """
    from benchmarks.runner import Options, run_several

    if everything == bool(names):
        raise InputError("name one or more benchmarks, or say --all; `python -m benchmarks list` shows them.")
    chosen = [registry.get(name) for name in dict.fromkeys(registry.names() if everything else names or ())]
    options = Options(_size(size), repeats, out, jobs, tuple(only or ()), first, fill, as_is)
    bodies: list[Any] = []
    try:
        for result in run_several(chosen, options):
            bodies.append(result.body())
            if not json:
                _print(result, out)
    except KeyboardInterrupt:
        typer.echo(
            "interrupted: what was measured is kept, and the same command goes on from there; with --as-is it writes what "
            "there is.",
            err=True,
        )
        raise SystemExit(130) from None
    if json:
        print_json(bodies[0] if len(chosen) == 1 else {"results": bodies})


@app.command("show")
def show_result(
    name: Annotated[str, typer.Argument(metavar="ID")],
    size: SizeOption = "full",
    out: Out = RESULTS,
    json: Json = False,
) -> None:
    """Print the result of an earlier run."""
    benchmark = registry.get(name)
    path = result_path(out, benchmark.id, size)
    others = [other for other in SIZES if other != size and result_path(out, benchmark.id, other).exists()]
    if not path.exists() and others:
        raise InputError(f"there is no {path}, but one of another size: --size {others[0]}.")
    result = read(path)
    if json:
        print_json(result.body())
    else:
        _print(result, out)


@app.command("merge")
def merge_results(
    files: Annotated[list[Path], typer.Argument(help="Results of one benchmark, perhaps from several machines.")],
    out: Annotated[Path, typer.Option(help="The file to write.")],
) -> None:
    """Make one result of several. What stands first counts."""
    found = [read(file) for file in files]
    name = found[0].about["benchmark"]
    merge(found, registry.get(name) if name in registry.names() else None).write(out)
    typer.echo(f"Wrote {out}.")


@app.command("document")
def write_document(
    results: Annotated[Path, typer.Option(help="Folder of the results.", show_default=False)] = RESULTS,
    docs: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs"),
) -> None:
    """Write the pages of results, the comparison with peers, and the tables on the pages of the methods."""
    from benchmarks.pages.document import documents
    from understudy.files import write_text

    for path, text in documents(results, docs).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        typer.echo(f"Wrote {path}.")


def _size(size: str) -> Size:
    return size  # pyright: ignore[reportReturnType]  (the runner refuses any other)


def _print(result: Results, out: Path) -> None:
    about = result.about
    for table, rows in result.by_table().items():
        private = any(row.get("epsilon") is not None or row.get("paper_epsilon") is not None for row in rows)
        columns = ["", "metric", "paper", "measured", "95 % interval", "95 % of single runs"]
        columns += ["ε paper", "ε unconditional", "ε data-dependent"] if private else []
        print_table(table, columns, [_cells(row, private) for row in rows])
    if rows := result.table("summary") or result.table("runs"):
        columns = list(dict.fromkeys(column for row in rows for column in row))
        print_table(about["title"], columns, [[row.get(column) for column in columns] for row in rows])
    for reason in dict.fromkeys(row["unsafe"] for row in result.table("rows") if row.get("unsafe")):
        typer.echo(f"(unsafe) {reason}")
    for part, why in about.get("lacking", {}).items():
        typer.echo(f"(lacking) {part}: {why}")
    for note in about.get("notes", ()):
        typer.echo(note)
    machine = about["machine"]
    typer.echo(
        f"{about['command']}: {about.get('work_seconds', 0):.0f} s of a processor, {machine.get('cores')} cores "
        f"({machine['cpu']}); in {result_path(out, about['benchmark'], about['size'])}"
        + "".join(f", {out / figure}" for figure in about.get("figures", ()))
    )


def _cells(row: Row, private: bool) -> list[str]:
    cells = [
        row["row"] + (" (unsafe)" if row.get("unsafe") else ""),
        row["metric"],
        brief(row["paper"]),
        brief(row["mean"]),
        _range(row["low"], row["high"]),
        _range(row["run_low"], row["run_high"]),
    ]
    return cells + (
        [brief(row.get(kind)) for kind in ("paper_epsilon", "epsilon", "data_dependent")] if private else []
    )


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{brief(low)} to {brief(high)}"


def main(argv: Sequence[str] | None = None) -> None:
    """Wrong input ends with 2 and one plain message."""
    try:
        app(args=None if argv is None else list(argv), prog_name="python -m benchmarks")
    except InputError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
