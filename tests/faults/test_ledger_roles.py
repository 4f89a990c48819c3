"""Who may do what with a ledger in PostgreSQL, and what its addresses show."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.postgres_server import Server
from understudy.errors import InputError
from understudy.privacy import Ledger
from understudy.privacy.ledger import Cost


@pytest.fixture
def office(postgres: Server) -> Callable[[str], str]:
    """The address of a ledger for each user, all of it in one database."""
    import psycopg

    url = postgres.database(f"office{os.urandom(4).hex()}")
    Ledger.create(url).add_dataset("d", epsilon=3.0, delta=1e-5)
    with psycopg.connect(url, autocommit=True) as connection:
        for name in ("rita", "sam", "sue", "stella", "nobody in particular"):
            exists = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone()
            if not exists:
                connection.execute(f'CREATE ROLE "{name}" LOGIN')  # pyright: ignore
    book = Ledger(url)
    for name, role in (("rita", "reader"), ("sam", "spender"), ("sue", "spender"), ("stella", "steward")):
        book.grant(name, role)
    return lambda user: url.replace("//office@", f"//{user.replace(' ', '%20')}@")


def test_the_server_says_who_may_do_what(office: Callable[[str], str]) -> None:
    rita, sam, sue, stella = (Ledger(office(name)) for name in ("rita", "sam", "sue", "stella"))
    with pytest.raises(InputError, match="does not let you"):
        Ledger(office("nobody in particular"))
    assert rita.spent("d") == Cost(0.0, 0.0)
    calls: list[Callable[[], object]] = [
        lambda: rita.reserve("d", epsilon=0.1, delta=0.0, purpose="run"),
        lambda: sam.add_dataset("mine", epsilon=9.0, delta=0.0),
        lambda: sam.set_limit("d", epsilon=9.0, delta=0.0, reason="I need it"),
        lambda: sam.grant("sam", "steward"),
        lambda: stella.grant("sam", "steward"),
    ]
    for call in calls:
        with pytest.raises(InputError, match="does not let you"):
            call()
    held = sam.reserve("d", epsilon=1.0, delta=0.0, purpose="run")
    assert sam.entries("d")[0].user == "sam"
    with pytest.raises(InputError, match="does not let you"):
        sue.settle(held.id, reason="I would like it back", epsilon=0.0)
    asked = sam.request("d", epsilon=1.0, delta=0.0, purpose="more")
    with pytest.raises(InputError, match="does not let you"):
        sue.answer(asked, approve=True, reason="a friend")
    assert stella.answer(asked, approve=True, reason="seen").state == "approved"
    stella.set_limit("d", epsilon=4.0, delta=1e-5, reason="the board agreed")
    stella.settle(held.id, reason="Sam's machine is gone", epsilon=0.5)
    assert rita.spent("d").epsilon == 0.5
    assert [line.user for line in rita.history()] == ["office", "sam", "sam", "stella", "stella", "stella"]


def test_sql_by_hand_does_not_rewrite_the_history(office: Callable[[str], str]) -> None:
    import psycopg

    sam = Ledger(office("sam"))
    sam.reserve("d", epsilon=1.0, delta=0.0, purpose="run").begin()
    line = "'2025', 'h', 1, '{user}', '{action}', 'd', {of}, '0.0', '0.0', '', NULL, '', 'x'"
    for user, statement in (
        ("sam", "UPDATE understudy.history SET epsilon = '0.0'"),
        ("sam", "DELETE FROM understudy.history"),
        ("sam", "UPDATE understudy.head SET id = 0"),
        ("sam", "INSERT INTO understudy.people VALUES ('sam', 'steward')"),
        ("sam", f"INSERT INTO understudy.history VALUES (4, {line.format(user='sam', action='release', of=2)})"),
        ("sue", f"INSERT INTO understudy.history VALUES (4, {line.format(user='sue', action='commit', of=2)})"),
        ("sue", f"INSERT INTO understudy.history VALUES (4, {line.format(user='sam', action='commit', of=2)})"),
        ("sam", f"INSERT INTO understudy.history VALUES (4, {line.format(user='sam', action='limit', of='NULL')})"),
        ("sam", f"INSERT INTO understudy.history VALUES (9, {line.format(user='sam', action='reserve', of='NULL')})"),
        ("office", "DELETE FROM understudy.history"),
        ("office", "TRUNCATE understudy.history CASCADE"),
    ):
        with psycopg.connect(office(user)) as connection, pytest.raises(psycopg.Error):
            connection.execute(statement)  # pyright: ignore
    with psycopg.connect(office("office"), autocommit=True) as connection:  # an owner who means harm is noticed
        connection.execute("ALTER TABLE understudy.history DISABLE TRIGGER ALL")
        connection.execute("UPDATE understudy.history SET epsilon = '0.1' WHERE id = 2")
    with pytest.raises(InputError, match="is damaged: line 2 of the history"):
        Ledger(office("rita"))


def test_addresses_and_errors_show_no_password(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from understudy.privacy.ledger_postgres import LedgerDatabase

    for url in (
        "postgresql://me:hunter2@db.office/ledger",
        "postgresql://me@db.office/ledger?password=hunter2&sslmode=require",
        "postgresql://me@db.office/ledger?sslmode=require&password=hunter2",
    ):
        assert "hunter2" not in LedgerDatabase(url, 1.0).address + repr(LedgerDatabase(url, 1.0))
    with pytest.raises(InputError, match="There is no ledger at"):
        Ledger(postgres.database("empty"))
    with pytest.raises(InputError, match="cannot be reached") as caught:
        Ledger("postgresql://me:hunter2@127.0.0.1:1/ledger", timeout=1.0)
    assert "hunter2" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match=r"understudy\[postgres\]"):
        Ledger("postgresql://me:hunter2@db.office/ledger")


def test_a_file_has_no_roles(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a file"):
        Ledger.create(tmp_path / "ledger.db").grant("ada", "spender")
