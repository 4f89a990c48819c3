"""Limits of datasets, people and projects, and requests that wait for somebody else."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from understudy.errors import BudgetExceeded, InputError
from understudy.privacy import Ledger
from understudy.release.spending import PROJECT, spending


def as_user(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: name)


def test_limits_of_people_and_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = str(tmp_path / "ledger.db")
    book = Ledger.create(url)
    book.add_dataset("d", epsilon=3.0, delta=1e-5)
    book.set_limit("d", epsilon=1.0, delta=1e-6, person="*", reason="for each of us")
    book.set_limit("d", epsilon=0.3, delta=0.0, project="maps", reason="a small one")
    as_user(monkeypatch, "ada")
    book.reserve("d", epsilon=1.0, delta=0.0, purpose="all of mine")
    with pytest.raises(BudgetExceeded, match="by person ada"):
        book.reserve("d", epsilon=0.1, delta=0.0, purpose="more")
    as_user(monkeypatch, "bob")
    monkeypatch.setenv(PROJECT, "maps")
    with spending(0.3, 0.0, purpose="a map", ledger=url, dataset="d"):
        pass
    with pytest.raises(BudgetExceeded, match="by project maps"), spending(
        0.1, 0.0, purpose="a map", ledger=url, dataset="d"
    ):  # fmt: skip
        pass
    monkeypatch.delenv(PROJECT)
    book.reserve("d", epsilon=0.7, delta=0.0, purpose="the rest of mine")
    assert {one.who: one.remaining.epsilon for one in book.dataset("d").allowances} == {
        "person:*": 1.0, "project:maps": 0.0, "person:ada": 0.0, "person:bob": 0.0,
    }  # fmt: skip
    with pytest.raises(InputError, match="not of both"):
        book.set_limit("d", epsilon=1.0, delta=0.0, person="ada", project="maps", reason="?")


def test_the_limit_of_a_dataset_is_raised_with_a_reason_and_never_below_what_is_spent(book: Ledger) -> None:
    book.reserve("d", epsilon=3.0, delta=0.0, purpose="all of it").commit()
    with pytest.raises(InputError, match="has spent already"):
        book.set_limit("d", epsilon=2.0, delta=1e-5, reason="less")
    with pytest.raises(InputError, match="reason"):
        book.set_limit("d", epsilon=4.0, delta=1e-5, reason="")
    book.set_limit("d", epsilon=4.0, delta=1e-5, reason="the board agreed on 3 May")
    book.reserve("d", epsilon=1.0, delta=0.0, purpose="more")
    with pytest.raises(BudgetExceeded):
        book.reserve("d", epsilon=0.1, delta=0.0, purpose="too much")
    last = book.history()[-2]
    assert (last.action, last.note) == ("limit", "the board agreed on 3 May")


def test_limits_end(book: Ledger) -> None:
    today = datetime.now(UTC).date()
    past, future = (today - timedelta(days=2)).isoformat(), (today + timedelta(days=2)).isoformat()
    book.add_dataset("old", epsilon=1.0, delta=0.0, until=past)
    with pytest.raises(InputError, match=f"held until {past}"):
        book.reserve("old", epsilon=0.1, delta=0.0, purpose="late")
    book.set_limit("old", epsilon=1.0, delta=0.0, reason="for two days more", until=future)
    book.set_limit("old", epsilon=0.5, delta=0.0, person="*", reason="for a while", until=past)
    with pytest.raises(InputError, match="could be spent until"):
        book.reserve("old", epsilon=0.1, delta=0.0, purpose="late")
    book.set_limit("old", epsilon=0.5, delta=0.0, person="*", reason="longer", until=future)
    book.reserve("old", epsilon=0.1, delta=0.0, purpose="in time")
    for wrong in ("tomorrow", "2027-2-3", "20270203", "2027-02-30"):
        with pytest.raises(InputError, match="must be a day"):
            book.add_dataset("new", epsilon=1.0, delta=0.0, until=wrong)


def test_a_request_waits_for_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = Ledger.create(tmp_path / "ledger.db")
    book.add_dataset("d", epsilon=3.0, delta=1e-5)
    book.set_limit("d", epsilon=0.0, delta=0.0, person="*", reason="nothing without a word")
    as_user(monkeypatch, "ada")
    with pytest.raises(BudgetExceeded):
        book.reserve("d", epsilon=1.0, delta=1e-6, purpose="a table for the press")
    asked = book.request("d", epsilon=1.0, delta=1e-6, purpose="a table for the press")
    other = book.request("d", epsilon=2.0, delta=0.0, purpose="and another")
    with pytest.raises(InputError, match="your own"):
        book.answer(asked, approve=True, reason="I think so")
    with pytest.raises(BudgetExceeded):
        book.reserve("d", epsilon=1.0, delta=1e-6, purpose="not yet")
    as_user(monkeypatch, "bob")
    assert book.answer(asked, approve=True, reason="seen").state == "approved"
    assert book.answer(other, approve=False, reason="too much").state == "refused"
    with pytest.raises(InputError, match="approved already"):
        book.answer(asked, approve=False, reason="I changed my mind")
    with pytest.raises(InputError, match="no request 99"):
        book.answer(99, approve=True, reason="?")
    with pytest.raises(BudgetExceeded):
        book.reserve("d", epsilon=1.0, delta=1e-6, purpose="not mine")
    as_user(monkeypatch, "ada")
    book.reserve("d", epsilon=1.0, delta=1e-6, purpose="a table for the press")
    with pytest.raises(BudgetExceeded):
        book.reserve("d", epsilon=0.1, delta=0.0, purpose="more")
