"""Fetch one file over HTTP: retried, measured, checked, and written whole or not at all."""

from __future__ import annotations

import hashlib
import http.client
import json
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy._version import __version__
from understudy.errors import InputError
from understudy.files import whole_file

_CHUNK = 1 << 16
_SLOWEST = 1024
_LONGEST_PAUSE_S = 60.0
_PASSING = (408, 425, 429)


class DownloadError(InputError):
    """A file could not be fetched. Nothing was written."""


class _TryAgain(Exception):
    """This attempt failed in a way that another may not."""

    def __init__(self, why: str, after: float = 0.0) -> None:
        super().__init__(why)
        self.after = after


@dataclass(frozen=True)
class Patience:
    """How long to try: `attempts` requests, a pause that doubles from `pause` seconds in between, and `timeout`
    seconds for a server that sends nothing, or less than a kilobyte in that time."""

    attempts: int = 5
    pause: float = 1.0
    timeout: float = 30.0
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)


def download(
    url: str, target: Path, *, md5: str | None = None, patience: Patience | None = None, show: str = ""
) -> None:
    """Write what `url` serves to `target`. The length the server announced must arrive, and the MD5 sum must fit.

    Without `md5` the server's ETag is taken for one where it looks like one, which object stores promise.
    `show` names the progress bar, drawn only on a terminal.
    """
    with whole_file(target) as part:
        _retry(url, patience or Patience(), lambda wait: _attempt(url, part, md5, wait, show))


def read_json(url: str, *, patience: Patience | None = None) -> Any:
    """The JSON document at `url`."""

    def attempt(timeout: float) -> Any:
        with _open(url, timeout) as response:
            body = b"".join(_chunks(response, timeout))
            try:
                return json.loads(body)
            except ValueError:
                raise _TryAgain("the answer is not JSON") from None

    return _retry(url, patience or Patience(), attempt)


def _retry(url: str, patience: Patience, attempt: Callable[[float], Any]) -> Any:
    why = ""
    for number in range(patience.attempts):
        try:
            return attempt(patience.timeout)
        except _TryAgain as error:
            why = str(error)
            if number + 1 < patience.attempts:
                patience.sleep(min(max(patience.pause * 2**number, error.after), _LONGEST_PAUSE_S))
    raise DownloadError(f"could not fetch {url}: {why} (after {patience.attempts} attempts).")


def _attempt(url: str, part: Path, md5: str | None, timeout: float, show: str) -> None:
    digest = hashlib.md5(usedforsecurity=False)
    with _open(url, timeout) as response, open(part, "wb") as file:
        with _progress(show, _length(response)) as advance:
            for chunk in _chunks(response, timeout):
                digest.update(chunk)
                file.write(chunk)
                advance(len(chunk))
        expected = md5 or _etag(response)
    if expected and digest.hexdigest() != expected.lower():
        raise _TryAgain(f"the checksum is {digest.hexdigest()}, not {expected.lower()}")


@contextmanager
def _open(url: str, timeout: float) -> Iterator[http.client.HTTPResponse]:
    """The response, with every way a network can fail told apart: worth another try, or not."""
    if not url.startswith(("https://", "http://")):
        raise DownloadError(f"{url} is not an address that begins with https:// or http://.")
    request = urllib.request.Request(url, headers={"User-Agent": f"understudy/{__version__}"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            yield response
    except urllib.error.HTTPError as error:
        if error.code >= 500 or error.code in _PASSING:
            raise _TryAgain(f"the server answered {error.code} {error.reason}", _retry_after(error)) from None
        raise DownloadError(f"could not fetch {url}: the server answered {error.code} {error.reason}.") from None
    except urllib.error.URLError as error:
        raise _TryAgain(f"no connection ({error.reason})") from None
    except TimeoutError:
        raise _TryAgain(f"nothing, or next to nothing, came for {timeout:g} seconds") from None
    except (http.client.HTTPException, ConnectionError, ssl.SSLError) as error:
        raise _TryAgain(f"the connection broke ({error!r})") from None


def _chunks(response: http.client.HTTPResponse, timeout: float) -> Iterator[bytes]:
    """The body as it arrives. A server that trickles a byte now and then never runs into the socket's own timeout."""
    expected, arrived = _length(response), 0
    window_start, window = time.monotonic(), 0
    while chunk := response.read1(_CHUNK):
        yield chunk
        arrived += len(chunk)
        window += len(chunk)
        if (now := time.monotonic()) - window_start > timeout:
            if window < _SLOWEST:
                raise TimeoutError
            window_start, window = now, 0
    if expected is not None and arrived < expected:
        raise _TryAgain(f"the connection ended after {arrived:,} of {expected:,} bytes")


def _length(response: http.client.HTTPResponse) -> int | None:
    announced = response.headers.get("Content-Length", "")
    return int(announced) if announced.isdigit() else None


def _etag(response: http.client.HTTPResponse) -> str | None:
    tag = response.headers.get("ETag", "").strip('"')
    return tag if len(tag) == 32 and all(letter in "0123456789abcdefABCDEF" for letter in tag) else None


def _retry_after(error: urllib.error.HTTPError) -> float:
    asked = error.headers.get("Retry-After", "")
    return float(asked) if asked.isdigit() else 0.0


@contextmanager
def _progress(show: str, total: int | None) -> Iterator[Callable[[int], None]]:
    if not (show and sys.stderr.isatty()):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(show, total=total)
        yield lambda size: bar.advance(task, size)
