"""Croissant metadata (MLCommons, 1.0) of a release: what its files are, its columns, and its promise, as JSON-LD.

A catalogue of datasets reads it without knowing this package. The files of the release are listed with their checksums;
rows that were drawn from it, in a CSV file, become a record set with the columns of the schema.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from understudy.errors import InputError
from understudy.report.facts import Release
from understudy.report.text import number
from understudy.report.words import release_words
from understudy.tables import Column

_FORMATS = {".json": "application/json", ".csv": "text/csv", ".safetensors": "application/octet-stream"}
_TYPES = {"integer": "sc:Integer", "continuous": "sc:Float", "boolean": "sc:Boolean", "datetime": "sc:DateTime"}
_TERMS = (
    "citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes isLiveDataset jsonPath "
    "key md5 parentField path recordSet references regex repeated replace samplingRate separator source subField transform"
)


def croissant(
    release: Release, *, name: str, rows: str | Path | None = None, license: str | None = None, url: str | None = None
) -> dict[str, Any]:
    """The metadata of a release folder, and of `rows` that were drawn from it. A promise that does not hold is refused."""
    if release.problem:
        raise InputError(f"{release.path}: {release.problem} Only a promise that holds is described to a catalogue.")
    if not release.path.is_dir():
        raise InputError(f"{release.path} is a lone certificate: name the folder of the release.")
    files = [
        _file(path, f"{release.path.name}/{path.name}") for path in sorted(release.path.iterdir()) if path.is_file()
    ]
    record_sets = []
    if rows is not None:
        table = Path(rows)
        if not table.is_file() or table.suffix.lower() != ".csv":
            raise InputError(f"`rows` (={table}) must be the .csv file with rows of the release.")
        files.append(_file(table, table.name))
        columns = () if release.schema is None else release.schema.columns
        if columns:
            record_sets.append(_record_set(columns, table.name))
    created = release.certificate.body["created"]
    described: dict[str, Any] = {
        "@context": _context(),
        "@type": "sc:Dataset",
        "name": name,
        "description": _description(release),
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "datePublished": created[:10],
        "version": "1.0.0",
        "citeAs": f"{name}, {created[:4]}",
        "rai:personalSensitiveInformation": _promise(release),
        "rai:dataLimitations": "Noise hides small groups first; no row is a real record.",
        "distribution": files,
        "recordSet": record_sets,
    }
    for key, value in (("license", license), ("url", url)):
        if value:
            described[key] = value
    return described


def _context() -> dict[str, Any]:
    terms: dict[str, Any] = {term: f"cr:{term}" for term in _TERMS.split()}
    terms["dataType"] = {"@id": "cr:dataType", "@type": "@vocab"}
    return {
        "@language": "en",
        "@vocab": "https://schema.org/",
        "sc": "https://schema.org/",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "dct": "http://purl.org/dc/terms/",
        "conformsTo": "dct:conformsTo",
        "data": {"@id": "cr:data", "@type": "@json"},
        "examples": {"@id": "cr:examples", "@type": "@json"},
        **terms,
    }


def _file(path: Path, name: str) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": _FORMATS.get(path.suffix.lower(), "application/octet-stream"),
        "sha256": digest,
    }


def _record_set(columns: tuple[Column, ...], file: str) -> dict[str, Any]:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"rows/{column.name}",
            "name": column.name,
            "dataType": "sc:Text" if column.digits else _TYPES.get(column.kind, "sc:Text"),
            "source": {"fileObject": {"@id": file}, "extract": {"column": column.name}},
        }
        for column in columns
    ]
    return {"@type": "cr:RecordSet", "@id": "rows", "name": "rows", "field": fields}


def _description(release: Release) -> str:
    what, method, how = release_words(release.kind, release.method)
    return f"{what.capitalize()}, made by {method}. {how} {_promise(release)}"


def _promise(release: Release) -> str:
    certificate = release.certificate
    return (
        f"Differentially private: epsilon {number(certificate.epsilon)}, delta {number(certificate.delta)}, for one "
        f"{certificate.body['unit']} ({certificate.body['neighbours']}). The certificate lists what happened, and "
        "`understudy verify` recomputes epsilon from it."
    )
