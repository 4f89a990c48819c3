"""Fetch a dataset from OpenML into the cache, in the same form as the files of `$UNDERSTUDY_DATA`."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from understudy.datasets.cache import made_cache_folder
from understudy.datasets.convert import Form, convert
from understudy.datasets.download import DownloadError, Patience, download, read_json
from understudy.datasets.reading import read
from understudy.datasets.registry import DatasetInfo
from understudy.errors import InputError
from understudy.files import whole_file

SERVER = "https://api.openml.org"
SERVER_VARIABLE = "UNDERSTUDY_OPENML"


@dataclass(frozen=True)
class _Source:
    url: str
    form: Form
    md5: str | None


class _Unusable(InputError):
    """The file arrived but is not the dataset."""


def fetch(entry: DatasetInfo, *, patience: Patience | None = None) -> Path:
    """Download `entry` into the cache and give the path. The file appears there only once it has been read and counted.

    The Parquet file is tried first, for it is several times smaller; OpenML publishes no checksum for it, and some do
    not exist. The ARFF file comes with an MD5 sum.
    """
    assert entry.openml is not None
    folder = made_cache_folder()
    try:
        description = _describe(entry, patience)
    except DownloadError as error:
        raise _given_up(entry, str(error)) from None
    failures: list[str] = []
    for source in _sources(description):
        raw = folder / f".{secrets.token_hex(6)}-{entry.name}.{source.form}"
        try:
            download(source.url, raw, md5=source.md5, patience=patience, show=f"{entry.name} ({source.form})")
            with whole_file(folder / entry.file) as made:
                _make(entry, raw, source.form, description.get("default_target_attribute", ""), made)
            return folder / entry.file
        except (DownloadError, _Unusable) as error:
            failures.append(str(error).rstrip("."))
        finally:
            raw.unlink(missing_ok=True)
    raise _given_up(entry, "; ".join(failures))


def _given_up(entry: DatasetInfo, why: str) -> DownloadError:
    return DownloadError(
        f"{entry.name!r} could not be had from OpenML: {why.rstrip('.')}. Try again later, or put {entry.file} into "
        "the folder that $UNDERSTUDY_DATA names."
    )


def _describe(entry: DatasetInfo, patience: Patience | None) -> dict[str, Any]:
    assert entry.openml is not None
    answer = read_json(f"{_server()}/api/v1/json/data/{entry.openml.id}", patience=patience)
    description = answer.get("data_set_description") if isinstance(answer, dict) else None
    if not isinstance(description, dict) or description.get("name") != entry.openml.name:
        raise DownloadError(
            f"{_server()} does not describe dataset {entry.openml.id} as {entry.openml.name!r}"
            + (f" (is ${SERVER_VARIABLE} right?)" if os.environ.get(SERVER_VARIABLE) else "")
        )
    return description


def _sources(description: dict[str, Any]) -> Iterator[_Source]:
    if url := description.get("parquet_url") or description.get("minio_url"):
        yield _Source(_mirrored(url), "parquet", None)
    if url := description.get("url"):
        yield _Source(_mirrored(url), "arff", description.get("md5_checksum"))


def _server() -> str:
    return os.environ.get(SERVER_VARIABLE, SERVER).rstrip("/")


def _mirrored(url: str) -> str:
    """A mirror serves OpenML's descriptions as they are, so the files they name are asked of the mirror as well."""
    if os.environ.get(SERVER_VARIABLE):
        return urljoin(_server() + "/", urlsplit(url).path.lstrip("/"))
    # Old descriptions name plain HTTP; the Parquet file has no checksum, so nobody may alter it on the way.
    return url.replace("http://", "https://", 1) if url.startswith("http://") else url


def _make(entry: DatasetInfo, raw: Path, form: Form, target: str, made: Path) -> None:
    try:
        convert(entry, raw, form, target, made)
        read(entry, made, entry.file)
    except Exception as error:
        # Whatever a stranger's file makes pandas or pyarrow raise, the next source may still be good. A full disk is
        # another matter; pyarrow also calls damaged pages an OSError, but one without a number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise _Unusable(f"the {form} file is not what was expected: {' '.join(str(error).split())}") from error
