"""`understudy plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import Json, app, print_json, print_table


@app.command()
def plan(
    method: Annotated[str, typer.Option(help="lnmax, gnmax, confident-gnmax, gaussian, laplace or dpsgd.")] = "gnmax",
    epsilon: Annotated[float | None, typer.Option(help="The budget; leave out to have it computed.")] = None,
    delta: Annotated[float, typer.Option(help="The delta at which epsilon is stated.")] = 1e-5,
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
    plot: Annotated[Path | None, typer.Option(help="Write epsilon against queries to this SVG file.")] = None,
    as_json: Json = False,
) -> None:
    """Plan a budget: give two of --epsilon, --noise and --queries, get the third."""
    from understudy.privacy.plan import NOISE_NAMES, Family
    from understudy.privacy.plan import plan as make_plan
    from understudy.privacy.plan import plot as draw

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
