"""Ctrl-C, sent to a real process while it works: it ends with 130 and leaves no half-written file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# Each writes slowly enough to be interrupted in the middle, through the same functions that the commands use.
WRITERS = {
    "table": "from understudy.files import whole_file\n"
    "with whole_file('rows.csv') as draft:\n"
    "    with open(draft, 'w') as file:\n"
    "        for i in range(10**9):\n"
    "            file.write(f'{i}\\n')\n"
    "            if i == 1000: print('writing', flush=True)\n",
    "report": "from understudy.files import whole_file\n"
    "with whole_file('page.html') as draft:\n"
    "    draft.write_text('<html>')\n"
    "    print('writing', flush=True)\n"
    "    import time; time.sleep(1500)\n",
    "release": "import numpy as np, time\n"
    "from understudy.release import bundle\n"
    "from understudy.privacy import Budget, Certificate\n"
    "class Slow(Certificate):\n"
    "    def save(self, path):\n"
    "        print('writing', flush=True); time.sleep(1500)\n"
    "made = Slow(Certificate.from_budget(Budget(1, 1e-5), release={}).body)\n"
    "bundle.write_bundle(bundle.Bundle('generator', 'moments', {}, {'x': np.zeros(3)}, made), 'release')\n",
}
START = "from understudy.cli import app\nimport typer\n@app.app.command('work')\ndef work() -> None:\n{body}\nmain = app.main\nmain(['work'])\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
@pytest.mark.parametrize("name", WRITERS)
def test_interrupt_leaves_nothing_half_written(name: str, tmp_path: Path) -> None:
    body = "".join(f"    {line}\n" for line in WRITERS[name].splitlines())
    process = subprocess.Popen(
        [sys.executable, "-c", START.format(body=body)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "writing"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=1500)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
def test_interrupting_a_real_command(tmp_path: Path) -> None:
    """`understudy sample` of far more rows than there is patience for."""
    from understudy import MomentsGenerator
    from understudy.tables import Column, Schema

    schema = Schema((Column("x", "continuous", (0, 1)), Column("y", "boolean")), "y")
    rows = {"x": [i / 200 for i in range(200)], "y": [i % 2 == 0 for i in range(200)]}
    import pandas as pd

    MomentsGenerator(epsilon=1, random_state=0).fit(pd.DataFrame(rows), schema=schema).save(tmp_path / "release")
    wanted = ("sample", "release", "--rows", "500000000", "--out", "rows.csv")
    process = subprocess.Popen(
        [sys.executable, "-c", "from understudy.cli import main; main()", *wanted],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 1500
    while not any(p.name.endswith("rows.csv") for p in tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert process.poll() is None, "it ended before it could be interrupted"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=1500)
    assert process.returncode == 130, said
    assert [p.name for p in tmp_path.iterdir()] == ["release"]
