"""`understudy synthesize`: synthetic rows from a private table, or images from a set of images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy import registry
from understudy.cli.app import Json, app, print_json, print_table
from understudy.cli.batches import DaskOption, OutOfCoreOption, going_on, in_batches, open_batches, ready
from understudy.cli.images import (
    AboutImages,
    is_images,
    read_images,
    refuse_about_images,
    synthesize_images,
)
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
    RuleOption,
    SampleOption,
    SeparatorOption,
    SettingsOption,
    SizeOption,
    StrictOption,
    YesOption,
    ask_about_persons,
    look_ahead,
    make,
    progress_bar,
    read_rows,
    source,
    tell_owner,
    tell_verdict,
    with_records,
)
from understudy.cli.report import ReportOption, check_report, write_report_for
from understudy.cli.sample import tell_rules, written
from understudy.cli.visits import (
    WORDS,
    ChildOption,
    ChildOutOption,
    ConstantOption,
    KeyOption,
    OrderOption,
    left_out_of,
    listed_names,
    mended_tables,
    one_child,
    read_tables,
)
from understudy.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from understudy.engines import RowSource
    from understudy.release.sampling import Drawn
    from understudy.tables import Schema
    from understudy.tables.io import PrivateTable
    from understudy.tables.mending import Mended
    from understudy.tables.persons import Person
    from understudy.tables.rules import Rule

METHODS = registry.names("generator", "table")


@app.command()
def synthesize(
    data: Annotated[
        Path,
        typer.Argument(
            help=f"{DATA_HELP} Or an image set: .npz, a folder of pictures by class, or a name.", parser=source
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="File for the synthetic rows: .csv, .csv.gz, .parquet or .feather. Of images: a new folder for the release."
        ),
    ],
    rows: Annotated[
        int,
        typer.Option(
            help="How many synthetic rows, or persons with --order or --child. Not the private number: you choose it."
        ),
    ] = 1000,
    target: Annotated[str | None, typer.Option(help="The column to be predicted.")] = None,
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
    order: OrderOption = None,
    constant: ConstantOption = None,
    child: ChildOption = None,
    key: KeyOption = None,
    child_out: ChildOutOption = None,
    rule: RuleOption = None,
    classes: ClassesOption = None,
    size: SizeOption = None,
    grey: GreyOption = False,
    bundle: Annotated[
        Path | None, typer.Option(help="Folder for generator and certificate; OUT.release if left out.")
    ] = None,
    teachers: Annotated[int | None, typer.Option(help="Number of teachers (pategan, gpate); else by the rule.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Generator iterations; the noise follows from them.")] = None,
    mode: Annotated[str | None, typer.Option(help="unconditional, data-dependent or as-published (unsafe).")] = None,
    warm: Annotated[
        float | None, typer.Option(help="Share of epsilon for a moments release that the networks start from.")
    ] = None,
    seed: Annotated[int, typer.Option(help="For initialisation and sampling; never for the noise.")] = 0,
    settings: SettingsOption = None,
    workspace: Annotated[
        Path | None, typer.Option(help="Private folder for checkpoints; OUT.private if left out.")
    ] = None,
    check: Annotated[
        float | None,
        typer.Option(
            help="Hold out every fifth row or person, and spend this share of the budget, as 0.05, on a noisy score on them."
        ),
    ] = None,
    out_of_core: OutOfCoreOption = False,
    dask: DaskOption = None,
    dry_run: DryRunOption = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in the workspace, unpaid.")] = False,
    separator: SeparatorOption = None,
    decimal: DecimalOption = None,
    encoding: EncodingOption = None,
    strict: StrictOption = False,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    report: ReportOption = None,
    yes: YesOption = False,
    as_json: Json = False,
) -> None:
    """Make synthetic rows, a release folder and a certificate from a private table; or images from a set of images."""
    from understudy.evaluation.check import Check
    from understudy.release.bundle import check_target
    from understudy.release.preflight import table_sizes
    from understudy.release.spending import spending_of
    from understudy.tables import Schema
    from understudy.tables.rules import parse_rules

    rules = parse_rules(rule or (), where="--rule")
    given: dict[str, Any] = {"teachers": teachers, "iterations": iterations, "mode": mode, "random_state": seed}
    check_report(report)
    if is_images(data):
        about = (
            target, schema, public_sample, drop, only, person, rows_per_person, rule, order, constant, child, key, child_out,
            bundle, check, strict,
        )  # fmt: skip
        synthesize_images(
            read_images(data, AboutImages(classes, size, grey), about, as_json), method, out, rows, (epsilon, delta), given, warm, settings or [],
            workspace, resume, dry_run, {"ledger": ledger, "dataset": dataset}, report, as_json,
        )  # fmt: skip
        return
    refuse_about_images(AboutImages(classes, size, grey), data)
    _check_outputs(rows, out, ledger, dataset)
    under, person, out_rows = one_child(child, key, person, out, child_out)
    folder = check_target(out.with_name(out.name + ".release") if bundle is None else bundle)
    private = out.with_name(out.name + ".private") if workspace is None else workspace
    given |= {} if warm is None else {"start.kind": "moments", "start.epsilon_share": warm}
    entry = registry.get(method, "generator", "table")
    generator = make(entry, epsilon, delta, given, settings or [])
    described = None if schema is None else Schema.read(schema)
    owner, whose = _whose(
        generator,
        described,
        person,
        read_rows(rows_per_person),
        order,
        listed_names(constant),
        linked=under is not None,
    )
    if in_batches(
        data,
        out_of_core or dask is not None,
        generator,
        child=child,
        strict=strict,
        check=check,
        order=order,
        separator=separator,
        decimal=decimal,
        encoding=encoding,
    ):
        with open_batches(data, described, target, drop, only, public_sample, whose.get("person"), dask) as chosen:
            if ready(*chosen, entry, generator, target, delta, owner, dry_run=dry_run, yes=yes, as_json=as_json):
                _from_batches(
                    generator,
                    *chosen,
                    target,
                    whose,
                    rules,
                    rows,
                    out,
                    folder,
                    private,
                    seed,
                    ledger,
                    dataset,
                    resume,
                    report,
                    as_json,
                )
        return
    table, below, described = read_tables(
        data, under, described, target, (drop, only, public_sample), (separator, decimal, encoding),
        strict=strict, person=whose.get("person"),
    )  # fmt: skip
    sizes = with_records(
        generator, delta, table_sizes(table.frame, described, target), table.frame, owner, linked=below is not None
    )
    if look_ahead(entry, generator, sizes, dry_run, as_json):
        return
    _ask(generator, table.frame, owner, yes or as_json)
    if strict and owner is not None and owner.order is not None:
        left_out_of(table, below, owner, described, strict=True)
    table, held = _hold_out(table, target or getattr(described, "target", None), check, generator, owner)
    ours = resume or not private.exists() or not any(private.iterdir())
    kept = private if generator.resumable else None
    purpose = f"{method} {out.name}"
    with spending_of(
        generator, purpose=purpose, ledger=ledger, dataset=dataset, workspace=kept, resume=resume,
        unit="row" if owner is None else "person",
    ) as run:  # fmt: skip
        checking = None if check is None or held is None else Check(*held, run.budget, check, owner)
        with progress_bar(method, not as_json) as tell:
            generator.fit(
                table.frame if below is None else below.frame,
                target,
                described,
                budget=run.budget if generator.keeps_a_budget else None,
                workspace=kept,
                resume=resume,
                typed=table.typed and (below is None or below.typed),
                check=checking,
                **whose,
                parent=None if below is None else table.frame,
                rules=rules,
                progress=lambda at: tell(
                    at.iteration, at.iterations, f"{at.iteration / at.iterations:.0%} of the answers that are paid for"
                ),
            )
        tell_verdict(generator, as_json)
        run.still_ours()
        generator.save(folder)
        drawn = generator.sample_to(out, rows, random_state=seed, child=out_rows)
        run.certificate, run.interrupted = generator.certificate_, generator.interrupted_
    if ours and not generator.interrupted_:
        _remove(private)
    write_report_for(report, [folder], ledger=ledger, dataset=dataset)
    _report(
        generator,
        out,
        out_rows,
        rows,
        folder,
        private,
        drawn,
        mended_tables(table, below, generator),
        left_out_of(table, below, _taken(owner, generator), described),
        as_json,
    )


def _check_outputs(rows: int, out: Path, ledger: str | None, dataset: str | None) -> None:
    """Refuse what could not be written, before anything is read."""
    from understudy.release.spending import check_ledger_options
    from understudy.tables import check_table_path

    if rows < 1:
        raise InputError(f"--rows (={rows}) must be at least 1.")
    check_ledger_options(ledger, dataset)
    check_table_path(out)


def _from_batches(
    generator: Any, table: RowSource, schema: Schema | None, target: str | None, whose: dict[str, Any], rules: Sequence[Rule],
    rows: int, out: Path, folder: Path, private: Path, seed: int, ledger: str | None, dataset: str | None, resume: bool, report: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Learn from a table in parts; a run that was interrupted goes on from its workspace."""
    from understudy.release.spending import spending_of

    ours = resume or not private.exists() or not any(private.iterdir())
    with spending_of(
        generator, purpose=f"{generator.method} {out.name}", ledger=ledger, dataset=dataset, workspace=private, resume=resume,
        unit="person" if whose else "row",
    ) as run:  # fmt: skip
        with progress_bar(generator.method, not as_json) as tell, going_on(private):
            generator.fit(
                table, target, schema, budget=run.budget, workspace=private, resume=resume, rules=rules, **whose,
                progress=lambda at: tell(at.iteration, at.iterations, at.words),
            )  # fmt: skip
        tell_verdict(generator, as_json)
        run.still_ours()
        generator.save(folder)
        drawn = generator.sample_to(out, rows, random_state=seed)
        run.certificate, run.interrupted = generator.certificate_, generator.interrupted_
    if ours:
        _remove(private)
    write_report_for(report, [folder], ledger=ledger, dataset=dataset)
    _report(generator, out, None, rows, folder, private, drawn, None, None, as_json)


