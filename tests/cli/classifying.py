"""`understudy classify` of a small table of patients, as tests of it call it."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import run  # pyright: ignore[reportMissingImports]
from patients import files  # pyright: ignore[reportMissingImports]

from understudy.privacy import Ledger

CLASSES = ("--classes", "malignant,benign")
# lnmax with a fixed number of queries is the quickest to account for.
FAST = ("--teachers", "8", "--epsilon", "8", "--seed", "0", "--aggregator", "lnmax", "--queries", "20")


def classify(
    capsys: pytest.CaptureFixture[str], *arguments: str | Path, target: str = "diagnosis", ledger: bool = True
) -> tuple[int, str, str]:
    charged = ("--ledger", "ledger.db", "--dataset", "patients") if ledger else ()
    # What a test says comes last, and so replaces what is said here.
    usual = ("--target", target, "--public", "public.csv", "--out", "release", *FAST, *charged)
    return run(capsys, "classify", "data.csv", *usual, *arguments)


def book() -> Ledger:
    return Ledger("ledger.db")


def refused(
    capsys: pytest.CaptureFixture[str],
    words: str,
    *arguments: str | Path,
    code: int = 2,
    target: str = "diagnosis",
    entries: tuple[str, ...] = (),
) -> str:
    """It ends with `code` and says `words`; nothing is written, nothing is spent; these are the ledger's entries."""
    before = files()
    got, out, err = classify(capsys, *arguments, target=target)
    assert (got, out) == (code, ""), err
    assert words in err
    assert err.startswith("error: ")
    assert files() == before
    assert book().spent("patients") == (0.0, 0.0)
    assert tuple(entry.state for entry in book().entries("patients")) == entries
    return err
