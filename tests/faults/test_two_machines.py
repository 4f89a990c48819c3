"""A person's walk: from a CSV to a release, to somebody else's machine, to sampled rows and a verified certificate.

The two machines are two environments with nothing in common but the release that is handed over: each has its own
interpreter folder with its own copy of the package, its own home, cache and working folder, and no UNDERSTUDY_* setting.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = """version: 1
target: sick
columns:
  - {name: age, kind: integer, bounds: [0, 120]}
  - {name: dose, kind: continuous, bounds: [0, 10]}
  - {name: ward, kind: categorical, categories: [north, south]}
  - {name: sick, kind: boolean}
"""


class Machine:
    """An environment of its own. Third-party packages are shared from the tests' environment, the package is a copy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.home = folder / "home"
        for place in (self.folder, self.home):
            place.mkdir(parents=True)
        venv.create(folder / "venv", with_pip=False)
        site = next((folder / "venv").glob("lib/python*/site-packages"))
        shutil.copytree(ROOT / "src" / "understudy", site / "understudy", ignore=shutil.ignore_patterns("__pycache__"))
        (site / "shared.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
        self.python = folder / "venv" / "bin" / "python"

    def run(self, *arguments: str, code: int = 0) -> str:
        kept = {"PATH": os.environ["PATH"], "HOME": str(self.home), "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
        command = [str(self.python), "-c", "from understudy.cli import main; main()", *arguments]
        ended = subprocess.run(command, cwd=self.folder, env=kept, capture_output=True, text=True, timeout=1500)
        assert ended.returncode == code, ended.stdout + ended.stderr
        return ended.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="the folders of an environment are named otherwise there")
def test_from_a_csv_to_rows_on_another_machine(tmp_path: Path) -> None:
    here = Machine(tmp_path / "hospital")
    ages = [18 + (7 * i) % 70 for i in range(400)]
    lines = [f"{a},{(a % 13) / 2},{'north' if i % 3 else 'south'},{a > 60}" for i, a in enumerate(ages)]
    (here.folder / "patients.csv").write_text("\n".join(["age,dose,ward,sick", *lines]) + "\n")
    (here.folder / "schema.yaml").write_text(SCHEMA)
    made = json.loads(
        here.run(
            *("synthesize", "patients.csv", "--schema", "schema.yaml", "--epsilon", "1", "--delta", "1e-5"),
            *("--rows", "50", "--out", "synthetic.csv", "--bundle", "release", "--report", "page.html", "--json"),
        )
    )
    assert made["epsilon"] <= 1
    assert "In one breath" in (here.folder / "page.html").read_text("utf-8")

    with zipfile.ZipFile(tmp_path / "post.zip", "w") as post:
        for file in (here.folder / "release").iterdir():
            post.write(file, f"release/{file.name}")
    shutil.rmtree(tmp_path / "hospital")  # the other side never sees it

    there = Machine(tmp_path / "university")
    with zipfile.ZipFile(tmp_path / "post.zip") as post:
        post.extractall(there.folder)
    verified = json.loads(there.run("verify", "release", "--json"))
    assert verified["valid"] is True
    assert verified["recomputed"] == pytest.approx(made["epsilon"])
    there.run("sample", "release", "--rows", "300", "--seed", "1", "--out", "rows.csv")
    with (there.folder / "rows.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["age", "dose", "ward", "sick"]
    assert len(rows) == 300
    for age, dose, ward, sick in rows:
        assert 0 <= int(age) <= 120
        assert 0 <= float(dose) <= 10
        assert ward in ("north", "south")
        assert sick.lower() in ("true", "false")
    assert sorted(p.name for p in there.folder.iterdir()) == ["release", "rows.csv"]

    certificate = there.folder / "release" / "certificate.json"
    certificate.write_text(certificate.read_text().replace('"epsilon": 0.9', '"epsilon": 0.1', 1))
    there.run("verify", "release", code=2)
