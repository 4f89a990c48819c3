"""`understudy data list|path`: what people and machines read, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import run  # pyright: ignore[reportMissingImports]

import understudy.cli.data
from understudy import datasets

assert understudy.cli.data, "importing the module registers the commands"


@pytest.fixture(autouse=True)
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNDERSTUDY_DATA", raising=False)


def cli(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    return run(capsys, "data", *arguments)


def test_list_for_people(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "census_test_half.parquet").touch()
    (tmp_path / "intrusion.parquet").touch()
    monkeypatch.setenv("UNDERSTUDY_DATA", str(tmp_path))
    code, out, err = cli(capsys, "list")
    assert (code, err) == (0, "")
    lines = {name: next(line for line in out.splitlines() if f" {name} " in line) for name in datasets.names()}
    assert "built in" in lines["breast-cancer"]
    assert "here (only UCI's test half)" in lines["census"]
    assert "here" in lines["intrusion"]
    assert "OpenML 1590" in lines["adult"]
    assert "by hand" in lines["cervical"]
    assert "284,807 x 29" in lines["credit"]


def test_list_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = cli(capsys, "list", "--json")
    assert (code, err) == (0, "")
    entries = {entry["name"]: entry for entry in json.loads(out)["datasets"]}
    assert list(entries) == datasets.names()
    assert entries["adult"]["openml"] == {"id": 1590, "name": "adult"}
    assert entries["adult"]["path"] is None
    assert entries["adult"]["parts"]["train"]["rows"] == 32561
    assert Path(entries["breast-cancer"]["path"]).is_file()
    assert all(entry["licence"] and entry["citation"] for entry in entries.values())


def test_path(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "adult.parquet").touch()
    monkeypatch.setenv("UNDERSTUDY_DATA", str(tmp_path))
    assert cli(capsys, "path", "adult") == (0, f"{tmp_path / 'adult.parquet'}\n", "")
    code, out, _ = cli(capsys, "path", "adult", "--json")
    assert (code, json.loads(out)) == (0, {"name": "adult", "path": str(tmp_path / "adult.parquet")})


def test_path_of_what_is_not_here(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = cli(capsys, "path", "adult", "--no-download")
    assert (code, out) == (2, "")
    assert err.startswith("error: 'adult' is not here")
    code, out, _ = cli(capsys, "path", "epileptic", "--json")
    assert code == 2
    assert "no OpenML id is known" in json.loads(out)["message"]


def test_path_of_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = cli(capsys, "path", "adlut")
    assert code == 2
    assert "Did you mean 'adult'?" in err


def test_a_data_folder_that_is_none(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_DATA", "/no/such/folder")
    code, _, err = cli(capsys, "list")
    assert code == 2
    assert "$UNDERSTUDY_DATA (=/no/such/folder) is not a folder" in err


def test_nothing_heavy_is_imported_to_list() -> None:
    """Neither the module nor `data list` waits for pandas or scikit-learn."""
    program = (
        "import sys, understudy.cli.data\n"
        "assert 'numpy' not in sys.modules\n"
        "from understudy.datasets.locate import find\n"
        "from understudy.datasets.registry import info, names\n"
        "assert find(info('breast-cancer')).is_file() and not find(info('adult'))\n"
        "heavy = {'pandas', 'sklearn', 'scipy', 'pyarrow', 'jax'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
