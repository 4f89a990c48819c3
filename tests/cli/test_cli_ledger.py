"""`understudy ledger init|show|history`: what a steward sees, and what is refused."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import run  # pyright: ignore[reportMissingImports]

from understudy.privacy.ledger import Ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def cli(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    return run(capsys, "ledger", *arguments)


def ok(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    code, out, err = cli(capsys, *arguments)
    assert (code, err) == (0, ""), err
    return out


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    return json.loads(ok(capsys, *arguments, "--json"))


def limits(name: str = "patients", epsilon: str = "3", delta: str = "1e-5") -> list[str]:
    return ["--dataset", name, "--epsilon", epsilon, "--delta", delta]


def test_init_makes_the_file_and_then_adds_to_it(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    out = ok(capsys, "init", path, *limits(), "--note", "discharge letters")
    assert "patients" in out
    assert "discharge letters" in out
    assert path.stat().st_mode & 0o777 == 0o600
    added = as_json(capsys, "init", f"sqlite:///{path}", *limits("loans", "1.5", "0"))
    assert added["ledger"] == str(path)
    assert added["dataset"]["limit"] == {"epsilon": 1.5, "delta": 0.0}
    assert [dataset.name for dataset in Ledger(path).datasets()] == ["patients", "loans"]


def test_init_refuses_a_dataset_that_is_there(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    ok(capsys, "init", path, *limits())
    before = path.read_bytes()
    code, out, err = cli(capsys, "init", path, *limits(epsilon="9"))
    assert (code, out) == (2, "")
    assert "'patients' is already in the ledger" in err
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        limits(epsilon="nan"),
        limits(epsilon="inf"),
        limits(epsilon="-1"),
        limits(epsilon="much"),
        limits(delta="1"),
        limits(delta="-1e-9"),
        limits(name=""),
        [*limits(), "--note", "two\nlines"],
        ["--dataset", "patients", "--epsilon", "1"],
        [],
    ],
)
def test_init_with_bad_limits_makes_no_file(
    capsys: pytest.CaptureFixture[str], path: Path, arguments: list[str]
) -> None:
    code, out, err = cli(capsys, "init", path, *arguments)
    assert (code, out) == (2, "")
    assert err
    assert os.listdir(path.parent) == []


def test_show_and_history(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    ok(capsys, "init", path, *limits())
    ok(capsys, "init", path, *limits("loans"))
    ledger = Ledger(path)
    ledger.reserve("patients", epsilon=1.0, delta=1e-6, purpose="synthesize").commit(
        epsilon=0.9999999, delta=1e-6, certificate={"epsilon": 0.9999999}
    )
    ledger.reserve("patients", epsilon=0.5, delta=0.0, purpose="classify")
    ledger.reserve("loans", epsilon=0.25, delta=0.0, purpose="distil").release(reason="wrong table")

    out = ok(capsys, "show", path)
    for words in ("0.9999999", "1.4999999", "1.5000001", "committed", "returned", "reserved (running)", "loans"):
        assert words in out, words
    out = ok(capsys, "show", path, "--dataset", "patients")
    assert "loans" not in out
    shown = as_json(capsys, "show", path)
    patients, loans = shown["datasets"]
    assert patients["spent"] == {"epsilon": 1.4999999, "delta": 1e-6}
    assert patients["remaining"] == {"epsilon": 1.5000001, "delta": 9e-6}
    assert [entry["state"] for entry in patients["entries"]] == ["committed", "reserved"]
    assert patients["entries"][0]["certificate"] == {"epsilon": 0.9999999}
    assert patients["entries"][0]["reserved"]["epsilon"] == 1.0
    assert (patients["entries"][1]["pid"], patients["entries"][1]["process_gone"]) == (os.getpid(), False)
    assert loans["spent"] == {"epsilon": 0.0, "delta": 0.0}
    assert as_json(capsys, "show", path, "--dataset", "loans")["datasets"] == [loans]

    out = ok(capsys, "history", path)
    for words in ("add", "reserve", "commit", "release", "wrong table", "synthesize", f"pid {os.getpid()}"):
        assert words in out, words
    events = as_json(capsys, "history", path)["history"]
    actions = ["add", "add", "reserve", "commit", "reserve", "reserve", "release"]
    assert [event["action"] for event in events] == actions
    assert events[3]["certificate"] == {"epsilon": 0.9999999}
    assert (events[3]["epsilon"], events[3]["reservation"]) == (0.9999999, 3)
    only = as_json(capsys, "history", path, "--dataset", "loans")["history"]
    assert [event["id"] for event in only] == [2, 6, 7]


def test_a_dead_process_is_shown_and_counted(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    ok(capsys, "init", path, *limits())
    script = (
        "import os, signal, sys; from understudy.privacy.ledger import Ledger\n"
        "Ledger(sys.argv[1]).reserve('patients', epsilon=1.0, delta=0.0, purpose='synthesize')\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == -9
    assert "reserved (process gone)" in ok(capsys, "show", path)
    (dataset,) = as_json(capsys, "show", path)["datasets"]
    assert dataset["entries"][0]["process_gone"] is True
    assert dataset["remaining"]["epsilon"] == 2.0


def test_an_entry_of_another_host_is_not_guessed_at(
    capsys: pytest.CaptureFixture[str], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok(capsys, "init", path, *limits())
    Ledger(path).reserve("patients", epsilon=1.0, delta=0.0, purpose="synthesize")
    monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
    out = ok(capsys, "show", path)
    assert "reserved" in out
    assert "running" not in out
    assert "gone" not in out


@pytest.mark.parametrize("command", ["show", "history"])
def test_reading_refuses_what_is_no_ledger(capsys: pytest.CaptureFixture[str], path: Path, command: str) -> None:
    code, out, err = cli(capsys, command, path)
    assert (code, out) == (2, "")
    assert "There is no ledger at" in err
    assert not path.exists()
    path.write_text("not a database, and long enough to be looked at" * 100)
    code, out, _ = cli(capsys, command, path, "--json")
    assert code == 2
    assert json.loads(out)["error"] == "input"
    assert "is not an Understudy ledger" in json.loads(out)["message"]


def test_unknown_dataset_and_newer_version(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    ok(capsys, "init", path, *limits())
    code, _, err = cli(capsys, "show", path, "--dataset", "patient")
    assert (code, "which holds 'patients'" in err) == (2, True)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    code, _, err = cli(capsys, "show", path)
    assert (code, "has version 7" in err) == (2, True)


def test_unwritable_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("something")
    code, _, err = cli(capsys, "init", tmp_path / "file" / "ledger.db", *limits())
    assert (code, "Cannot make a ledger at" in err) == (2, True)
    code, _, err = cli(capsys, "init", tmp_path, *limits())
    assert (code, "is a folder" in err) == (2, True)
    assert os.listdir(tmp_path) == ["file"]


def test_head_and_check(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    ok(capsys, "init", path, *limits())
    before = path.read_bytes()
    anchor = path.with_name("head.txt")
    assert ok(capsys, "head", path, "--out", anchor) == ""
    said = ok(capsys, "head", path).strip()
    assert anchor.read_text().strip() == said
    assert said.startswith("1:")
    assert as_json(capsys, "head", path)["head"] == said
    Ledger(path).reserve("patients", epsilon=1.0, delta=0.0, purpose="run")
    later = ok(capsys, "head", path).strip()
    assert "all 2 lines" in ok(capsys, "check", path)
    assert "goes on from" in ok(capsys, "check", path, "--head", anchor)
    assert as_json(capsys, "check", path, "--head", said)["head"] == later
    path.write_bytes(before)
    code, _, err = cli(capsys, "check", path, "--head", later)
    assert (code, "rolled back or replaced" in err) == (2, True)
    code, _, err = cli(capsys, "check", path, "--head", "yesterday")
    assert (code, "is no head" in err) == (2, True)


def test_settle_a_run_that_died(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    ok(capsys, "init", path, *limits())
    Ledger(path).reserve("patients", epsilon=1.0, delta=0.0, purpose="run")
    code, _, err = cli(capsys, "settle", path, "2")
    assert (code, "--reason" in err) == (2, True)
    code, _, err = cli(capsys, "settle", path, "7", "--reason", "gone")
    assert (code, "no run 7" in err) == (2, True)
    out = ok(capsys, "settle", path, "2", "--reason", "the laptop was stolen", "--epsilon", "0.25")
    assert "counts for epsilon 0.25" in out
    assert "the laptop was stolen" in " ".join(ok(capsys, "show", path).split())
    (entry,) = as_json(capsys, "show", path)["datasets"][0]["entries"]
    assert (entry["state"], entry["counted"]["epsilon"], entry["reason"]) == ("lost", 0.25, "the laptop was stolen")
    assert "token" not in json.dumps(as_json(capsys, "history", path))


def test_limits_requests_and_approval(
    capsys: pytest.CaptureFixture[str], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok(capsys, "init", path, *limits(), "--until", "2999-12-31")
    out = ok(
        capsys, "limit", path, *limits(epsilon="0", delta="0"), "--person", "*", "--reason", "nothing without a word"
    )
    assert "person:*" in out
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    number = as_json(
        capsys,
        "request",
        path,
        "--dataset",
        "patients",
        "--epsilon",
        "1",
        "--purpose",
        "a table",
        "--until",
        "2999-01-31",
    )["request"]
    code, _, err = cli(capsys, "approve", path, str(number), "--reason", "mine")
    assert (code, "somebody else" in err) == (2, True)
    monkeypatch.setattr("getpass.getuser", lambda: "bob")
    assert "is approved" in ok(capsys, "approve", path, str(number), "--reason", "seen")
    again = as_json(capsys, "request", path, "--dataset", "patients", "--epsilon", "2", "--purpose", "more")["request"]
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    assert "is refused" in ok(capsys, "approve", path, str(again), "--refuse", "--reason", "too much")
    (dataset,) = as_json(capsys, "show", path)["datasets"]
    assert dataset["until"] == "2999-12-31"
    assert {one["who"]: one["remaining"]["epsilon"] for one in dataset["limits"]} == {
        "person:*": 0.0,
        "person:ada": 1.0,
    }
    assert [one["state"] for one in dataset["requests"]] == ["approved", "refused"]
    shown = " ".join(ok(capsys, "show", path).split())
    assert "Requests" in shown
    assert "Limits of people and projects" in shown
    code, _, err = cli(capsys, "grant", path, "--user", "ada", "--role", "spender")
    assert (code, "is a file" in err) == (2, True)
    code, _, err = cli(capsys, "init", path, *limits("new"), "--until", "tomorrow")
    assert (code, "must be a day" in err) == (2, True)
