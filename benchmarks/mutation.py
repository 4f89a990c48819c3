"""Crafted files from good ones: what a stranger might change, with every checksum made to fit again."""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import random
from typing import Any

Files = dict[str, bytes]

# Values that a reader may not expect. Text in ⟨ ⟩ becomes a bare token, which JSON's writer would refuse.
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e-320, 1e-9, 1e9, 1e308, -1e308, 2**31, 2**53 + 1, 2**63, -(2**63), 2**127),
    *("", "x", "nan", "None", "\ud800", "\0", "é" * 40, "x" * 5000, "../x", "moments", "1e5", "\x1b[31m", "2024-01-01"),
    *([], {}, [[]], [None], [0], [1, 2, 3], {"a": 1}, [[1.0, 2.0]], {"": {}}, [0.5] * 300, ["a"] * 40),
    *("⟨NaN⟩", "⟨Infinity⟩", "⟨-Infinity⟩", "⟨1e999⟩", "⟨1" + "0" * 400 + "⟩", "⟨-1" + "0" * 400 + "⟩", "⟨" + "[" * 70 + "]" * 70 + "⟩"),
)  # fmt: skip
_BYTES = (
    b"\0",
    b"\xff",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"\n",
    b"-",
    b"9" * 30,
    b"NaN",
    b"null",
    b": ",
    b"&a ",
    b"*a",
    b"!!x ",
)


def written(value: Any) -> bytes:
    """JSON with the bare tokens of `ODD`."""
    text = json.dumps(value)
    return text.replace('"\\u27e8', "").replace('\\u27e9"', "").encode() if "\\u27e8" in text else text.encode()


def structure(value: Any, rng: random.Random) -> Any:
    """The same document with one to three nodes replaced, removed, renamed, repeated or exchanged."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holders = [value]
        places: list[tuple[Any, Any]] = []
        while holders:
            holder = holders.pop()
            keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
            # Long lists are alike throughout.
            for key in [*keys][:6]:
                places.append((holder, key))
                if isinstance(holder[key], dict | list):
                    holders.append(holder[key])
        if not places:
            return rng.choice(ODD)
        holder, key = rng.choice(places)
        match rng.randrange(8):
            case 0 | 1 | 2 | 3:
                holder[key] = copy.deepcopy(rng.choice(ODD))
            case 4:
                del holder[key]
            case 5:
                other, there = rng.choice(places)
                try:
                    holder[key], other[there] = copy.deepcopy(other[there]), copy.deepcopy(holder[key])
                except (LookupError, TypeError):
                    holder[key] = None
            case 6 if isinstance(holder, dict):
                holder[rng.choice(("x", "", str(key).upper(), "version", "name"))] = holder.pop(key)
            case 7 if isinstance(holder, list):
                holder.extend(copy.deepcopy(holder[key]) for _ in range(rng.choice((1, 3, 200))))
            case _ if isinstance(holder[key], int | float):
                holder[key] = holder[key] * rng.choice((-1, 0, 2, 0.5, 1e6, 1e-6, 1e200))
            case _:
                holder[key] = [holder[key]]
    return value


def scrambled(data: bytes, rng: random.Random) -> bytes:
    """The same bytes with a few of them flipped, cut, repeated, or put elsewhere."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(made) + 1)
        match rng.randrange(6):
            case 0 | 1:
                if at < len(made):
                    made[at] ^= 1 << rng.randrange(8)
            case 2:
                made[at:at] = rng.choice(_BYTES)
            case 3:
                del made[at : at + rng.choice((1, 2, 8, 64))]
            case 4:
                made = made[: max(at, 1)]
            case _:
                there = rng.randrange(len(made) + 1)
                made[at:at] = made[there : there + rng.choice((1, 4, 32))]
    return bytes(made)


