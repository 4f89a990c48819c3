"""A release on disk: a folder of JSON and safetensors that holds only what the guarantee covers, and no pickle.

    release/
      manifest.json       what it is: kind, method, public parameters, schema, checksums of the other files
      arrays.safetensors  the numbers
      certificate.json    the promise

Teachers, votes and checkpoints are private and never come near this folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy._version import __version__
from understudy.errors import InputError
from understudy.privacy import Certificate
from understudy.privacy.certificate import strict_json
from understudy.tables import Schema

FORMAT = 1
_ARRAYS, _CERTIFICATE, _MANIFEST = "arrays.safetensors", "certificate.json", "manifest.json"


@dataclass(frozen=True)
class Bundle:
    """What a release consists of. `parameters` are public and plain JSON; `arrays` are the learnt numbers."""

    kind: str
    method: str
    parameters: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    certificate: Certificate
    schema: Schema | None = None


def check_target(path: str | Path) -> Path:
    """The folder a release is to go to, or an error, before any work is done or budget spent."""
    target = Path(path)
    if target.is_dir() and any(target.iterdir()):
        raise InputError(f"{target} exists and is not empty: name a new folder, so that no release is overwritten.")
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} exists and is no folder: name a new one.")
    parent = target.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        Path(tempfile.mkdtemp(dir=parent, prefix=".understudy-")).rmdir()
    except OSError as error:
        raise InputError(f"cannot write to {parent}: {error.strerror or error}. Name another place.") from None
    return target


def write_bundle(bundle: Bundle, path: str | Path) -> None:
    """Write a release: the whole folder appears at once, or nothing does."""
    from safetensors.numpy import save_file

    target = check_target(path)
    draft = Path(tempfile.mkdtemp(dir=target.absolute().parent, prefix=".understudy-"))
    try:
        arrays = {name: np.ascontiguousarray(array) for name, array in bundle.arrays.items()}
        save_file(arrays, draft / _ARRAYS)
        bundle.certificate.save(draft / _CERTIFICATE)
        manifest = {
            "format": FORMAT,
            "understudy": __version__,
            "kind": bundle.kind,
            "method": bundle.method,
            "parameters": dict(bundle.parameters),
            "schema": bundle.schema.to_dict() if bundle.schema is not None else None,
            "files": {name: _digest(draft / name) for name in (_ARRAYS, _CERTIFICATE)},
        }
        (draft / _MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", "utf-8")
        umask = os.umask(0)
        os.umask(umask)
        draft.chmod(0o777 & ~umask)
        for file in draft.iterdir():
            file.chmod(0o666 & ~umask)
        if target.is_dir():
            target.rmdir()
        draft.replace(target)
    except OSError as error:
        raise InputError(f"cannot write the release to {target}: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def read_bundle(path: str | Path) -> Bundle:
    """Read a release; a missing, damaged or newer one is refused with what to do."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder: a release is the folder that `--out` made.")
    try:
        text = (folder / _MANIFEST).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{folder} holds no readable {_MANIFEST}: it is not a release, or it is damaged.") from None
    manifest = strict_json(text, where=str(folder / _MANIFEST))
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
        raise InputError(f"{folder / _MANIFEST} is not a manifest of a release.")
    if manifest["format"] > FORMAT:
        raise InputError(
            f"{folder} has format {manifest['format']}, newer than the {FORMAT} known here: update understudy."
        )
    try:
        for name, digest in manifest["files"].items():
            if _digest(folder / name) != digest:
                raise InputError(
                    f"{folder / name} is damaged: its checksum is not the one in the manifest. Copy it again."
                )
        schema = Schema.from_dict(manifest["schema"]) if manifest["schema"] is not None else None
        return Bundle(
            kind=manifest["kind"],
            method=manifest["method"],
            parameters=manifest["parameters"],
            arrays=load_file(folder / _ARRAYS),
            certificate=Certificate.load(folder / _CERTIFICATE),
            schema=schema,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{folder / _MANIFEST} lacks or garbles {error}: the release is damaged.") from None
    except (OSError, SafetensorError) as error:
        raise InputError(f"{folder} is damaged: {error}. Copy the release again.") from None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
