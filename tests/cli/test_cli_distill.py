"""`understudy distill`, from a file to a release."""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run  # pyright: ignore[reportMissingImports]

sys.path.insert(0, str(Path(__file__).parents[1] / "images"))

from small_images import bars  # pyright: ignore[reportMissingImports]

import understudy
from understudy.images import read_npz, write_npz
from understudy.learn.checkpoints import Log
from understudy.privacy import Certificate, Ledger
from understudy.tables import Schema, read_table
from understudy.tables.column import Column

SCHEMA = Schema(
    (Column("a", "continuous", bounds=(0.0, 1.0)), Column("y", "categorical", categories=("no", "yes"))), target="y"
)
QUICK = ("--method", "dpkip", "--set", "batch=20", "--set", "epochs=2", "--epsilon", "4")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    pd.DataFrame({"a": 0.2 + 0.5 * y + 0.1 * rng.uniform(size=120), "y": np.where(y, "yes", "no")}).to_csv(
        tmp_path / "data.csv", index=False
    )
    SCHEMA.write(tmp_path / "schema.yaml")
    return tmp_path / "data.csv", tmp_path / "schema.yaml"


def test_a_table_with_a_ledger(files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, schema = files
    ledger = tmp_path / "ledger.db"
    Ledger.create(ledger).add_dataset("small", epsilon=6, delta=1e-4)
    common = ("--schema", schema, "--per-class", 2, *QUICK, "--ledger", ledger, "--dataset", "small")
    code, out, err = run(capsys, "distill", data, "--out", tmp_path / "distilled", *common, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["records"] == 4
    assert 3.5 < found["epsilon"] <= 4
    records = read_table(tmp_path / "distilled" / "records.csv")
    assert sorted(records["y"]) == ["no", "no", "yes", "yes"]
    assert Certificate.load(tmp_path / "distilled" / "certificate.json").verify() <= 4
    assert understudy.load(tmp_path / "distilled").predict(records).shape == (4,)
    code, _, err = run(capsys, "distill", data, "--out", tmp_path / "again", *common)
    assert code == 3
    assert not (tmp_path / "again").exists()


def test_an_image_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_npz(bars(300), tmp_path / "bars.npz")
    options = ("--per-class", 2, "--set", "steps=20", "--set", "batch=20", "--set", "deform=false")
    code, out, err = run(capsys, "distill", tmp_path / "bars.npz", "--out", tmp_path / "out", *options)
    assert code == 0, err
    assert "6 distilled records" in out
    assert read_npz(tmp_path / "out" / "records.npz").images.shape == (6, 8, 8)
    assert (tmp_path / "out" / "records.png").stat().st_size > 100


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--method", "dpkipp"), "unknown method 'dpkipp'"),
        (("--set", "batches=3"), "no setting 'batches'"),
        (("--set", "batch"), "NAME=VALUE"),
        (("--set", "batch=many"), "must be a whole number"),
        (("--per-class", "61"), "at most 60"),
        (("--classes", "a,b"), "for image sets"),
        (("--ledger", "x.db"), "belong together"),
        (("--target", "z"), "'z'"),
        (("--method", "one-look-convnet"), "learns from images"),
    ],
)
def test_refusals_leave_nothing(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], said: str
) -> None:
    data, schema = files
    code, _, err = run(capsys, "distill", data, "--out", tmp_path / "out", "--schema", schema, *options)
    assert code == 2
    assert said in err
    assert not (tmp_path / "out").exists()


def test_refusals_of_image_sets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "set.npz", images=bars(9).images, labels=bars(9).labels)
    code, _, err = run(capsys, "distill", tmp_path / "set.npz", "--out", tmp_path / "out")
    assert code == 2
    assert "--classes" in err
    named = ("--classes", "a,b,c")
    code, _, err = run(capsys, "distill", tmp_path / "set.npz", "--out", tmp_path / "out", *named, "--target", "y")
    assert "leave --target" in err
    code, _, err = run(capsys, "distill", tmp_path / "set.npz", "--out", tmp_path / "out", *named)
    assert "at most 3" in err
    (tmp_path / "flat").mkdir()
    for folder, what in (("flat", "holds no folder with pictures in it"), ("none", "does not exist")):
        code, _, err = run(capsys, "distill", tmp_path / folder, "--out", tmp_path / "out", "--grey")
        assert code == 2
        assert f"{folder} {what}: a set of images is a folder with a folder of pictures for each class" in err
    assert not (tmp_path / "out").exists()


