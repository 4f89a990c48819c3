"""What a ledger holds to wherever it is kept: runs, leases, the chain, and all of it under kills and crowds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import faults
from benchmarks.postgres_server import Server
from benchmarks.result import read
from understudy.errors import InputError
from understudy.privacy import Budget, DeltaEvent, Event, GaussianEvent, LaplaceEvent, Ledger, NoisyCounts, ledger_store
from understudy.privacy.ledger import Cost
from understudy.release import spending as spending_module
from understudy.release.spending import spending

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks and signals")


def in_a_new_process(script: str, url: str) -> str:
    before = "import os, signal, sys, time\nfrom understudy.errors import *\nfrom understudy.privacy import *\n"
    before += "from understudy.release.spending import spending\nurl = sys.argv[1]\n"
    words = [sys.executable, "-c", before + script, url]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode in (0, -9), done.stderr
    return done.stdout


# Runs


def test_the_life_of_a_run(book: Ledger, ledger_url: str) -> None:
    with spending(1.0, 1e-6, purpose="ages", method="counts", ledger=ledger_url, dataset="d") as run:
        (entry,) = book.entries("d")
        assert (entry.id, entry.state, entry.method, entry.open) == (run.run, "reserved", "counts", True)
        NoisyCounts(0.5).release([1, 2], run.budget)
        assert book.entries("d")[0].state == "drawing"
    assert [line.action for line in book.history()] == ["add", "reserve", "draw", "commit"]
    assert book.entries("d")[0].state == "committed"
    assert book.spent("d") == Cost(1.0, 1e-6)


def give_up(book: Ledger) -> None:
    """What a person does who believes that the machine of the last run is gone."""
    entry = book.entries("d")[-1]
    with book._store.transaction("write") as open_book:  # pyright: ignore[reportPrivateUsage]
        open_book.drop(entry.id)
    book.settle(entry.id, reason="its machine is gone")


def test_the_ledger_is_told_before_anything_is_drawn(book: Ledger, ledger_url: str) -> None:
    """A run that was settled by somebody else draws nothing more, publishes nothing and commits nothing."""

    def run_on() -> None:
        with spending(1.0, 0.0, purpose="ages", ledger=ledger_url, dataset="d") as run:
            give_up(book)
            with pytest.raises(InputError, match="was lost at"):
                NoisyCounts(0.5).release([1, 2], run.budget)
            assert run.budget.events == ()
            with pytest.raises(InputError, match="was lost at"):
                run.still_ours()

    with pytest.raises(InputError, match="was lost at"):
        run_on()
    assert [line.action for line in book.history()] == ["add", "reserve", "settle"]


def test_each_draw_asks_once_its_lease_is_old(book: Ledger, ledger_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(spending_module, "_clock", lambda: clock[0])

    def run_on() -> None:
        with spending(1.0, 0.0, purpose="ages", ledger=ledger_url, dataset="d") as run:
            NoisyCounts(0.25).release([1, 2], run.budget)
            give_up(book)
            _ = run.budget.noise  # lately renewed: nobody else can have it yet
            clock[0] += ledger_store.LEASE_SECONDS
            _ = run.budget.noise  # a draw that was paid for asks as well
            raise AssertionError("it went on")

    with pytest.raises(InputError, match="was lost at"):
        run_on()
    assert [line.action for line in book.history()] == ["add", "reserve", "draw", "settle"]


def test_what_failed_is_settled_at_what_it_was_charged(book: Ledger, ledger_url: str) -> None:
    def fail(*charge: Event) -> None:
        with spending(1.0, 1e-6, purpose="fails", ledger=ledger_url, dataset="d") as run:
            if charge:
                run.budget.charge(*charge)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (book.entries("d")[-1].state, book.spent("d")) == ("returned", Cost(0.0, 0.0))
    with pytest.raises(ZeroDivisionError):
        fail(LaplaceEvent(0.25), DeltaEvent(1e-7, "a share"))
    assert (book.entries("d")[-1].state, book.spent("d")) == ("committed", Cost(0.25, 1e-7))
    assert book.history()[-1].note == "failed; settled at what it was charged"


def test_what_a_budget_has_cost_wherever_it_stops() -> None:
    budget = Budget(2.0, 1e-5)
    assert budget.cost_if_stopped() == (0.0, 0.0)
    budget.charge(LaplaceEvent(0.25))
    budget.charge(LaplaceEvent(0.25), DeltaEvent(1e-7, "a share"))
    assert budget.cost_if_stopped() == (0.5, 1e-7)
    budget.charge(GaussianEvent(20.0))
    epsilon, delta = budget.cost_if_stopped()
    assert (epsilon, delta) == (budget.spent().epsilon, 1e-5)
    assert 0.5 < epsilon < 1
    budget.charge(GaussianEvent(20.0))
    assert budget.cost_if_stopped() == (2.0, 1e-5), (
        "two charges that need delta: where it stopped may depend on the first"
    )


def test_runs_of_dead_processes_are_settled_by_the_next(book: Ledger, ledger_url: str) -> None:
    """Before the first draw a run cost nothing; after it nobody knows, so it counts."""
    for draws in (False, True):
        in_a_new_process(
            f"with spending(1.0, 1e-6, purpose='dies', ledger=url, dataset='d') as run:\n"
            f"    NoisyCounts(0.5).release([1, 2], run.budget) if {draws} else None\n"
            f"    os.kill(os.getpid(), signal.SIGKILL)\n",
            ledger_url,
        )
    assert [entry.state for entry in book.entries("d")] == ["returned", "drawing"]
    book.reserve("d", epsilon=1.0, delta=0.0, purpose="the next")
    first, second, _ = book.entries("d")
    assert (first.state, first.counted) == ("returned", Cost(0.0, 0.0))
    assert (second.state, second.counted, second.open) == ("lost", Cost(1.0, 1e-6), False)
    with pytest.raises(InputError, match="which is less"):
        book.settle(second.id, reason="it published more", epsilon=2.0)
    book.settle(second.id, reason="nothing left the machine", epsilon=0.0, delta=0.0)
    assert book.spent("d") == Cost(1.0, 0.0)


def test_a_lease_elsewhere_holds_until_it_ends(book: Ledger, ledger_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a process on another machine only the time tells that it is dead."""
    monkeypatch.setattr(ledger_store, "here", lambda: "elsewhere")
    far = book.reserve("d", epsilon=1.0, delta=0.0, purpose="far away", leased=True)
    far.begin()
    monkeypatch.undo()
    with pytest.raises(InputError, match="on elsewhere"):
        book.settle(far.id, reason="I cannot see it")
    with pytest.raises(InputError, match="is held by process"):
        far.commit()
    monkeypatch.setattr(ledger_store, "here", lambda: "elsewhere")
    monkeypatch.setattr(ledger_store, "LEASE_SECONDS", -1.0)
    far.renew()
    monkeypatch.undo()
    book.reserve("d", epsilon=1.0, delta=0.0, purpose="the next")
    assert book.entries("d")[0].state == "lost"
    monkeypatch.setattr(ledger_store, "here", lambda: "elsewhere")
    with pytest.raises(InputError, match="was lost at"):
        far.renew()


