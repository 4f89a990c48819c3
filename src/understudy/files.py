"""Files and folders that appear under their name only when they are whole."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from understudy.errors import InputError


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Refuse an output that cannot be written, before any work is done or any budget is spent.

    It really makes and removes a file beside the target: permissions alone say nothing about a read-only disk.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder. Give the name of a file in it.")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.parent}. Make it first.")
    if path.exists() and not os.access(path, os.W_OK):
        raise InputError(f"cannot write {path}: the file there is read-only. Choose another name.")
    probe = _beside(path)
    try:
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}. Choose a folder that you may write.") from None
    return path


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary name in the same folder; renamed to `path` at the end, removed if anything fails."""
    path = check_writable(path)
    temporary = _beside(path)
    handle = -1
    try:
        with _drafting(path):
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
            _is_free(handle)  # held until it is whole: a draft that nobody holds was left by a process that died
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}. Nothing was left there.") from error
    finally:
        temporary.unlink(missing_ok=True)
        if handle >= 0:
            os.close(handle)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path`, which may be there if it is empty; renamed to it at the end, removed if anything fails."""
    draft = _beside(path)
    with _drafting(path):
        draft.mkdir(0o700)
        handle = os.open(draft, os.O_RDONLY)
        _is_free(handle)
    try:
        yield draft
        umask = os.umask(0)
        os.umask(umask)
        for file in draft.iterdir():
            file.chmod((0o777 if file.is_dir() else 0o666) & ~umask)
        draft.chmod(0o777 & ~umask)
        if path.is_dir():
            path.rmdir()
        draft.replace(path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        os.close(handle)


@contextmanager
def _drafting(path: Path) -> Iterator[None]:
    """Drafts are removed, made and held by one process at a time: one that is not held yet was not left by a dead process."""
    handle = -1
    with suppress(ImportError, OSError):
        import fcntl

        handle = os.open(path.absolute().parent, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        _remove_drafts(path)
        yield
    finally:
        if handle >= 0:
            os.close(handle)


def _remove_drafts(path: Path) -> None:
    """Drafts of the same file or folder that a killed process left."""
    pattern = re.compile(r"\.[0-9a-f]{12}-" + re.escape(path.name))
    with suppress(OSError):
        for draft in [one for one in path.absolute().parent.iterdir() if pattern.fullmatch(one.name)]:
            handle = os.open(draft, os.O_RDONLY)
            try:
                if _is_free(handle):
                    shutil.rmtree(draft) if draft.is_dir() else draft.unlink(missing_ok=True)
            finally:
                os.close(handle)


def _is_free(handle: int) -> bool:
    """Hold a file by a lock that ends with the process; False where another has it, or where there are no such locks."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _beside(path: Path) -> Path:
    # The suffixes stay at the end: writers of tables choose their compression by them.
    return path.with_name(f".{secrets.token_hex(6)}-{path.name}"[-200:])
