"""Do all links in the documentation lead somewhere? `make docs` runs this.

Every link in the Markdown files at the top and under docs/ that names a file must find it, and its #anchor must be a heading
there. Links to the web are not followed. A link that does not resolve is printed with its file and line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import unquote

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_INLINE_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_LINK = re.compile(
    r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^()\s<>]*(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:\s+\"[^\"]*\")?\s*\)"
)
_DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)>?")
_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")
_ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:|^//", re.IGNORECASE)


def pages(root: Path) -> list[Path]:
    """The Markdown files whose links are checked."""
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a page that are not inside a code block."""
    fence = ""
    for number, line in enumerate(page.read_text("utf-8").splitlines(), start=1):
        match = _FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = ""
        elif match:
            fence = match[1]
        else:
            yield number, line


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading: lower case, no punctuation, hyphens for spaces."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    found: set[str] = set()
    seen: dict[str, int] = {}
    for _, line in prose(page):
        found.update(_ANCHOR.findall(line))
        if heading := _HEADING.match(line):
            name = slug(heading[2])
            times = seen.get(name, 0)
            seen[name] = times + 1
            found.add(f"{name}-{times}" if times else name)
    return frozenset(found)


def links(page: Path) -> Iterator[tuple[int, str]]:
    for number, line in prose(page):
        text = _INLINE_CODE.sub("", line)
        for target in (*_LINK.findall(text), *_DEFINITION.findall(text)):
            yield number, target


def problem(page: Path, target: str, root: Path) -> str | None:
    """What is wrong with one link, or None."""
    if _ELSEWHERE.match(target):
        return None
    name, _, anchor = unquote(target).partition("#")
    found = (page.parent / name).resolve() if name else page
    if not found.is_relative_to(root):
        return f"{target} leads out of the repository"
    if not found.exists():
        return f"{target}: there is no {found.relative_to(root)}"
    if anchor and found.suffix == ".md" and anchor not in anchors(found):
        return f"{target}: {found.relative_to(root)} has no heading #{anchor}"
    return None


def problems(root: Path) -> list[str]:
    root = root.resolve()
    return [
        f"{page.relative_to(root)}:{number}: {wrong}"
        for page in pages(root)
        for number, target in links(page)
        if (wrong := problem(page, target, root))
    ]


def main(arguments: Sequence[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    found = problems(root)
    for line in found:
        print(line)
    if not found:
        print(f"{len(pages(root))} pages: every link resolves")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
