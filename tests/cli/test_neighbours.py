"""Two files that differ in one row, through every command: nothing but the gate's answers may tell them apart.

The first run is recorded at the gate, the second is told the same answers. Then both must end the same way, print the same
outside of what is for the owner's eyes, and write the same files.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from understudy.audit.listening import Recorder, Replayer
from understudy.cli.app import main
from understudy.privacy import Budget
from understudy.privacy.noise import SystemNoise
from understudy.release import spending
from understudy.tables import Column, Schema

# Which classes drown is told by what was released.
pytestmark = pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")
ROWS = 160
PLACE = 5
EYES = "For your eyes only"
FITS = b"41.5,ICU,no"
ODD = {
    "blank": b",,",
    "only a class": b",,no",
    "no class": b"41.5,ICU,",
    "another class": b"41.5,ICU,maybe",
    "a category of its own": b"41.5,attic,no",
    "too few cells": b"41.5,ICU",
    "too many cells": b"41.5,ICU,no,1",
    "no text": b"41.5,I\xffU,no",
    "a zero byte": b"41.5,I\x00U,no",
    "a word": b"old,ICU,no",
    "a huge number": b"1e300,ICU,no",
    "infinity": b"-inf,ICU,no",
    "a date": b"2024-05-05,ICU,no",
    "an unbalanced quote": b'41.5,"ICU"x,no',
}
SCHEMA = Schema(
    (
        Column("age", "continuous", bounds=(0, 110)),
        Column("ward", "categorical", categories=("ICU", "north", "south")),
        Column("sick", "categorical", categories=("no", "yes")),
    ),
    "sick",
)
# How well the released tables are fitted is no matter here.
QUICK = ("--set", "components=4", "--set", "steps=5")
COMMANDS: dict[str, tuple[str, ...]] = {
    "describe": ("describe", "data.csv", "--target", "sick", "--epsilon", "2", "--out", "out.json"),
    "schema": ("schema", "init", "data.csv", "--target", "sick", "--epsilon", "2", "--out", "out.yaml"),
    "moments": (
        "synthesize",
        "data.csv",
        "--target",
        "sick",
        "--epsilon",
        "4",
        "--out",
        "out.csv",
        "--rows",
        "50",
        *QUICK,
    ),
    "pategan": (
        *("synthesize", "data.csv", "--target", "sick", "--epsilon", "8", "--out", "out.csv", "--rows", "20"),
        *("--method", "pategan", "--teachers", "4", "--iterations", "2", "--set", "batch=8"),
    ),
    "one-look": (
        *("distill", "data.csv", "--target", "sick", "--epsilon", "4", "--out", "out", "--per-class", "2"),
        *("--set", "steps=3", "--set", "samples=20"),
    ),
    "dpkip": (
        *("distill", "data.csv", "--target", "sick", "--epsilon", "4", "--out", "out", "--per-class", "2"),
        *("--method", "dpkip", "--set", "epochs=1", "--set", "batch=40"),
    ),
    "classify": (
        *("classify", "data.csv", "--target", "sick", "--public", "public.csv", "--out", "out", "--epsilon", "20"),
        *("--teachers", "4", "--seed", "0", "--aggregator", "lnmax", "--queries", "10"),
    ),
}


def lines(others: bytes = b"") -> list[bytes]:
    """A table without its header; every value is held by many rows. `others` is the class of all rows, if there is one only."""
    rng = np.random.default_rng(0)
    wards, sick = rng.choice(["ICU", "north", "south"], ROWS), rng.choice(["no", "yes"], ROWS)
    ages = rng.integers(20, 90, ROWS) + 0.5
    return [
        f"{age},{ward},{others.decode() or is_sick}".encode()
        for age, ward, is_sick in zip(ages, wards, sick, strict=True)
    ]


def table(row: bytes, others: bytes = b"") -> bytes:
    made = lines(others)
    made[PLACE] = row
    return b"\n".join([b"age,ward,sick", *made, b""])


class Listening:
    """Budgets of commands whose noise is recorded, or told what was recorded before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.source: Any = Recorder(SystemNoise())

        def budget(*arguments: Any, **options: Any) -> Budget:
            made = Budget(*arguments, **options)
            made.noise = self.source
            return made

        monkeypatch.setattr(spending, "Budget", budget)

    def replay(self) -> None:
        self.source = Replayer(SystemNoise(), tape=self.source.exits)


