"""`understudy synthesize` and `understudy sample`: synthetic rows from a private table, and more from a release."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy import registry
from understudy.cli.app import Json, app, print_json, print_table
from understudy.cli.options import (
    DATA_HELP,
    DatasetOption,
    DecimalOption,
    DeltaOption,
    DropOption,
    DryRunOption,
    EncodingOption,
    LedgerOption,
    OnlyOption,
    PersonOption,
    RowsPerPersonOption,
    RuleOption,
    SampleOption,
    SeparatorOption,
    SettingsOption,
    StrictOption,
    YesOption,
    ask_about_persons,
    look_ahead,
    make,
    progress_bar,
    read_chosen,
    read_rows,
    read_value,
    source,
    tell_owner,
    tell_verdict,
    with_records,
)
from understudy.cli.report import ReportOption, check_report, write_report_for
from understudy.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from understudy.tables import Schema
    from understudy.tables.mending import Mended
    from understudy.tables.persons import Person

METHODS = registry.names("generator", "table")


@app.command()
def synthesize(
    data: Annotated[Path, typer.Argument(help=DATA_HELP, parser=source)],
    out: Annotated[Path, typer.Option(help="File for the synthetic rows: .csv, .csv.gz, .parquet or .feather.")],
    rows: Annotated[int, typer.Option(help="How many synthetic rows. Not the private number: you choose it.")] = 1000,
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
    rule: RuleOption = None,
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
    """Make synthetic rows, a release folder and a certificate from a private table."""
    from dataclasses import replace

    from understudy.evaluation.check import Check, hold_out
    from understudy.release.bundle import check_target
    from understudy.release.preflight import table_sizes
    from understudy.release.spending import check_ledger_options, spending_of
    from understudy.tables import Schema, check_table_path
    from understudy.tables.formats import with_text_options
    from understudy.tables.mending import mended
    from understudy.tables.rules import parse_rules

    if rows < 1:
        raise InputError(f"--rows (={rows}) must be at least 1.")
    rules = parse_rules(rule or (), where="--rule")
    data = with_text_options(data, separator, decimal, encoding)
    check_ledger_options(ledger, dataset)
    check_table_path(out)
    check_report(report)
    folder = check_target(out.with_name(out.name + ".release") if bundle is None else bundle)
    private = out.with_name(out.name + ".private") if workspace is None else workspace
    given = {"teachers": teachers, "iterations": iterations, "mode": mode}
    if warm is not None:
        given |= {"start.kind": "moments", "start.epsilon_share": warm}
    entry = registry.get(method, "generator", "table")
    generator = make(entry, epsilon, delta, given | {"random_state": seed}, settings or [])
    described = None if schema is None else Schema.read(schema)
    owner, whose = _whose(generator, described, person, read_rows(rows_per_person))
    table, described = read_chosen(
        data, described, target, drop, only, public_sample, strict=strict, person=whose.get("person")
    )
    sizes = with_records(generator, delta, table_sizes(table.frame, described, target), table.frame, owner)
    if look_ahead(entry, generator, sizes, dry_run, as_json):
        return
    _ask(generator, table.frame, owner, yes or as_json)
    held = None
    if check is not None:
        frame, held = hold_out(
            table.frame, target or (None if described is None else described.target), check, generator, owner
        )
        table = replace(table, frame=frame)
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
                table.frame,
                target,
                described,
                budget=run.budget if generator.keeps_a_budget else None,
                workspace=kept,
                resume=resume,
                typed=table.typed,
                check=checking,
                **whose,
                rules=rules,
                progress=lambda at: tell(
                    at.iteration, at.iterations, f"{at.iteration / at.iterations:.0%} of the answers that are paid for"
                ),
            )
        tell_verdict(generator, as_json)
        run.still_ours()
        generator.save(folder)
        drawn = generator.sample_to(out, rows, random_state=seed)
        run.certificate, run.interrupted = generator.certificate_, generator.interrupted_
    if ours and not generator.interrupted_:
        _remove(private)
    write_report_for(report, [folder], ledger=ledger, dataset=dataset)
    _report(
        generator,
        out,
        rows,
        folder,
        private,
        drawn.drawn_again,
        mended(table, generator.schema_, generator.certificate_.body["release"].get("not_learnt", ())),
        _beyond(table.frame, owner, generator.certificate_.body["release"]),
        as_json,
    )


@app.command()
def sample(
    release: Annotated[Path, typer.Argument(help="The release folder that `synthesize` made.")],
    out: Annotated[Path, typer.Option(help="File for the rows: .csv, .csv.gz, .parquet or .feather.")],
    rows: Annotated[int, typer.Option(help="How many rows; any number is free.")] = 1000,
    condition: Annotated[
        list[str] | None,
        typer.Option(help="Only rows with COLUMN=VALUE, or 'age >= 65', as a rule is written; may be repeated."),
    ] = None,
    balance: Annotated[
        float, typer.Option(help="0: classes as common as released; 1: all alike; between: rare ones more often.")
    ] = 0.0,
    seed: Annotated[int | None, typer.Option(help="Makes the rows repeatable.")] = None,
    as_json: Json = False,
) -> None:
    """Draw synthetic rows from a release. Spends nothing."""
    from understudy.tables import check_table_path

    check_table_path(out)
    generator = registry.load(release)
    if not hasattr(generator, "sample_to"):
        raise InputError(f"{release} holds a {generator.__class__.__name__}, which makes no rows.")
    plain = [text for text in condition or [] if _is_plain(text)]
    conditions = dict(_condition(text, generator.schema_) for text in plain)
    where = [text for text in condition or [] if text not in plain]
    more = {"balance": balance} if balance else {}
    drawn = generator.sample_to(out, rows, conditions, seed, where=where, **more)
    epsilon = generator.certificate_.epsilon
    if as_json:
        result = {"out": str(out), "rows": rows, "epsilon": epsilon, "delta": generator.certificate_.delta}
        print_json({**result, "drawn_again": drawn.drawn_again})
    else:
        typer.echo(f"Wrote {rows:,} rows to {out}. Nothing was spent: the release holds at epsilon {epsilon:g}.")
        _tell_rules(generator, drawn.drawn_again)


def _whose(
    generator: Any, schema: Schema | None, person: str | None, rows: int | str | None
) -> tuple[Person | None, dict[str, Any]]:
    """Whose rows are protected together, and how that is said to `fit`."""
    owner = generator.whose(schema, person, rows)
    return owner, {} if owner is None else {"person": owner.column, "rows_per_person": owner.rows}


def _ask(generator: Any, frame: pd.DataFrame, owner: Person | None, yes: bool) -> None:
    if owner is None and generator.private:
        ask_about_persons(frame, generator.method, yes)


def _beyond(frame: pd.DataFrame, owner: Person | None, release: Mapping[str, Any]) -> tuple[int, int] | None:
    """Private, for the owner's eyes: rows beyond those that are taken of a person, and rows of nobody."""
    from dataclasses import replace

    from understudy.tables.persons import left_out

    return None if owner is None else left_out(frame, replace(owner, rows=release["rows_per_person"]))


