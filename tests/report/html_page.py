"""A page as a reader of its text and structure sees it, and names that try to break it."""

from __future__ import annotations

from html.parser import HTMLParser

# Names that try to break out of the page, turn it around or make it burst.
NASTY = [
    "<script>document.title='broken'</script>",
    '"><img src=x onerror="document.title=\'broken\'">',
    "'; alert(1); '",
    "</style><style>body{display:none}</style>",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt; & &amp;",
    "👩🏽‍⚕️🧬 emoji",
    "עברית ו\u202eהפוך",
    "العمر",
    "x" * 10_000,
    "tab\tnew\nline\x00\x1b[31m",
    "javascript:alert(1)",
]

VOID = {"meta", "link", "img", "br", "circle", "path", "rect", "polygon", "polyline"}


class Page(HTMLParser):
    """The text of a page, its elements, and a complaint where they are not nested."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.elements.append((tag, values))
        if values.get("id"):
            self.ids.append(str(values["id"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "title"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).replace("\N{NARROW NO-BREAK SPACE}", " ").split())
