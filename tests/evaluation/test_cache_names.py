"""Names in the cache are no fingerprints of the rows: they depend on a key that lies beside them, for its owner alone."""

from __future__ import annotations

import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from evaluation_tables import patients

from understudy.errors import InputError
from understudy.evaluation import FIVE, evaluate
from understudy.evaluation.tasks import Task, _secret, content, run_tasks

LOGISTIC = {"logistic regression": FIVE["logistic regression"]}


def judged(cache: Path) -> list[str]:
    train, test, made = patients(60), patients(60, 1), patients(60, 2)
    evaluate(train, test, {"s": made}, "sick", classifiers=LOGISTIC, with_fidelity=False, jobs=1, cache=cache)
    return sorted(path.name for path in cache.iterdir())


def test_the_same_rows_have_another_name_in_every_cache(tmp_path: Path) -> None:
    first, second = judged(tmp_path / "a"), judged(tmp_path / "b")
    assert len(first) == len(second) == 2
    assert set(first) & set(second) == {"key"}
    before = (tmp_path / "a" / first[0]).read_text()
    assert judged(tmp_path / "a") == first, "the same cache knows its rows again"
    assert (tmp_path / "a" / first[0]).read_text() == before


def test_keys_of_results_are_keyed_too(tmp_path: Path) -> None:
    task = Task("one", "digest of rows", _answer, ())
    for folder in ("a", "b"):
        assert run_tasks([task], 1, tmp_path / folder, content("rows")) == {"one": {"answer": 42}}
    (one,), (two,) = ([path.read_text() for path in (tmp_path / f).glob("*.jsonl")] for f in ("a", "b"))
    assert one != two


def _answer() -> dict[str, Any]:
    return {"answer": 42}


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")
def test_the_key_is_its_owners_alone(tmp_path: Path) -> None:
    judged(tmp_path / "cache")
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700
    for path in (tmp_path / "cache").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_whoever_comes_second_takes_the_key_of_the_first(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: _secret(tmp_path), range(32)))
    assert len(found) == 1
    assert os.listdir(tmp_path) == ["key"]


def test_a_damaged_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"short")
    with pytest.raises(InputError, match="damaged: remove the folder"):
        _secret(tmp_path)
    (tmp_path / "key").unlink()
    (tmp_path / "key").mkdir()
    with pytest.raises(InputError, match="cannot keep the key"):
        _secret(tmp_path)