def test_a_run_that_was_stopped_and_published_never_counts_for_less(book: Ledger) -> None:
    held = book.reserve("d", epsilon=1.0, delta=0.0, purpose="run", resumable=True)
    held.begin()
    held.commit(epsilon=0.5, resumable=True)
    again = book.resume(held.id, held.token, "changed", dataset="d", epsilon=1.0, delta=0.0)
    assert (again.epsilon, book.spent("d").epsilon) == (0.5, 0.5)
    with pytest.raises(InputError, match="is not ours"):
        held.renew()
    again.leave()
    with pytest.raises(InputError, match=r"was stopped and published at 0\.5"):
        book.settle(held.id, reason="it went no further", epsilon=0.1)
    book.settle(held.id, reason="it went no further")
    assert book.spent("d").epsilon == 0.5


@pytest.mark.parametrize("units", [("row", "person"), ("person", "row")])
def test_a_run_for_one_unit_is_not_resumed_for_another(book: Ledger, units: tuple[str, str]) -> None:
    begun, other = units
    held = book.reserve("d", epsilon=1.0, delta=0.0, purpose="run", resumable=True, unit=begun)
    held.begin()
    held.leave()
    with pytest.raises(InputError, match=f"was reserved for one {begun}, and this run is for one {other}"):
        book.resume(held.id, held.token, "changed", dataset="d", epsilon=1.0, delta=0.0, unit=other)
    again = book.resume(held.id, held.token, "changed", dataset="d", epsilon=1.0, delta=0.0, unit=begun)
    with pytest.raises(InputError, match="do not add up to a promise"):
        book.reserve("d", epsilon=1.0, delta=0.0, purpose="another", unit=other)
    again.commit()


def test_a_process_is_told_from_a_later_one_with_its_number() -> None:
    mine = os.getpid()
    assert not ledger_store.is_gone(mine, ledger_store.began(mine))
    assert not ledger_store.is_gone(mine, ""), "where the system does not say when it began, it lives"
    if ledger_store.began(mine):
        assert ledger_store.is_gone(mine, "1")
    with subprocess.Popen([sys.executable, "-c", ""]) as other:
        other.wait()
    assert ledger_store.is_gone(other.pid, "")


