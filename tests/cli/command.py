"""The command line as a test calls it."""

from __future__ import annotations

import pytest

from understudy.cli.app import main


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """The exit code of `understudy WORDS`, and what it printed."""
    code = 0
    try:
        main([str(word) for word in words])
    except SystemExit as error:
        code = int(error.code or 0)
    printed = capsys.readouterr()
    return code, printed.out, printed.err
