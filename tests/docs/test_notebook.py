"""The notebooks in examples/ run from top to bottom, and were saved without outputs."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from threadpoolctl import threadpool_limits

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    shown: list[Any] = []
    with threadpool_limits(1):
        for number, cell in enumerate(_cells(path)):
            tree = ast.parse("".join(cell["source"]), f"{path.name}, cell {number}")
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, f"{path.name}, cell {number}", "exec"), names)
            if isinstance(last, ast.Expr):
                shown.append(eval(compile(ast.Expression(last.value), f"{path.name}, cell {number}", "eval"), names))
    if path.name == "first-look.ipynb":
        assert names["judged"]["synthetic rows"] > 0.85
        assert shown[-1][1] is True


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_was_saved_clean(path: Path) -> None:
    for cell in _cells(path):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS


def _cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
