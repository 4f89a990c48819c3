"""The search of the documentation works on a site that was opened from disk, in a real browser, with nothing from elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_SITE = """
site_name: Small
use_directory_urls: false
theme: {name: material, font: false}
extra: {polyfills: [iframe-worker.js]}
plugins: [search, offline]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pages with the settings that ours have."""
    ours = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert all(line in ours for line in ("- offline", "- iframe-worker.js", "use_directory_urls: false"))
    pytest.importorskip("material", reason="mkdocs-material is not installed (the dev extra has it)")
    folder = tmp_path_factory.mktemp("site")
    (folder / "docs").mkdir()
    (folder / "docs" / "index.md").write_text("# Home\n\nNothing to find.\n")
    (folder / "docs" / "other.md").write_text("# Teachers\n\nAn ocelot votes.\n")
    shutil.copy(ROOT / "docs" / "iframe-worker.js", folder / "docs")
    (folder / "mkdocs.yml").write_text(_SITE)
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet"]
    subprocess.run(command, cwd=folder, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    return folder / "site"


def test_search_works_from_disk(site: Path) -> None:
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (the dev extra has it)")
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found = os.environ.get("UNDERSTUDY_CHROMIUM") or next((p for n in names if (p := shutil.which(n))), None)
    if found is None:
        pytest.skip("no Chromium here: install it (Debian: apt install chromium) or name it in UNDERSTUDY_CHROMIUM")
    asked: list[str] = []
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        try:
            page = browser.new_page()
            page.on("request", lambda request: asked.append(request.url))
            page.goto((site / "index.html").as_uri())
            page.click("input.md-search__input")
            page.keyboard.type("ocelot")
            result = page.wait_for_selector("a.md-search-result__link", timeout=1_500_000)
            assert "other.html" in result.get_attribute("href")
        finally:
            browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:", "blob:"))] == []