def test_the_token_is_not_in_the_ledger(book: Ledger) -> None:
    held = book.reserve("d", epsilon=1.0, delta=0.0, purpose="run")
    assert held.token not in repr(held)
    assert all(held.token not in str(line) for line in book.history())
    with pytest.raises(InputError, match="is not the run of this workspace"):
        book.resume(held.id, "guessed", "x", dataset="d", epsilon=1.0, delta=0.0)


def test_a_drawing_run_is_not_given_back(book: Ledger) -> None:
    held = book.reserve("d", epsilon=1.0, delta=0.0, purpose="run")
    held.begin()
    with pytest.raises(InputError, match="something may have been drawn"):
        held.release(reason="I would like it back")
    held.commit(epsilon=0.5)
    assert book.spent("d").epsilon == 0.5


# The chain


def test_a_head_that_was_written_down_shows_what_was_taken_out(book: Ledger) -> None:
    heads = [str(book.head())]
    for _ in range(3):
        book.reserve("d", epsilon=0.1, delta=0.0, purpose="run").commit()
        heads.append(str(book.head()))
    for head in heads:
        assert str(book.check(head)) == heads[-1]
    number, _, _ = heads[-1].partition(":")
    with pytest.raises(InputError, match="rolled back or replaced"):
        book.check(f"{number}:{'0' * 64}")
    with pytest.raises(InputError, match="rolled back or replaced"):
        book.check(f"{int(number) + 1}:{'0' * 64}")
    for nonsense in ("", "7", "x:y", "7:abc"):
        with pytest.raises(InputError, match="is no head"):
            book.check(nonsense)


def test_edits_of_a_file_are_noticed() -> None:
    found = faults.tampering({"flips": 60}, [7])[0]
    assert found["flips_noticed"] > 50
    assert found["flips_accepted"] == found["edits_accepted"] == found["rollbacks_accepted"] == 0


# Kills and crowds


def test_32_processes_never_overspend_and_lose_no_run(book: Ledger, ledger_url: str) -> None:
    book.add_dataset("shared", epsilon=1.0, delta=0.0)
    out = in_a_new_process(
        """
go, ready = os.pipe()
children = []
for worker in range(32):
    child = os.fork()
    if child == 0:
        os.close(ready)
        os.read(go, 1)  # all begin when the parent closes its end
        ledger = Ledger(url, timeout=1500)
        try:
            r = ledger.reserve("shared", epsilon=0.1, delta=0.0, purpose=f"worker {worker}", leased=True)
            r.begin()
            r.commit(epsilon=0.1)
        except BudgetExceeded:
            os._exit(3)
        os._exit(0)
    children.append(child)
os.close(ready)
print(*(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
""",
        ledger_url,
    )
    codes = [int(word) for word in out.split()]
    assert (codes.count(0), codes.count(3)) == (10, 22), codes
    assert book.spent("shared").epsilon == 1.0
    assert [entry.state for entry in book.entries("shared")] == ["committed"] * 10
    book.check()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_killed_workers_lose_nothing_overspend_nothing_and_publish_nothing_twice(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    running: Server | None = None if kind == "sqlite" else request.getfixturevalue("postgres")
    url = str(tmp_path / "ledger.db") if running is None else running.database("killed")
    Ledger.create(url).add_dataset("d0", epsilon=faults.LIMIT, delta=0.0)
    for kill in faults.kill_workers(url, tmp_path, 16, seed=3):
        if running is not None and kill == 8:
            running.stop("immediate")
            running.start()
    found = faults.judge(url, tmp_path)
    assert found["published"] > 0
    assert (found["lost_charges"], found["overspent"], found["double_releases"]) == (0, 0, 0), found


def test_drafts_of_killed_processes_are_removed(tmp_path: Path) -> None:
    left, fresh = tmp_path / ".ledger-old", tmp_path / ".ledger-new"
    left.write_text("half")
    fresh.write_text("half")
    os.utime(left, (0, 0))
    Ledger.create(tmp_path / "ledger.db")
    assert sorted(os.listdir(tmp_path)) == [".ledger-new", "ledger.db"]


def test_the_page_shows_what_was_measured() -> None:
    root = Path(__file__).parents[2]
    runs = read(root / "benchmarks" / "results" / "faults-full.json").table("runs")
    page = (root / "docs" / "ledger-guarantees.md").read_text("utf-8")
    for row in runs:
        assert all(row[name] in (0, None) for name in ("lost_charges", "overspent", "double_releases"))
        for names in (
            ("runs", "published", "resumed"),
            ("committed", "returned", "lost"),
            ("processes", "granted", "refused"),
        ):
            if row[names[0]] is not None:
                assert f"| {', '.join(str(row[name]) for name in names)} |" in page
    flips = runs[-1]
    assert f"Of {flips['flips']} changed digits in a ledger's file {flips['flips_noticed']} were noticed" in page
    assert flips["flips_accepted"] == flips["edits_accepted"] == flips["rollbacks_accepted"] == 0
