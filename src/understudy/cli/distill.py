"""`understudy distill`: a handful of records that train a model, from a private table or image set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.app import Json, app, print_json, print_table
from understudy.cli.options import DatasetOption, LedgerOption, SettingsOption, check_chargeable, check_ledger, make
from understudy.cli.report import ReportOption, check_report, write_report_for
from understudy.errors import BudgetExceeded, InputError

METHODS = {"one-look": "OneLook", "one-look-convnet": "OneLookConvNet", "dpkip": "DPKIP", "kip": "KIP"}


@app.command()
def distill(
    data: Annotated[Path, typer.Argument(help="The private table (.csv, .parquet, ...) or image set (.npz).")],
    out: Annotated[Path, typer.Option(help="New folder for the release: records, predictor and certificate.")],
    target: Annotated[str | None, typer.Option(help="The column with the classes (tables).")] = None,
    per_class: Annotated[int, typer.Option(help="How many records a class.")] = 10,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}; we recommend the first.")] = "one-look",
    epsilon: Annotated[float, typer.Option(help="The privacy budget.")] = 1.0,
    delta: Annotated[float, typer.Option(help="The failure probability of the guarantee.")] = 1e-5,
    schema: Annotated[
        Path | None, typer.Option(help="What is public about the columns; what it lacks is estimated and paid for.")
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="The names of all classes, a,b,c, where an image set does not hold them.")
    ] = None,
    seed: Annotated[int, typer.Option(help="For the start and for samples; never for the noise.")] = 0,
    settings: SettingsOption = None,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    report: ReportOption = None,
    as_json: Json = False,
) -> None:
    """Distil a private table or image set into a few records that train a model."""
    from understudy.release.bundle import check_target

    check_ledger(ledger, dataset)
    folder = check_target(out)
    check_report(report)
    given = {"per_class": per_class, "random_state": seed}
    distiller = make(method, METHODS, epsilon, delta, given, settings or [])
    records, named, described = _read(data, target, classes, schema)
    held = None
    if ledger is not None and dataset is not None:
        from understudy.privacy import Ledger

        check_chargeable(distiller)
        held = Ledger(ledger).reserve(dataset, epsilon=epsilon, delta=delta, purpose=f"{method} {out.name}")
    try:
        with _progress(method, not as_json) as told:
            distiller.fit(records, named, described, progress=told)
    except (InputError, BudgetExceeded):
        if held is not None and not distiller.drawn_:
            held.release(reason="refused before anything was drawn")
        raise
    distiller.save(folder)
    files = _write(distiller.distilled_, folder)
    if held is not None:
        held.commit(certificate=distiller.certificate_.to_json())
    write_report_for(report, [folder], ledger=ledger, dataset=dataset)
    _report(distiller, folder, files, as_json)


def _read(data: Path, target: str | None, classes: str | None, schema: Path | None) -> tuple[Any, str | None, Any]:
    """The records, and for a table the name of its target and what is public about it."""
    if data.suffix == ".npz":
        from understudy.images import read_npz

        if target is not None or schema is not None:
            raise InputError("an image set carries its labels: leave --target and --schema out.")
        return read_npz(data, None if classes is None else classes.split(",")), None, None
    from understudy.tables import Schema, read_table

    if classes is not None:
        raise InputError("--classes is for image sets; a table's classes belong in its schema.")
    if target is None and schema is None:
        raise InputError("--target is missing: name the column with the classes.")
    return read_table(data), target, None if schema is None else Schema.read(schema)


def _write(distilled: Any, folder: Path) -> list[str]:
    """The records beside the bundle, for people and other tools."""
    from understudy.images import ImageDataset, write_grid, write_npz
    from understudy.tables import write_table

    if isinstance(distilled, ImageDataset):
        write_npz(distilled, folder / "records.npz")
        write_grid(distilled, folder / "records.png")
        return ["records.npz", "records.png"]
    write_table(distilled, folder / "records.csv")
    return ["records.csv"]


@contextmanager
def _progress(method: str, shown: bool) -> Iterator[Callable[[int, int], None] | None]:
    if not shown:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(method, total=None)
        yield lambda done, total: bar.update(task, total=total, completed=done)


def _report(distiller: Any, folder: Path, files: list[str], as_json: bool) -> None:
    certificate = distiller.certificate_
    found = {
        "method": distiller.method,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "records": len(distiller.distilled_),
        "per_class": distiller.per_class,
        "release": str(folder),
        "files": ", ".join(files) if not as_json else files,
        "certificate": str(folder / "certificate.json"),
        "unsafe": list(certificate.unsafe),
    }
    if as_json:
        print_json(found)
        return
    print_table(
        f"{distiller.method}: {len(distiller.distilled_):,} distilled records",
        ["what", "value"],
        [[k, v] for k, v in found.items()],
    )
    for reason in certificate.unsafe:
        typer.echo(f"Not safe to publish: {reason}.", err=True)
