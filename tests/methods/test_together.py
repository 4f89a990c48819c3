"""Teachers shared by processes: each block once, the answers drawn and charged once, and the release that one process makes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from several_processes import request  # pyright: ignore[reportMissingImports]

from understudy import registry
from understudy.errors import InputError
from understudy.learn.blocks import VoteBlocks, blocks_of
from understudy.learn.partition import Shards, shards
from understudy.learn.processes import Processes
from understudy.methods.classify_table import classify_table
from understudy.methods.together import Together
from understudy.privacy import Budget, GaussianEvent, Ledger

SCRIPT = Path(__file__).parent / "several_processes.py"
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 3)).round(3)
    frame = pd.DataFrame(values, columns=["a", "b", "c"])
    frame.iloc[300:].to_csv(tmp_path / "public.csv", index=False)
    frame = frame.iloc[:300].assign(ill=np.where(values[:300, 0] + values[:300, 1] > 0, "yes", "no"))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    Ledger.create(tmp_path / "ledger.db").add_dataset("ward", epsilon=5.0, delta=1e-3)
    return tmp_path


def labels(folder: Path) -> list[int]:
    return registry.load(folder).labels_.tolist()  # type: ignore[attr-defined]


# ---- real processes --------------------------------------------------------------------------------------------------


def start(place: Path, count: int, killed: int | None = None) -> list[tuple[int, str]]:
    """So many processes of one run, of which number 2 may be killed after two rounds: how each ended, and what it said."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | {"JAX_PLATFORMS": "cpu"}
    started = [
        subprocess.Popen(
            [
                sys.executable,
                str(SCRIPT),
                str(place),
                *map(str, (port, count, number, killed if number == 2 else None)),
            ],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(count)
    ]
    try:
        said = [process.communicate(timeout=1500)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    return [(process.returncode, text) for process, text in zip(started, said, strict=True)]


def test_of_four_processes_one_is_killed_and_two_go_on_as_one_would_have_done(place: Path) -> None:
    ended = start(place, 4, killed=4)
    assert ended[2][0] == -signal.SIGKILL
    for number in (0, 1, 3):
        code, said = ended[number]
        assert code != 0
        assert "another process of this run has ended" in said or "another task died" in said, said
    assert not (place / "release").exists()
    kept = sorted((place / "release.votes.private").iterdir())
    assert len(kept) >= 4
    assert {file.stat().st_mode & 0o777 for file in kept} == {0o600}

    again = start(place, 2)
    assert [(code, said.split()[-1]) for code, said in again] == [(0, "released"), (0, "voted")], again
    assert not list(place.glob("*.private"))
    (entry,) = [one for one in Ledger(place / "ledger.db").entries("ward") if one.state != "returned"]
    assert (entry.state, entry.reserved.epsilon) == ("committed", 4.0)

    found = labels(place / "release")
    (place / "release").rename(place / "of four")
    classify(place, Together(place / "release.private"))
    assert labels(place / "release") == found


# ---- one process, stopped and started again --------------------------------------------------------------------------


class Stopped(Exception):
    pass


def classify(place: Path, together: Together | None, ledger: bool = False, **settings: Any) -> Any:
    given = {"teachers": 24, "estimator": "network", "unsafe_noise_seed": 7, **settings}
    asked = request(place, str(place / "ledger.db") if ledger else None)
    return classify_table(asked, **given, together=None if together is None else lambda: together)


def test_teachers_in_blocks_say_what_they_say_at_once(place: Path) -> None:
    for estimator in (None, "network", "experts"):
        said = []
        for together in (None, Together(place / "release.private")):
            made = classify(place, together, estimator=estimator, random_state=0)
            said.append((made.model.labels_.tolist(), made.model.private_agreement_))
            (place / "release").rename(place / f"{estimator} {together is None}")
        assert said[0] == said[1]


def test_a_run_that_is_stopped_goes_on_and_trains_no_block_twice(place: Path) -> None:
    def stop(done: int, of: int) -> None:
        if done == 3:
            raise Stopped

    with pytest.raises(Stopped):
        classify(place, Together(place / "release.private", tell=stop), ledger=True)
    kept = {file: file.stat().st_mtime_ns for file in (place / "release.votes.private").iterdir()}
    assert len(kept) == 3
    seen: list[int] = []

    def look(done: int, of: int) -> None:
        seen.append(done)
        assert {file: file.stat().st_mtime_ns for file in kept} == kept

    classify(place, Together(place / "release.private", tell=look), ledger=True)
    assert seen == [3, 4, 5, 6]
    assert [one.state for one in Ledger(place / "ledger.db").entries("ward")][-1] == "committed"
    assert Ledger(place / "ledger.db").spent("ward").epsilon <= 4.0


def test_labels_that_were_drawn_are_not_drawn_or_charged_again(place: Path) -> None:
    def in_the_way(done: int, of: int) -> None:
        if done == of:  # from now on the release cannot be written, but labels can be drawn
            (place / "release").mkdir()
            (place / "release" / "theirs.txt").write_text("not ours")

    with pytest.raises(InputError):
        classify(place, Together(place / "release.private", tell=in_the_way), ledger=True, unsafe_noise_seed=None)
    drawn = (place / "release.private" / "prelude.log").read_bytes()
    assert drawn
    (place / "release" / "theirs.txt").unlink()
    (place / "release").rmdir()
    log: list[bytes] = []

    def look(done: int, of: int) -> None:
        log.append((place / "release.private" / "prelude.log").read_bytes())

    made = classify(place, Together(place / "release.private", tell=look), ledger=True, unsafe_noise_seed=None)
    assert log == [drawn]
    assert (
        np.frombuffer(drawn[-made.model.voting_.asked * 8 :], np.int64).tolist().count(-1) <= made.model.voting_.asked
    )
    held = [one for one in Ledger(place / "ledger.db").entries("ward") if one.state == "committed"]
    assert len(held) == 1


def test_labels_of_a_known_seed_do_not_go_on_as_if_they_were_private(place: Path) -> None:
    """A certificate is marked by the noise of the run that made it; the labels may be of the run before."""

    def in_the_way(done: int, of: int) -> None:
        if done == of:
            (place / "release").mkdir()
            (place / "release" / "theirs.txt").write_text("not ours")

    with pytest.raises(InputError):
        classify(place, Together(place / "release.private", tell=in_the_way))
    assert (place / "release.private" / "prelude.log").read_bytes()
    (place / "release" / "theirs.txt").unlink()
    (place / "release").rmdir()
    with pytest.raises(InputError, match="of another run: `unsafe_noise_seed` was 7 there and is None now"):
        classify(place, Together(place / "release.private"), unsafe_noise_seed=None)


def test_a_run_does_not_go_on_with_another_table_or_other_settings(place: Path) -> None:
    def stop(done: int, of: int) -> None:
        if done == 3:
            raise Stopped

    with pytest.raises(Stopped):
        classify(place, Together(place / "release.private", tell=stop))
    with pytest.raises(InputError, match="of another run: `teachers` was 24 there and is 12 now"):
        classify(place, Together(place / "release.private"), teachers=12)
    frame = pd.read_csv(place / "rows.csv")
    frame.loc[5, "a"] += 1
    frame.to_csv(place / "rows.csv", index=False)
    with pytest.raises(InputError, match="the rows of the table are not the same"):
        classify(place, Together(place / "release.private"))


def test_what_several_processes_do_not_draw_is_refused_before_anything_is_spent(place: Path) -> None:
    def never() -> Together:
        raise AssertionError("met the others before everything was checked")

    with pytest.raises(InputError, match="nobody says the classes"):
        classify_table(replace(request(place), classes=None), teachers=24, together=never)
    with pytest.raises(InputError, match="every teacher needs at least one row"):
        classify_table(request(place), teachers=1000, together=never)


# ---- blocks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InThreads(Processes):
    """Processes of a run as threads of one, which meet at a barrier."""

    barrier: Any = None
    said: Any = None

    def gather(self, values: np.ndarray) -> np.ndarray:
        self.said[self.number] = values
        self.barrier.wait()
        found = np.stack([self.said[number] for number in range(self.count)])
        self.barrier.wait()
        return found


def together(count: int, work: Callable[[InThreads], Any]) -> list[Any]:
    barrier, said = threading.Barrier(count), {}
    found: dict[int, Any] = {}

    def one(number: int) -> None:
        try:
            found[number] = work(InThreads(number, count, barrier, said))
        except InputError as error:
            found[number] = str(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[number] for number in range(count)]


class Asked:
    """Votes of teachers that can be told apart, and who was asked how often."""

    def __init__(self) -> None:
        self.firsts: list[int] = []

    def __call__(self, first: int, some: Shards) -> np.ndarray:
        self.firsts.append(first)
        return np.array([[some.teachers, int(some.index[0, 0])], [first, 1]], np.int32)


@pytest.mark.parametrize("own_folders", [False, True])
@pytest.mark.parametrize("counts", [(4, 2), (1, 3), (3, 1), (20, 20)])
def test_each_block_is_asked_once_whoever_has_it(tmp_path: Path, counts: tuple[int, int], own_folders: bool) -> None:
    dealt, asked = shards(120, 30, seed=1), Asked()
    expected = VoteBlocks(tmp_path / "alone.private").votes(b"run", dealt, Asked())
    assert expected[0, 0] == 30

    def work(processes: InThreads) -> np.ndarray:
        name = f"{processes.number}.private" if own_folders else "all.private"
        return VoteBlocks(tmp_path / name, processes).votes(b"run", dealt, asked)

    for count in counts:
        for votes in together(count, work):
            assert votes.tolist() == expected.tolist()
    # A folder of one's own that takes no part any more takes its blocks along.
    if not own_folders or counts[0] <= counts[1]:
        assert sorted(asked.firsts) == [first for first, _ in blocks_of(30)]


def test_the_first_of_several_processes_alone_draws_and_pays(tmp_path: Path) -> None:
    dealt = shards(120, 30, seed=1)
    budgets = [Budget(2.0, 1e-5) for _ in range(3)]

    def work(processes: InThreads) -> tuple[list[int], list[int]]:
        budget = budgets[processes.number]

        def answer(votes: np.ndarray) -> np.ndarray:
            budget.charge(GaussianEvent(10.0))
            return votes[:, 0].astype(np.int64)

        run = Together(tmp_path / "release.private", processes)
        votes, answers = run.asked({"seed": 1}, [np.arange(3)], dealt, Asked(), answer, budget)
        return votes[:, 0].tolist(), answers.tolist()

    said = together(3, work)
    assert [answers for _, answers in said] == [said[0][0], [], []]
    assert [len(budget.events) for budget in budgets] == [1, 0, 0]
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "release.private", tmp_path / "release.votes.private")]
    assert modes == [0o700, 0o700]


