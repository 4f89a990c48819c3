"""Ways around the ledger that once worked: each ends in a refusal or a charge, and what was drawn is never free."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "methods"))

from small_generators import SCHEMA, table  # pyright: ignore[reportMissingImports]

from understudy.cli.app import main
from understudy.privacy import Certificate, Ledger
from understudy.release import driver

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and locks")

SMALL = [
    *("--method", "pategan", "--teachers", "10", "--iterations", "3", "--set", "noise=20", "--rows", "20"),
    *("--set", "batch=8", "--set", "teacher_steps=2", "--set", "student_steps=2"),
]
# Ends the process as the kernel would, at a chosen call of a chosen function.
KILLED = """
import importlib, os, signal, sys
module, name, method, at = sys.argv[1].split(":")
owner = getattr(importlib.import_module(module), name)
real, calls = getattr(owner, method), [0]
def deadly(*args, **kwargs):
    calls[0] += 1
    if calls[0] >= int(at):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **kwargs)
setattr(owner, method, deadly)
from understudy.cli.app import main
main(sys.argv[2:])
"""
# Holds still at its second draw until it is told to go on.
HELD = """
import sys
from understudy.release.driver import Run
real, calls = Run.draw, [0]
def waiting(*args, **kwargs):
    calls[0] += 1
    if calls[0] == 2:
        print("drawing", flush=True)
        sys.stdin.readline()
    return real(*args, **kwargs)