def _whose(
    generator: Any, schema: Schema | None, person: str | None, rows: int | str | None, order: str | None, constant: list[str],
    *, linked: bool,
) -> tuple[Person | None, dict[str, Any]]:  # fmt: skip
    """Whose rows are protected together, and how that is said to `fit`."""
    owner = generator.in_order(generator.whose(schema, person, rows), order, constant, linked=linked)
    if owner is None:
        return None, {}
    said: dict[str, Any] = {"person": owner.column, "rows_per_person": owner.rows}
    return owner, said if owner.order is None else {**said, "order": owner.order, "constant": owner.constant}


def _hold_out(
    table: PrivateTable, target: str | None, check: float | None, generator: Any, owner: Person | None
) -> tuple[PrivateTable, tuple[pd.DataFrame, str] | None]:
    """Private. The rows to learn from, and those that a check is shown, if there is one."""
    from dataclasses import replace

    from understudy.evaluation.check import hold_out

    if check is None:
        return table, None
    frame, held = hold_out(table.frame, target, check, generator, owner)
    return replace(table, frame=frame), held


def _ask(generator: Any, frame: pd.DataFrame, owner: Person | None, yes: bool) -> None:
    if owner is None and generator.private:
        ask_about_persons(frame, generator.method, yes)


def _taken(owner: Person | None, generator: Any) -> Person | None:
    """Whose rows were taken, and how many of them: that may have been looked at."""
    from dataclasses import replace

    release = generator.certificate_.body["release"]
    return None if owner is None else replace(owner, rows=release["rows_per_person"])


