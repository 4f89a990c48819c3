"""What the site needs beyond Markdown. Four things, so that the same pages read well on a code host and on the site:

- Files outside docs/ that a page links to are brought in: CONTRIBUTING.md, CHANGELOG.md and SECURITY.md as pages of their
  own, everything else (results, the lock file, sources) as a file to look at.
- A guide or method that the navigation forgot is added to it.
- The reference of the command line is made from the commands themselves, that of the methods from the registry.
- The info string of a tested block, `bash test`, becomes plain `bash`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}
SECTIONS = {"Guides": "guides", "Methods": "methods"}
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_TESTED = re.compile(r"^(\s*)```(bash|console|python|sh|yaml) (?:test|shown)(?: \S+)?$", re.MULTILINE)


def on_config(config: Any) -> Any:
    """A guide or method that the navigation does not name stands at the end of its section."""
    for entry in config.nav:
        for title, pages in entry.items() if isinstance(entry, dict) else ():
            folder = SECTIONS.get(title)
            if folder is not None:
                there = sorted(f"{folder}/{page.name}" for page in (ROOT / "docs" / folder).glob("*.md"))
                pages += [page for page in there if page not in pages]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Bring in the pages from the top of the repository, and every other file that a page links to."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text("utf-8")))
    for page in list(files.documentation_pages()):
        for _, target, _ in _LINK.findall(page.content_string):
            outside = _outside(page.src_uri, target)
            if outside and outside not in PAGES and not outside.startswith("docs/") and (ROOT / outside).is_file():
                place = _place(outside)
                if files.get_file_from_path(place) is None:
                    files.append(File.generated(config, place, abs_src_path=str(ROOT / outside)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    del config, files
    here = page.file.src_uri
    if here == "reference/cli.md":
        markdown = markdown.replace("<!-- commands -->", "\n".join(_commands()))
    if here == "reference/methods.md":
        markdown = markdown.replace("<!-- methods -->", "\n\n".join(_methods()))

    def led(match: re.Match[str]) -> str:
        outside = _outside(here, match[2])
        if outside is None:
            return match[0]
        if outside in PAGES:
            target = PAGES[outside]
        elif outside.startswith("docs/"):
            target = outside.removeprefix("docs/")
        elif (ROOT / outside).is_file():
            target = _place(outside)
        else:
            return match[0]
        return match[1] + posixpath.relpath(target, posixpath.dirname(here) or ".") + match[3]

    return _LINK.sub(led, _TESTED.sub(r"\1```\2", markdown))


def _outside(page: str, target: str) -> str | None:
    """The path from the root of the repository of a link that leads out of docs/ (or out of a page from the top)."""
    if re.match(r"[a-z][a-z0-9+.-]*:", target) or target.startswith("/"):
        return None
    folder = "" if page in PAGES.values() else posixpath.join("docs", posixpath.dirname(page))
    path = posixpath.normpath(posixpath.join(folder, target))
    if page not in PAGES.values() and path.startswith("docs/"):
        return None
    return path


def _place(outside: str) -> str:
    return posixpath.join("files", outside if Path(outside).suffix else outside + ".txt")


def _methods() -> Iterator[str]:
    """Every method of the registry: what it does in a sentence, and its class."""
    from understudy import registry

    for entry in registry.entries():
        yield f"{entry.sentence} (`{entry.name}`)"
        yield f"::: {entry.module}.{entry.class_name}"


def _commands() -> Iterator[str]:
    """Every command with its arguments and options, as Markdown."""
    import typer.main

    from understudy.cli.app import app, load_commands

    load_commands()
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        yield from _command(name, command)


def _command(name: str, command: Any) -> Iterator[str]:
    yield f"\n## understudy {name}\n\n{command.help or ''}\n"
    for below, one in getattr(command, "commands", {}).items():
        yield from _command(f"{name} {below}", one)
    rows = [p for p in command.params if p.name != "help" and not getattr(p, "hidden", False)]
    if rows and not hasattr(command, "commands"):
        yield "| | |\n|---|---|"
        for one in rows:
            argument = one.param_type_name == "argument"
            names = str(one.name).upper() if argument else ", ".join(one.opts)
            default = (
                ""
                if one.default in (None, False, ()) or argument or callable(one.default)
                else f" Default: `{one.default}`."
            )
            needed = " Required." if one.required else ""
            yield f"| `{names}` | {(one.help or '').replace('|', '/')}{needed}{default} |"