def test_votes_are_for_the_owners_eyes_only_in_a_folder_that_was_there(tmp_path: Path) -> None:
    folder = tmp_path / "all.private"
    folder.mkdir(mode=0o755)
    VoteBlocks(folder).votes(b"run", shards(120, 30, seed=1), Asked())
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_a_folder_of_somebody_else_is_not_taken_and_so_never_removed(place: Path) -> None:
    folder = place / "release.votes.private"
    folder.mkdir(mode=0o755)
    (folder / "theirs.txt").write_text("not ours")
    with pytest.raises(InputError, match=r"holds more than votes \(it has theirs.txt\)"):
        classify(place, Together(place / "release.private"), ledger=True)
    assert [file.name for file in folder.iterdir()] == ["theirs.txt"]
    assert folder.stat().st_mode & 0o777 == 0o755
    assert not (place / "release.private").exists()
    assert Ledger(place / "ledger.db").spent("ward").epsilon == 0
    (folder / "theirs.txt").unlink()
    (folder / f".{'0' * 12}-{'0' * 32}-000.npy").write_bytes(b"what a killed process was about to write")
    classify(place, Together(place / "release.private"), ledger=True)
    assert not folder.exists()


def test_votes_of_another_run_in_the_same_folder_are_not_taken(tmp_path: Path) -> None:
    """Dealt by another seed, a row may have been another teacher's: in votes of both runs it would count twice."""
    blocks, asked = VoteBlocks(tmp_path / "all.private"), Asked()
    for run, seed in ((b"one", 1), (b"another", 2), (b"one", 1)):
        dealt = shards(120, 30, seed=seed)
        said = blocks.votes(run, dealt, asked)
        assert said[0].tolist() == [30, sum(int(dealt.index[first, 0]) for first, _ in blocks_of(30))]
    assert len(asked.firsts) == 2 * len(blocks_of(30))


def test_processes_that_are_not_about_to_do_the_same_all_refuse(tmp_path: Path) -> None:
    def work(processes: InThreads) -> np.ndarray:
        run = b"one table" if processes.number != 2 else b"another table"
        return VoteBlocks(tmp_path / "all.private", processes).votes(run, shards(120, 30, seed=1), Asked())

    said = together(3, work)
    assert all("process 2 is not about to do the same as process 0" in text for text in said)
    assert not (tmp_path / "all.private").exists()


@pytest.mark.parametrize("teachers", [1, 4, 5, 63, 256, 257, 4000])
def test_blocks_cover_all_teachers(teachers: int) -> None:
    blocks = blocks_of(teachers)
    assert [place for first, end in blocks for place in range(first, end)] == list(range(teachers))
    assert len(blocks) <= 64


def test_a_damaged_file_of_votes_is_said(tmp_path: Path) -> None:
    dealt = shards(120, 30, seed=1)
    VoteBlocks(tmp_path / "all.private").votes(b"run", dealt, Asked())
    file = min((tmp_path / "all.private").iterdir())
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(InputError, match=r"is damaged .* remove it"):
        VoteBlocks(tmp_path / "all.private").votes(b"run", dealt, Asked())
