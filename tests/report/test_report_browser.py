"""The page in a real browser: figures are drawn, nothing is fetched, the console is clean, axe finds nothing.

Needs Chromium (Debian: `apt install chromium`; elsewhere name it in UNDERSTUDY_CHROMIUM) and the packages of the `dev`
extra, playwright and axe-playwright-python, which carry the driver and axe-core. Without them these tests are skipped.
Screenshots (light, dark, phone, print) go to UNDERSTUDY_SCREENSHOTS if that is set.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from html_page import NASTY

from understudy.privacy import Ledger
from understudy.report import Sources, write_report

Make = Callable[..., Path]
VIEWS = {
    "light": {"viewport": {"width": 1200, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1200, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, "color_scheme": "light", "is_mobile": True, "has_touch": True},
}


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (the dev extra has it)")
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found = os.environ.get("UNDERSTUDY_CHROMIUM") or next((p for n in names if (p := shutil.which(n))), None)
    if found is None:
        pytest.skip("no Chromium here: install it (Debian: apt install chromium) or name it in UNDERSTUDY_CHROMIUM")
    with driver.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def axe() -> str:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed (the dev extra has it)")
    return files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")


@pytest.fixture
def page_file(make_release: Make, evaluation: Make, nasty: tuple[Path, Path], tmp_path: Path) -> Path:
    """A page with every section, and a nasty name wherever one may come from elsewhere."""
    ledger = tmp_path / "ledger.db"
    book = Ledger.create(str(ledger))
    book.add_dataset(NASTY[0], epsilon=3, delta=1e-4)
    book.reserve(NASTY[0], epsilon=1, delta=1e-5, purpose=NASTY[1]).commit()
    audit = tmp_path / "audit.json"
    audit.write_text(json.dumps({"methods": {NASTY[8]: {"claimed": 1, "measured_lower_bound": 0}}}))
    releases = [
        make_release(facts={name: name for name in NASTY}, public=tuple(NASTY)),
        make_release("second", kind=NASTY[9], method=NASTY[3]),
        make_release("pictures", kind="images", arrays={"images": np.random.default_rng(0).random((20, 8, 8))}),
        nasty[0],
    ]
    sources = Sources(
        releases,
        [evaluation(NASTY[9], tuple(NASTY), NASTY[2])],
        test=nasty[1],
        ledger=str(ledger),
        dataset=NASTY[0],
        audits=[audit],
        title=NASTY[0],
    )
    return write_report(sources, tmp_path / "page.html")


def look(browser: Any, axe: str, page_file: Path, name: str, shots: str) -> None:
    """Open the page in one view and look for everything that can be wrong with it."""
    context = browser.new_context(**VIEWS[name])
    said: list[str] = []
    asked: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_file.as_uri())
    assert said == []
    assert [url for url in asked if not url.startswith(("data:", page_file.as_uri()))] == []
    wide = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide[0] <= wide[1], "the page scrolls sideways"
    # aria-hidden figures are decoration; all others must have a size
    sizes = page.evaluate(
        "[...document.querySelectorAll('svg[role=img], img')].filter(e => !e.closest('details:not([open])'))"
        ".map(e => [e.getAttribute('class'), e.getBoundingClientRect().width, e.getBoundingClientRect().height])"
    )
    assert {"people", "curve", "certainty", "parts", "dots", "histogram", "heatmap", "grid"} <= {
        kind for kind, _, _ in sizes
    }
    assert all(width > 8 and height > 8 for _, width, height in sizes), sizes
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (colour == "rgb(17, 21, 26)") == (name == "dark")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.evaluate("document.activeElement.blur(); document.querySelectorAll('details').forEach(d => d.open = true)")
    if folder := os.environ.get("UNDERSTUDY_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{shots}-{name}.png", full_page=True)
        if name == "light":
            page.pdf(path=Path(folder) / f"{shots}-print.pdf", format="A4")
    page.evaluate(axe)  # not through a script element: the page's own policy forbids those
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(v["id"], v["impact"], [n["html"][:200] for n in v["nodes"]][:3]) for v in found["violations"]] == []
    context.close()


@pytest.mark.parametrize("view", VIEWS)
def test_the_page_in_a_browser(browser: Any, axe: str, page_file: Path, view: str) -> None:
    look(browser, axe, page_file, view, "report")


def test_axe_would_notice(browser: Any, axe: str, page_file: Path) -> None:
    page = browser.new_page()
    page.goto(page_file.as_uri())
    page.evaluate("document.documentElement.removeAttribute('lang')")
    page.add_style_tag(content="p { color: #999 !important }")
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert {"html-has-lang", "color-contrast"} <= {v["id"] for v in found["violations"]}
    page.close()
