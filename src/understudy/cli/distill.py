"""`understudy distill`: a handful of records that train a model, from a private table or image set."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy import registry
from understudy.cli.app import Json, app, print_json, print_table
from understudy.cli.images import AboutImages, is_images, read_images, refuse_about_images, sizes_of, write_images
from understudy.cli.options import (
    DATA_HELP,
    ClassesOption,
    DatasetOption,
    DecimalOption,
    DeltaOption,
    DropOption,
    DryRunOption,
    EncodingOption,
    GreyOption,
    LedgerOption,
    OnlyOption,
    PersonOption,
    RowsPerPersonOption,
    SampleOption,
    SeparatorOption,
    SettingsOption,
    SizeOption,
    StrictOption,
    YesOption,
    ask_about_numbers,
    ask_about_persons,
    look_ahead,
    make,
    progress_bar,
    read_chosen,
    read_rows,
    source,
    tell_owner,
    tell_verdict,
    with_records,
)
from understudy.cli.report import ReportOption, check_report, write_report_for
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.tables.io import PrivateTable
    from understudy.tables.mending import Mended
    from understudy.tables.persons import Person

METHODS = registry.names("distilled")


@app.command()
def distill(
    data: Annotated[
        Path,
        typer.Argument(
            help=f"{DATA_HELP} Or an image set: .npz, a folder of pictures by class, or a name.", parser=source
        ),
    ],
    out: Annotated[Path, typer.Option(help="New folder for the release: records, predictor and certificate.")],
    target: Annotated[str | None, typer.Option(help="The column with the classes (tables).")] = None,
    per_class: Annotated[int, typer.Option(help="How many records a class.")] = 10,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}; we recommend the first.")] = METHODS[0],
    epsilon: Annotated[float, typer.Option(help="The privacy budget.")] = 1.0,
    delta: DeltaOption = None,
    schema: Annotated[
        Path | None, typer.Option(help="What is public about the columns; what it lacks is estimated and paid for.")
    ] = None,
    public_sample: SampleOption = None,
    drop: DropOption = None,
    only: OnlyOption = None,
    person: PersonOption = None,
    rows_per_person: RowsPerPersonOption = None,
    classes: ClassesOption = None,
    size: SizeOption = None,
    grey: GreyOption = False,
    seed: Annotated[int, typer.Option(help="For the start and for samples; never for the noise.")] = 0,
    settings: SettingsOption = None,
    separator: SeparatorOption = None,
    decimal: DecimalOption = None,
    encoding: EncodingOption = None,
    strict: StrictOption = False,
    workspace: Annotated[
        Path | None, typer.Option(help="Private folder (NAME.private) from which a killed run can be resumed.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in the workspace, unpaid.")] = False,
    dry_run: DryRunOption = False,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    report: ReportOption = None,
    yes: YesOption = False,
    as_json: Json = False,
) -> None:
    """Distil a private table or image set into a few records that train a model."""
    from understudy.release.bundle import add_files, check_target
    from understudy.release.spending import check_ledger_options, spending_of
    from understudy.tables import Schema
    from understudy.tables.formats import with_text_options
    from understudy.tables.mending import mended

    data = with_text_options(data, separator, decimal, encoding)
    check_ledger_options(ledger, dataset)
    if resume and workspace is None:
        raise InputError("--resume needs the --workspace of the run that is to go on.")
    folder = check_target(out)
    check_report(report)
    given = {"per_class": per_class, "random_state": seed}
    entry = registry.get(method, "distilled")
    distiller = make(entry, epsilon, delta, given, settings or [])
    owner = distiller.whose(None if schema is None else Schema.read(schema), person, read_rows(rows_per_person))
    chosen = (drop, only, public_sample)
    records, named, described, table = _read(
        data, target, AboutImages(classes, size, grey), schema, chosen, strict, owner, as_json
    )
    sizes = with_records(distiller, delta, _sizes(records, described, named), records, owner)
    if look_ahead(entry, distiller, sizes, dry_run, as_json):
        return
    if table is not None and named is not None and (described is None or named not in described):
        ask_about_numbers(table.frame, named, yes or as_json)
    if table is not None and owner is None and distiller.private:
        ask_about_persons(table.frame, method, yes or as_json)
    booked = {"ledger": ledger, "dataset": dataset, "workspace": workspace, "resume": resume}
    booked |= {"unit": "row" if owner is None else "person"}
    with spending_of(distiller, purpose=f"{method} {out.name}", **booked) as run:
        with progress_bar(method, not as_json) as tell:
            distiller.fit(
                records,
                named,
                described,
                budget=run.budget if distiller.keeps_a_budget else None,
                workspace=workspace,
                resume=resume,
                typed=table is None or table.typed,
                **({} if owner is None else {"person": owner.column, "rows_per_person": owner.rows}),
                progress=lambda done, total: tell(done, total, ""),
            )
        tell_verdict(distiller, as_json)
        run.still_ours()
        distiller.save(folder)
        files = _write(distiller, folder)
        add_files(folder, files)
        run.certificate = distiller.certificate_
    if workspace is not None:
        shutil.rmtree(workspace, ignore_errors=True)
    write_report_for(report, [folder], ledger=ledger, dataset=dataset)
    unfit = None if table is None else mended(table, distiller.domain_.schema)
    _report(distiller, folder, files, unfit, as_json)


def _read(
    data: Path,
    target: str | None,
    about: AboutImages,
    schema: Path | None,
    chosen: tuple[str | None, str | None, Path | None],
    strict: bool,
    owner: Person | None,
    as_json: bool,
) -> tuple[Any, str | None, Any, PrivateTable | None]:
    """The records; for a table also the name of its target, what is public about it, and how it was read."""
    if is_images(data):
        return read_images(data, about, (target, schema, *chosen, owner), as_json), None, None, None
    from understudy.tables import Schema

    refuse_about_images(about, data)
    if target is None and schema is None and getattr(data, "schema", None) is None:
        raise InputError("--target is missing: name the column with the classes.")
    described = None if schema is None else Schema.read(schema)
    whose = None if owner is None else owner.column
    table, described = read_chosen(data, described, target, *chosen, strict=strict, person=whose)
    return table.frame, target, described, table


def _sizes(records: Any, described: Any, target: str | None) -> Any:
    from understudy.images import ImageDataset
    from understudy.release.preflight import table_sizes

    return sizes_of(records) if isinstance(records, ImageDataset) else table_sizes(records, described, target)


def _write(distiller: Any, folder: Path) -> list[str]:
    """The records beside the bundle, for people and other tools; where they train a network, also what it is to learn."""
    from understudy.images import ImageDataset
    from understudy.images.files import write_arrays
    from understudy.tables import write_table

    if not isinstance(distiller.distilled_, ImageDataset):
        write_table(distiller.distilled_, folder / "records.csv")
        return ["records.csv"]
    files = write_images(distiller.distilled_, folder)
    if hasattr(distiller, "training_set"):
        write_arrays(distiller.training_set(), folder / "training.npz")
        files.append("training.npz")
    return files


def _report(distiller: Any, folder: Path, files: list[str], unfit: Mended | None, as_json: bool) -> None:
    certificate = distiller.certificate_
    summary = {
        "method": distiller.method,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "unit": certificate.body["unit"],
        "records": len(distiller.distilled_),
        "per_class": distiller.per_class,
        "release": str(folder),
        "files": ", ".join(files) if not as_json else files,
        "certificate": str(folder / "certificate.json"),
        "unsafe": list(certificate.unsafe),
    }
    if as_json:
        notes = {} if unfit is None else {"private_to_the_data_holder": {"mended": unfit.to_dict()}}
        judged = {"sentence": distiller.verdict_.sentence(), **distiller.verdict_.to_dict()}
        print_json(summary | {"verdict": judged} | notes)
        return
    print_table(
        f"{distiller.method}: {len(distiller.distilled_):,} distilled records",
        ["what", "value"],
        [[k, v] for k, v in summary.items()],
    )
    for reason in certificate.unsafe:
        typer.echo(f"Not safe to publish: {reason}.", err=True)
    if unfit is not None:
        tell_owner(*unfit.sentences())