def test_a_refused_run_gives_the_ledger_its_budget_back(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, schema = files
    ledger = tmp_path / "ledger.db"
    Ledger.create(ledger).add_dataset("small", epsilon=4, delta=1e-4)
    common = ("--schema", schema, *QUICK, "--ledger", ledger, "--dataset", "small")
    code, _, _ = run(capsys, "distill", data, "--out", tmp_path / "one", "--per-class", 61, *common)
    assert code == 2
    code, _, err = run(capsys, "distill", data, "--out", tmp_path / "two", "--per-class", 2, *common)
    assert code == 0, err


# ---- runs that go on ----

LOOKS = {
    "dpkip": (*QUICK, "--per-class", 2),
    "dpkip, bought start": (*QUICK, "--per-class", 2, "--set", "warm_start=moments", "--epsilon", 8),
    "one-look": ("--method", "one-look", "--per-class", 2, "--epsilon", 8, "--set", "steps=20", "--set", "samples=50"),
}


@pytest.mark.parametrize(
    ("said", "name"),
    [
        (True, "dpkip, bought start"),
        (False, "one-look"),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in product((True, False), LOOKS)),
    ],
)
def test_an_interrupted_run_goes_on_and_draws_nothing_twice(
    name: str, said: bool, files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    data, schema = files
    book = Ledger.create(tmp_path / "ledger.db")
    book.add_dataset("small", epsilon=8, delta=1e-4)
    where = tmp_path / "run.private"
    common = ["distill", data, "--out", tmp_path / "out", *LOOKS[name], "--workspace", where]
    common += ["--schema", schema] if said else ["--target", "y"]
    booked = ["--ledger", book.path, "--dataset", "small"]
    written: list[bytes] = []
    real = Log._write

    def dying(self: Log, frame: bytes) -> None:
        real(self, frame)
        written.append(frame)
        raise KeyboardInterrupt

    monkeypatch.setattr(Log, "_write", dying)
    code, _, _ = run(capsys, *common, *booked)
    assert code != 0
    logged = (where / "prelude.log").read_bytes()
    assert logged == b"".join(written)
    (entry,) = book.entries("small")
    assert (entry.state, entry.resumable) == ("drawing", True)
    code, _, err = run(capsys, *common, "--resume")
    assert (code, "is booked in the ledger" in " ".join(err.split())) == (2, True)
    again: list[bytes] = []

    def watched(self: Log, frame: bytes) -> None:
        assert (where / "prelude.log").read_bytes().startswith(logged)
        real(self, frame)
        again.append(frame)

    monkeypatch.setattr(Log, "_write", watched)
    code, _, err = run(capsys, *common, *booked, "--resume")
    assert code == 0, err
    assert not where.exists()
    certificate = Certificate.load(tmp_path / "out" / "certificate.json")
    assert book.spent("small").epsilon == certificate.epsilon == certificate.verify()
    fresh = tmp_path / "fresh.private"
    monkeypatch.setattr(Log, "_write", lambda self, frame: written.append(frame))
    written.clear()
    options = [*common[:3], tmp_path / "other", *common[4:]]
    code, _, err = run(capsys, *options, "--workspace", fresh)
    assert code == 0, err
    # Without a schema the number of looks depends on what the noise shows of the columns.
    assert not said or len(again) == len(written) - 1, "what was logged was not drawn again"


def test_resume_needs_the_workspace_of_the_same_run(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, schema = files
    common = ["distill", data, "--schema", schema, "--out", tmp_path / "out", *QUICK]
    code, _, err = run(capsys, *common, "--resume")
    assert (code, "--workspace" in err) == (2, True)
    real = Log._write
    monkeypatch.setattr(Log, "_write", lambda self, frame: (_ for _ in ()).throw(KeyboardInterrupt))
    where = tmp_path / "run.private"
    assert run(capsys, *common, "--per-class", 2, "--workspace", where)[0] != 0
    monkeypatch.setattr(Log, "_write", real)
    code, _, err = run(capsys, *common, "--per-class", 3, "--workspace", where, "--resume")
    assert (code, "`per_class` was 2" in " ".join(err.split())) == (2, True)
    code, _, err = run(capsys, *common, "--per-class", 2, "--workspace", where)
    assert (code, "holds a run already" in err) == (2, True)
    assert run(capsys, *common, "--per-class", 2, "--workspace", where, "--resume")[0] == 0
