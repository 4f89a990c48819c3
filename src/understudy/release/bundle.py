"""A release on disk: a folder of JSON and safetensors that holds only what the guarantee covers, and no pickle.

    release/
      manifest.json       what it is: kind, method, public parameters, schema, checksums of the other files
      arrays.safetensors  the numbers
      certificate.json    the promise

Teachers, votes and checkpoints are private and never come near this folder.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from understudy._version import __version__
from understudy.errors import InputError
from understudy.files import whole_folder, write_text
from understudy.privacy import Certificate
from understudy.privacy.certificate import LARGEST_FILE
from understudy.release.arrays import read_arrays
from understudy.tables import Schema
from understudy.untrusted import child, read_bytes, strict_json
from understudy.wording import listed

FORMAT = 1
ARRAYS, CERTIFICATE, MANIFEST = "arrays.safetensors", "certificate.json", "manifest.json"
_LARGEST_MANIFEST, _MOST_FILES = 32 * 2**20, 16
_LARGEST = {ARRAYS: 256 * 2**20, CERTIFICATE: LARGEST_FILE}
"""The files that every manifest names, and how long each may be."""


@dataclass(frozen=True)
class Bundle:
    """What a release consists of. `parameters` are public and plain JSON; `arrays` are the learnt numbers."""

    kind: str
    method: str
    parameters: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    certificate: Certificate
    schema: Schema | None = None
    digests: Mapping[str, str] = field(default_factory=dict)
    """Of a release that was read: the SHA-256 of each of its files."""


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
    try:
        with whole_folder(target) as draft:
            arrays = {name: np.ascontiguousarray(array) for name, array in bundle.arrays.items()}
            save_file(arrays, draft / ARRAYS)
            bundle.certificate.save(draft / CERTIFICATE)
            manifest = {
                "format": FORMAT,
                "understudy": __version__,
                "kind": bundle.kind,
                "method": bundle.method,
                "parameters": dict(bundle.parameters),
                "schema": bundle.schema.to_dict() if bundle.schema is not None else None,
                "files": {name: _digest((draft / name).read_bytes()) for name in _LARGEST},
            }
            (draft / MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        raise InputError(f"cannot write the release to {target}: {error.strerror or error}.") from None


def read_bundle(path: str | Path) -> Bundle:
    """Read a release, whoever wrote it; one that is missing, damaged, newer or crafted is refused with what to do.

    Each file is read once, so that what was checked is what is used.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder: a release is the folder that `--out` made.")
    try:
        data = {MANIFEST: read_bytes(folder / MANIFEST, most=_LARGEST_MANIFEST, inside=True)}
        text = data[MANIFEST].decode("utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{folder} holds no readable {MANIFEST}: it is not a release, or it is damaged.") from None
    where = str(folder / MANIFEST)
    manifest = _checked(strict_json(text, where=where), folder)
    for name, most in _LARGEST.items():
        data[name] = _read_checked(folder, name, most, manifest["files"][name])
    try:
        certificate = Certificate.parse(data[CERTIFICATE].decode("utf-8"), where=str(folder / CERTIFICATE))
    except UnicodeDecodeError as error:
        raise InputError(f"{folder / CERTIFICATE} is not UTF-8 text (byte {error.start}). Copy it again.") from None
    schema = manifest["schema"]
    return Bundle(
        kind=manifest["kind"],
        method=manifest["method"],
        parameters=manifest["parameters"],
        arrays=read_arrays(data[ARRAYS], where=str(folder / ARRAYS)),
        certificate=certificate,
        schema=None if schema is None else Schema.from_dict(schema, where=f"{where}, schema"),
        digests={
            MANIFEST: hashlib.sha256(data[MANIFEST]).hexdigest(),
            **{name: digest.removeprefix("sha256:") for name, digest in manifest["files"].items()},
        },
    )


def check_folder(path: str | Path, bundle: Bundle, *, beside: Sequence[str] = ()) -> None:
    """Refuse a release folder that holds anything but the files of its manifest and those named in `beside`.

    `bundle` is what was read from it; the files that reading it left out are checked here.
    """
    folder = Path(path)
    known = {*bundle.digests, *beside}
    with os.scandir(folder) as entries:
        more = sorted(itertools.islice((entry.name for entry in entries if entry.name not in known), 1000))
    if more:
        raise InputError(
            f"{folder} holds {listed(more, 5)}, which the manifest does not name and nothing vouches for. Take out what "
            "does not belong to the release."
        )
    for name in sorted(set(bundle.digests) - {MANIFEST, *_LARGEST}):
        _read_checked(folder, name, _LARGEST[ARRAYS], "sha256:" + bundle.digests[name])


def add_files(path: str | Path, names: Sequence[str]) -> None:
    """Name further files of a release in its manifest, with their checksums: as public as the rest, made from it alone."""
    folder = Path(path)
    manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    manifest["files"] |= {name: _digest((folder / name).read_bytes()) for name in names}
    write_text(folder / MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def _read_checked(folder: Path, name: str, most: int, digest: str) -> bytes:
    try:
        data = read_bytes(child(folder, name), most=most, inside=True)
    except OSError as error:
        raise InputError(f"{folder / name} cannot be read: {error.strerror}. Copy the release again.") from None
    if _digest(data) != digest:
        raise InputError(f"{folder / name} is damaged: its checksum is not the one in the manifest. Copy it again.")
    return data


def _checked(manifest: Any, folder: Path) -> dict[str, Any]:
    """The manifest, if all that it must say has the right type."""
    where = folder / MANIFEST
    if not isinstance(manifest, dict) or type(manifest.get("format")) is not int:
        raise InputError(f"{where} is not a manifest of a release.")
    if manifest["format"] > FORMAT:
        raise InputError(
            f"{folder} has format {manifest['format']}, newer than the {FORMAT} known here: update understudy."
        )
    if manifest["format"] != FORMAT:
        raise InputError(f"{folder} has format {manifest['format']}; formats are counted from 1. Copy it again.")
    for name, kind in (("kind", str), ("method", str), ("parameters", dict), ("files", dict)):
        if not isinstance(manifest.get(name), kind):
            raise InputError(f"{where} lacks or garbles `{name}`: the release is damaged. Copy it again.")
    if not isinstance(manifest.get("schema", ""), dict | None):
        raise InputError(f"{where} lacks or garbles `schema`: the release is damaged. Copy it again.")
    files = manifest["files"]
    if not set(_LARGEST) <= set(files) or len(files) > _MOST_FILES:
        raise InputError(f"{where} must name {listed(list(_LARGEST))} and few others: the release is damaged.")
    for name, digest in files.items():
        child(folder, name)
        if not isinstance(digest, str) or not re.fullmatch("sha256:[0-9a-f]{64}", digest):
            raise InputError(f"{where} has no checksum for {name[:80]!r}: the release is damaged. Copy it again.")
    return manifest


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