Run.draw = waiting
from understudy.cli.app import main
main(sys.argv[1:])
"""
BEFORE_RUN = "understudy.learn.checkpoints:Workspace:_create:1"
AT_SECOND_DRAW = "understudy.release.driver:Run:draw:2"


class Office:
    """A table, a ledger with a limit of 8, and the command line."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        table().to_csv(folder / "data.csv", index=False)
        SCHEMA.write(folder / "schema.yaml")
        self.book = Ledger.create(folder / "ledger.db")
        self.book.add_dataset("patients", epsilon=8.0, delta=1e-3)

    def options(self, epsilon: float, *more: object, ledger: bool = True, out: str = "s.csv") -> list[str]:
        said: list[object] = ["synthesize", self.folder / "data.csv", "--schema", self.folder / "schema.yaml", *SMALL]
        said += ["--epsilon", epsilon, "--out", self.folder / out, "--workspace", self.folder / "s.csv.private"]
        said += ["--ledger", self.book.path, "--dataset", "patients"] if ledger else []
        return [str(word) for word in (*said, *more)]

    def run(self, epsilon: float, *more: object, ledger: bool = True, out: str = "s.csv") -> tuple[int, str]:
        code = 0
        try:
            main(self.options(epsilon, *more, ledger=ledger, out=out))
        except SystemExit as error:
            code = int(error.code or 0)
        return code, " ".join(self.capsys.readouterr().err.split())

    def killed(self, where: str, epsilon: float, *more: object, ledger: bool = True) -> None:
        words = [sys.executable, "-c", KILLED, where, *self.options(epsilon, *more, ledger=ledger)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr

    @property
    def workspace(self) -> Path:
        return self.folder / "s.csv.private"

    @property
    def spent(self) -> float:
        return Ledger(self.book.path).spent("patients").epsilon

    def token(self) -> str:
        return json.loads((self.workspace / "ledger.json").read_text())["token"]

    def states(self) -> list[str]:
        return [entry.state for entry in Ledger(self.book.path).entries("patients")]

    def stated(self, out: str = "s.csv") -> float:
        return Certificate.load(self.folder / f"{out}.release" / "certificate.json").epsilon


@pytest.fixture
def office(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Office:
    return Office(tmp_path, capsys)


def test_a_note_without_a_run_pays_for_nothing(office: Office) -> None:
    """A note that names the ledger and the dataset was once believed."""
    office.workspace.mkdir()
    note = {"ledger": str(office.book.path.resolve()), "dataset": "patients"}
    (office.workspace / "ledger.json").write_text(json.dumps(note))
    code, err = office.run(50)
    assert (code, "does not fit" in err) == (3, True)
    assert not (office.folder / "s.csv.release").exists()
    code, err = office.run(4)
    assert code == 0, err
    assert office.spent == office.stated() > 0


def test_killed_between_the_note_and_the_run_and_started_again_with_more(office: Office) -> None:
    office.killed(BEFORE_RUN, 0.05)
    assert office.spent == 0.05
    code, err = office.run(50)
    assert (code, "does not fit" in err) == (3, True)
    assert office.states() == ["returned"], "nothing was drawn, so the first costs nothing"
    code, err = office.run(4)
    assert code == 0, err
    assert office.spent == office.stated()


def test_a_run_is_resumed_for_what_was_reserved(office: Office) -> None:
    """Begun without the ledger at 50, a small one booked beside it, then resumed at 50."""
    office.killed(AT_SECOND_DRAW, 50, ledger=False)
    office.killed("understudy.release.generator:TableGenerator:fit:1", 0.05, "--resume")
    assert office.spent == 0.05
    code, err = office.run(50, "--resume")
    assert code == 2
    assert "was reserved for 'pategan' with epsilon 0.05" in err
    assert not (office.folder / "s.csv.release").exists()


def test_an_older_copy_of_the_ledger_does_not_know_the_run(office: Office) -> None:
    shutil.copy(office.book.path, office.folder / "old.db")
    office.killed(AT_SECOND_DRAW, 4)
    shutil.copy(office.book.path, office.folder / "later.db")
    shutil.copy(office.folder / "old.db", office.book.path)
    code, err = office.run(4, "--resume")
    assert (code, "is not the run of this workspace" in err) == (2, True)
    assert not (office.folder / "s.csv.release").exists()
    shutil.copy(office.folder / "later.db", office.book.path)
    assert Ledger(office.book.path).held("patients", 2, office.token()), "a mistake does not cost the run its token"
    shutil.copy(office.folder / "old.db", office.book.path)
    # The same number given to another run is not the same run.
    office.book.reserve("patients", epsilon=4.0, delta=1e-5, purpose="another", method="pategan")
    code, err = office.run(4, "--resume")
    assert (code, "is not the run of this workspace" in err) == (2, True)
    office.book.check(str(Ledger(office.folder / "old.db").head()))
    with pytest.raises(ValueError, match="rolled back"):
        office.book.check(str(Ledger(office.folder / "later.db").head()))


def test_two_processes_do_not_resume_one_run(office: Office) -> None:
    office.killed(AT_SECOND_DRAW, 4)
    first = subprocess.Popen(
        [sys.executable, "-c", HELD, *office.options(4, "--resume")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert first.stdout is not None
    assert first.stdout.readline().strip() == "drawing"
    code, err = office.run(4, "--resume", out="t.csv")
    assert (code, "another process is at work" in err) == (2, True)
    shutil.copytree(office.workspace, office.folder / "copy.private")
    code, err = office.run(4, "--resume", "--workspace", office.folder / "copy.private", out="t.csv")
    assert (code, "is at work on run" in err) == (2, True)
    with pytest.raises(ValueError, match="is at work"):
        office.book.settle(2, reason="I think it is dead", epsilon=0.0)
    _, err = first.communicate("\n", timeout=1500)
    assert first.returncode == 0, err
    assert not (office.folder / "t.csv").exists()
    assert office.spent == office.stated()


def test_of_a_copied_workspace_one_goes_on(office: Office) -> None:
    office.killed(AT_SECOND_DRAW, 4)
    shutil.copytree(office.workspace, office.folder / "copy.private")
    # The other goes on and dies: what it drew is not drawn again by the copy.
    office.killed(AT_SECOND_DRAW, 4, "--resume")
    code, err = office.run(4, "--resume", "--workspace", office.folder / "copy.private", out="t.csv")
    assert (code, "another copy of this workspace" in err) == (2, True)
    shutil.copytree(office.workspace, office.folder / "late.private")
    code, err = office.run(4, "--resume")
    assert code == 0, err
    code, err = office.run(4, "--resume", "--workspace", office.folder / "late.private", out="t.csv")
    assert code == 2
    assert office.states() == ["committed"]
    assert office.spent == office.stated()


def test_a_booked_run_does_not_go_on_without_its_ledger(office: Office) -> None:
    office.killed(AT_SECOND_DRAW, 4)
    code, err = office.run(4, "--resume", ledger=False)
    assert (code, "is booked in the ledger" in err) == (2, True)
    office.book.add_dataset("others", epsilon=100.0, delta=1e-2)
    code, err = office.run(4, "--resume", "--dataset", "others")
    assert (code, "is of a run on dataset 'patients'" in err) == (2, True)


def test_what_others_have_drawn_is_not_settled_as_nothing(office: Office) -> None:
    """A resumed run that fails before it has charged anything does not know what was drawn before it."""
    office.killed(AT_SECOND_DRAW, 4)
    (office.workspace / "run.json").unlink()
    code, err = office.run(4, "--resume")
    assert (code, "no run to resume" in err) == (2, True)
    assert (office.spent, office.states()) == (4.0, ["drawing"])


def test_a_killed_run_goes_on_and_is_charged_once(office: Office) -> None:
    office.killed(AT_SECOND_DRAW, 4)
    (entry,) = Ledger(office.book.path).entries("patients")
    assert (entry.state, entry.method, entry.counted.epsilon, entry.open) == ("drawing", "pategan", 4.0, True)
    (office.workspace / ".0123456789ab-state-000002.safetensors").write_bytes(b"half")
    # Killed while its token is changed: the ledger knows one of the two that the workspace holds.
    office.killed("understudy.privacy.ledger:Ledger:resume:1", 4, "--resume")
    assert not list(office.workspace.glob(".*")), "what the killed run left half-written is gone"
    office.killed("understudy.release.spending:_Guard:__init__:1", 4, "--resume")
    code, err = office.run(4, "--resume")
    assert code == 0, err
    assert office.spent == office.stated() < 4.0
    assert not office.workspace.exists()


def test_a_run_that_its_owner_stopped_goes_on_once(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = driver.Run.draw, [0]

    def stopping(self: driver.Run, *args: Any) -> Any:
        calls[0] += 1
        if calls[0] == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return real(self, *args)

    monkeypatch.setattr(driver.Run, "draw", stopping)
    code, err = office.run(4)
    assert code == 0, err
    assert office.states() == ["committed"]
    assert office.spent == office.stated() < 4.0
    with pytest.raises(ValueError, match="that stands"):
        office.book.settle(2, reason="I would like it back", epsilon=0.0, delta=0.0)
    shutil.copytree(office.workspace, office.folder / "copy.private")
    code, err = office.run(4, "--resume", out="whole.csv")
    assert code == 0, err
    assert office.spent == office.stated() == office.stated("whole.csv")
    code, err = office.run(4, "--resume", "--workspace", office.folder / "copy.private", out="t.csv")
    assert (code, "cannot resume" in err) == (2, True)


def test_settled_runs_stay_settled(office: Office) -> None:
    office.killed(AT_SECOND_DRAW, 4)
    (entry,) = Ledger(office.book.path).entries("patients")
    settled = office.book.settle(entry.id, reason="the disk is gone; nothing was published", epsilon=0.5, delta=0.0)
    assert (settled.state, settled.counted.epsilon, settled.reason) == (
        "lost",
        0.5,
        "the disk is gone; nothing was published",
    )
    code, err = office.run(4, "--resume")
    assert (code, "was lost at" in err) == (2, True)
    with pytest.raises(ValueError, match="that stands"):
        office.book.settle(entry.id, reason="again", epsilon=0.0, delta=0.0)