def _remove(private: Path) -> None:
    import shutil

    shutil.rmtree(private, ignore_errors=True)


def _is_plain(text: str) -> bool:
    """Whether a condition is COLUMN=VALUE, and not written as a rule is."""
    name, equals, value = text.partition("=")
    return bool(equals) and not value.startswith("=") and name[-1:] not in ("<", ">", "!", "=")


def _tell_rules(generator: Any, drawn_again: float) -> None:
    """How rules were kept, in one line."""
    if (book := generator.rules_) is not None:
        computed = [*book.facts()["computed"], *book.facts()["differences"]]
        built = f" ({', '.join(computed)} by construction)" if computed else ""
        many = len(book.schema.rules)
        typer.echo(
            f"Every row keeps {'the rule' if many == 1 else f'all {many} rules'}{built}; {drawn_again:.1%} of the rows that were drawn broke "
            "one, and others were drawn for them."
        )


def _condition(text: str, schema: Any) -> tuple[str, Any]:
    """COLUMN=VALUE in the type of the column's values."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--condition {text!r}: write it as COLUMN=VALUE.")
    column = schema[name]
    if column.kind == "boolean":
        return name, {"true": True, "1": True, "false": False, "0": False}.get(value.lower(), value)
    if column.categories is not None:
        return name, next((label for label in column.labels if str(label) == value), value)
    return name, read_value(value)


def _report(
    generator: Any, out: Path, rows: int, folder: Path, private: Path, drawn_again: float, unfit: Mended,
    beyond: tuple[int, int] | None, as_json: bool,
) -> None:  # fmt: skip
    certificate = generator.certificate_
    summary = {
        "method": generator.method,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "unit": certificate.body["unit"],
        "rows": rows,
        "out": str(out),
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
        private_facts: dict[str, Any] = {"mended": unfit.to_dict()}
        if beyond is not None:
            private_facts["left_out"] = {"beyond_rows_per_person": beyond[0], "without_person": beyond[1]}
        print_json({**summary, **judged, "private_to_the_data_holder": private_facts})
        return
    print_table(f"{generator.method}: {rows:,} synthetic rows", ["what", "value"], [[k, v] for k, v in summary.items()])
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
    _tell_rules(generator, drawn_again)
    for reason in certificate.unsafe:
        typer.echo(f"Not safe to publish: {reason}.", err=True)
    words = ("rows are beyond those taken of their person", "rows name no person and were left out")
    tell_owner(*unfit.sentences(), *(f"{n} {text}" for n, text in zip(beyond or (0, 0), words, strict=True) if n))
