"""The documentation is true: its links resolve, and the commands and code that it marks as tested do run.

A fenced block is tested when its info string ends in `test`:

- `bash test`: every line is a command.
- `console test`: lines that begin with `$` are commands; the lines after one are what it prints, in this order, with `...`
  for lines, or the end of a line, that are left out. A command whose shown output begins with `error:` must fail.
- `python test`: runs as it stands; blocks of one page share their names.
- `yaml test FILE`: is written to that file.

A block that cannot be run here (it makes an environment, needs a GPU, or takes an hour) says `shown` instead of `test`. Its
`understudy` and `python -m benchmarks` commands, and those in running text, must exist with the options that are shown.

The blocks of a page run one after another in an empty folder that holds docs/examples. Commands are `understudy ...` and
`python FILE`. With `&` at the end an `understudy ...` or `dask ...` is a process of its own; `wait` is for those of `understudy`, which must
end well, and `kill %1 %2` ends the first and the second of the page.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer.main
from threadpoolctl import threadpool_limits

from benchmarks import registry
from benchmarks.__main__ import app as benchmarks_app
from understudy.cli import main
from understudy.cli.app import app, load_commands

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(bash|console|python|yaml) test(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ANY_BLOCK = re.compile(r"^ *```(bash|sh|shell|console|python)(?: (.*))?$", re.MULTILINE)
_SHOWN = re.compile(r"^```(?:bash|sh|console)(?: shown)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`((?:understudy|python -m benchmarks) [a-z][^`]*)`")
_BENCHMARKS = ["python", "-m", "benchmarks"]
# Pages that must keep at least one tested block: if a marker is lost, so is the test.
TESTED = ("README.md", "docs/start.md", *(f"docs/guides/{name}.md" for name in (
    "accounting", "any-table", "choose", "coordinates", "evaluate", "ledger", "many-machines", "private-classifier", "report", "rules", "schema", "share", "synthetic-table", "visits",
)))  # fmt: skip


def _check() -> Any:
    spec = importlib.util.spec_from_file_location("docs_check", ROOT / "docs" / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check = _check()


@dataclass(frozen=True)
class Block:
    language: str
    line: int
    text: str
    file: str | None = None


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [Block(m[1], text[: m.start()].count("\n") + 1, m[3], m[2]) for m in _BLOCK.finditer(text)]


def shown_commands(page: Path) -> Iterator[str]:
    """The commands of a page that are not run: in blocks that are only shown, and in running text."""
    text = page.read_text("utf-8")
    for match in _SHOWN.finditer(text):
        for line in match[1].replace("\\\n", " ").splitlines():
            yield line.strip().removeprefix("$ ")
    for match in _INLINE.finditer(text):
        yield match[1].replace("\n", " ")


def steps(block: Block) -> Iterator[tuple[str, list[str]]]:
    """The commands of a shell block, each with the lines that it is shown to print."""
    prompt = "$ " if block.language == "console" else ""
    command, shown = "", list[str]()
    for line in block.text.replace("\\\n", " ").splitlines():
        if not line.strip() or (not prompt and line.startswith("#")):
            continue
        if line.startswith(prompt):
            if command:
                yield command, shown
            command, shown = line.removeprefix(prompt), []
        else:
            shown.append(line.strip())
    if command:
        yield command, shown


def run(command: str) -> int:
    """Run one command in this process; starting an interpreter for each would take longer than all of them."""
    program, *arguments = shlex.split(command, comments=True)
    try:
        if program == "python":
            runpy.run_path(arguments[0], run_name="__main__")
        elif program == "understudy":
            main(arguments)
        else:
            raise AssertionError(f"a tested block holds `{command}`; only `understudy` and `python FILE` are run")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


class Jobs(list[subprocess.Popen[bytes]]):
    """The processes that a page has started in the background."""

    def __enter__(self) -> Jobs:
        return self

    def __exit__(self, *error: object) -> None:
        for job in self:
            job.terminate()
        for job in self:
            job.wait()

    def run(self, command: str) -> int | None:
        """The exit status, where a command is about processes in the background; None for all others."""
        words = shlex.split(command, comments=True)
        if words[0] == "wait":
            return max((job.wait() for job in self if "dask" not in job.args), default=0)  # type: ignore[operator]
        if words[0] == "kill":
            for word in words[1:]:
                self[int(word.removeprefix("%")) - 1].terminate()
                self[int(word.removeprefix("%")) - 1].wait()
            return 0
        if words[-1] != "&":
            return None
        program = {"dask": ["-m", "dask"], "understudy": ["-c", "from understudy.cli import main; main()"]}[words[0]]
        environment = os.environ | {"JAX_PLATFORMS": "cpu"}
        self.append(subprocess.Popen([sys.executable, *program, *words[1:-1]], env=environment))
        if words[:2] == ["dask", "scheduler"]:  # whoever types waits for its first words, however busy the machine is
            file = Path(words[words.index("--scheduler-file") + 1])
            while not file.exists() and self[-1].poll() is None:
                time.sleep(0.05)
        return 0


def assert_shown(shown: list[str], output: str) -> None:
    lines = iter(line.strip() for line in output.splitlines())
    for wanted in shown:
        if wanted == "...":
            continue
        start = wanted.removesuffix("...")
        found = any(line.startswith(start) if start != wanted else line == wanted for line in lines)
        assert found, f"not printed, or not in this order: {wanted}\n\n{output}"


PAGES = [page for page in check.pages(ROOT) if blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    with Jobs() as jobs:
        run_page(page, jobs, capfd)
    assert os.listdir(tmp_path)


def run_page(page: Path, jobs: Jobs, capfd: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if block.language == "yaml":
            assert block.file is not None, f"{where}: name the file after `yaml test`"
            Path(block.file).write_text(block.text, "utf-8")
            continue
        if block.language == "python":
            with threadpool_limits(1):
                exec(compile("\n" * block.line + block.text, str(page), "exec"), names)
            continue
        for command, shown in steps(block):
            capfd.readouterr()
            with threadpool_limits(1):  # small fits on a shared machine: threads would wait for each other
                code = jobs.run(command)
                code = run(command) if code is None else code
            output = "".join(capfd.readouterr())
            refused = bool(shown) and shown[0].startswith("error:")
            assert (code != 0) == refused, f"{where}: `{command}` ended with {code}\n{output}"
            assert_shown(shown, output)


def test_important_pages_are_tested() -> None:
    tested = {str(page.relative_to(ROOT)) for page in PAGES}
    assert tested >= set(TESTED)


@pytest.mark.parametrize("name", TESTED)
def test_every_block_says_whether_it_runs(name: str) -> None:
    page = ROOT / name
    for match in _ANY_BLOCK.finditer(page.read_text("utf-8")):
        assert match[2] in ("test", "shown"), f"```{match[0].strip()[3:]} in {page.name}: say `test` or `shown`"


@pytest.mark.parametrize("page", check.pages(ROOT), ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_are_only_shown_exist(page: Path) -> None:
    load_commands()
    for command in shown_commands(page):
        words = command.split("#")[0].split()
        while words and "=" in words[0]:  # VARIABLE=value before the command
            words.pop(0)
        where = f"{page.relative_to(ROOT)}: `{command}`"
        if words[:1] == ["understudy"]:
            assert_exists(app, words[1:], where)
        elif words[:3] == _BENCHMARKS:
            assert_exists(benchmarks_app, words[3:], where)
            assert_benchmarks(words[3:], where)


def assert_benchmarks(words: list[str], where: str) -> None:
    """Every benchmark that is to be run is there."""
    named = itertools.takewhile(lambda word: not word.startswith("-"), words[1:]) if words[0] == "run" else ()
    for name in named:
        assert name in registry.names() or name == "ID", f"{where}: there is no benchmark {name}"


def assert_exists(commands: typer.Typer, words: list[str], where: str) -> None:
    """Every command and option is there; values are not looked at."""
    command: Any = typer.main.get_command(commands)
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        assert words[0] in command.commands, f"{where}: there is no command {words[0]}"
        command = command.commands[words.pop(0)]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    for word in words:
        option = word.split("=")[0].rstrip(",.;:)")
        if re.fullmatch(r"--[a-z][a-z-]*", option):
            assert option in known | {"--help", "--json"}, f"{where}: there is no option {option}"


def test_every_link_resolves() -> None:
    assert check.problems(ROOT) == []


def test_broken_links_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(
        "# Top\n\n[a](docs/a.md) [b](docs/b.md) [web](https://example.org)\n"
        "[c](docs/a.md#two-words) [d](docs/a.md#three) [e](#top) [f](../out.md)\n"
        "`[code](nowhere.md)`\n\n```\n[fenced](nowhere.md)\n```\n\n[g]: docs/c.md\n"
    )
    (tmp_path / "docs" / "a.md").write_text("## Two `words`\n\n## Two words\n\n[x](a.md#two-words-1)\n")
    assert check.main([str(tmp_path)]) == 1
    found = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in found] == ["README.md:3", "README.md:4", "README.md:4", "README.md:11"]
    assert "no docs/b.md" in found[0]
    assert "no heading #three" in found[1]
    assert "out of the repository" in found[2]


def test_a_tree_without_faults_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README.md").write_text("# Top\n[e](#top)\n")
    assert check.main([str(tmp_path)]) == 0
    assert "every link resolves" in capsys.readouterr().out


def test_shell_blocks_are_read_as_they_are_meant() -> None:
    block = Block("console", 1, "$ understudy a \\\n    b\none\n...\ntwo\n$ understudy c\n")
    assert list(steps(block)) == [("understudy a      b", ["one", "...", "two"]), ("understudy c", [])]
    block = Block("bash", 1, "# why\nunderstudy a  # note\n")
    assert list(steps(block)) == [("understudy a  # note", [])]
