"""The ledger when things go wrong: races, killed processes, locks, permissions, full disks, damaged files.

Processes here are real. A script is run in a fresh interpreter and forks its workers, which costs one import.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy.ledger import Cost, Ledger

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks and signals")

SCRIPT = """
import os, signal, sys, time
from pathlib import Path
from understudy.errors import BudgetExceeded, InputError
from understudy.privacy.ledger import Ledger
path = Path(sys.argv[1])
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger.create(tmp_path / "ledger.db")
    made.add_dataset("patients", epsilon=3.0, delta=1e-5)
    return made


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that users other than the one who runs the tests can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def start(script: str, path: Path, *, before: str = SCRIPT) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", before + script, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(script: str, path: Path) -> str:
    with start(script, path) as process:
        output, _ = process.communicate(timeout=1500)
    assert process.returncode == 0, output
    return output


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def intact(path: Path) -> bool:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        connection.close()


# Races


def test_32_processes_never_overspend_and_lose_no_entry(tmp_path: Path) -> None:
    made = Ledger.create(tmp_path / "ledger.db")
    made.add_dataset("d", epsilon=7.0, delta=1e-5)
    output = run(
        """
go, ready = os.pipe()
children = []
for worker in range(32):
    child = os.fork()
    if child == 0:
        os.close(ready)
        os.read(go, 1)  # all begin when the parent closes its end
        ledger = Ledger(path, timeout=1500)
        granted = 0
        for round in range(3):
            try:
                r = ledger.reserve("d", epsilon=0.1, delta=1e-8, purpose=f"worker {worker} round {round}")
            except BudgetExceeded:
                continue
            granted += 1
            if round == 1:
                r.commit(epsilon=0.1, delta=0.0)
        os._exit(granted)
    children.append(child)
os.close(ready)
print(*(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
""",
        made.path,
    )
    granted = [int(word) for word in output.split()]
    assert len(granted) == 32
    assert all(0 <= count <= 3 for count in granted), output
    entries = made.entries("d")
    assert sum(granted) == len(entries) == 70, "96 tenths were asked for, and 7.0 holds exactly 70"
    assert made.spent("d").epsilon == 7.0
    assert made.remaining("d").epsilon == 0.0
    by_worker = [sum(entry.purpose.startswith(f"worker {w} ") for entry in entries) for w in range(32)]
    assert by_worker == granted
    assert [event.id for event in made.history()] == list(range(1, len(made.history()) + 1))
    assert intact(made.path)


def test_processes_that_make_one_ledger_at_once_all_end_up_in_it(tmp_path: Path) -> None:
    run(
        """
children = []
for worker in range(12):
    child = os.fork()
    if child == 0:
        Ledger.create(path, exist_ok=True).add_dataset(f"dataset {worker}", epsilon=1.0, delta=0.0)
        os._exit(0)
    children.append(child)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
""",
        tmp_path / "ledger.db",
    )
    assert len(Ledger(tmp_path / "ledger.db").datasets()) == 12
    assert os.listdir(tmp_path) == ["ledger.db"]


# Killed processes


def test_a_process_killed_between_reserve_and_commit_has_spent_its_reservation(ledger: Ledger) -> None:
    with start(
        """
r = Ledger(path).reserve("patients", epsilon=1.0, delta=1e-6, purpose="synthesize")
print(os.getpid(), flush=True)
time.sleep(1500)
r.commit(epsilon=0.1, delta=0.0)
""",
        ledger.path,
    ) as process:
        pid = int(line(process))
        assert Ledger(ledger.path).entries("patients")[0].process_gone() is False
        process.kill()
    assert process.returncode == -signal.SIGKILL
    again = Ledger(ledger.path)
    (entry,) = again.entries("patients")
    assert (entry.state, entry.pid, entry.purpose) == ("reserved", pid, "synthesize")
    assert entry.process_gone() is True
    assert again.spent("patients") == Cost(1.0, 1e-6)
    with pytest.raises(BudgetExceeded):
        again.reserve("patients", epsilon=2.1, delta=0.0, purpose="as if nothing had happened")
    again.reserve("patients", epsilon=2.0, delta=0.0, purpose="what is left")
    assert intact(ledger.path)


def test_processes_killed_at_any_moment_leave_an_intact_ledger(tmp_path: Path) -> None:
    made = Ledger.create(tmp_path / "ledger.db")
    made.add_dataset("d", epsilon=1000.0, delta=0.0)
    output = run(
        """
import random, sqlite3
moments = random.Random(20)
promised = 0
for killed in range(1, 21):
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        ledger = Ledger(path)
        while True:
            r = ledger.reserve("d", epsilon=0.1, delta=0.0, purpose="run")
            os.write(send, b"+")  # only now would a run begin to draw
            r.commit(epsilon=0.05, delta=0.0)
    os.close(send)
    promised += len(os.read(receive, 1))
    time.sleep(moments.uniform(0, 0.06))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    promised += len(os.read(receive, 1 << 16))
    os.close(receive)
    entries = Ledger(path).entries("d")
    (check,) = sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone()
    unsettled = sum(entry.state == "reserved" for entry in entries)
    print(check, promised <= len(entries) <= promised + killed, unsettled <= killed)
""",
        made.path,
    )
    assert output.splitlines() == ["ok True True"] * 20
    ids = [event.id for event in made.history()]
    assert ids == list(range(1, len(ids) + 1))
    assert made.spent("d").epsilon <= 0.1 * len(made.entries("d"))


