"""The ledger when processes are killed, servers crash, many come at once, and somebody edits it.

Workers make real runs, with a budget, a draw and a "publication", and are killed at random moments; the next one goes on
where it can. Then the ledger is held against what was published: nothing that was published may be free (lost), no limit
may be passed (overspent), and no run may have published two different things (double).
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.postgres_server import Server, server, why_not
from understudy.errors import BudgetExceeded, InputError
from understudy.learn.checkpoints import Workspace
from understudy.privacy import Ledger, NoisyCounts
from understudy.privacy.ledger_store import chained
from understudy.release.spending import spending

LIMIT, COST, DRAWS = 2.0, 0.1, 3
AT_WORK = 3


# ---- runs that are killed ----------------------------------------------------------------------------------------


def work(url: str, folder: Path, number: int) -> None:
    """Runs without end, by turns with and without a workspace; a dataset that is used up is followed by another."""
    dice = random.Random(os.urandom(8))
    while True:
        try:
            dataset = _dataset(url)
            if dice.random() < 0.5:
                _plain_run(url, dataset, folder)
            else:
                _resumable_run(url, dataset, folder, folder / f"{number}.private")
        except (BudgetExceeded, InputError) as error:
            _note(folder / "refusals", f"{error}")


def _dataset(url: str) -> str:
    book = Ledger(url)
    last = book.datasets()[-1]
    if last.remaining.epsilon >= COST:
        return last.name
    name = f"d{len(book.datasets())}"
    with suppress(InputError):  # another worker was first
        book.add_dataset(name, epsilon=LIMIT, delta=0.0)
    return name


def _plain_run(url: str, dataset: str, folder: Path) -> None:
    with spending(COST, 0.0, purpose="plain", method="counts", ledger=url, dataset=dataset) as run:
        drawn = NoisyCounts(COST).release([3, 5], run.budget)
        _note(folder / "published", f"{dataset} {run.run} {drawn.tolist()}")


def _resumable_run(url: str, dataset: str, folder: Path, place: Path) -> None:
    """A run of several paid draws, each logged before it is used. A workspace that is left is gone on with."""
    booked = place / "dataset"
    resume = (place / "run.json").exists() and booked.exists()
    dataset = booked.read_text() if resume else dataset
    if not resume:
        shutil.rmtree(place, ignore_errors=True)
    try:
        with spending(
            COST, 0.0, purpose="resumable", method="counts", ledger=url, dataset=dataset, workspace=place, resume=resume
        ) as run:
            files = Workspace(place, {}, np.ones(1), resume=resume)
            try:
                if not resume:
                    booked.write_text(dataset)
                each = NoisyCounts(COST / DRAWS)
                paid = [
                    files.prelude.draw(f"draw {at}", lambda: ({}, each.release([3, 5], run.budget)))
                    for at in range(DRAWS)
                ]
                for _, _, replayed in paid:
                    if replayed:
                        run.budget.charge(each.event())
                run.still_ours()
                _note(folder / "published", f"{dataset} {run.run} {[array.tolist() for _, array, _ in paid]}")
            finally:
                files.close()
    except InputError:
        shutil.rmtree(place, ignore_errors=True)  # it cannot go on: it counts as it does
        raise
    shutil.rmtree(place, ignore_errors=True)


def _note(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(handle, f"{text}\n".encode())
    os.close(handle)


def kill_workers(url: str, folder: Path, kills: int, *, seed: int = 0, longest: float = 0.3) -> Iterator[int]:
    """So many workers killed, one after another at moments drawn at random; tells after each how many it was."""
    dice, workers = random.Random(seed), {number: _fork(url, folder, number) for number in range(AT_WORK)}
    try:
        for kill in range(1, kills + 1):
            time.sleep(dice.uniform(0, longest))
            number = dice.randrange(AT_WORK)
            os.kill(workers[number], signal.SIGKILL)
            os.waitpid(workers[number], 0)
            workers[number] = _fork(url, folder, number)
            yield kill
    finally:
        for pid in workers.values():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _fork(url: str, folder: Path, number: int) -> int:
    child = os.fork()
    if child == 0:
        try:
            work(url, folder, number)
        finally:
            os._exit(1)
    return child


def judge(url: str, folder: Path) -> dict[str, int]:
    """The ledger beside what was published: what is lost, overspent or double. The whole chain is recomputed."""
    book = Ledger(url)
    book.check()
    runs = {(one.name, entry.id): entry for one in book.datasets() for entry in one.entries}
    file = folder / "published"
    published = [line.split(" ", 2) for line in file.read_text().splitlines()] if file.exists() else []
    told: dict[tuple[str, int], set[str]] = {}
    for dataset, number, what in published:
        told.setdefault((dataset, int(number)), set()).add(what)
    free = [run for run in told if run not in runs or runs[run].counted.epsilon < COST]
    over = [
        one.name
        for one in book.datasets()
        if sum((Fraction(str(e.counted.epsilon)) for e in one.entries), Fraction(0)) > Fraction(str(one.limit.epsilon))
    ]
    states = [entry.state for entry in runs.values()]
    return {
        "runs": len(runs),
        "published": len(told),
        "resumed": sum(line.action == "resume" for line in book.history()),
        **{state: states.count(state) for state in ("committed", "returned", "lost", "drawing", "reserved")},
        "lost_charges": len(free),
        "overspent": len(over),
        "double_releases": sum(len(what) > 1 for what in told.values()),
    }


# ---- what is measured --------------------------------------------------------------------------------------------


@contextmanager
def home(store: str) -> Iterator[tuple[str, Path, Server | None]]:
    """An empty ledger in a store of that kind: its address, a folder beside it, and the server if it has one."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        running = stack.enter_context(server(durable=True)) if store == "postgresql" else None
        url = str(folder / "ledger.db") if running is None else running.database("ledger")
        Ledger.create(url).add_dataset("d0", epsilon=LIMIT, delta=0.0)
        yield url, folder, running


