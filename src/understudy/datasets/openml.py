"""Fetch a dataset from OpenML into the cache, in the same form as the files of `$UNDERSTUDY_DATA`.

scikit-learn's `fetch_openml` asks, retries, checks the MD5 sum and parses. What it has no argument for is done here, by a
handler that its requests pass: a server that says nothing is given up, `$UNDERSTUDY_OPENML` names a mirror, and a
terminal shows how far a large file has come. And its cache is not used: it keeps whatever arrived, as text that takes
minutes to parse. Here a file enters the cache only after its columns, rows and labels were checked.
"""

from __future__ import annotations

import http.client
import os
import sys
import tempfile
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from understudy.datasets.cache import CACHE_VARIABLE, made_cache_folder
from understudy.datasets.convert import convert
from understudy.datasets.reading import read
from understudy.datasets.registry import DatasetInfo
from understudy.errors import InputError
from understudy.files import whole_file

SERVER_VARIABLE = "UNDERSTUDY_OPENML"
_SILENCE_S = 30.0
_WORTH_A_BAR = 1 << 20


class DownloadError(InputError):
    """A dataset could not be fetched. Nothing was written."""


def fetch(entry: DatasetInfo, *, silence: float = _SILENCE_S) -> Path:
    """Download `entry` into the cache and give the path. The file appears there only once it has been read and counted.

    A server that sends nothing for `silence` seconds counts as a failed attempt.
    """
    folder = made_cache_folder()
    try:
        with tempfile.TemporaryDirectory(prefix=".", dir=folder) as scratch, _Requests(entry.name, silence).installed():
            table, target = _download(entry, scratch)
        with whole_file(folder / entry.file) as draft:
            convert(entry, table, target, draft)
            read(entry, draft, entry.file)
    except Exception as error:
        network = isinstance(error, urllib.error.URLError | ConnectionError | TimeoutError)
        if isinstance(error, OSError) and error.errno is not None and not network:
            raise InputError(
                f"cannot write into {folder}: {error.strerror}. Make room, or name another folder with ${CACHE_VARIABLE}."
            ) from None
        if isinstance(error.__cause__, OSError):  # `whole_file` could not write, and says so
            raise
        # Whatever else a stranger's file makes scikit-learn or pandas raise, the file is not the dataset.
        raise DownloadError(
            f"{entry.name!r} could not be had from OpenML: {' '.join(str(error).split()).rstrip('.')}. Try again later, "
            f"or put {entry.file} into the folder that $UNDERSTUDY_DATA names."
        ) from error
    return folder / entry.file


def _download(entry: DatasetInfo, scratch: str) -> tuple[Any, str]:
    """OpenML's table as it is, and the name of its label column."""
    from sklearn.datasets import fetch_openml

    assert entry.openml is not None
    # Pixels are bytes: as the integers that pandas guesses, the colour images would fill gigabytes. In tables it may
    # guess: scikit-learn's own list of types fails, with pandas 3, at text that is all digits.
    types = dict.fromkeys(range(entry.features), "uint8") if entry.kind == "image" else None
    bunch: Any = None
    # Attempts that failed are no news, and a version that OpenML warns of is checked by its counts. JSON that lacks what
    # scikit-learn looks for is not OpenML's.
    with warnings.catch_warnings(action="ignore"), suppress(KeyError, TypeError, AttributeError):
        bunch = fetch_openml(
            data_id=entry.openml.id,
            data_home=scratch,
            as_frame=True,
            n_retries=4,
            parser="pandas",
            read_csv_kwargs={"dtype": types, "low_memory": False},
        )
    if bunch is None or bunch.details.get("name") != entry.openml.name:
        mirror = os.environ.get(SERVER_VARIABLE)
        raise InputError(
            f"{mirror or 'the server'} does not describe dataset {entry.openml.id} as {entry.openml.name!r}"
            + (f" (is ${SERVER_VARIABLE} right?)" if mirror else "")
        )
    return bunch.frame, "".join(bunch.target_names[:1])


class _Requests(urllib.request.BaseHandler):
    """What `fetch_openml` cannot be told: how long to wait, whom to ask instead, and to show how far it is."""

    handler_order = 400  # before the handlers that connect

    def __init__(self, name: str, silence: float) -> None:
        self._name, self._silence, self._bars = name, silence, ExitStack()

    def https_request(self, request: urllib.request.Request) -> urllib.request.Request:
        address, mirror = urlsplit(request.full_url), os.environ.get(SERVER_VARIABLE)
        if mirror and (address.hostname or "").endswith("openml.org"):
            # A mirror serves OpenML's descriptions as they are, so the files that they name are asked of it as well.
            request.full_url = urljoin(mirror.rstrip("/") + "/", address.path.lstrip("/"))
        request.timeout = self._silence
        return request

    def https_response(
        self, request: urllib.request.Request, response: http.client.HTTPResponse
    ) -> http.client.HTTPResponse:
        del request
        size = int(response.headers.get("Content-Length", 0))
        if size >= _WORTH_A_BAR and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

            self._bars.close()  # of an attempt that failed
            columns = (TextColumn(self._name), BarColumn(), DownloadColumn(), TimeRemainingColumn())
            bar = self._bars.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
            task, read_part = bar.add_task("", total=size), response.read

            def read_and_show(amt: int | None = None) -> bytes:
                part = read_part(amt)
                bar.advance(task, len(part))
                return part

            response.read = read_and_show
        return response

    http_request, http_response = https_request, https_response

    @contextmanager
    def installed(self) -> Iterator[None]:
        """While this lasts, `urlopen` (all that `fetch_openml` uses) sends its requests this way."""
        before: Any = urllib.request._opener  # pyright: ignore[reportAttributeAccessIssue]
        urllib.request.install_opener(urllib.request.build_opener(self))
        try:
            with self._bars:
                yield
        finally:
            urllib.request.install_opener(before)