# Locks


def test_a_locked_ledger_says_so_and_is_usable_afterwards(ledger: Ledger) -> None:
    waiting = Ledger(ledger.path, timeout=0.2)
    reservation = waiting.reserve("patients", epsilon=1.0, delta=0.0, purpose="run")
    with start(
        """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
""",
        ledger.path,
        before="",
    ) as process:
        assert line(process) == "locked"
        calls: list[Callable[[], object]] = [
            lambda: waiting.reserve("patients", epsilon=0.1, delta=0.0, purpose="run"),
            lambda: waiting.add_dataset("loans", epsilon=0.1, delta=0.0),
            lambda: waiting.spent("patients"),
            lambda: reservation.commit(epsilon=0.5),
            lambda: Ledger(ledger.path, timeout=0.2),
        ]
        for call in calls:
            with pytest.raises(InputError, match=r"ledger\.db is locked by another process for more than 0\.2 s"):
                call()
        process.communicate()
    assert ledger.spent("patients") == Cost(1.0, 0.0)
    reservation.commit(epsilon=0.5)
    assert ledger.spent("patients") == Cost(0.5, 0.0)


def test_a_refused_call_leaves_no_lock_behind(ledger: Ledger) -> None:
    other = Ledger(ledger.path, timeout=0.0)
    with pytest.raises(BudgetExceeded):
        ledger.reserve("patients", epsilon=99.0, delta=0.0, purpose="run")
    with pytest.raises(InputError):
        ledger.add_dataset("patients", epsilon=1.0, delta=0.0)
    other.reserve("patients", epsilon=1.0, delta=0.0, purpose="run")


# Places that cannot hold a ledger


def test_places_without_a_ledger(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("something")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    before = sorted(os.listdir(tmp_path))
    for place, message in (
        ("missing.db", "There is no ledger at"),
        ("dangling", "There is no ledger at"),
        ("missing/ledger.db", "There is no ledger at"),
        (".", "is a folder"),
        ("pipe", "not a regular file"),
        ("file/ledger.db", "Not a directory"),
        ("x" * 300, "too long"),
    ):
        with pytest.raises(InputError, match=message):
            Ledger(tmp_path / place)
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("missing/ledger.db", "No such file or directory"),
        ("file/ledger.db", "Not a directory"),
        ("/proc/ledger.db", "Cannot make a ledger at /proc/ledger.db"),
        ("x" * 300, "too long"),
    ],
)
def test_places_where_no_ledger_can_be_made(tmp_path: Path, place: str, message: str) -> None:
    (tmp_path / "file").write_text("something")
    with pytest.raises(InputError, match=message):
        Ledger.create(tmp_path / place)
    assert os.listdir(tmp_path) == ["file"]


def test_a_ledger_that_may_not_be_written(open_folder: Path) -> None:
    ledgers: dict[str, Ledger] = {}
    for name, file_mode, folder_mode in (("folder", 0o666, 0o555), ("read", 0o444, 0o777), ("closed", 0o000, 0o777)):
        (open_folder / name).mkdir()
        ledgers[name] = Ledger.create(open_folder / name / "ledger.db")
        ledgers[name].add_dataset("d", epsilon=1.0, delta=0.0)
        ledgers[name].path.chmod(file_mode)
        (open_folder / name).chmod(folder_mode)
    before = ledgers["folder"].path.read_bytes()
    output = run(
        """
if os.getuid() == 0:  # permissions do not hold for root
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
def attempt(call):
    try:
        print(call())
    except InputError as error:
        print("REFUSED", error)
for name in ("folder", "read", "closed"):
    file = path / name / "ledger.db"
    attempt(lambda: Ledger(file).remaining("d"))
    attempt(lambda: Ledger(file).reserve("d", epsilon=0.1, delta=0.0, purpose="run"))
attempt(lambda: Ledger.create(path / "folder" / "new.db"))
""",
        open_folder,
    ).splitlines()
    readable = "Cost(epsilon=1.0, delta=0.0)"
    assert [line if line == readable else line[:7] for line in output] == [
        *(readable, "REFUSED"),
        *(readable, "REFUSED"),
        *("REFUSED", "REFUSED"),
        "REFUSED",
    ]
    for refused in (output[1], output[3], output[4], output[5]):
        assert "permission to write the file and its folder" in refused
    assert "Permission denied" in output[6]
    (open_folder / "folder").chmod(0o755)
    assert ledgers["folder"].path.read_bytes() == before
    for name, made in ledgers.items():
        made.path.chmod(0o600)
        assert made.spent("d") == Cost(0.0, 0.0)
        assert os.listdir(open_folder / name) == ["ledger.db"]


