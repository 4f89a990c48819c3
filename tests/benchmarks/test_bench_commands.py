"""`python -m benchmarks list|run|show|merge`: what people and machines read, and what is refused."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from benchmarks import registry
from benchmarks.__main__ import main
from benchmarks.declare import Benchmark
from benchmarks.result import read


def _register(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The toy under a name, beside the real ones."""
    import bench_toy

    usual = registry.get

    def get(wanted: str) -> Benchmark:
        return bench_toy.BENCHMARK if wanted == name else usual(wanted)

    monkeypatch.setattr(registry, "get", get)


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    _register(monkeypatch, "toy")
    monkeypatch.setenv("TOY_DIARY", str(tmp_path / "diary"))
    return tmp_path / "out"


def cli(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    printed = capsys.readouterr()
    return int(exit.value.code or 0), printed.out, printed.err


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = cli(capsys, "list")
    assert code == 0
    assert "pima" in out
    code, out, _ = cli(capsys, "list", "--json")
    entries = {entry["id"]: entry for entry in json.loads(out)["benchmarks"]}
    assert entries["pima"]["datasets"] == ["pima"]
    assert entries["pima"]["repeats"]["full"] >= 100


def test_run_and_show_print_the_paper_beside_what_was_measured(capsys: pytest.CaptureFixture[str], toy: Path) -> None:
    code, out, err = cli(capsys, "run", "toy", "--out", str(toy), "--jobs", "1")
    assert (code, err) == (0, "")
    for word in ("Table 1", "a row (unsafe)", "0.600", "0.520", "2.000", "1.500", "(unsafe) on purpose", "a note"):
        assert word in out
    code, shown, _ = cli(capsys, "show", "toy", "--size", "quick", "--out", str(toy))
    assert (code, shown) == (0, out)
    code, _, err = cli(capsys, "show", "toy", "--out", str(toy))
    assert (code, "--size quick" in err) == (2, True)
    code, machine, _ = cli(capsys, "show", "toy", "--size", "quick", "--out", str(toy), "--json")
    assert json.loads(machine)["rows"] == read(toy / "toy-quick.json").table("rows")


def test_an_interruption_says_that_nothing_is_lost(
    capsys: pytest.CaptureFixture[str], toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_INTERRUPTED", "yes")
    code, _, err = cli(capsys, "run", "toy", "--out", str(toy), "--jobs", "1")
    assert code == 130
    assert "goes on from there" in err
    monkeypatch.delenv("TOY_INTERRUPTED")
    assert cli(capsys, "run", "toy", "--out", str(toy), "--jobs", "1")[0] == 0


def test_several_at_once_and_what_an_interrupted_run_has(
    capsys: pytest.CaptureFixture[str], toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _register(monkeypatch, "again")
    given = ("run", "toy", "again", "toy", "--out", str(toy), "--jobs", "1")
    assert cli(capsys, *given, "--as-is")[0] == 2
    monkeypatch.setenv("TOY_INTERRUPTED", "yes")
    assert cli(capsys, *given)[0] == 130
    code, out, _ = cli(capsys, *given, "--as-is")
    assert code == 0
    assert "(lacking) toy: 2 of 5 repeats, the run was interrupted" in out
    monkeypatch.delenv("TOY_INTERRUPTED")
    code, out, _ = cli(capsys, *given, "--json")
    assert [one["rows"][0]["repeats"] for one in json.loads(out)["results"]] == [5, 5]


@pytest.mark.skipif(sys.platform == "win32" or os.getuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_refused(capsys: pytest.CaptureFixture[str], toy: Path) -> None:
    toy.mkdir(mode=0o500)
    assert cli(capsys, "run", "toy", "--out", str(toy), "--jobs", "1")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "nothing"), "no benchmark 'nothing'"),
        (("run", "gpate1"), "Did you mean 'gpate-1'?"),
        (("run",), "name one or more benchmarks"),
        (("run", "toy", "--all"), "name one or more benchmarks"),
        (("run", "toy", "--size", "huge"), "`size` (='huge')"),
        (("run", "toy", "--repeats", "0"), "`repeats` (=0)"),
        (("show", "nothing"), "no benchmark 'nothing'"),
        (("show", "toy"), "python -m benchmarks run"),
    ],
)
def test_wrong_input(capsys: pytest.CaptureFixture[str], toy: Path, arguments: tuple[str, ...], said: str) -> None:
    code, _, err = cli(capsys, *arguments, "--out", str(toy))
    assert code == 2
    assert said in err


def test_results_of_two_machines_become_one(capsys: pytest.CaptureFixture[str], toy: Path, tmp_path: Path) -> None:
    assert cli(capsys, "run", "toy", "--out", str(toy), "--jobs", "1")[0] == 0
    file, one = str(toy / "toy-quick.json"), tmp_path / "one.json"
    assert cli(capsys, "merge", file, file, "--out", str(one))[0] == 0
    assert read(one).table("rows") == read(file).table("rows")
