"""Whose a private workspace is: one process at a time, and which run of a ledger it belongs to."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from understudy.errors import InputError

LEDGER_NOTE = "ledger.json"
"""Which run of a ledger this is: it may be in a workspace before its run is, and so may the lock."""
_LOCK = "lock"
_DRAFT = re.compile(r"\.[0-9a-f]{12}-.+")


class WorkspaceLock:
    """A workspace for one process at a time, by a lock that ends with the process. A process may claim twice what it has."""

    _held: ClassVar[dict[Path, tuple[int, int]]] = {}

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        check_name(self.path)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._place = self.path.resolve()
            handle, times = self._held.get(self._place, (-1, 0))
            if not times:
                handle = _locked(self.path)
        except OSError as error:
            raise InputError(f"cannot make the workspace {self.path}: {error.strerror or error}.") from None
        self._held[self._place] = (handle, times + 1)

    def release(self) -> None:
        """Let others in. Where there is no run the lock goes too, and the folder if it holds nothing else."""
        handle, times = self._held.pop(self._place)
        if times > 1:
            self._held[self._place] = (handle, times - 1)
            return
        if not (self.path / "run.json").exists() and not (self.path / LEDGER_NOTE).exists():
            with suppress(OSError):
                (self.path / _LOCK).unlink(missing_ok=True)
                self.path.rmdir()
        os.close(handle)


def _locked(path: Path) -> int:
    """The lock of a workspace, held; the drafts that a killed process left here are removed."""
    while True:
        handle = open_private(path / _LOCK, os.O_RDWR | os.O_CREAT)
        try:
            _lock(handle)
            # Who held it before may have removed the folder, and with it the file that we have locked.
            if (path / _LOCK).exists() and os.path.samestat(os.fstat(handle), (path / _LOCK).stat()):
                break
        except BlockingIOError:
            os.close(handle)
            raise InputError(f"another process is at work in {path}. Wait for it, or name another workspace.") from None
        os.close(handle)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (path / "run.json").exists() or (path / LEDGER_NOTE).exists():
        for draft in path.iterdir():
            if _DRAFT.fullmatch(draft.name):
                draft.unlink(missing_ok=True)
    return handle


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # no such locks on Windows: there the ledger's own lease is all
        return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def check_name(path: Path) -> None:
    """Refuse a folder that does not say what it is."""
    if not path.name.endswith(".private"):
        raise InputError(f"a workspace holds private things: name it {path.name}.private, not {path}.")


def check_vacant(path: Path) -> None:
    """Refuse to start a run where there is one already."""
    if (path / "run.json").exists():
        raise InputError(
            f"{path} holds a run already. Resume it (`--resume`), or remove the folder to start anew: "
            "a new run is charged anew."
        )


def strangers(path: Path, beside: tuple[str, ...] = ()) -> list[str]:
    """What is in a workspace beside the lock."""
    return sorted(p.name for p in path.iterdir() if p.name not in (_LOCK, *beside)) if path.exists() else []


def read_note(path: Path) -> dict[str, Any] | None:
    """The run of a ledger that a workspace belongs to, if it belongs to one."""
    note = path / LEDGER_NOTE
    if not note.exists():
        return None
    try:
        found = json.loads(note.read_text("utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{note} is damaged: the run cannot be resumed.") from None
    return found if isinstance(found, dict) else {}


def write_note(path: Path, note: Mapping[str, Any]) -> None:
    write_private(path / LEDGER_NOTE, json.dumps(dict(note)).encode())


def open_private(path: Path, flags: int) -> int:
    return os.open(path, flags, 0o600)


def write_private(path: Path, data: bytes) -> None:
    draft = path.with_name(f".{secrets.token_hex(6)}-{path.name}")
    try:
        handle = open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}. The last checkpoint still stands.") from None
    finally:
        draft.unlink(missing_ok=True)