def nudged(body: Any, rng: random.Random) -> Any:
    """A certificate with other numbers in one or two of its events, or with an event more or less: all of the right type."""
    events = body.get("events") if isinstance(body, dict) else None
    if not isinstance(events, list) or not events:
        return body
    for _ in range(rng.choice((1, 1, 2))):
        event = rng.choice(events)
        numbers = [
            key for key, value in event.items() if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        match rng.randrange(4):
            case 0:
                events.append(copy.deepcopy(event))
            case 1 if len(events) > 1:
                events.remove(event)
            case _ if numbers:
                key = rng.choice(numbers)
                event[key] = type(event[key])(event[key] * rng.choice((0.01, 0.5, 0.999, 1.001, 2, 10, 1000)))
            case _:
                pass
    return body


def certificate(data: bytes, rng: random.Random) -> bytes:
    """A certificate that was edited, mostly by somebody who can compute a checksum."""
    chance = rng.random()
    if chance < 0.15:
        return scrambled(data, rng)
    # Some stay well-formed, so that they come to the recomputation, which takes time; the others try the checks of form.
    body = nudged(json.loads(data), rng) if chance < 0.3 else structure(json.loads(data), rng)
    if isinstance(body, dict) and rng.random() < 0.95:
        body.pop("checksum", None)
        try:
            text = json.dumps(body, sort_keys=True, separators=(",", ":"))
            body["checksum"] = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
        except (TypeError, ValueError):
            pass
    return written(body)


def arrays(data: bytes, rng: random.Random) -> bytes:
    """Arrays of other shapes, types and values, mostly in a file that is whole."""
    import numpy as np
    from safetensors.numpy import load, save

    if rng.random() < 0.15:
        return scrambled(data, rng)
    if rng.random() < 0.2:
        length = int.from_bytes(data[:8], "little")
        header = written(structure(json.loads(data[8 : 8 + length]), rng))
        return len(header).to_bytes(8, "little") + header + data[8 + length :]
    held = load(data)
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(sorted(held))
        try:
            with np.errstate(all="ignore"):
                held[name] = np.ascontiguousarray(_array(held[name], rng))
        except (IndexError, TypeError, ValueError):
            held[name] = np.zeros(1)
        if rng.random() < 0.05:
            held[rng.choice(("x", "ratio", "weight_0"))] = held.pop(rng.choice(sorted(held)))
    return save(held)


def _array(array: Any, rng: random.Random) -> Any:
    import numpy as np

    match rng.randrange(12):
        case 0:
            return np.array(rng.choice((0.0, 1.0, np.nan)))
        case 1:
            return array[: rng.choice((0, len(array) // 2))]
        case 2:
            return rng.choice((array[..., None], array.reshape(-1), array.T))
        case 3:
            return np.concatenate([array, array])
        case 4:
            return array.astype(rng.choice(("float16", "float64", "int64", "uint8", "bool")))
        case 5:
            return np.full_like(array, rng.choice((0, 1, 7)))
        case 6:
            return -array
        case 7 | 8 | 9:
            one = np.arange(array.size).reshape(array.shape) == rng.randrange(array.size)
            return np.where(one, rng.choice((np.nan, np.inf, -1e30, 1e9, -1, 0)), array)
        case 10:
            return array * rng.choice((1e-30, 1e6, 1e30))
        case _:
            return np.zeros((0, 10**6))


def release(files: Files, rng: random.Random) -> Files:
    """A release in which one file was edited, mostly by somebody who can compute checksums."""
    made = dict(files)
    name = rng.choice(("manifest.json", "manifest.json", "arrays.safetensors", "certificate.json"))
    manifest = json.loads(made["manifest.json"])
    match name:
        case "certificate.json":
            made[name] = certificate(made[name], rng)
        case "arrays.safetensors":
            made[name] = arrays(made[name], rng)
        case _ if rng.random() < 0.1:
            made[name] = scrambled(made[name], rng)
            return made
        case _:
            manifest = structure(manifest, rng)
    if rng.random() < 0.97 and isinstance(manifest, dict) and isinstance(manifest.get("files"), dict):
        for name in ("arrays.safetensors", "certificate.json"):
            if isinstance(manifest["files"].get(name), str):
                manifest["files"][name] = "sha256:" + hashlib.sha256(made[name]).hexdigest()
    made["manifest.json"] = written(manifest)
    return made


def schema(files: Files, rng: random.Random) -> Files:
    """A schema in JSON or YAML with other contents, or with other text."""
    ((name, data),) = files.items()
    if rng.random() < 0.4:
        return {name: scrambled(data, rng)}
    if name.endswith(".json"):
        return {name: written(structure(json.loads(data), rng))}
    import yaml

    return {
        name: yaml.safe_dump(structure(yaml.safe_load(data), rng), sort_keys=False, allow_unicode=True).encode(
            "utf-8", "replace"
        )
    }


def packed(files: Files, rng: random.Random) -> Files:
    """A table or an image set with other bytes; what is compressed is changed inside as often as outside."""
    ((name, data),) = files.items()
    if name.endswith(".gz") and rng.random() < 0.5:
        return {name: gzip.compress(scrambled(gzip.decompress(data), rng), 1)}
    return {name: scrambled(data, rng)}
