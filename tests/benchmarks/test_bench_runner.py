"""The runner: every repeat once, nothing lost on Ctrl-C, and results that say how they were made."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from bench_toy import BENCHMARK, benchmark
from joblib import Parallel, delayed

from benchmarks import cache, runner
from benchmarks.declare import Part
from benchmarks.machine import in_a_new_process
from benchmarks.result import read
from benchmarks.runner import Options
from understudy.errors import InputError

PARTIAL = ".toy-quick.partial.jsonl"


def ran(diary: Path) -> list[int]:
    return sorted(int(line) for line in diary.read_text().split())


def test_a_run_says_all_that_a_reader_needs(tmp_path: Path, diary: Path) -> None:
    result = runner.run(BENCHMARK, out=tmp_path / "out", jobs=1)
    assert ran(diary) == [0, 1, 2, 3, 4]
    (row,) = result.table("rows")
    assert (row["paper"], row["mean"], row["repeats"], row["unsafe"]) == (0.6, 0.52, 5, "on purpose")
    assert (row["paper_epsilon"], row["epsilon"], row["data_dependent"]) == (1.0, 2.0, 1.5)
    assert row["low"] < row["mean"] < row["high"]
    assert result.measured("toy", "curve")["mean"] == [2.0, 1.0]
    assert result.about["command"] == "python -m benchmarks run toy --size quick"
    assert {"cpu", "cores", "memory_gib", "system", "processes"} <= set(result.about["machine"])
    assert result.about["lacking"] == {}
    assert {"understudy", "python", "numpy"} <= set(result.about["versions"])
    assert read(tmp_path / "out" / "toy-quick.json").table("measured") == result.table("measured")
    assert not (tmp_path / "out" / PARTIAL).exists()


def test_an_interrupted_run_goes_on_where_it_stopped(
    tmp_path: Path, diary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_INTERRUPTED", "yes")
    with pytest.raises(KeyboardInterrupt):
        runner.run(BENCHMARK, out=tmp_path, jobs=1)
    assert ran(diary) == [0, 1, 2], "the batch of repeats 2 and 3 was cut in two"
    assert (tmp_path / PARTIAL).exists()
    monkeypatch.delenv("TOY_INTERRUPTED")
    diary.write_text("")
    result = runner.run(BENCHMARK, out=tmp_path, jobs=1)
    assert ran(diary) == [2, 3, 4]
    assert result.about["resumed_batches"] == 1
    assert result.table("rows")[0]["mean"] == 0.52


def test_what_was_kept_is_used_only_for_the_very_same_measurement(tmp_path: Path) -> None:
    part = Part("toy", "bench_toy:measure", {"gamma": 0.1}, 4)
    keys = {
        cache.key(part, [0]),
        cache.key(part, [1]),
        cache.key(Part("toy", "bench_toy:measure", {"gamma": 0.2}, 4), [0]),
        cache.key(Part("toy", "bench_toy:other", {"gamma": 0.1}, 4), [0]),
    }
    assert len(keys) == 4
    same = Part("called otherwise", "bench_toy:measure", {"gamma": 0.1}, 9)
    assert cache.key(part, [0]) == cache.key(same, [0]), "what two tables share is measured once"


def test_a_half_written_line_costs_one_batch_and_no_more(tmp_path: Path) -> None:
    store = cache.Cache(tmp_path / "kept")
    store.add_batch("a", cache.Batch([{"accuracy": 1.0}], 0.1))
    with store.path.open("a") as file:
        file.write('{"key": "b", "measured": [{"accu')
    store.add_batch("c", cache.Batch([{"accuracy": 3.0}], 0.1))
    again = cache.Cache(tmp_path / "kept")
    assert again.batch("a") == cache.Batch([{"accuracy": 1.0}], 0.1)
    assert again.batch("b") is None
    assert again.batch("c") == cache.Batch([{"accuracy": 3.0}], 0.1)


def test_processes_share_the_work(tmp_path: Path, diary: Path) -> None:
    before = dict(os.environ)
    result = runner.run(BENCHMARK, out=tmp_path, jobs=2, repeats=4)
    assert ran(diary) == [0, 1, 2, 3]
    assert result.table("rows")[0]["repeats"] == 4
    assert result.about["command"].endswith("--repeats 4")
    assert dict(os.environ) == before, "the one-thread settings are the workers' alone"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_in_a_terminal_loses_nothing(tmp_path: Path, diary: Path) -> None:
    script = (
        "import sys, bench_toy; from benchmarks import runner;"
        "runner.run(bench_toy.ENDLESS, repeats=20, out=sys.argv[1], jobs=2)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stderr=subprocess.PIPE, start_new_session=True
    )
    deadline = time.monotonic() + 1500
    while not (tmp_path / PARTIAL).exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=1500)
    assert process.returncode != 0
    assert b"UserWarning" not in said
    kept = [json.loads(line) for line in (tmp_path / PARTIAL).read_text().splitlines() if line]
    assert 1 <= len(kept) < 10


def test_wrong_input_is_refused_before_anything_runs(tmp_path: Path, diary: Path) -> None:
    with pytest.raises(InputError, match=r"`size` \(='huge'\)"):
        runner.run(BENCHMARK, size="huge", out=tmp_path)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"`repeats` \(=0\)"):
        runner.run(BENCHMARK, repeats=0, out=tmp_path)
    with pytest.raises(InputError, match=r"`jobs` \(=0\)"):
        runner.run(BENCHMARK, jobs=0, out=tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot make the folder"):
        runner.run(BENCHMARK, out=tmp_path / "file")
    assert ran(diary) == []


def test_a_part_that_forgets_a_repeat_is_an_error(tmp_path: Path, diary: Path) -> None:
    with pytest.raises(InputError, match="measured 1 repeats instead of 2"):
        runner.run(benchmark(at_most=1), out=tmp_path, jobs=1)


def test_benchmarks_that_run_together_measure_what_they_share_once(tmp_path: Path, diary: Path) -> None:
    twin = replace(benchmark(interrupted_at=3), id="twin", title="A twin")
    wider = replace(benchmark(other=True), id="wider")
    results = list(runner.run_several([BENCHMARK, twin, wider], Options(out=tmp_path, jobs=1)))
    assert [result.about["benchmark"] for result in results] == ["toy", "twin", "wider"]
    assert ran(diary) == sorted([0, 1, 2, 3, 4] * 2)
    assert results[0].table("rows") == results[1].table("rows")
    assert results[0].about["command"] == "python -m benchmarks run toy twin wider --size quick"
    assert sorted(p.name for p in tmp_path.glob("*.json")) == ["toy-quick.json", "twin-quick.json", "wider-quick.json"]
    assert not list(tmp_path.glob(".*.jsonl"))
    with pytest.raises(InputError, match="no benchmark was named"):
        runner.run_several([], Options(out=tmp_path))


def test_what_was_kept_can_be_written_as_it_is(tmp_path: Path, diary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(benchmark(other=True), id="other")
    with pytest.raises(InputError, match="kept anything"):
        runner.run_several([BENCHMARK, other], Options(out=tmp_path, jobs=1, as_is=True))
    monkeypatch.setenv("TOY_INTERRUPTED", "yes")
    with pytest.raises(KeyboardInterrupt):
        list(runner.run_several([BENCHMARK, other], Options(out=tmp_path, jobs=1)))
    assert ran(diary) == [0, 0, 1, 1, 2], "every part has its first batch before any has its second"
    toy, second = runner.run_several([BENCHMARK, other], Options(out=tmp_path, jobs=1, as_is=True))
    assert ran(diary) == [0, 0, 1, 1, 2]
    for result in (toy, second):
        assert result.table("rows")[0]["repeats"] == 2
        assert result.table("rows")[0]["note"] == "2 of 5 repeats, the run was interrupted"
        assert result.about["lacking"] == {"toy": "2 of 5 repeats, the run was interrupted"}
    monkeypatch.delenv("TOY_INTERRUPTED")
    toy, second = runner.run_several([BENCHMARK, other], Options(out=tmp_path, jobs=1))
    assert (toy.table("rows")[0]["repeats"], toy.about["lacking"]) == (5, {})


def test_a_part_that_fails_is_a_row_that_says_so(tmp_path: Path, diary: Path) -> None:
    good = replace(benchmark(), id="good")
    bad, fine = sorted(
        runner.run_several([benchmark(fails="no such\nluck"), good], Options(out=tmp_path, jobs=1)),
        key=lambda r: -len(r.about["lacking"]),
    )
    row = bad.table("rows")[0]
    assert (row["mean"], row["repeats"], row["paper"], row["note"]) == (None, 0, 0.6, "failed: ValueError: no such")
    assert read(tmp_path / "toy-quick.json").about == bad.about
    assert fine.table("rows")[0]["repeats"] == 5


def test_only_data_that_a_size_uses_are_asked_for(tmp_path: Path, diary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_DATA", str(tmp_path / "empty"))
    asked: list[str] = []
    monkeypatch.setattr("understudy.datasets.path", asked.append)
    runner.run(replace(benchmark(dataset="adult"), datasets=("adult", "credit")), out=tmp_path, jobs=1)
    assert asked == ["adult"]
    asked.clear()
    runner.run(replace(benchmark(), datasets=("adult", "credit")), out=tmp_path, jobs=1)
    assert asked == ["adult", "credit"]


def test_a_benchmark_without_quotes_keeps_every_run_and_adds_to_its_file(tmp_path: Path, diary: Path) -> None:
    plain = replace(benchmark(flavour="a"), quotes=(), summary=lambda runs: [{"runs": len(runs)}], alone=True)
    plain = replace(plain, parts=lambda size, repeats: [_single("sweet", repeats), _single("sour", repeats)])
    first = runner.run(plain, out=tmp_path, repeats=2)
    assert [(row["flavour"], row["seed"]) for row in first.table("runs")] == [
        ("sweet", 0),
        ("sweet", 1),
        ("sour", 0),
        ("sour", 1),
    ]
    assert first.table("summary") == [{"runs": 4}]
    assert read(tmp_path / "toy-quick.json").table("runs") == first.table("runs")
    diary.write_text("")
    more = runner.run(plain, out=tmp_path, repeats=1, first=2, only=("sour",))
    assert ran(diary) == [2]
    assert len(more.table("runs")) == 5
    assert more.table("summary") == [{"runs": 5}]
    assert [one["command"] for one in more.about["made_by"]] == [
        'python -m benchmarks run toy --size quick --repeats 1 --first 2 --only "sour"',
        "python -m benchmarks run toy --size quick --repeats 2",
    ]
    diary.write_text("")
    filled = runner.run(plain, out=tmp_path, repeats=3, fill=True)
    assert ran(diary) == [2], "of sweet the third, of sour none"
    assert len(filled.table("runs")) == 6
    with pytest.raises(InputError, match="there are: sweet; sour"):
        runner.run(plain, out=tmp_path, only=("bitter",))


def _single(flavour: str, repeats: int) -> Part:
    return Part(flavour, "bench_toy:measure", {"flavour": flavour}, repeats)


def test_part_of_a_quoted_table_is_measured_again_and_the_rest_stays(tmp_path: Path, diary: Path) -> None:
    two = replace(
        BENCHMARK,
        parts=lambda size, repeats: [_single("toy", repeats), _single("no such part", repeats)],
    )
    before = runner.run(two, out=tmp_path, jobs=1, repeats=2)
    after = runner.run(two, out=tmp_path, jobs=1, repeats=4, only=("no such",))
    assert [row["repeats"] for row in after.table("rows")] == [2, 4]
    assert after.table("rows")[0] == before.table("rows")[0]


def test_a_worker_of_several_can_start_a_process_of_its_own() -> None:
    found = Parallel(n_jobs=2)(delayed(in_a_new_process)(os.getpid) for _ in range(2))
    assert len({os.getpid(), *found}) == 3
