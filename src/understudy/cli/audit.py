"""`understudy audit`: attacks on a method, on a person's own table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy import registry
from understudy.cli.app import Json, app, print_json, print_table
from understudy.cli.options import DATA_HELP, DeltaOption, SettingsOption, delta_for, progress_bar, read_value, source
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.audit.examine import Audit

METHODS = [entry.name for entry in registry.entries(takes="table") if entry.attacks]


@app.command()
def audit(
    data: Annotated[Path, typer.Argument(help=DATA_HELP, parser=source)],
    schema: Annotated[Path, typer.Option(help="What is public about the columns; it must be complete.")],
    target: Annotated[str | None, typer.Option(help="The column to be predicted.")] = None,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = METHODS[0],
    epsilon: Annotated[float, typer.Option(help="The privacy budget of each fit.")] = 1.0,
    delta: DeltaOption = None,
    fits: Annotated[
        int, typer.Option(help="Fits with the canary, and as many without; 1 audits a single fit with many canaries.")
    ] = 100,
    attack: Annotated[str, typer.Option(help="replay, ratio, canaries or all.")] = "all",
    canary: Annotated[
        str, typer.Option(help="The record to hide: worst (numbers at their bounds), or the number of a row, from 0.")
    ] = "worst",
    settings: SettingsOption = None,
    out: Annotated[Path | None, typer.Option(help="Write the result as JSON, for `understudy report --audit`.")] = None,
    as_json: Json = False,
) -> None:
    """Attack a method on your own table. Nothing is released, and what this prints is private: do not publish it."""
    import json

    from understudy.audit.examine import TRIALS, another, document, examine, pair, single
    from understudy.audit.fitting import fitting
    from understudy.files import write_text
    from understudy.tables import Schema, read_table

    entry = registry.get(method, takes="table")
    if not entry.attacks:
        raise InputError(f"method {method!r} protects nothing and claims nothing: there is nothing to audit.")
    if attack not in (*TRIALS, "all"):
        raise InputError(f"--attack {attack!r}: one of {', '.join(TRIALS)} or all.")
    trials: Any = TRIALS if attack == "all" else (attack,)
    row = _row(canary)
    described = Schema.read(schema)
    described = described if target is None else described.with_target(target)
    described.require_complete()
    frame = read_table(data)
    chosen = dict(_setting(text) for text in settings or [])
    fit = fitting(entry, described, **chosen)
    here, there = pair(frame, described, row)
    delta = delta_for(delta, len(here))
    with progress_bar(f"audit of {method}", not as_json) as tell:
        if fits == 1 and "canaries" in trials:
            found = single(method, fit, here, there, described, epsilon, delta, trials=trials, tell=tell)
        else:
            other = another(here, described)
            found = examine(method, fit, here, there, other, epsilon, delta, trials=trials, fits=fits, tell=tell)
    written = document([found])
    if out is not None:
        write_text(out, json.dumps(written, indent=1) + "\n")
        out.chmod(0o600)
    if as_json:
        print_json(written)
    else:
        _show(found, out)
    if not found.holds:
        raise typer.Exit(1)


def _row(canary: str) -> int | None:
    if canary == "worst":
        return None
    try:
        return int(canary)
    except ValueError:
        raise InputError(f"--canary {canary!r}: worst, or the number of a row, counted from 0.") from None


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or name in ("epsilon", "delta"):
        raise InputError(f"--set {text!r}: write it as NAME=VALUE; epsilon and delta have options of their own.")
    return name, read_value(value)


def _show(found: Audit, out: Path | None) -> None:
    rows: list[list[object]] = []
    if found.leaks is not None:
        same = "the same release, bit for bit" if not found.leaks else f"differs: {found.leaks[0]}"
        rows.append(["replay: other rows, same answers", same, "the same", _mark(not found.leaks)])
    if found.ratio is not None:
        rows.append(
            ["ratio: how far the record moves the gate", found.ratio.worst, "at most 1", _mark(found.ratio.holds)]
        )
    for attack in found.attacks:
        name = f"canaries, {attack.attacker}"
        within = attack.bound.epsilon <= found.claim.epsilon
        rows.append([f"{name}: epsilon", f"at least {attack.bound.epsilon:.4g}", found.claim.epsilon, _mark(within)])
        if found.claim.mu is not None:
            below = attack.bound.mu <= found.claim.mu
            rows.append([f"{name}: mu", f"at least {attack.bound.mu:.4g}", found.claim.mu, _mark(below)])
    if (run := found.one_run) is not None:
        within = run.epsilon <= found.claim.epsilon
        told = f"at least {run.epsilon:.4g} ({run.right} of {run.guesses} guesses right)"
        rows.append([f"one run, {run.canaries} canaries: epsilon", told, found.claim.epsilon, _mark(within)])
    title = (
        f"{found.method} at epsilon {found.claim.epsilon:.4g}, delta {found.claim.delta:g}; {found.fits} fits a side"
    )
    print_table(title, ["attack", "found", "claimed", ""], rows)
    typer.echo(
        "These figures come from exact private numbers and are not covered by the promise: keep them to yourself. "
        f"Bounds hold with {found.confidence:.0%} confidence; 0 says that nothing was found, not that nothing is there."
    )
    if out is not None:
        typer.echo(f"Wrote {out}.")


def _mark(holds: bool) -> str:
    return "holds" if holds else "BROKEN"