def kills(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    found: list[Measured] = []
    for repeat in repeats:
        with home(settings["store"]) as (url, folder, running):
            crashes = 0
            for kill in kill_workers(url, folder, settings["kills"], seed=repeat):
                if running is not None and kill % settings["crash_every"] == 0:
                    running.stop("immediate")
                    running.start()
                    crashes += 1
            found.append({"server_crashes": crashes, **judge(url, folder)})
    return found


def at_once(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """Commands that all want a tenth of a limit of one, started together: the others are refused."""
    del repeats
    with home(settings["store"]) as (url, folder, _):
        Ledger(url).add_dataset("shared", epsilon=1.0, delta=1e-3)
        (folder / "data.csv").write_text("x,y\n" + "\n".join(f"{i},{i % 3}" for i in range(200)))
        command = [
            sys.executable,
            "-c",
            "from understudy.cli.app import main; main()",
            "describe",
            str(folder / "data.csv"),
            "--epsilon",
            "0.1",
        ]
        command += ["--delta", "1e-6", "--ledger", url, "--dataset", "shared"]
        processes = [
            subprocess.Popen(
                [*command, "--out", str(folder / f"{number}.json")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            for number in range(settings["processes"])
        ]
        errors = [process.communicate()[1] for process in processes]
        codes = [process.returncode for process in processes]
        odd = [err.decode() for code, err in zip(codes, errors, strict=True) if code not in (0, 3)]
        assert not odd, odd[0]
        one, wrote = Ledger(url).dataset("shared"), len(list(folder.glob("*.json")))
        return [
            {
                "granted": codes.count(0),
                "refused": codes.count(3),
                "releases": wrote,
                "spent": one.spent.epsilon,
                "lost_charges": codes.count(0) - sum(entry.state == "committed" for entry in one.entries),
                "overspent": int(one.spent.epsilon > 1.0),
                "double_releases": wrote - codes.count(0),
            }
        ]


def tampering(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """Digits of the file changed, lines changed, taken out and put back by SQL, and older copies put in its place."""
    dice = random.Random(repeats[0])
    with home("sqlite") as (url, _, _):
        book = Ledger(url)
        copies: list[bytes] = []
        heads: list[str] = []
        for number in range(20):
            copies.append(Path(url).read_bytes())
            book.reserve("d0", epsilon=0.1, delta=0.0, purpose=f"run {number}").commit(epsilon=0.05)
            heads.append(str(book.head()))
        whole, history = Path(url).read_bytes(), book.history()
        digits = [at for at, byte in enumerate(whole) if chr(byte).isdigit()]
        noticed = harmless = accepted = 0
        for _ in range(settings["flips"]):
            changed = bytearray(whole)
            at = dice.choice(digits)
            changed[at] = dice.choice([b for b in b"0123456789" if b != whole[at]])
            Path(url).write_bytes(bytes(changed))
            try:
                same = Ledger(url).history() == history
                harmless, accepted = harmless + same, accepted + (not same)
            except InputError:
                noticed += 1
        # One who knows how lines are hashed, and mends the hash of the line that was changed.
        line = history[2]._replace(epsilon="0.01")
        mended = f"UPDATE history SET epsilon = '0.01', hash = '{chained(line)}' WHERE id = {line.id}"
        edits = [_edited(url, whole, statement) for statement in (*_EDITS, mended)]
        rolled = 0
        for older, head in zip(copies, heads, strict=True):
            Path(url).write_bytes(older)
            with suppress(InputError):
                Ledger(url).check(head)
                rolled += 1
    return [
        {
            "flips": settings["flips"],
            "flips_noticed": noticed,
            "flips_beside_the_history": harmless,
            "flips_accepted": accepted,
            "edits": len(edits),
            "edits_accepted": sum(edits),
            "rollbacks": len(copies),
            "rollbacks_accepted": rolled,
        }
    ]


_EDITS = (
    "UPDATE history SET epsilon = '0.01' WHERE id = 3",
    "UPDATE history SET at = '2020-01-01T00:00:00.000+00:00' WHERE id = 3",
    "UPDATE history SET user = 'somebody else' WHERE id = 2",
    "UPDATE history SET note = 'another run' WHERE id = 2",
    "UPDATE history SET epsilon = '1000.0' WHERE id = 1",
    "DELETE FROM history WHERE id = 41",
    "DELETE FROM history WHERE id >= 30",
    "DELETE FROM history WHERE id = 7",
    "DELETE FROM history WHERE reservation = 10; DELETE FROM history WHERE id = 10",
    "DELETE FROM history",
    "UPDATE history SET hash = (SELECT hash FROM history WHERE id = 4) WHERE id = 5",
    "UPDATE history SET id = id + 100",
)


def _edited(url: str, whole: bytes, statement: str) -> bool:
    """Whether a ledger was accepted after somebody with an editor for databases had been at it."""
    Path(url).write_bytes(whole)
    connection = sqlite3.connect(url)
    for trigger in ("history_only_grows", "history_is_not_rewritten", "history_is_not_deleted"):
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.executescript(statement)
    connection.commit()
    connection.close()
    try:
        Ledger(url)
    except InputError:
        return False
    return True


def parts(size: Size, repeats: int) -> list[Part]:
    quick = size == "quick"
    stores = ["sqlite"] + (["postgresql"] if why_not() is None else [])
    found: list[Part] = []
    for store in stores:
        killing = {"store": store, "kills": 20 if quick else 500, "crash_every": 10 if quick else 100}
        found.append(Part(f"killed, {store}", "benchmarks.faults:kills", killing, repeats))
        crowd = {"store": store, "processes": 4 if quick else 32}
        found.append(Part(f"at once, {store}", "benchmarks.faults:at_once", crowd, repeats))
    flips = {"flips": 50 if quick else 1500}
    return [*found, Part("edited", "benchmarks.faults:tampering", flips, repeats)]


BENCHMARK = Benchmark(
    id="faults",
    title="The ledger under SIGKILL, server crashes, many processes at once, and edits",
    parts=parts,
    alone=True,
    notes=(
        "Three workers are at work on a ledger; one is killed with SIGKILL at a moment drawn at random, and another takes "
        "its place. In PostgreSQL the server crashes (an immediate stop) from time to time as well.",
        "Lost: published and not charged. Overspent: a dataset over its limit. Double: a run that published two things.",
    ),
)
