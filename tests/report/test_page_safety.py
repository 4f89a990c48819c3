"""Names from elsewhere stay text, whatever they are: in the promise, the tables, the scores and the figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from html_page import NASTY, Page

from understudy.privacy import Ledger
from understudy.report import Sources, render
from understudy.report.text import shown

Make = Callable[..., Path]


def _all_text(text: str, name: str) -> None:
    """The name is on the page as text, as `shown` writes it, and made no element, attribute or end of one."""
    page = Page(text)
    assert shown(name) in page.text
    for tag, values in page.elements:
        assert tag not in ("script", "b")
        assert not any(attribute.startswith("on") for attribute in values)
        assert tag != "img" or str(values["src"]).startswith("data:image/png")
    assert sum(tag == "style" for tag, _ in page.elements) == 1
    assert len(text) < 400_000
    text.encode("utf-8")


@pytest.mark.parametrize("name", NASTY, ids=range(len(NASTY)))
def test_every_name_stays_text(make_release: Make, evaluation: Make, tmp_path: Path, name: str) -> None:
    release = make_release(
        kind=name, method=name, facts={name: name, "post_processing_of": name}, public=(name,), unsafe=(name,)
    )
    audit = tmp_path / "audit.json"
    audit.write_text(json.dumps({"methods": {name: {"claimed": 1, "measured_lower_bound": 0}}}))
    results = evaluation(name, (name, "plain"), name)
    _all_text(render(Sources([release], [results], audits=[audit], title=name)), name)


@pytest.mark.parametrize(
    "name", [n for n in NASTY if n.isprintable() and len(n) < 1000], ids=lambda n: str(NASTY.index(n))
)
def test_every_name_in_a_ledger_stays_text(make_release: Make, tmp_path: Path, name: str) -> None:
    ledger = tmp_path / "ledger.db"
    book = Ledger.create(str(ledger))
    book.add_dataset(name, epsilon=3, delta=1e-4)
    book.reserve(name, epsilon=1, delta=1e-5, purpose=name).commit()
    _all_text(render(Sources([make_release()], ledger=str(ledger), dataset=name)), name)
