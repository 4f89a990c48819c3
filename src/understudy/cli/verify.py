"""`understudy verify`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.app import Json, app, print_json, print_table


@app.command()
def verify(
    file: Annotated[Path | None, typer.Argument(help="A certificate, or the folder of a release.")] = None,
    key: Annotated[
        Path | None, typer.Option(help="The signer's public key: the folder must be signed with it.")
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of certificates and stop.")] = False,
    as_json: Json = False,
) -> None:
    """Recompute a certificate's epsilon from its events, without the data; exit code 2 if anything does not hold.

    Of a folder everything is checked: each file against the manifest, that nothing was added, and the signature.
    """
    from understudy.errors import InputError
    from understudy.privacy.certificate import Certificate, json_schema
    from understudy.release.bundle import check_folder, read_bundle
    from understudy.release.signature import SIGNATURE, check_signature

    if schema:
        print_json(json_schema())
        return
    if file is None:
        raise InputError("name the certificate to verify: `understudy verify release/certificate.json`.")
    signed = None
    if file.is_dir():
        bundle = read_bundle(file)
        check_folder(file, bundle, beside=[SIGNATURE])
        certificate = bundle.certificate
        if key is not None:
            signed = check_signature(bundle, file, key)
    elif key is not None:
        raise InputError("--key needs the folder of a release: a signature is about all of its files.")
    else:
        certificate = Certificate.load(file)
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
        "signed_by": signed,
    }
    if as_json:
        print_json(result)
        return
    promise = f"(epsilon, delta) = ({certificate.epsilon:.6g}, {certificate.delta:g})"
    title = f"{file}: holds. {promise}, recomputed from its events"
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
    typer.echo(f"Neighbours: {body['neighbours']}. Unit: {body['unit']}{_taken(body['release'])}.")
    if signed is not None:
        typer.echo(f"Signed with the key that you gave ({signed}).")
    elif (file / SIGNATURE).exists():
        typer.echo("There is a signature, which was not checked: say whose it should be with --key.")
    typer.echo("Assumed public: " + "; ".join(body["assumed_public"]) + ".")


def _taken(release: Mapping[str, Any]) -> str:
    most = release.get("rows_per_person")
    return f" (of whom at most {most} rows were taken)" if type(most) is int else ""
