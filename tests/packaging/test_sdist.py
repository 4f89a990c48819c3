"""Whoever unpacks the source distribution has all that its tests need to be collected."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = ("UNDERSTUDY_DATA", "UNDERSTUDY_GOLDEN", "PYTHONPATH")


def _collected(root: Path) -> set[str]:
    """The tests in `root`, with its own sources and nothing that lies outside of it."""
    environment = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    collect = ("-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "tests")
    ended = subprocess.run(
        [sys.executable, *collect],
        cwd=root,
        env=environment | {"PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout[-5000:]
    return {line for line in ended.stdout.splitlines() if "::" in line}


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("hatchling") is None, reason="hatchling, which builds it, is not installed"
)
def test_the_tests_of_the_source_distribution_can_be_collected(tmp_path: Path) -> None:
    build = "import sys, hatchling.build; print(hatchling.build.build_sdist(sys.argv[1]))"
    made = subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    archive = tmp_path / made.stdout.split()[-1]
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    assert _collected(tmp_path / archive.name.removesuffix(".tar.gz")) == _collected(ROOT)
