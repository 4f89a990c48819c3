"""`understudy bench`: the papers' tables, run again and printed beside what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.app import Json, app, print_json, print_table
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.benchmarks.result import Result

bench = typer.Typer(help="Re-run the papers' tables, theirs beside ours.", no_args_is_help=True)
app.add_typer(bench, name="bench")

RESULTS = Path("benchmarks/results")
Name = Annotated[str, typer.Argument(metavar="ID", help="One of the ids that `understudy bench list` shows.")]
SizeOption = Annotated[str, typer.Option(help="quick: minutes; full: the number of repeats that the docs quote.")]
Out = Annotated[Path, typer.Option(help="Folder of the results.", show_default=True)]


@bench.command("list")
def list_benchmarks(json: Json = False) -> None:
    """Show all benchmarks: id, what is re-run, the paper, the data it needs."""
    from understudy.benchmarks import registry

    entries = [registry.get(name) for name in registry.names()]
    if json:
        print_json(
            {
                "benchmarks": [
                    {
                        "id": entry.id,
                        "title": entry.title,
                        "paper": entry.paper,
                        "datasets": list(entry.datasets),
                        "repeats": dict(entry.repeats),
                    }
                    for entry in entries
                ]
            }
        )
        return
    columns = ("id", "what", "paper", "data", "repeats (quick, full)")
    print_table(
        "Benchmarks",
        columns,
        [
            (e.id, e.title, e.paper, ", ".join(e.datasets), f"{e.repeats['quick']}, {e.repeats['full']}")
            for e in entries
        ],
    )


@bench.command("run")
def run_benchmarks(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Ids that `understudy bench list` shows.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All benchmarks, in place of ids.")] = False,
    size: SizeOption = "quick",
    repeats: Annotated[int | None, typer.Option(help="Repeats, in place of the size's own number.")] = None,
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
    from understudy.benchmarks import registry, runner

    chosen = [registry.get(name) for name in _chosen(names or [], everything, registry.names())]
    bodies: list[Any] = []
    try:
        for result in runner.run_several(
            chosen, size=size, repeats=repeats, out=out, jobs=jobs, as_is=as_is  # pyright: ignore[reportArgumentType]
        ):  # fmt: skip
            bodies.append(result.body)
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


def _chosen(names: list[str], everything: bool, known: tuple[str, ...]) -> list[str]:
    if everything == bool(names):
        raise InputError("name one or more benchmarks, or say --all; `understudy bench list` shows them.")
    return list(known) if everything else list(dict.fromkeys(names))


@bench.command("show")
def show_result(name: Name, size: SizeOption = "full", out: Out = RESULTS, json: Json = False) -> None:
    """Print the result of an earlier run."""
    from understudy.benchmarks import registry
    from understudy.benchmarks.declare import SIZES
    from understudy.benchmarks.result import read, result_path

    benchmark = registry.get(name)
    path = result_path(out, benchmark.id, size)
    others = [other for other in SIZES if other != size and result_path(out, benchmark.id, other).exists()]
    if not path.exists() and others:
        raise InputError(f"there is no {path}, but one of another size: --size {others[0]}.")
    result = read(path)
    if json:
        print_json(result.body)
    else:
        _print(result, out)


@bench.command("document")
def write_document(
    results: Annotated[Path, typer.Option(help="Folder of the results.", show_default=True)] = RESULTS,
    out: Annotated[Path, typer.Option(help="The page to write.", show_default=True)] = Path("docs/results.md"),
) -> None:
    """Write the page of all results, each with its command, and beside it comparison.md if peers were measured."""
    from understudy.benchmarks import comparison
    from understudy.benchmarks.document import document
    from understudy.files import write_text

    pages = {out: document(results)}
    if (results / comparison.FILE).exists():
        pages[out.with_name("comparison.md")] = comparison.comparison(results)
    for path, text in pages.items():
        write_text(path, text)
        typer.echo(f"Wrote {path}.")


def _print(result: Result, out: Path) -> None:
    from understudy.benchmarks.result import result_path

    body = result.body
    for table, rows in result.tables().items():
        private = any("epsilon" in row for row in rows)
        columns = ["", "metric", "paper", "measured", "95 % interval", "95 % of single runs"]
        columns += ["ε paper", "ε unconditional", "ε data-dependent"] if private else []
        print_table(table, columns, [_cells(row, private) for row in rows])
    unsafe = list(dict.fromkeys(row["unsafe"] for row in result.rows if "unsafe" in row))
    for reason in unsafe:
        typer.echo(f"(unsafe) {reason}")
    for part, why in body.get("lacking", {}).items():
        typer.echo(f"(lacking) {part}: {why}")
    for note in body["notes"]:
        typer.echo(note)
    machine = body["machine"]
    typer.echo(
        f"{body['command']}: {body['work_seconds']:.0f} s of a processor, {machine['cores']} cores ({machine['cpu']}); "
        f"in {result_path(out, body['benchmark'], body['size'])}"
        + "".join(f", {out / figure}" for figure in body["figures"])
    )


def _cells(row: Any, private: bool) -> list[str]:
    mark = " (unsafe)" if "unsafe" in row else ""
    cells = [
        row["row"] + mark,
        row["metric"],
        _number(row["paper"]),
        _number(row["mean"]),
        _range(row["low"], row["high"]),
        _range(row["run_low"], row["run_high"]),
    ]
    if private:
        epsilon = row.get("epsilon", {})
        cells += [_number(epsilon.get(kind)) for kind in ("paper", "unconditional", "data_dependent")]
    return cells


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{_number(low)} to {_number(high)}"
