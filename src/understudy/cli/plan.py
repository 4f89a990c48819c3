"""`understudy plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import Json, app, print_json, print_table
from understudy.cli.options import source
from understudy.errors import InputError


@app.command()
def plan(
    method: Annotated[
        str | None, typer.Option(help="lnmax, gnmax (the default), confident-gnmax, gaussian, laplace or dpsgd.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="The budget; leave out to have it computed.")] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="The delta at which epsilon is stated; 1e-5, or less for many --rows, if left out."),
    ] = None,
    queries: Annotated[
        int | None,
        typer.Option("--queries", "--steps", help="How many queries or steps; leave out to have it computed."),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            "--noise", "--sigma", "--gamma", help="sigma, gamma or noise multiplier; leave out to have it computed."
        ),
    ] = None,
    sampling_rate: Annotated[float | None, typer.Option(help="dpsgd: nominal batch / rows.")] = None,
    threshold_ratio: Annotated[float, typer.Option(help="confident-gnmax: sigma_threshold / sigma.")] = 3.0,
    answer_share: Annotated[float, typer.Option(help="confident-gnmax: share of queries that pass.")] = 1.0,
    data: Annotated[
        Path | None,
        typer.Option(
            help="A schema, a table (or a folder of Parquet files) or a named dataset: recommend a method and settings for it. Of a table the names, types and "
            "number of rows are taken. Needs --epsilon, and --rows beside a schema.",
            parser=source,
        ),
    ] = None,
    target: Annotated[str | None, typer.Option(help="With --data: the column to predict.")] = None,
    rows: Annotated[int | None, typer.Option(help="With --data: how many rows the table has.")] = None,
    public_rows: Annotated[int | None, typer.Option(help="With --data: how many public rows there are.")] = None,
    rarest: Annotated[
        float | None, typer.Option(help="With --data: the share of the rarest class, where it is publicly known.")
    ] = None,
    person: Annotated[
        str | None, typer.Option(help="With --rows-per-person: the column that says whose a row is.")
    ] = None,
    rows_per_person: Annotated[
        int | None,
        typer.Option(
            help="With --data: --rows are persons, of whom at most so many rows are taken. What that costs and loses."
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write epsilon against queries to this SVG file.")] = None,
    as_json: Json = False,
) -> None:
    """Plan a budget: give two of --epsilon, --noise and --queries, get the third. With --data: which method, and how."""
    if data is not None:
        given = {"--method": method, "--queries": queries, "--noise": noise, "--plot": plot}
        _advise(
            data,
            rows,
            epsilon,
            delta,
            public_rows,
            rarest,
            target,
            person,
            rows_per_person,
            [name for name, value in given.items() if value is not None],
            as_json,
        )
        return
    if not rows is public_rows is rarest is target is person is rows_per_person is None:
        raise InputError(
            "--rows, --person, --rows-per-person, --public-rows, --rarest and --target go with --data, which asks for a recommendation."
        )
    from understudy.privacy.plan import NOISE_NAMES, Family
    from understudy.privacy.plan import plan as make_plan
    from understudy.privacy.plan import plot as draw
    from understudy.release.preflight import USUAL_DELTA
    from understudy.wording import did_you_mean

    method, delta = method or "gnmax", USUAL_DELTA if delta is None else delta
    if method not in NOISE_NAMES:
        known = ", ".join(NOISE_NAMES)
        raise InputError(f"unknown method {method!r}; known are {known}.{did_you_mean(method, NOISE_NAMES)}")
    family = Family(method, threshold_ratio, answer_share, sampling_rate)
    planned = make_plan(family, delta, epsilon=epsilon, noise=noise, count=queries)
    if plot is not None:
        draw(planned, plot)
    if as_json:
        print_json(planned.to_json() | ({"plot": str(plot)} if plot else {}))
        return
    name = NOISE_NAMES[method]
    print_table(
        f"Plan for {method} at delta = {delta:g}",
        ["queries", name, "epsilon", "by"],
        [[planned.count, planned.noise, planned.epsilon, planned.accounting]],
    )
    print_table(
        f"With the same {name}",
        ["queries", "epsilon"],
        [[n, e] for n, e in planned.curve(8)],
    )
    if plot is not None:
        typer.echo(f"Wrote {plot}")


def _advise(
    data: Path, rows: int | None, epsilon: float | None, delta: float | None, public_rows: int | None,
    rarest: float | None, target: str | None, person: str | None, each: int | None, other: list[str], as_json: bool,
) -> None:  # fmt: skip
    from understudy.engines import open_source
    from understudy.engines.sources import is_many
    from understudy.methods.choosing import read_and_advise

    if other:
        raise InputError(f"{other[0]} plans one mechanism and does not go with --data, which chooses for you.")
    if person is not None and each is None:
        raise InputError("--person needs --rows-per-person: the most rows of one person that would be taken.")
    whose = None if each is None else (person or "COLUMN", each)
    types = None
    if is_many(data) and (source := open_source(data)) is not None:
        with source:
            types, rows = source.types, source.rows if rows is None else rows
    advice = read_and_advise(data, rows, epsilon, delta, public_rows, rarest, target, whose, types)
    persons = None if each is None else _persons(each, advice.facts.rows, advice.facts.epsilon, advice.facts.delta)
    if as_json:
        print_json(advice.to_json() | ({} if persons is None else {"persons": persons}))
        return
    print_table(
        f"{advice.facts.rows:,} {'rows' if persons is None else 'persons'}, {advice.facts.columns} columns ({advice.facts.width} encoded), "
        f"{advice.facts.classes} classes, epsilon {advice.facts.epsilon:g}, delta {advice.facts.delta:g}",
        ["release", "method", "looks at the rows", "outlook", "why"],
        [[c.release, c.method, c.looks, c.outlook, c.why] for c in advice.choices],
    )
    if (look := advice.coordinates) is not None:
        typer.echo(
            f"Coordinates: {look['share_of_precision']:.0%} of the precision of moments goes into what {look['columns']} columns are and how "
            f"they are spread: noise {look['noise_on_counts']:.3g} on a count, about {look['bins']} intervals a number, in "
            f"{look['rounds']} rounds, each finer where the rows are."
        )
    else:
        typer.echo("Coordinates: none are bought; the schema says what is needed, and so few rows would not tell more.")
    if persons is not None:
        typer.echo(
            f"Persons: {persons['persons']:,}, with at most {each} rows each. Noise {persons['noise_on_a_count']:.4g} on a count that takes the whole "
            f"budget; with one row a person {persons['with_one_row']:.4g}, with every row counted whole {persons['every_row_whole']:.4g}. Rows beyond "
            f"{each} of a person are left out, and of the others rounding loses at most {persons['lost_to_rounding']:.2%}. A category that "
            f"nobody declared must be of about {persons['persons_a_category']:,} persons to be found, with one row a person of "
            f"{persons['persons_a_category_with_one_row']:,}."
        )
    if advice.measured is not None:
        typer.echo(advice.measured.said())
    for warning in advice.warnings:
        typer.echo(f"Warning: {warning}")
    typer.echo(f"Recommended: {advice.recommended.method}.")
    typer.echo(f"  {advice.recommended.command}")


def _persons(each: int, persons: int, epsilon: float, delta: float) -> dict[str, float]:
    """What follows from taking so many rows of a person, from public numbers alone."""
    import math

    from understudy.methods.moments.space import SHARE
    from understudy.privacy.persons import grid_of, noise_on_a_count
    from understudy.tables import Column, Schema
    from understudy.tables.coordinates.categories import threshold
    from understudy.tables.coordinates.known import known_from
    from understudy.tables.coordinates.plan import DELTA_SHARE, plan_at

    grid, noise, alone = grid_of(each), noise_on_a_count(each, epsilon, delta), noise_on_a_count(1, epsilon, delta)
    lost = max((grid % k) / grid for k in range(1, each + 1)) if each > 1 else 0.0
    column = known_from(Schema((Column("any", "categorical"),)))
    needed = [
        math.ceil(threshold(look.sigma, look.delta, most))
        for most in (each, 1)
        if (look := plan_at(column, persons, alone / math.sqrt(SHARE), DELTA_SHARE * delta, most))
    ]
    return {
        "persons": persons,
        "rows_per_person": each,
        "noise_on_a_count": noise,
        "with_one_row": alone,
        "every_row_whole": each * alone,
        "lost_to_rounding": lost,
        "persons_a_category": needed[0],
        "persons_a_category_with_one_row": needed[1],
    }
