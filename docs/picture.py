"""The README's picture: the report of the demo's generator, cut down to what fits a picture.

    understudy demo
    understudy report demo-output/generator --title "350 patients, and rows that stand in for them" --out picture.html
    python docs/picture.py picture.html

Needs Chromium (named in UNDERSTUDY_CHROMIUM, or `chromium` on the path). Keeps the headline, the releases and the best
attacker's odds of the page, and writes docs/images/report.png.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

OUT = Path(__file__).resolve().parent / "images" / "report.png"
_KEEP = """
    document.querySelectorAll('nav, #budget, #useful, #sure, footer').forEach(e => e.remove());
    const kept = '.cards, .attacks, h2, .certainty';
    for (const e of document.querySelectorAll('section > *')) {
        if (!e.matches(kept) && !e.querySelector('.certainty')) e.remove();
    }
    document.querySelectorAll('section').forEach(e => { e.style.marginBottom = '1.4rem'; });
    document.querySelector('header').style.padding = '2rem 0 1.2rem';
"""


def main(report: str) -> None:
    chromium = os.environ.get("UNDERSTUDY_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1060, "height": 700}, device_scale_factor=1.5)
        page.goto(Path(report).resolve().as_uri())
        page.evaluate(_KEEP)
        raw = page.screenshot(full_page=True)
        browser.close()
    image = Image.open(io.BytesIO(raw)).convert("RGB").quantize(128)
    image.save(OUT, optimize=True)
    print(f"wrote {OUT.name}: {OUT.stat().st_size // 1024} KiB, {image.width} x {image.height}")


if __name__ == "__main__":
    main(sys.argv[1])
