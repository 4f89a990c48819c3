"""`understudy verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import Json, app, print_json, print_table


@app.command()
def verify(
    file: Annotated[Path | None, typer.Argument(help="A certificate, or the folder of a release.")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of certificates and stop.")] = False,
    as_json: Json = False,
) -> None:
    """Recompute a certificate's epsilon from its events, without the data; exit code 2 if anything does not hold."""
    from understudy.errors import InputError
    from understudy.privacy.certificate import Certificate, json_schema

    if schema:
        print_json(json_schema())
        return
    if file is None:
        raise InputError("name the certificate to verify: `understudy verify release/certificate.json`.")
    path = file / "certificate.json" if file.is_dir() else file
    certificate = Certificate.load(path)
    recomputed = certificate.verify()
    body = certificate.body
    result = {
        "valid": True,
        "epsilon": certificate.epsilon,
        "recomputed": recomputed,
        "delta": certificate.delta,
        "gaussian_dp": body.get("gaussian_dp"),
        "basis": body["accounting"]["basis"],
        "unit": body["unit"],
        "neighbours": body["neighbours"],
        "sanitised": body["sanitised"],
        "events": body["events"],
        "total": body.get("total"),
        "builds_on": [other.body["release"] for other in certificate.earlier()],
        "assumed_public": body["assumed_public"],
    }
    if as_json:
        print_json(result)
        return
    promise = f"(epsilon, delta) = ({certificate.epsilon:.6g}, {certificate.delta:g})"
    title = f"{path}: holds. {promise}, recomputed from its events"
    rows = [[e["mechanism"], ", ".join(f"{k}={v}" for k, v in e.items() if k != "mechanism")] for e in body["events"]]
    print_table(title, ["event", "parameters"], rows)
    if stated := body.get("gaussian_dp"):
        typer.echo(f"Gaussian differential privacy: mu = {stated['mu']:.4g}, delta = {stated['delta']:.3g} aside.")
    if together := body.get("total"):
        kinds = ", ".join(str(other.body["release"].get("kind", "release")) for other in certificate.earlier())
        typer.echo(
            f"It builds on what was paid for before ({kinds}). Together: (epsilon, delta) = "
            f"({together['epsilon']:.6g}, {together['delta']:g})."
        )
    typer.echo(f"Neighbours: {body['neighbours']}. Unit: {body['unit']}.")
    typer.echo("Assumed public: " + "; ".join(body["assumed_public"]) + ".")
