"""The numbers of a release: safetensors, read by hand, so that every length is checked before it is believed.

The format is eight bytes with the length of a header, the header (JSON: name -> dtype, shape and place), and the bytes of
all arrays without gaps. What a header says costs no memory: arrays are views of the bytes that were read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from understudy.errors import InputError
from understudy.untrusted import strict_json

_TYPES = {
    **{"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1"},
    **{"U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1", "BOOL": "|b1"},
}
_LONGEST_HEADER, _MOST_ARRAYS, _MOST_AXES = 2**20, 1000, 8


def read_arrays(data: bytes, *, where: str) -> dict[str, np.ndarray]:
    """The arrays by name; all numbers finite, all of the types that releases are written with."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(len(data) - 8, _LONGEST_HEADER):
        raise InputError(f"{where} is no safetensors file, or it is cut off: its header does not fit. Copy it again.")
    try:
        text = data[8 : 8 + length].decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{where} is no safetensors file: its header is not text. Copy it again.") from None
    header = strict_json(text, where=f"{where} (header)")
    if not isinstance(header, dict) or len(header) > _MOST_ARRAYS:
        raise InputError(f"{where}: its header does not name at most {_MOST_ARRAYS} arrays. Copy it again.")
    header.pop("__metadata__", None)
    body = memoryview(data)[8 + length :]
    arrays: dict[str, np.ndarray] = {}
    end = 0
    for name, entry in sorted(header.items(), key=lambda item: _place(item[1])):
        arrays[name], end = _array(name, entry, body, end, where)
    if end != len(body):
        raise InputError(f"{where}: the arrays take {end} bytes of {len(body)}: it is damaged. Copy it again.")
    return arrays


def _place(entry: Any) -> tuple[int, int]:
    match entry:
        case {"data_offsets": [int() as start, int() as stop]}:
            return start, stop
        case _:
            return -1, -1


def _array(name: str, entry: Any, body: memoryview, begin: int, where: str) -> tuple[np.ndarray, int]:
    if not isinstance(entry, Mapping) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise InputError(f"{where}: the array {name[:80]!r} has no dtype, shape and place. Copy it again.")
    shape, kind = entry["shape"], entry["dtype"]
    if not isinstance(kind, str) or kind not in _TYPES:
        raise InputError(f"{where}: the array {name[:80]!r} holds {str(kind)[:40]!r}; known are {', '.join(_TYPES)}.")
    if (
        not isinstance(shape, list)
        or len(shape) > _MOST_AXES
        or not all(type(size) is int and 0 <= size < 2**40 for size in shape)
    ):
        raise InputError(f"{where}: the array {name[:80]!r} has no shape of whole numbers. Copy it again.")
    dtype = np.dtype(_TYPES[kind])
    start, stop = _place(entry)
    # Zero rows of many columns take no bytes, so that the sizes by themselves are bounded too.
    if start != begin or stop - start != math.prod(shape) * dtype.itemsize or stop > len(body):
        raise InputError(f"{where}: the bytes of the array {name[:80]!r} do not fit its shape. Copy it again.")
    array = np.frombuffer(body[start:stop], dtype).reshape(shape)
    if kind == "BOOL" and array.size and array.view(np.uint8).max() > 1:
        raise InputError(f"{where}: the array {name[:80]!r} holds truth values that are neither. Copy it again.")
    if kind.startswith("F") and array.size and not math.isfinite(float(_sum(array))):
        raise InputError(f"{where}: the array {name[:80]!r} holds numbers that are not finite. Copy it again.")
    return array, stop


def _sum(array: np.ndarray) -> float:
    """Finite if all numbers are; two passes, and no array of truth values beside a large one."""
    return float(np.abs(array.max())) + float(np.abs(array.min()))


def fitting(
    arrays: Mapping[str, np.ndarray], name: str, *shape: int | None, least: float = -1e12, most: float = 1e12,
    shares: bool = False,
) -> np.ndarray:  # fmt: skip
    """The array of that name, if it has that shape (None: any length above 0) and numbers of a size that fits.

    `shares` says that the numbers along the last axis are parts of a whole.
    """
    if name not in arrays:
        raise InputError(f"the release has no array {name!r}: it is damaged. Copy it again.")
    array = arrays[name]
    if (
        array.ndim != len(shape)
        or 0 in array.shape
        or any(w not in (None, s) for w, s in zip(shape, array.shape, strict=True))
    ):
        wanted = " x ".join("any" if size is None else str(size) for size in shape)
        raise InputError(f"the array {name!r} has shape {array.shape}, not {wanted}: the release is damaged.")
    low, high = (0.0, 1.0 + 1e-3) if shares else (least, most)
    if array.dtype == np.bool_ or array.min() < low or array.max() > high:
        raise InputError(f"the array {name!r} holds numbers outside of {low:g} to {high:g}: the release is damaged.")
    if shares and np.abs(array.sum(axis=-1, dtype=np.float64) - 1).max() > 1e-3:
        raise InputError(f"the array {name!r} does not hold shares of a whole: the release is damaged.")
    return array
