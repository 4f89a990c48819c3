"""Files that somebody else wrote: the one way in for bundles, certificates, schemas, arrays, tables and images.

What a stranger's file can cost is bounded before it is looked at. Only regular files are opened, so that a pipe or a
device cannot hang the reader; no more is read than its kind may be long; nothing is decompressed or parsed into more
than a bounded multiple of its length. Whatever is wrong ends in an `InputError` that says what and where.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from understudy.errors import InputError

# The largest whole number that a file may hold: seeds have up to 128 bits, and every such number fits a float.
LARGEST_INTEGER = 2**128
# A JSON value takes up to about 250 bytes in memory.
MOST_VALUES = 2_000_000
DEEPEST = 64
# Tables and images compress by 3 to 20, monotonous ones by 100. What is small in any case may be anything.
_RATIO, _SMALL = 100, 64 * 2**20


def open_regular(path: str | os.PathLike[str], *, most: int | None = None, inside: bool = False) -> BinaryIO:
    """The open file, if it is a regular one of at most `most` bytes. With `inside` the name may be no link either.

    It is opened without waiting (a pipe has nobody at its other end) and looked at once it is open, so that nothing can
    be put in its place between the look and the reading.
    """
    source = Path(path)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
    if inside:
        flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(source, flags)
    except ValueError as error:  # a zero byte in the name
        raise InputError(f"cannot read {str(source)[:200]!r}: {error}.") from None
    except OSError as error:
        if inside and error.errno == errno.ELOOP:
            raise InputError(
                f"{source} is a link: a release holds its files itself. Copy them (cp --dereference)."
            ) from None
        if error.errno == errno.ENXIO:
            raise InputError(f"{source} is not a regular file: nothing is read from pipes and devices.") from None
        raise
    try:
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            raise InputError(f"cannot read {source}: it is a folder; give the name of a file in it.")
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{source} is not a regular file: nothing is read from pipes and devices.")
        if most is not None and found.st_size > most:
            raise InputError(
                f"{source} is larger than {most >> 20} MiB ({found.st_size:,} bytes), the most that it should be."
            )
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_bytes(path: str | os.PathLike[str], *, most: int, inside: bool = False) -> bytes:
    """All bytes of a regular file of at most `most`; `OSError` where there is none."""
    with open_regular(path, most=most, inside=inside) as file:
        data = file.read(most + 1)
    if len(data) > most:  # it grew while it was read
        raise InputError(f"{path} is larger than {most >> 20} MiB, the most that it should be.")
    return data


def read_text(path: str | os.PathLike[str], *, most: int, what: str, inside: bool = False) -> str:
    """UTF-8 text of a regular file; `what` says in the error what it should have been."""
    try:
        return read_bytes(path, most=most, inside=inside).decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot read {what} {path}: {error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{what} {path} is not UTF-8 text (byte {error.start}).") from None


def child(folder: Path, name: object) -> Path:
    """The file of that name in the folder itself: a name that leads anywhere else is refused."""
    if not isinstance(name, str) or name in ("", ".", "..") or any(c in name for c in "/\\\0:") or len(name) > 200:
        raise InputError(f"{folder} names {str(name)[:200]!r}, which is no plain name of a file in that folder.")
    return folder / name


def strict_json(text: str, *, where: str, most_values: int = MOST_VALUES) -> Any:
    """JSON of a bounded size, without NaN, infinities, half characters, or a key given twice, which could hide an edit."""
    if text.count(",") + text.count("[") + text.count("{") > most_values:
        raise InputError(f"{where} holds more than {most_values:,} values: it is not what it should be.")

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) != len(items):
            seen: set[str] = set()
            double = next(key for key, _ in items if key in seen or seen.add(key))
            raise InputError(f"{where}: the key {double[:200]!r} stands twice.")
        return result

    def constant(name: str) -> Any:
        raise InputError(f"{where}: {name} is not a JSON number.")

    try:
        value = json.loads(
            text,
            object_pairs_hook=pairs,
            parse_constant=constant,
            parse_int=lambda digits: integer(digits, where),
            parse_float=lambda digits: _float(digits, where),
        )
    except json.JSONDecodeError as error:
        raise InputError(
            f"{where} is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except RecursionError:
        raise InputError(f"{where} is nested too deeply to be what it should be.") from None
    _check_depth(value, where)
    if "\\u" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError(f"{where} holds half a character (a lone surrogate), which is no text.") from None
    return value


def integer(digits: str, where: str) -> int:
    """A whole number that fits 128 bits."""
    value = int(digits) if len(digits) < 50 else LARGEST_INTEGER
    if abs(value) >= LARGEST_INTEGER:
        raise InputError(f"{where}: the number {digits[:20]}… has {len(digits)} digits; nothing here is that large.")
    return value


def _float(digits: str, where: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise InputError(f"{where}: the number {digits[:20]} is larger than any float.")
    return value


def _check_depth(value: Any, where: str) -> None:
    layer = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        if not layer:
            return
        layer = [
            inner
            for outer in layer
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    raise InputError(f"{where} is nested too deeply to be what it should be.")


def check_expansion(path: str | os.PathLike[str], stored: int, unpacked: int) -> None:
    """Refuse what unpacks to far more than it takes on disk, before it is unpacked."""
    if unpacked > max(_SMALL, _RATIO * stored):
        raise InputError(
            f"{path}: {stored:,} bytes would unpack to {unpacked:,} or more, over {_RATIO} times as much. Files that "
            "are made to fill a memory look like this. If you trust it, unpack it yourself and give the plain file."
        )


@contextmanager
def damaged(what: object) -> Iterator[None]:
    """What only wrong contents can raise, as an `InputError`: for values that passed every check of their own form."""
    try:
        yield
    except InputError:
        raise
    except KeyError as error:
        raise InputError(f"{what} lacks {str(error)[:200]}: it is damaged. Copy it again.") from None
    except (
        *(ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError),
        *(NotImplementedError, RecursionError),
    ) as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{what} is damaged: {said}. Copy it again.") from None
