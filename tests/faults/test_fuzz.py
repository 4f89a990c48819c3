"""Thousands of crafted files, in process: each is an answer or an `InputError`. Millions by `make fuzz`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks import mutation
from benchmarks.fuzz import QUICK, crafted, fuzz, good, opened
from understudy.errors import InputError
from understudy.untrusted import strict_json


@pytest.mark.parametrize(
    ("kind", "count"), [("release", 600), ("certificate", 400), ("schema", 1000), ("table", 2000), ("images", 3000)]
)
@pytest.mark.filterwarnings("ignore")
def test_no_crafted_file_ends_in_a_traceback(tmp_path: Path, kind: str, count: int) -> None:
    seeds = good(kind, QUICK)
    for number, files in enumerate(seeds):
        folder = tmp_path / f"good-{number}"
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        if kind != "certificate":  # some are of what is not private, and never verify
            opened(kind, folder, next(iter(files)))
    found = fuzz(kind, seeds, 10**9, count, tmp_path)
    assert found["broken"] == []
    assert found["accepted"] + found["refused"] == count
    # A fuzzer whose files are all refused at the door tries nothing.
    assert found["accepted"] > count / 100


def test_the_same_number_makes_the_same_file() -> None:
    seeds = good("schema")
    once, again = (crafted("schema", seeds[0], random.Random("schema 7")) for _ in range(2))
    assert once == again


def test_a_reader_that_trusts_a_file_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fuzzer itself: with the net and the checks of shapes away, there are tracebacks."""
    import contextlib

    from understudy import registry
    from understudy.methods.moments import gaussian_model

    monkeypatch.setattr(registry, "damaged", lambda what: contextlib.nullcontext())
    monkeypatch.setattr(gaussian_model, "fitting", lambda arrays, name, *shape, **how: arrays[name])
    found = fuzz("release", good("release", ["moments"]), 0, 300, tmp_path)
    assert found["tracebacks"] > 0


def test_odd_tokens_reach_the_file() -> None:
    data = mutation.written({"a": "⟨NaN⟩", "b": ["⟨1e999⟩"]})
    assert data == b'{"a": NaN, "b": [1e999]}'
    with pytest.raises(InputError, match="NaN"):
        strict_json(data.decode(), where="here")
