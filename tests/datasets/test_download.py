"""One file over HTTP, from a server that fails in every way it can."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from local_server import (
    Pauses,
    Server,
    serve,
    serve_slowly,
    serve_status,
    serve_truncated,
    serve_unannounced,
)

from understudy.datasets.download import DownloadError, Patience, download, read_json
from understudy.errors import InputError

BODY = bytes(range(256)) * 1000
MD5 = hashlib.md5(BODY).hexdigest()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "file.bin"


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_arrives_whole(server: Server, target: Path, pauses: Pauses) -> None:
    download(server.on("/f", serve(BODY)), target, md5=MD5.upper(), patience=pauses.patience())
    assert target.read_bytes() == BODY
    assert left_in(target.parent) == ["file.bin"]
    assert pauses == []


def test_an_empty_file_arrives(server: Server, target: Path) -> None:
    download(server.on("/f", serve(b"")), target)
    assert target.read_bytes() == b""


def test_a_file_without_announced_length_arrives(server: Server, target: Path) -> None:
    download(server.on("/f", serve_unannounced(BODY)), target, md5=MD5)
    assert target.read_bytes() == BODY


@pytest.mark.parametrize("code", [429, 500, 502, 503])
def test_passing_failures_are_retried_with_growing_pauses(
    server: Server, target: Path, pauses: Pauses, code: int
) -> None:
    url = server.on("/f", serve_status(code), serve_status(code), serve(BODY))
    download(url, target, md5=MD5, patience=pauses.patience())
    assert target.read_bytes() == BODY
    assert pauses == [1.0, 2.0]


def test_the_server_may_ask_for_a_longer_pause_but_not_for_any(server: Server, target: Path, pauses: Pauses) -> None:
    url = server.on("/f", serve_status(503, Retry_After="7"), serve_status(503, Retry_After="9999"), serve(BODY))
    download(url, target, patience=pauses.patience())
    assert pauses == [7.0, 60.0]


def test_endless_failure_gives_up(server: Server, target: Path, pauses: Pauses) -> None:
    url = server.on("/f", serve_status(500))
    with pytest.raises(DownloadError, match=r"/f: the server answered 500 .*after 4 attempts"):
        download(url, target, patience=pauses.patience())
    assert len(server.asked) == 4
    assert pauses == [1.0, 2.0, 4.0]
    assert left_in(target.parent) == []


@pytest.mark.parametrize("code", [403, 404, 412])
def test_a_final_answer_is_not_asked_again(server: Server, target: Path, pauses: Pauses, code: int) -> None:
    with pytest.raises(DownloadError, match=f"answered {code}"):
        download(server.on("/f", serve_status(code)), target, patience=pauses.patience())
    assert len(server.asked) == 1
    assert left_in(target.parent) == []


@pytest.mark.parametrize("keep", [0, 1, len(BODY) - 1])
def test_a_truncated_body_is_fetched_again(server: Server, target: Path, pauses: Pauses, keep: int) -> None:
    url = server.on("/f", serve_truncated(BODY, keep), serve(BODY))
    download(url, target, patience=pauses.patience())
    assert target.read_bytes() == BODY


def test_a_body_that_is_always_truncated_leaves_nothing(server: Server, target: Path, pauses: Pauses) -> None:
    url = server.on("/f", serve_truncated(BODY, 1000))
    with pytest.raises(DownloadError, match=r"1,000 of 256,000 bytes|IncompleteRead"):
        download(url, target, patience=pauses.patience())
    assert left_in(target.parent) == []


def test_a_wrong_checksum_is_fetched_again_then_refused(server: Server, target: Path, pauses: Pauses) -> None:
    url = server.on("/f", serve(BODY[::-1]), serve(BODY))
    download(url, target, md5=MD5, patience=pauses.patience())
    assert target.read_bytes() == BODY
    target.unlink()
    with pytest.raises(DownloadError, match=f"checksum is .*, not {MD5}"):
        download(server.on("/g", serve(b"x" + BODY)), target, md5=MD5, patience=pauses.patience())
    assert left_in(target.parent) == []


def test_truncation_without_announced_length_shows_in_the_checksum(
    server: Server, target: Path, pauses: Pauses
) -> None:
    url = server.on("/f", serve_unannounced(BODY[:-1]), serve(BODY))
    download(url, target, md5=MD5, patience=pauses.patience())
    assert target.read_bytes() == BODY
    assert len(pauses) == 1


def test_an_etag_that_is_an_md5_sum_is_checked(server: Server, target: Path, pauses: Pauses) -> None:
    url = server.on("/f", serve(BODY[:-1], ETag=f'"{MD5}"'), serve(BODY, ETag=f'"{MD5}"'))
    download(url, target, patience=pauses.patience())
    assert target.read_bytes() == BODY
    # Uploads in several parts have an ETag that is no MD5 sum of the file.
    download(server.on("/g", serve(BODY, ETag=f'"{MD5}-3"')), target, patience=pauses.patience())


def test_a_failed_download_leaves_the_old_file(server: Server, target: Path, pauses: Pauses) -> None:
    target.write_bytes(b"old")
    with pytest.raises(DownloadError):
        download(server.on("/f", serve_truncated(BODY, 5)), target, patience=pauses.patience(attempts=1))
    assert target.read_bytes() == b"old"
    assert left_in(target.parent) == ["file.bin"]


def test_a_silent_server_runs_into_the_timeout(server: Server, target: Path, pauses: Pauses) -> None:
    url = server.on("/f", serve_slowly(BODY, silence=0.6), serve(BODY))
    download(url, target, patience=pauses.patience(timeout=0.2))
    assert target.read_bytes() == BODY
    assert len(pauses) == 1


def test_a_trickling_server_runs_into_the_timeout(server: Server, target: Path, pauses: Pauses) -> None:
    url = server.on("/f", serve_slowly(b"x" * 500, trickle=0.02))
    start = time.monotonic()
    with pytest.raises(DownloadError, match=r"next to nothing, came for 0\.2 seconds"):
        download(url, target, patience=pauses.patience(attempts=2, timeout=0.2))
    assert time.monotonic() - start < 5
    assert left_in(target.parent) == []


def test_no_server_at_all(server: Server, target: Path, pauses: Pauses) -> None:
    server.stop()
    with pytest.raises(DownloadError, match="no connection"):
        download(f"{server.url}/f", target, patience=pauses.patience())
    assert pauses == [1.0, 2.0, 4.0]


def test_an_unwritable_folder_is_refused_before_the_server_is_asked(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        download(server.on("/f", serve(BODY)), tmp_path / "absent" / "file.bin")
    assert server.asked == []


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/f", "127.0.0.1/f", ""])
def test_only_http_is_asked(target: Path, url: str) -> None:
    with pytest.raises(DownloadError, match="begins with https"):
        download(url, target)
    assert left_in(target.parent) == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_on_a_terminal_only(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = server.on("/f", serve(BODY))
    download(url, target, show="adult")
    assert capsys.readouterr() == ("", "")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    download(url, target, show="adult")
    assert "adult" in terminal.getvalue()
    assert "256.0/256.0 kB" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_json(server: Server, pauses: Pauses) -> None:
    url = server.on("/j", serve(b"<html>busy</html>"), serve_truncated(b'{"a": 1}', 4), serve(b'{"a": 1}'))
    assert read_json(url, patience=pauses.patience()) == {"a": 1}
    assert len(pauses) == 2


PROGRAM = """
import sys
from pathlib import Path
from understudy.datasets.download import download
download(sys.argv[1], Path(sys.argv[2]), md5=sys.argv[3])
"""


def start(url: str, target: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, url, str(target), MD5], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def wait_until(condition: object, seconds: float = 20.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


def test_two_processes_fetch_the_same_file_at_once(server: Server, target: Path) -> None:
    url = server.on("/f", serve_slowly(BODY, silence=0.5))
    running = [start(url, target), start(url, target)]
    wait_until(target.exists)
    assert target.read_bytes() == BODY
    for process in running:
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 0, errors
    assert target.read_bytes() == BODY
    assert left_in(target.parent) == ["file.bin"]


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_an_interrupted_download_leaves_nothing(server: Server, target: Path) -> None:
    process = start(server.on("/f", serve_slowly(BODY, trickle=0.05)), target)
    wait_until(lambda: server.asked and any(target.parent.iterdir()))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert left_in(target.parent) == []


def test_a_killed_download_leaves_no_file_of_that_name(server: Server, target: Path) -> None:
    process = start(server.on("/f", serve_slowly(BODY, trickle=0.05)), target)
    wait_until(lambda: server.asked and any(target.parent.iterdir()))
    process.kill()
    process.communicate(timeout=30)
    assert not target.exists()
    assert all(name.startswith(".") for name in left_in(target.parent))
    download(server.on("/f", serve(BODY)), target, md5=MD5)
    assert target.read_bytes() == BODY


def test_patience_by_default_is_a_minute_at_most_between_attempts() -> None:
    patience = Patience()
    assert sum(patience.pause * 2**number for number in range(patience.attempts - 1)) < 60