# Full disks


def test_a_full_disk_refuses_the_reservation_and_keeps_the_rest(ledger: Ledger) -> None:
    output = run(
        """
import resource
ledger = Ledger(path)
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size,) * 2)
granted = 0
try:
    for _ in range(200):
        ledger.reserve("patients", epsilon=0.01, delta=0.0, purpose="x" * 900)
        granted += 1
except InputError as error:
    print(granted, error)
print(len(ledger.entries("patients")))
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    Ledger.create(path.with_name("new.db"))
except InputError as error:
    print(error)
""",
        ledger.path,
    ).splitlines()
    granted, message = output[0].split(" ", 1)
    assert "The disk refused to write the ledger" in message
    assert output[1] == granted
    assert len(ledger.entries("patients")) == int(granted)
    assert intact(ledger.path)
    ledger.reserve("patients", epsilon=0.01, delta=0.0, purpose="after room was made")
    assert output[2].startswith("Cannot make a ledger at")
    assert os.listdir(ledger.path.parent) == ["ledger.db"], "no half-made ledger is left"


# Files that are not, or no longer, a ledger


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"{}" * 5000, os.urandom(9000), b"SQLite format 3\0" + b"\xff" * 4080],
    ids=["empty", "short", "json", "noise", "false-header"],
)
def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    for call in (Ledger, lambda path: Ledger.create(path, exist_ok=True)):
        with pytest.raises(InputError, match=r"is not an Understudy ledger|is damaged"):
            call(path)
    with pytest.raises(InputError, match="already a file"):
        Ledger.create(path)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["other"]


def test_another_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE history (id INTEGER)")
    connection.close()
    with pytest.raises(InputError, match="is not an Understudy ledger"):
        Ledger(path)


def test_a_newer_version_is_refused(ledger: Ledger) -> None:
    alter(ledger, "PRAGMA user_version = 3")
    with pytest.raises(InputError, match=r"has version 3; this Understudy knows versions up to 2\. .*Upgrade"):
        Ledger(ledger.path)
    with pytest.raises(InputError, match="Upgrade"):
        ledger.reserve("patients", epsilon=0.1, delta=0.0, purpose="opened before the upgrade")


def test_a_cut_or_overwritten_file_is_damaged(ledger: Ledger) -> None:
    for _ in range(30):
        ledger.reserve("patients", epsilon=0.01, delta=0.0, purpose="x" * 900)
    whole = ledger.path.read_bytes()
    page = 4096
    for broken in (whole[: 3 * page], whole[:page] + b"\xa5" * (len(whole) - page), whole[:-page] + b"\0" * page):
        ledger.path.write_bytes(broken)
        with pytest.raises(InputError, match="is damaged"):
            Ledger(ledger.path)
        assert ledger.path.read_bytes() == broken
    ledger.path.write_bytes(whole)
    assert len(Ledger(ledger.path).entries("patients")) == 30


def alter(ledger: Ledger, statement: str) -> None:
    """What somebody with an editor for databases could do."""
    connection = sqlite3.connect(ledger.path)
    for trigger in ("history_only_grows", "history_is_not_rewritten", "history_is_not_deleted"):
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE history SET epsilon = 'nan' WHERE id = 2",
        "UPDATE history SET epsilon = 'inf' WHERE id = 1",
        "UPDATE history SET epsilon = '-1.0' WHERE id = 2",
        "UPDATE history SET epsilon = 'much' WHERE id = 2",
        "UPDATE history SET delta = '1.0' WHERE id = 1",
        "UPDATE history SET epsilon = '2.0' WHERE id = 3",
        "UPDATE history SET epsilon = '0.5' WHERE id = 1",
        "UPDATE history SET certificate = '{' WHERE id = 3",
        "DELETE FROM history WHERE id = 1",
        "DELETE FROM history WHERE id = 2",
        "DROP TABLE history",
    ],
)
def test_a_history_that_no_ledger_writes_is_damage(ledger: Ledger, statement: str) -> None:
    ledger.reserve("patients", epsilon=1.0, delta=0.0, purpose="run").commit(certificate={})
    alter(ledger, statement)
    calls: list[Callable[[], object]] = [
        ledger.datasets,
        ledger.history,
        lambda: ledger.reserve("patients", epsilon=0.1, delta=0.0, purpose="run"),
    ]
    for call in calls:
        with pytest.raises(InputError, match="is damaged"):
            call()
