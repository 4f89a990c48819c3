"""`understudy sign`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.app import Json, app, print_json


@app.command()
def sign(
    release: Annotated[Path | None, typer.Argument(help="The folder of a release.")] = None,
    key: Annotated[Path | None, typer.Option(help="Your private Ed25519 key, in PEM form.")] = None,
    new_key: Annotated[
        Path | None, typer.Option("--new-key", help="Make a key there (and FILE.pub beside it) and stop.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Sign a release, so that others can tell that it comes from you (`understudy verify --key`)."""
    from understudy.errors import InputError
    from understudy.release import signature

    if new_key is not None:
        public = signature.new_key(new_key)
        if as_json:
            print_json({"key": str(new_key), "public": str(public)})
        else:
            typer.echo(f"Wrote {new_key}, which is yours alone, and {public}, which others verify with.")
        return
    if release is None or key is None:
        raise InputError("name the release and the key: `understudy sign release/ --key key.pem`.")
    made = signature.sign(release, key)
    if as_json:
        print_json({"signature": str(made)})
    else:
        typer.echo(f"Wrote {made}. Others check it with `understudy verify {release} --key KEY.pub`.")
