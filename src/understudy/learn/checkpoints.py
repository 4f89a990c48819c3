"""The private workspace of a run: checkpoints and a log of the answers that were drawn, for one's own eyes only.

    NAME.private/            mode 0700
      lock                   held by the process that is at work here
      ledger.json            the run in a ledger that this is, and the token that its holder must show
      run.json               which run this is: settings, schema, a keyed digest of the rows
      prelude.log            what was drawn before training, with what it was charged as
      steps-000120.log       what was drawn since iteration 120
      state-000120.safetensors   everything that iteration 121 needs; private

How a resumed run is the same run. A draw is written to the log before anything uses it. After a kill the last
checkpoint is loaded and the steps behind it are repeated with the *logged* answers; only what was never written is
drawn afresh. A draw that was made but not yet written was seen by nobody, and nothing depends on it: drawing it again
releases nothing twice. So every answer that anything was made of is drawn, and paid for, exactly once, and up to the
last logged answer the resumed run equals the interrupted one bit for bit on the same device. (Deriving the noise from a
stored secret key would repeat even unwritten draws, but then the exact sampler's entropy would be a file on disk.)
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from understudy.errors import InputError
from understudy.learn.claims import LEDGER_NOTE, WorkspaceLock, check_vacant, open_private, strangers, write_private

FORMAT = 1
_State = TypeVar("_State")


class Log:
    """Draws in the order in which they were made; a torn last entry, which nothing has used yet, is cut off."""

    def __init__(self, path: Path) -> None:
        self._path = path
        whole, self._entries = _read_entries(path)
        if path.exists():
            os.truncate(path, whole)
        self._next = 0
        self._end = whole
        self._file = open_private(path, os.O_WRONLY | os.O_CREAT)

    def draw(
        self, name: str, make: Callable[[], tuple[Mapping[str, Any], np.ndarray]]
    ) -> tuple[dict[str, Any], np.ndarray, bool]:
        """The next logged entry, or a new one from `make`, written before it is returned. The flag says: replayed."""
        if self._next < len(self._entries):
            header, array = self._entries[self._next]
            if header["name"] != name:
                raise InputError(f"{self._path} holds {header['name']!r} where {name!r} should be: it is damaged.")
            self._next += 1
            return header, array, True
        facts, array = make()
        array = np.ascontiguousarray(array)
        header = {**facts, "name": name, "dtype": array.dtype.str, "shape": list(array.shape)}
        body = json.dumps(header).encode() + b"\n" + array.tobytes()
        frame = len(body).to_bytes(8, "little") + zlib.crc32(body).to_bytes(4, "little") + body
        self._write(frame)
        return header, array, False

    def _write(self, frame: bytes) -> None:
        """All of it, on the disk, or none of it and an error: what is not written is not used."""
        at = self._end
        try:
            left = memoryview(frame)
            while left:
                done = os.pwrite(self._file, left, at)
                left, at = left[done:], at + done
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise InputError(
                f"cannot write {self._path}: {error.strerror or error}. The draw was not used. Make room, then resume."
            ) from None
        self._end = at

    def close(self) -> None:
        os.close(self._file)


class Workspace:
    """A private folder for one run. `identity` is what the run must have in common with the one to be resumed."""

    def __init__(self, path: str | Path, identity: Mapping[str, Any], private: np.ndarray, *, resume: bool) -> None:
        self.path = Path(path)
        self._claim = WorkspaceLock(self.path)
        try:
            if (self.path / "run.json").exists():
                if not resume:
                    check_vacant(self.path)
                self._check(identity, private)
            elif resume and strangers(self.path, (LEDGER_NOTE,)):
                raise InputError(f"{self.path} holds no run to resume: it has no run.json. Is it the right folder?")
            else:
                self._create(identity, private)
            self.prelude = Log(self.path / "prelude.log")
        except BaseException:
            self._claim.release()
            raise
        self.steps: Log | None = None

    def _create(self, identity: Mapping[str, Any], private: np.ndarray) -> None:
        if strange := strangers(self.path, (LEDGER_NOTE,)):
            raise InputError(
                f"{self.path} is no workspace of ours and is not empty (it has {strange[0]}): it would be removed at the "
                "end. Name another folder, or move what is in it."
            )
        self.path.chmod(0o700)
        key = secrets.token_hex(32)
        run = {"format": FORMAT, "key": key, "identity": _plain(identity), "digest": _digest(key, private)}
        write_private(self.path / "run.json", json.dumps(run, indent=1).encode())

    def _check(self, identity: Mapping[str, Any], private: np.ndarray) -> None:
        try:
            run = json.loads((self.path / "run.json").read_text("utf-8"))
            stated, key, digest, number = run["identity"], run["key"], run["digest"], run["format"]
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(f"{self.path / 'run.json'} is damaged: the run cannot be resumed.") from None
        if number > FORMAT:
            raise InputError(f"{self.path} was made by a newer understudy (format {number}): update to resume it.")
        given = _plain(identity)
        if different := sorted(k for k in {*stated, *given} if stated.get(k) != given.get(k)):
            name = different[0]
            raise InputError(
                f"{self.path} is of another run: `{name}` was {_short(stated.get(name))} there and is "
                f"{_short(given.get(name))} now. Resume with the settings it was started with."
            )
        if not hmac.compare_digest(digest, _digest(key, private)):
            raise InputError(f"{self.path} is of another run: the rows of the table are not the same.")

    def load(self, like: _State) -> tuple[int, _State, list[dict[str, Any]]]:
        """The last whole checkpoint: its iteration, its state in the shape of `like`, and the public history.

        An array of `like` without an entry may have grown to any length.
        """
        import jax
        from safetensors import SafetensorError, safe_open

        states = sorted(self.path.glob("state-*.safetensors"))
        if not states:
            self.steps = Log(self.path / "steps-000000.log")
            return 0, like, []
        last = states[-1]
        match = re.fullmatch(r"state-(\d+)\.safetensors", last.name)
        if match is None:
            raise InputError(f"{last} is no checkpoint: remove it.")
        leaves, shape = jax.tree.flatten(like)
        try:
            with safe_open(last, framework="numpy") as file:
                arrays = [file.get_tensor(f"{i:06d}") for i in range(len(leaves))]
                history = json.loads(file.metadata()["history"])
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{last} is damaged ({error}): the run cannot be resumed.") from None
        if any(np.size(a) and _as_numpy(a).shape != b.shape for a, b in zip(leaves, arrays, strict=True)):
            raise InputError(f"{last} is of another run: its arrays have other shapes.")
        restored = [_like(array, leaf) for leaf, array in zip(leaves, arrays, strict=True)]
        iteration = int(match.group(1))
        self.steps = Log(self.path / f"steps-{iteration:06d}.log")
        return iteration, jax.tree.unflatten(shape, restored), history

    def save(self, iteration: int, state: Any, history: list[dict[str, Any]]) -> None:
        """Touches private data: write a checkpoint, whole or not at all, then drop the one before it and its log."""
        import jax
        from safetensors.numpy import save

        arrays = {f"{i:06d}": _as_numpy(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}
        name = f"state-{iteration:06d}.safetensors"
        write_private(self.path / name, save(arrays, {"history": json.dumps(history)}))
        if self.steps is not None:
            self.steps.close()
        self.steps = Log(self.path / f"steps-{iteration:06d}.log")
        for old in [*self.path.glob("state-*"), *self.path.glob("steps-*")]:
            if old.name not in (name, f"steps-{iteration:06d}.log"):
                old.unlink(missing_ok=True)

    @property
    def untouched(self) -> bool:
        """Whether nothing was drawn in this run yet."""
        return not any(self.path.glob("state-*")) and not any(log.stat().st_size for log in self.path.glob("*.log"))

    def close(self) -> None:
        self.prelude.close()
        if self.steps is not None:
            self.steps.close()
        self._claim.release()

    def remove(self) -> None:
        """Delete the run; for one that was refused before it drew anything."""
        for left in strangers(self.path, (LEDGER_NOTE,)):
            (self.path / left).unlink(missing_ok=True)


def _read_entries(path: Path) -> tuple[int, list[tuple[dict[str, Any], np.ndarray]]]:
    """The whole entries of a log, and where they end."""
    entries: list[tuple[dict[str, Any], np.ndarray]] = []
    data = path.read_bytes() if path.exists() else b""
    start = 0
    while start + 12 <= len(data):
        size = int.from_bytes(data[start : start + 8], "little")
        body = data[start + 12 : start + 12 + size]
        if len(body) < size or zlib.crc32(body) != int.from_bytes(data[start + 8 : start + 12], "little"):
            break
        line, _, raw = body.partition(b"\n")
        header = json.loads(line)
        entries.append((header, np.frombuffer(raw, header["dtype"]).reshape(header["shape"])))
        start += 12 + size
    return start, entries


def _digest(key: str, private: np.ndarray) -> str:
    """Keyed, and in a private folder: without the key nobody can guess rows against it."""
    return hmac.new(bytes.fromhex(key), np.ascontiguousarray(private).tobytes(), hashlib.sha256).hexdigest()


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(dict(value), default=str))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "..."


def _as_numpy(leaf: Any) -> np.ndarray:
    return np.array(leaf, order="C")


def _like(array: np.ndarray, leaf: Any) -> Any:
    import jax

    return jax.device_put(array, leaf.sharding) if isinstance(leaf, jax.Array) else array
