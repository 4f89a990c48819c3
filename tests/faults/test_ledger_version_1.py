"""A ledger of version 1 is brought up to date, or stays as it is."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from understudy.errors import InputError
from understudy.privacy import Ledger
from understudy.privacy.ledger import Cost

pytestmark = pytest.mark.skipif(os.name != "posix", reason="who may read a file")

VERSION_1 = """
CREATE TABLE history (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, user TEXT NOT NULL,
    action TEXT NOT NULL CHECK (action IN ('add', 'reserve', 'commit', 'release')), dataset TEXT NOT NULL,
    reservation INTEGER REFERENCES history (id), epsilon TEXT NOT NULL, delta TEXT NOT NULL, note TEXT NOT NULL,
    certificate TEXT, CHECK ((reservation IS NULL) = (action IN ('add', 'reserve')))
);
CREATE INDEX history_by_dataset ON history (dataset, id);
CREATE INDEX history_by_reservation ON history (reservation);
CREATE TRIGGER history_is_not_rewritten BEFORE UPDATE ON history
BEGIN SELECT RAISE(ABORT, 'the history of a ledger is never rewritten'); END;
CREATE TRIGGER history_is_not_deleted BEFORE DELETE ON history
BEGIN SELECT RAISE(ABORT, 'the history of a ledger is never deleted'); END;
PRAGMA application_id = 0x554C4447;
PRAGMA user_version = 1;
INSERT INTO history VALUES
    (1, '2025-01-01T10:00:00.000+00:00', 'ward', 7, 'ada', 'add', 'd', NULL, '3.0', '1e-05', 'letters', NULL),
    (2, '2025-01-02T10:00:00.000+00:00', 'ward', 8, 'ada', 'reserve', 'd', NULL, '1.0', '1e-06', 'first', NULL),
    (3, '2025-01-02T11:00:00.000+00:00', 'ward', 8, 'ada', 'commit', 'd', 2, '0.5', '0.0', '', '{"epsilon": 0.5}'),
    (4, '2025-01-03T10:00:00.000+00:00', 'ward', 9, 'bob', 'reserve', 'd', NULL, '1.0', '0.0', 'died', NULL),
    (5, '2025-01-04T10:00:00.000+00:00', 'ward', 10, 'bob', 'reserve', 'd', NULL, '0.5', '0.0', 'not needed', NULL),
    (6, '2025-01-04T11:00:00.000+00:00', 'ward', 10, 'bob', 'release', 'd', 5, '0.0', '0.0', 'wrong table', NULL);
"""


@pytest.fixture
def version_1(tmp_path: Path) -> Path:
    connection = sqlite3.connect(tmp_path / "old.db")
    connection.executescript(VERSION_1)
    connection.close()
    (tmp_path / "old.db").chmod(0o640)
    return tmp_path / "old.db"


def test_a_ledger_of_version_1_is_brought_up_to_date_with_its_history(version_1: Path) -> None:
    connection = sqlite3.connect(version_1)
    before = connection.execute("SELECT * FROM history ORDER BY id").fetchall()
    connection.close()
    book = Ledger(version_1)
    assert [tuple(line[:12]) for line in book.history()] == before
    assert [(entry.state, entry.counted) for entry in book.entries("d")] == [
        ("committed", Cost(0.5, 0.0)), ("reserved", Cost(1.0, 0.0)), ("returned", Cost(0.0, 0.0)),
    ]  # fmt: skip
    assert book.spent("d") == Cost(1.5, 0.0)
    assert version_1.stat().st_mode & 0o777 == 0o640
    assert os.listdir(version_1.parent) == ["old.db"]
    head = str(book.head())
    assert str(Ledger(version_1).check(head)) == head, "it is brought up to date once"
    book.settle(4, reason="Bob says that nothing left the machine", epsilon=0.0)
    book.reserve("d", epsilon=2.5, delta=1e-6, purpose="the rest").commit()
    assert [line.id for line in book.history()] == list(range(1, 10))


def test_a_damaged_ledger_of_version_1_stays_as_it_is(version_1: Path) -> None:
    connection = sqlite3.connect(version_1)
    connection.executescript("DROP TRIGGER history_is_not_rewritten; UPDATE history SET epsilon = '9.0' WHERE id = 3")
    connection.close()
    before = version_1.read_bytes()
    with pytest.raises(InputError, match="is damaged"):
        Ledger(version_1)
    assert version_1.read_bytes() == before
