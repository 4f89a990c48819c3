"""The house: imports follow the arrow, a class name stands once, and nobody keeps a list of methods."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "understudy"
# What each room may import beside itself and the plain helpers. The order is that of the way of the data.
HELPERS = {"errors", "wording", "files", "untrusted", "_lazy", "_version", "_parallel", "_resumable"}
ROOMS: dict[str, set[str]] = {
    "privacy": set(),
    "tables": {"privacy"},
    "images": set(),
    "learn": set(),
    "datasets": {"tables", "images"},
    "engines": {"privacy", "tables"},
    "release": {"privacy", "tables", "engines", "learn"},
    "methods": {"privacy", "tables", "images", "learn", "release"},
    "registry": {"release", "methods"},
    "evaluation": {"privacy", "tables", "images", "learn"},
    "audit": {"privacy", "tables", "images", "release", "registry"},
    "report": {"privacy", "tables", "images", "release", "registry", "evaluation"},
    "demo": {"privacy", "tables", "datasets", "methods", "release", "registry", "evaluation", "report"},
    "cli": {
        *(
            "privacy",
            "tables",
            "images",
            "datasets",
            "engines",
            "methods",
            "release",
            "registry",
            "evaluation",
            "audit",
        ),
        *("report", "demo"),
    },
    "__main__": {"cli"},
}


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(SRC.rglob("*.py")):
        yield path.relative_to(SRC).with_suffix("").parts[0], path


def imported(path: Path) -> Iterator[tuple[str, bool]]:
    """The rooms that a file imports, and whether it does so when it is itself imported."""
    tree = ast.parse(path.read_text("utf-8"))
    late = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        for inner in ast.walk(node)
        if inner is not node
    }
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module == "understudy":
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("understudy."):
            names = [node.module.split(".")[1]]
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".")[1] for alias in node.names if alias.name.startswith("understudy.")]
        for name in names:
            yield name, id(node) not in late


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_lies_before_it(room: str) -> None:
    wrong = [
        f"{path.relative_to(SRC)} imports {name}"
        for owner, path in modules()
        if owner == room
        for name, _ in imported(path)
        if name not in {room, *HELPERS, *ROOMS[room]} and (SRC / name).exists() | (SRC / f"{name}.py").exists()
    ]
    assert wrong == []


def test_every_module_belongs_to_a_room() -> None:
    known = {*ROOMS, *HELPERS, "__init__"}
    assert {owner for owner, _ in modules()} <= known


def test_there_is_no_cycle() -> None:
    """The arrow has no way back; only functions that run later may look up a method in the registry's homes."""
    graph = {room: {name for name in allowed if name in ROOMS} for room, allowed in ROOMS.items()}
    done: set[str] = set()
    while len(done) < len(graph):
        ready = {room for room, before in graph.items() if room not in done and before <= done}
        assert ready, f"a cycle among {set(graph) - done}"
        done |= ready


def test_class_names_are_unique() -> None:
    names = Counter(
        node.name
        for _, path in modules()
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, times in names.items() if times > 1] == []


def test_nobody_sets_a_flag_for_what_was_drawn() -> None:
    """What a ledger takes back follows from the budget's events, in one place."""
    assert [str(path) for _, path in modules() if re.search(r"\bdrawn_\b", path.read_text("utf-8"))] == []


def test_nobody_but_spending_talks_to_a_ledger_for_a_run() -> None:
    talkers = [path.relative_to(SRC).as_posix() for _, path in modules() if ".reserve(" in path.read_text("utf-8")]
    assert talkers == ["release/spending.py"]


def test_the_registry_is_the_only_list_of_methods() -> None:
    """No other file names three methods or more as text: such a list would have to be kept by hand."""
    from understudy import registry

    names = [name for name in registry.names() if name not in ("moments", "pate", "gan", "kip")]
    for _, path in modules():
        if path.name == "registry.py" and path.parent == SRC:
            continue
        text = path.read_text("utf-8")
        named = [name for name in names if f'"{name}"' in text]
        assert len(named) < 3, f"{path.relative_to(SRC)} lists {named}"
