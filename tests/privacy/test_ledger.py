"""The ledger's rules: limits, settling once, a history that only grows."""

from __future__ import annotations

import getpass
import os
import pickle
import socket
import sqlite3
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy.ledger import Cost, Ledger, check_limit

NAME = "patients"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger.create(tmp_path / "ledger.db")
    made.add_dataset(NAME, epsilon=3.0, delta=1e-5, note="discharge letters")
    return made


# Where a ledger is, and how it comes to be


def test_a_new_ledger_is_for_its_owner_alone_and_leaves_nothing_else(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = Ledger.create(tmp_path / "ledger.db")
    finally:
        os.umask(before)
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert made.path.stat().st_nlink == 1
    assert os.listdir(tmp_path) == ["ledger.db"]
    assert made.datasets() == ()
    assert made.history() == ()


def test_create_does_not_touch_what_is_there(ledger: Ledger) -> None:
    before = ledger.path.read_bytes()
    with pytest.raises(InputError, match=r"already a file at .*ledger\.db"):
        Ledger.create(ledger.path)
    assert Ledger.create(ledger.path, exist_ok=True).datasets() == ledger.datasets()
    assert ledger.path.read_bytes() == before


def test_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = Ledger.create("sqlite:///odd name?#%20.db")
    assert made.path == tmp_path / "odd name?#%20.db"
    monkeypatch.chdir("/")
    assert made.datasets() == (), "a relative path means the folder it was given in"
    assert Ledger(f"sqlite:///{made.path}").path == made.path
    assert Ledger(str(made.path)).path == made.path
    assert repr(made) == f"Ledger('{made.path}')"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql+psycopg://me:hunter2@db/ledger", r"begins with postgresql\+psycopg://"),
        ("mysql://me:hunter2@db/ledger", "begins with mysql://"),
        ("sqlite://ledger.db", "begins with sqlite://"),
        ("sqlite:///", "not the name of a file"),
        ("", "not the name of a file"),
        ("a\0b", "not the name of a file"),
    ],
)
@pytest.mark.parametrize("make", [Ledger, Ledger.create])
def test_addresses_it_does_not_know(make: Callable[[str], Ledger], url: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make(url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("timeout", [-1, float("nan"), float("inf"), "5", None])
def test_timeout_must_be_a_number_of_seconds(ledger: Ledger, timeout: float) -> None:
    with pytest.raises(InputError, match="timeout"):
        Ledger(ledger.path, timeout=timeout)


# Datasets and amounts


def test_a_dataset_is_added_once(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="'patients' is already in the ledger"):
        ledger.add_dataset(NAME, epsilon=9.0, delta=0.5)
    (dataset,) = ledger.datasets()
    assert dataset == ledger.dataset(NAME)
    assert (dataset.limit, dataset.note, dataset.entries) == (Cost(3.0, 1e-5), "discharge letters", ())


def test_an_unknown_dataset_names_the_known_ones(ledger: Ledger) -> None:
    ledger.add_dataset("loans", epsilon=1, delta=0)
    for ask in (ledger.spent, ledger.remaining, ledger.entries, ledger.history, ledger.dataset):
        with pytest.raises(InputError, match=r"'patient' is not in the ledger .* holds 'patients', 'loans'"):
            ask("patient")
    with pytest.raises(InputError, match="not in the ledger"):
        ledger.reserve("patient", epsilon=0.1, delta=0, purpose="typo")


@pytest.mark.parametrize("name", ["", " patients", "a\nb", "a\x1b[31m", "\ud800", "x" * 1001, 7, None])
def test_names_that_people_could_not_read(ledger: Ledger, name: str) -> None:
    with pytest.raises(InputError, match="printable"):
        ledger.add_dataset(name, epsilon=1.0, delta=0.0)
    with pytest.raises(InputError, match="printable"):
        ledger.spent(name)
    with pytest.raises(InputError, match="printable"):
        ledger.reserve(NAME, epsilon=0.1, delta=0.0, purpose=name)
    assert len(ledger.history()) == 1


def test_a_note_is_one_printable_line() -> None:
    with pytest.raises(InputError, match="note"):
        check_limit(NAME, 1.0, 0.0, note="two\nlines")


BAD = [float("nan"), float("inf"), -float("inf"), -1.0, -5e-324, 10**400, True, "1", None, 1j]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("unit", ["epsilon", "delta"])
def test_amounts_that_are_none(ledger: Ledger, unit: str, bad: float) -> None:
    reservation = ledger.reserve(NAME, epsilon=1.0, delta=1e-6, purpose="run")
    before = ledger.path.read_bytes()
    cost: dict[str, Any] = {"epsilon": 0.1, "delta": 1e-7} | {unit: bad}
    with pytest.raises(InputError, match=f"dataset 'other': {unit} "):
        ledger.add_dataset("other", **cost)
    with pytest.raises(InputError, match=f"reserve: {unit} "):
        ledger.reserve(NAME, **cost, purpose="run")
    if bad is not None:
        with pytest.raises(InputError, match=f"commit: {unit} "):
            reservation.commit(**cost)
    assert ledger.path.read_bytes() == before


def test_a_delta_of_one_promises_nothing(ledger: Ledger) -> None:
    with pytest.raises(InputError, match=r"delta \(=1\.0\) must be below 1"):
        ledger.add_dataset("other", epsilon=1.0, delta=1)
    with pytest.raises(InputError, match="must be below 1"):
        ledger.reserve(NAME, epsilon=0.1, delta=1.5, purpose="run")


def test_numbers_of_other_kinds_are_kept_as_plain_decimals(ledger: Ledger) -> None:
    ledger.reserve(NAME, epsilon=np.float64(0.1), delta=-0.0, purpose="numpy")
    ledger.reserve(NAME, epsilon=1, delta=0, purpose="whole numbers")
    assert [(event.epsilon, event.delta) for event in ledger.history()] == [
        ("3.0", "1e-05"),
        ("0.1", "0.0"),
        ("1.0", "0.0"),
    ]


# Sums and limits


def test_ten_tenths_fit_one_and_an_eleventh_of_any_size_does_not(ledger: Ledger) -> None:
    ledger.add_dataset("tenths", epsilon=1.0, delta=3e-6)
    for _ in range(10):
        ledger.reserve("tenths", epsilon=0.1, delta=3e-7, purpose="a tenth")
    assert ledger.spent("tenths") == Cost(1.0, 3e-6)
    assert ledger.remaining("tenths") == Cost(0.0, 0.0)
    with pytest.raises(BudgetExceeded) as caught:
        ledger.reserve("tenths", epsilon=5e-324, delta=0.0, purpose="dust")
    assert (caught.value.requested, caught.value.remaining) == (5e-324, 0.0)
    with pytest.raises(BudgetExceeded, match="delta"):
        ledger.reserve("tenths", epsilon=0.0, delta=1e-300, purpose="dust")
    ledger.reserve("tenths", epsilon=0.0, delta=0.0, purpose="nothing costs nothing")


def test_refusal_says_what_was_asked_and_what_is_left(ledger: Ledger) -> None:
    ledger.reserve(NAME, epsilon=2.9, delta=0.0, purpose="first")
    before = ledger.path.read_bytes()
    with pytest.raises(BudgetExceeded, match=r"'patients' \(second\).*epsilon: 0\.2\. Remaining: 0\.1\.") as caught:
        ledger.reserve(NAME, epsilon=0.2, delta=0.0, purpose="second")
    assert caught.value.difference == pytest.approx(0.1)
    with pytest.raises(BudgetExceeded, match=r"Requested delta: 2e-05\. Remaining: 1e-05\."):
        ledger.reserve(NAME, epsilon=0.1, delta=2e-5, purpose="second")
    assert ledger.path.read_bytes() == before


def test_datasets_do_not_share(ledger: Ledger) -> None:
    ledger.add_dataset("loans", epsilon=1.0, delta=0.0)
    ledger.reserve(NAME, epsilon=3.0, delta=1e-5, purpose="all of it")
    ledger.reserve("loans", epsilon=1.0, delta=0.0, purpose="all of it")
    assert [dataset.remaining for dataset in ledger.datasets()] == [Cost(0, 0), Cost(0, 0)]


# Settling


def test_commit_gives_the_difference_back(ledger: Ledger) -> None:
    reservation = ledger.reserve(NAME, epsilon=1.0, delta=1e-6, purpose="synthesize")
    assert ledger.spent(NAME) == Cost(1.0, 1e-6)
    reservation.commit(epsilon=0.97, delta=0.0, certificate={"epsilon": 0.97, "events": ["é"]})
    assert ledger.spent(NAME) == Cost(0.97, 0.0)
    assert ledger.remaining(NAME) == Cost(2.03, 1e-5)
    (entry,) = ledger.entries(NAME)
    assert (entry.id, entry.state, entry.purpose) == (reservation.id, "committed", "synthesize")
    assert (entry.reserved, entry.counted) == (Cost(1.0, 1e-6), Cost(0.97, 0.0))
    assert entry.certificate == {"epsilon": 0.97, "events": ["é"]}
    assert entry.settled is not None
    assert entry.settled >= entry.started


def test_commit_without_amounts_spends_it_all(ledger: Ledger) -> None:
    ledger.reserve(NAME, epsilon=1.0, delta=1e-6, purpose="run").commit()
    assert ledger.spent(NAME) == Cost(1.0, 1e-6)
    assert ledger.entries(NAME)[0].certificate is None


@pytest.mark.parametrize("over", [{"epsilon": 1.0000000000000002}, {"delta": 2e-6}])
def test_commit_is_at_most_what_was_reserved(ledger: Ledger, over: dict[str, Any]) -> None:
    reservation = ledger.reserve(NAME, epsilon=1.0, delta=1e-6, purpose="run")
    with pytest.raises(InputError, match=r"is more than the .* still counts"):
        reservation.commit(**over)
    assert ledger.entries(NAME)[0].state == "reserved"


@pytest.mark.parametrize(
    "stated", [{"epsilon": 2.0, "delta": 1e-6}, {"epsilon": 1.0, "delta": 1e-5}, {"epsilon": None}]
)
def test_a_certificate_above_the_reservation_is_refused(ledger: Ledger, stated: dict[str, object]) -> None:
    reservation = ledger.reserve(NAME, epsilon=1.0, delta=1e-6, purpose="run")
    with pytest.raises(InputError, match="the certificate states"):
        reservation.commit(certificate=stated)
    assert ledger.spent(NAME).epsilon == 1.0


@pytest.mark.parametrize("certificate", [{"epsilon": float("nan")}, {"x": object()}, {"x": {1, 2}}])
def test_a_certificate_is_plain_json(ledger: Ledger, certificate: dict[str, object]) -> None:
    reservation = ledger.reserve(NAME, epsilon=1.0, delta=1e-6, purpose="run")
    with pytest.raises(InputError, match="not plain JSON"):
        reservation.commit(certificate=certificate)
    assert ledger.entries(NAME)[0].state == "reserved"


def test_release_gives_everything_back_and_stays_in_the_history(ledger: Ledger) -> None:
    reservation = ledger.reserve(NAME, epsilon=1.0, delta=1e-6, purpose="run")
    with pytest.raises(InputError, match="reason"):
        reservation.release(reason="")
    reservation.release(reason="the file would not open")
    assert ledger.spent(NAME) == Cost(0.0, 0.0)
    (entry,) = ledger.entries(NAME)
    assert (entry.state, entry.reserved, entry.counted) == ("returned", Cost(1.0, 1e-6), Cost(0.0, 0.0))
    last = ledger.history(NAME)[-1]
    assert (last.action, last.reservation, last.note) == ("release", entry.id, "the file would not open")


def test_a_reservation_is_settled_once(ledger: Ledger) -> None:
    committed = ledger.reserve(NAME, epsilon=1.0, delta=0.0, purpose="run")
    released = ledger.reserve(NAME, epsilon=1.0, delta=0.0, purpose="run")
    committed.commit(epsilon=0.5)
    released.release(reason="not needed")
    lines = len(ledger.history())
    for reservation, state in ((committed, "committed"), (released, "returned")):
        with pytest.raises(InputError, match=f"was {state} at"):
            reservation.commit()
        with pytest.raises(InputError, match=f"was {state} at"):
            reservation.release(reason="again")
    assert len(ledger.history()) == lines
    assert ledger.spent(NAME) == Cost(0.5, 0.0)


def test_a_reservation_of_another_file_is_refused(ledger: Ledger) -> None:
    reservation = ledger.reserve(NAME, epsilon=1.0, delta=0.0, purpose="run")
    ledger.path.unlink()
    Ledger.create(ledger.path).add_dataset(NAME, epsilon=1.0, delta=0.0)
    with pytest.raises(InputError, match="not the one it was made in"):
        reservation.commit()


def test_an_exception_does_not_give_a_reservation_back(ledger: Ledger) -> None:
    def run() -> None:
        ledger.reserve(NAME, epsilon=1.0, delta=0.0, purpose="fails after its first draw")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()
    assert ledger.spent(NAME) == Cost(1.0, 0.0)


def test_ledger_and_reservation_travel_to_workers(ledger: Ledger) -> None:
    reservation = ledger.reserve(NAME, epsilon=1.0, delta=0.0, purpose="run")
    there = pickle.loads(pickle.dumps((ledger, reservation)))
    there[1].commit(epsilon=0.25)
    assert there[0].spent(NAME) == ledger.spent(NAME) == Cost(0.25, 0.0)


def test_threads_share_one_ledger(ledger: Ledger) -> None:
    def charge(_: int) -> bool:
        try:
            ledger.reserve(NAME, epsilon=0.25, delta=0.0, purpose="thread").commit(epsilon=0.2)
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        granted = sum(pool.map(charge, range(24)))
    assert len(ledger.entries(NAME)) == granted
    assert ledger.spent(NAME).epsilon == pytest.approx(0.2 * granted)
    assert 12 <= granted <= 15


# History


def test_history_says_who_when_and_what(ledger: Ledger) -> None:
    ledger.reserve(NAME, epsilon=1.0, delta=1e-6, purpose="run").commit(epsilon=0.5, certificate={"version": 1})
    add, reserve, commit = ledger.history()
    assert [event.id for event in (add, reserve, commit)] == [1, 2, 3]
    assert [event.action for event in (add, reserve, commit)] == ["add", "reserve", "commit"]
    assert (add.reservation, reserve.reservation, commit.reservation) == (None, None, 2)
    assert (add.note, reserve.note, commit.certificate) == ("discharge letters", "run", '{"version": 1}')
    for event in (add, reserve, commit):
        assert (event.host, event.pid, event.user) == (socket.gethostname(), os.getpid(), getpass.getuser())
        assert abs(datetime.now(UTC) - datetime.fromisoformat(event.at)) < timedelta(minutes=5)


def test_a_user_without_a_name_is_known_by_number(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nameless)
    ledger.reserve(NAME, epsilon=0.1, delta=0.0, purpose="in a container")
    assert ledger.history()[-1].user == f"uid {os.getuid()}"


COPY = (
    "INTO history SELECT {id}, at, host, pid, user, action, dataset, reservation, {epsilon}, delta, note, certificate, "
    "detail, hash "
)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE history SET epsilon = '0.0' WHERE id = 2",
        "DELETE FROM history WHERE id = 2",
        "DELETE FROM history",
        "REPLACE " + COPY.format(id=2, epsilon="'0.0'") + "FROM history WHERE id = 2",
        "REPLACE " + COPY.format(id=4, epsilon="'0.0'") + "FROM history WHERE id = 3",
        "REPLACE " + COPY.format(id=4, epsilon="'9.0'") + "FROM history WHERE id = 1",
        "INSERT " + COPY.format(id=9, epsilon="epsilon") + "FROM history WHERE id = 2",
    ],
)
def test_history_cannot_be_rewritten(ledger: Ledger, statement: str) -> None:
    ledger.reserve(NAME, epsilon=1.0, delta=0.0, purpose="run").commit(epsilon=0.5)
    before = ledger.history()
    connection = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.IntegrityError, match="history of a ledger"):
        connection.execute(statement)
    connection.close()
    assert ledger.history() == before


def test_history_of_one_dataset(ledger: Ledger) -> None:
    ledger.add_dataset("loans", epsilon=1.0, delta=0.0)
    ledger.reserve(NAME, epsilon=1.0, delta=0.0, purpose="run").commit()
    assert [event.id for event in ledger.history(NAME)] == [1, 3, 4]
    assert [event.id for event in ledger.history("loans")] == [2]


def test_whether_the_process_is_gone_is_only_said_of_this_host(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.reserve(NAME, epsilon=1.0, delta=0.0, purpose="run")
    (entry,) = ledger.entries(NAME)
    assert entry.process_gone() is False

    def foreign(pid: int, signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", foreign)
    assert entry.process_gone() is False
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    assert entry.process_gone() is None
