"""`understudy describe`: a private codebook of a table, which is often all that somebody needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli.app import Json, app, print_json, print_table
from understudy.cli.options import (
    DATA_HELP,
    DatasetOption,
    DecimalOption,
    DeltaOption,
    DropOption,
    EncodingOption,
    LedgerOption,
    OnlyOption,
    PersonOption,
    RowsPerPersonOption,
    SampleOption,
    SeparatorOption,
    StrictOption,
    YesOption,
    ask_about_persons,
    delta_for,
    read_chosen,
    read_rows,
    read_sample,
    source,
    tell_owner,
)

if TYPE_CHECKING:
    import pandas as pd

    from understudy.tables import Schema
    from understudy.tables.coordinates import Coordinates, Described
    from understudy.tables.persons import Person, Persons

_BLOCKS = "▁▂▃▄▅▆▇█"
_BARS = 16


@app.command()
def describe(
    data: Annotated[Path, typer.Argument(help=DATA_HELP, parser=source)],
    epsilon: Annotated[float, typer.Option(help="The privacy budget of the description.")],
    delta: DeltaOption = None,
    schema: Annotated[
        Path | None, typer.Option(help="What is public about the columns, as far as it goes: it costs nothing.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column to be predicted.")] = None,
    public_sample: SampleOption = None,
    drop: DropOption = None,
    only: OnlyOption = None,
    person: PersonOption = None,
    rows_per_person: RowsPerPersonOption = None,
    out: Annotated[
        Path | None, typer.Option(help="File for the description: .json, with histograms and certificate.")
    ] = None,
    separator: SeparatorOption = None,
    decimal: DecimalOption = None,
    encoding: EncodingOption = None,
    strict: StrictOption = False,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    yes: YesOption = False,
    as_json: Json = False,
) -> None:
    """Say privately what each column is: its kind, range, grid, categories, missing values and histogram."""
    from dataclasses import replace

    from understudy.files import write_text
    from understudy.privacy import Certificate
    from understudy.privacy.units import PERSON
    from understudy.release.estimator import paid_before, whose
    from understudy.release.person_rows import without_rows
    from understudy.release.spending import check_ledger_options, spending
    from understudy.tables import Schema, check_writable
    from understudy.tables.coordinates import Coordinates
    from understudy.tables.formats import with_text_options
    from understudy.tables.mending import mended
    from understudy.tables.persons import AUTO
    from understudy.tables.rows_per_person import with_rows

    data = with_text_options(data, separator, decimal, encoding)
    check_ledger_options(ledger, dataset)
    if out is not None:
        check_writable(out)
    declared = None if schema is None else Schema.read(schema)
    owner = whose(declared, person, read_rows(rows_per_person))
    only_of = None if owner is None else owner.column
    table, declared = read_chosen(data, declared, target, drop, only, strict=strict, empty_allowed=True, person=only_of)
    if owner is None:
        ask_about_persons(table.frame, "describe", yes or as_json)
    asked = table.frame, target, declared
    frame, declared, target, size, persons = _taken(*asked, owner)
    unit = "row" if owner is None else PERSON
    sample = None if public_sample is None else read_sample(public_sample, data)
    delta = delta_for(delta, size)
    with spending(epsilon, delta, purpose=f"describe {data.name}", ledger=ledger, dataset=dataset, unit=unit) as run:
        if owner is not None and owner.rows == AUTO:
            owner = with_rows(table.frame, owner, run.budget)
            frame, declared, target, size, persons = _taken(*asked, owner)
        made = Coordinates.release(
            frame,
            declared,
            run.budget,
            target=target,
            public_sample=sample,
            rows=size,
            typed=table.typed,
            persons=persons,
        )
        public = ["names and order of the columns"]
        public += ["types of the columns, whole numbers and fractions being one"] if table.typed else []
        public += [] if declared is None else ["what the schema says"]
        public += [] if sample is None else [f"the public sample {public_sample} ({len(sample):,} rows)"]
        run.certificate = Certificate.from_budget(
            run.budget,
            release={"kind": "description", "columns": len(made)}
            | ({"rows": made.rows} if owner is None else {"persons": made.rows, "rows_per_person": owner.rows}),
            assumed_public=public,
            builds_on=paid_before(declared),
            unit=unit,
        )
        learnt = replace(without_rows(made.schema), person=owner)
        found = {**made.to_dict(), "schema": learnt.to_dict(), "certificate": run.certificate.to_json()}
        if out is not None:
            write_text(out, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    unfit = mended(table, learnt, made.empty)
    if as_json:
        print_json({**found, "private_to_the_data_holder": {"mended": unfit.to_dict()}})
        return
    _print(made, data, unit)
    typer.echo(
        f"Spent epsilon {run.certificate.epsilon:.4g}, delta {delta:g}." + (f" Written to {out}." if out else "")
    )
    tell_owner(*unfit.sentences())


def _taken(
    frame: pd.DataFrame, target: str | None, schema: Schema | None, owner: Person | None
) -> tuple[pd.DataFrame, Schema | None, str | None, int, Persons | None]:
    """Looks at private rows: those that are described, of how many records, and whose they are.

    How often a person has how many rows is told too, as one more column.
    """
    from dataclasses import replace

    from understudy.release.intake import check_persons, check_table
    from understudy.tables.rows_per_person import most_rows

    if owner is None:
        rows, present, schema, target = check_table(frame, target, schema, empty_allowed=True)
        return rows, schema, target, len(present), None
    owner = replace(owner, rows=most_rows(owner))
    rows, schema, target, persons = check_persons(frame, target, schema, owner, seed=0, numbered=True, strict=False)
    return rows, schema, target, persons.number, persons


def _print(made: Coordinates, data: Path, unit: str) -> None:
    rows = [
        [
            column.name + (" (target)" if column.target else ""),
            kind_in_words(column),
            range_in_words(column) if column.found else "did not stand out",
            "" if not column.ordered or column.step in (0, 1) or column.kind != "number" else f"{column.step:g}",
            f"{column.missing:.1%}" if column.missing else "",
            spread_in_words(column) if column.found else "",
        ]
        for column in made
    ]
    title = f"{data.name}: {made.rows:,} {unit}s, {len(made)} columns"
    print_table(title, ["column", "kind", "values", "step", "missing", "spread"], rows)
    if drowned := [column.name for column in made if not column.found]:
        typer.echo(
            f"Nothing stood out of the noise in {', '.join(drowned)}: nothing is said of them. Write what is "
            "public about them into a --schema, or raise --epsilon."
        )


def kind_in_words(column: Described) -> str:
    """The kind as a person would say it."""
    if column.kind == "number":
        return "whole number" if column.step >= 1 else "number"
    if column.kind == "datetime":
        clocks = {86400.0: "date", 3600.0: "date and hour", 60.0: "date and time"}
        return clocks.get(column.step, "date and time (s)")
    if column.kind == "duration":
        return "duration"
    return "yes or no" if column.kind == "boolean" else "code" if column.code else "category"


def range_in_words(column: Described) -> str:
    """Bounds, or the most common labels."""
    if not column.ordered:
        order = sorted(range(len(column.labels)), key=lambda place: -column.shares[place])
        shown = [f"{column.labels[place]} {column.shares[place]:.0%}" for place in order[:5]]
        return ", ".join(shown) + (f" and {len(order) - 5} more" if len(order) > 5 else "")
    low, high = column.bounds if column.kind == "number" else column.column.to_dict()["bounds"]
    ends = [end if isinstance(end, str) else f"{end:.6g}" for end in (low, high)]
    return f"{ends[0]} to {ends[1]}"


def spread_in_words(column: Described) -> str:
    """A small histogram over the range, and the single values that many rows share."""
    import numpy as np

    if not column.ordered:
        return ""
    marginal = column.marginal
    ends = np.linspace(marginal.edges[0], marginal.edges[-1], _BARS + 1)
    running = np.interp(ends, marginal.edges, np.concatenate([[0.0], np.cumsum(marginal.mass)]))
    bars = np.diff(running)
    heights = np.ceil(bars / max(bars.max(), 1e-12) * len(_BLOCKS)).astype(int)
    drawn = "".join(_BLOCKS[max(height - 1, 0)] for height in heights)
    spikes = ", ".join(f"{value:g}: {share:.0%}" for value, share in column.spikes[:3])
    return drawn + (f"  {spikes}" if spikes else "")
