"""Several runs of bench_moments.py as one result, and its table in the documentation.

    python benchmarks/merge_moments.py RUN.json ... --out benchmarks/results/moments.json --page docs/methods/moments.md

The figures of a run that stands first go before those of later ones. `RUN.json@adult,covtype` takes of a run these tables
alone, and its figures of real rows. The table stands in the page between two marks; everything else on the page is left as
it is.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from understudy.benchmarks.moments_table import merge, part, table

BEGIN, END = "<!-- figures: benchmarks/merge_moments.py -->\n", "<!-- end of figures -->\n"


def load(path: str, tables: str) -> dict[str, Any]:
    return part(json.loads(Path(path).read_text("utf-8")), tables.split(",") if tables else [])


def run(given: argparse.Namespace) -> None:
    out, page = Path(given.out), Path(given.page)
    if given.runs:
        merged = merge([load(*run.partition("@")[::2]) for run in given.runs])
        out.write_text(json.dumps(merged, indent=1) + "\n", "utf-8")
    text = page.read_text("utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    made = table(json.loads(out.read_text("utf-8")))
    page.write_text(before + BEGIN + made + END + after, "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="*", help="results to merge; without any, the page is made from --out as it is")
    parser.add_argument("--out", default="benchmarks/results/moments.json")
    parser.add_argument("--page", default="docs/methods/moments.md")
    run(parser.parse_args())