Run = Callable[[Path, bytes, tuple[str, ...]], dict[str, Any]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def one(folder: Path, content: bytes, command: tuple[str, ...]) -> dict[str, Any]:
        folder.mkdir()
        monkeypatch.chdir(folder)
        Path("data.csv").write_bytes(content)
        Path("public.csv").write_bytes(b"\n".join([b"age,ward", *(line.rpartition(b",")[0] for line in lines()[:40])]))
        SCHEMA.write("schema.yaml")
        with pytest.raises(SystemExit) as exit:
            main(list(command))
        printed = capsys.readouterr()
        return {
            "code": exit.value.code or 0,
            "out": [line for line in printed.out.splitlines() if not line.startswith(EYES)],
            "err": printed.err,
            "files": {str(path.relative_to(folder)): _content(path) for path in sorted(folder.rglob("*"))},
        }

    return one


def _content(path: Path) -> Any:
    """A written file, but for the time and the name of a run."""
    if path.is_dir() or path.name in ("data.csv", "public.csv"):
        return None
    if path.suffix == ".safetensors":
        return {name: array.tobytes() for name, array in load_file(path).items()}
    if path.suffix == ".yaml":
        return _timeless(Schema.read(path).to_dict())
    return _timeless(json.loads(path.read_text())) if path.suffix == ".json" else path.read_bytes()


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k not in ("run", "created", "checksum", "sha256", "files")}
    return [_timeless(entry) for entry in value] if isinstance(value, list) else value


def same(run: Run, monkeypatch: pytest.MonkeyPatch, folder: Path, pair: tuple[bytes, bytes], *command: str) -> None:
    gate = Listening(monkeypatch)
    first = run(folder / "one", pair[0], command)
    assert first["code"] == 0, first["err"]
    gate.replay()
    second = run(folder / "two", pair[1], command)
    for what in ("err", "code", "out", "files"):
        assert first[what] == second[what], what


# Files are read in one place for all commands: the others show that what each does with such a row is the same.
MANY = ("only a class", "too many cells", "no text", "a zero byte", "a word", "a huge number", "a date")


@pytest.mark.parametrize(
    ("command", "odd"),
    [
        pytest.param(command, odd, marks=[pytest.mark.slow] if command != "describe" and odd in MANY else [])
        for command in ("describe", "moments", "classify")
        for odd in ODD
    ],
)
@pytest.mark.parametrize("said", ["by nobody", "by a schema"])
def test_one_odd_row_tells_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, said: str, odd: str
) -> None:
    given = ("--schema", "schema.yaml") if said == "by a schema" else ()
    same(run, monkeypatch, tmp_path, (table(FITS), table(ODD[odd])), *COMMANDS[command], *given)


@pytest.mark.parametrize(
    "odd",
    ["blank", *(pytest.param(odd, marks=pytest.mark.slow) for odd in ("another class", "too few cells", "infinity"))],
)
@pytest.mark.parametrize("command", ["schema", "pategan", "one-look", "dpkip"])
def test_nor_in_the_other_commands(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, odd: str
) -> None:
    given = () if command == "schema" else ("--schema", "schema.yaml")
    same(run, monkeypatch, tmp_path, (table(FITS), table(ODD[odd])), *COMMANDS[command], *given)


@pytest.mark.parametrize("said", ["by nobody", "by a schema"])
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "schema"])
def test_the_only_row_of_a_class_tells_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, said: str
) -> None:
    """49 who say no and one who says yes are released as 50 who say no are."""
    given = ("--schema", "schema.yaml") if said == "by a schema" else ()
    pair = (table(b"41.5,ICU,yes", b"no"), table(FITS, b"no"))
    same(run, monkeypatch, tmp_path, pair, *COMMANDS[command], *given)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "schema"])
def test_the_last_row_that_is_left_tells_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    empty = b"\n".join([b"age,ward,sick", *[b",,"] * (ROWS - 1), b""])
    pair = (empty + FITS + b"\n", empty + b",,\n")
    same(run, monkeypatch, tmp_path, pair, *COMMANDS[command], "--schema", "schema.yaml")


@pytest.mark.parametrize("odd", ["no class", "another class", "too many cells", "no text", "a word", "infinity"])
@pytest.mark.parametrize("command", ["describe", "moments", "one-look", "classify"])
def test_who_asks_for_it_gets_a_refusal(run: Run, tmp_path: Path, command: str, odd: str) -> None:
    usual = COMMANDS[command]
    told = run(tmp_path / "one", table(ODD[odd]), (*usual, "--schema", "schema.yaml", "--strict"))
    assert told["code"] == 2
    assert told["err"].startswith("error: ")
    assert set(told["files"]) == {"data.csv", "public.csv", "schema.yaml"}


def test_what_did_not_fit_is_told_to_the_owner_alone(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = run(tmp_path / "one", table(ODD["too few cells"]), COMMANDS["moments"])
    assert told["code"] == 0
    with pytest.raises(SystemExit):
        main([*COMMANDS["describe"], "--schema", "schema.yaml"])
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith(EYES)]
    assert "1 lines could not be read" in line