def _remove(private: Path) -> None:
    import shutil

    shutil.rmtree(private, ignore_errors=True)


def _report(
    generator: Any, out: Path, child: Path | None, rows: int, folder: Path, private: Path, drawn: Drawn, unfit: Mended | None,
    beyond: dict[str, int] | None, as_json: bool,
) -> None:  # fmt: skip
    drawn_again, visits = drawn.drawn_again, generator.visits_
    certificate = generator.certificate_
    summary = {
        "method": generator.method,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "unit": certificate.body["unit"],
        **written(visits, out, child, rows, drawn),
        "release": str(folder),
        "certificate": str(folder / "certificate.json"),
        "iterations": certificate.body["release"].get("iterations_done"),
        "interrupted": generator.interrupted_,
        "unsafe": list(certificate.unsafe),
        "not_learnt": certificate.body["release"].get("not_learnt", []),
    }
    ruled = certificate.body["release"].get("rules")
    judged = {"rules": None if ruled is None else {**ruled, "drawn_again": drawn_again}}
    judged |= {"verdict": {"sentence": generator.verdict_.sentence(), **generator.verdict_.to_dict()}}
    judged["check"] = certificate.body["release"].get("check")
    if as_json:
        private_facts: dict[str, Any] = {} if unfit is None else {"mended": unfit.to_dict()}
        if beyond is not None:
            private_facts["left_out"] = beyond
        print_json({**summary, **judged, "private_to_the_data_holder": private_facts})
        return
    what = "rows" if visits is None else "persons"
    print_table(
        f"{generator.method}: {rows:,} synthetic {what}", ["what", "value"], [[k, v] for k, v in summary.items()]
    )
    if generator.interrupted_:
        typer.echo(
            f"Stopped by you. What was made so far is released and paid for; `--resume` with other --out and "
            f"--bundle, and --workspace {private}, would finish it at no further cost."
        )
    if absent := summary["not_learnt"]:
        typer.echo(
            f"Could not be learnt, and left empty: {', '.join(absent)}. Nothing stood out of the noise; what a schema or "
            "--public-sample says of them costs nothing, and a larger --epsilon shows more."
        )
    tell_rules(generator, drawn_again)
    for reason in certificate.unsafe:
        typer.echo(f"Not safe to publish: {reason}.", err=True)
    if unfit is not None:
        tell_owner(*unfit.sentences(), *(f"{n} {WORDS[why]}" for why, n in (beyond or {}).items() if n))
