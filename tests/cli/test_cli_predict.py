"""`understudy predict`: labels for new rows, by a student of labelled public rows or of a release's own synthetic ones."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run  # pyright: ignore[reportMissingImports]
from patients import edit, files, result, table  # pyright: ignore[reportMissingImports]

from understudy import load
from understudy.cli.app import main
from understudy.methods.taught import Taught
from understudy.privacy import Certificate, Ledger
from understudy.tables import Column, Schema


@pytest.fixture
def folder(tmp_path: Path, public: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> Path:
    public.to_csv(tmp_path / "public.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory, public: pd.DataFrame) -> Path:
    """Taught by teachers' labels, with little noise: what it learns can then be judged."""
    made = tmp_path_factory.mktemp("made")
    table().head(250).to_csv(made / "data.csv", index=False)
    public.to_csv(made / "public.csv", index=False)
    arguments = ["classify", str(made / "data.csv"), "--target", "diagnosis", "--public", str(made / "public.csv")]
    arguments += ["--out", str(made / "release"), "--classes", "malignant,benign", "--teachers", "8", "--epsilon", "60"]
    with pytest.raises(SystemExit) as exit:
        main([*arguments, "--aggregator", "lnmax", "--queries", "20", "--seed", "0"])
    assert not exit.value.code
    return made / "release"


def test_predictions(capsys: pytest.CaptureFixture[str], release: Path, folder: Path) -> None:
    test = table()[400:]
    test.to_csv("new.csv", index=False)
    code, out, err = run(capsys, "predict", release, "new.csv", "--out", "labels.csv")
    assert (code, err) == (0, "")
    assert "Wrote 169 predictions to labels.csv" in out
    written = pd.read_csv("labels.csv")
    assert list(written) == ["diagnosis", "probability of malignant", "probability of benign"]
    assert np.asarray(written.iloc[:, 1:].sum(axis=1)) == pytest.approx(1.0, abs=1e-5)
    assert np.mean(np.asarray(written["diagnosis"]) == np.asarray(test["diagnosis"])) > 0.7
    code, out, _ = run(capsys, "predict", release, "new.csv")
    assert (code, out) == (0, written.to_csv(index=False))
    shown = result(run(capsys, "predict", release, "new.csv", "--json"))
    assert (shown["rows"], shown["out"]) == (169, None)
    assert shown["predictions"]["diagnosis"] == written["diagnosis"].tolist()


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda f: f.drop(columns="mean area"), "new.csv lacks column 'mean area', which the classifier needs"),
        (lambda f: f.rename(columns={"mean area": "mean aera"}), "Did you mean 'mean aera'"),
        (edit("mean area", 4, np.inf), "new.csv: column 'mean area', row 5 (the first is row 1): the value inf"),
        (edit("mean area", 4, "big"), "the value 'big' is not a number"),
    ],
)
def test_rows_that_cannot_be_labelled(
    capsys: pytest.CaptureFixture[str],
    release: Path,
    folder: Path,
    public: pd.DataFrame,
    edit: Callable[[pd.DataFrame], pd.DataFrame],
    words: str,
) -> None:
    edit(public).to_csv("new.csv", index=False)
    code, _, err = run(capsys, "predict", release, "new.csv", "--out", "labels.csv")
    assert code == 2
    assert words in err
    assert "labels.csv" not in files()


@pytest.mark.parametrize(
    ("out", "words"), [("labels.txt", "suffix '.txt'"), ("none/labels.csv", "no folder none"), (".", "suffix ''")]
)
def test_predictions_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], release: Path, folder: Path, out: str, words: str
) -> None:
    before = files()
    code, _, err = run(capsys, "predict", release, "public.csv", "--out", out)
    assert code == 2
    assert words in err
    assert files() == before


def _flip_last_byte(folder: Path) -> None:
    path = folder / "arrays.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_flip_last_byte, "its checksum is not the one in the manifest"),
        (lambda f: (f / "arrays.safetensors").unlink(), "Copy the release again"),
        (lambda f: (f / "manifest.json").unlink(), "holds no readable manifest.json"),
        (lambda f: (f / "manifest.json").write_text("{"), "manifest.json"),
        (shutil.rmtree, "is no folder"),
    ],
)
def test_a_damaged_release(
    capsys: pytest.CaptureFixture[str], release: Path, folder: Path, damage: Callable[[Path], object], words: str
) -> None:
    broken = folder / "broken"
    shutil.copytree(release, broken)
    damage(broken)
    code, _, err = run(capsys, "predict", broken, "public.csv", "--out", "labels.csv")
    assert code == 2
    assert words in err
    assert "labels.csv" not in files()


# ---- no public rows: synthetic ones teach ---------------------------------------------------------------------


def test_a_table_alone_makes_a_classifier(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """No schema, no classes, no public rows: the shortest command there is."""
    table()[:400].to_csv("data.csv", index=False)
    Ledger.create("ledger.db").add_dataset("patients", epsilon=10.0, delta=1e-4)
    charged = ("--ledger", "ledger.db", "--dataset", "patients")
    usual = ("classify", "data.csv", "--target", "diagnosis", "--epsilon", "8", "--seed", "0", *charged)
    code, out, err = run(capsys, *usual, "--out", "release")
    assert (code, err) == (0, "")
    assert "for the classes benign, malignant" in out
    certificate = Certificate.load(folder / "release" / "certificate.json")
    assert Ledger("ledger.db").spent("patients") == (certificate.epsilon, certificate.delta)
    assert run(capsys, "verify", "release")[0] == 0
    test = table()[400:]
    # New rows need not fit what was learnt: a number beyond all others counts as the greatest, a missing one as missing.
    odd = test.drop(columns="diagnosis").assign(note="new")
    odd.iloc[0, 0], odd.iloc[1, 1] = 1e9, None
    odd.to_csv("new.csv", index=False)
    for student in ((), ("--student", "logistic")):
        shown = result(run(capsys, "predict", "release", "new.csv", "--json", *student))["predictions"]
        assert np.mean(np.asarray(shown["diagnosis"]) == np.asarray(test["diagnosis"])) > 0.8
    # Two students of one release are alike, and `predict` of Python is the command's.
    model = Taught(load("release"), "logistic")
    assert model.predict(odd).tolist() == shown["diagnosis"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--teachers", "5"), "--teachers: teachers label public rows"),
        (("--queries", "5"), "--queries: teachers label public rows"),
        (("--teacher", "network"), "--teacher: teachers label public rows"),
        (("--student", "forrest"), "Did you mean 'forest'"),
        (("--target", "diagnosys"), "Did you mean 'diagnosis'"),
        (("--classes", "benign"), "one class only"),
        (("--schema", "schema.yaml"), "is continuous; a classifier needs categories"),
    ],
)
def test_wrong_arguments_without_public_rows(
    capsys: pytest.CaptureFixture[str], folder: Path, given: tuple[str, ...], words: str
) -> None:
    table()[:100].to_csv("data.csv", index=False)
    Schema((Column("diagnosis", "continuous", bounds=(0, 1)),)).write("schema.yaml")
    before = files()
    code, _, err = run(capsys, "classify", "data.csv", "--target", "diagnosis", "--out", folder / "release", *given)
    assert (code, words in err) == (2, True), err
    assert files() == before


def test_a_target_that_looks_like_a_number_is_asked_about(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table()[:400].to_csv("data.csv", index=False)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: (_ for _ in ()).throw(SystemExit(1)))
    for command in (("classify", "data.csv"), ("distill", "data.csv")):
        code, _, err = run(capsys, *command, "--target", "mean area", "--out", folder / "release")
        assert (code, "'mean area' looks like a number" in err) == (1, True), err
        assert not (folder / "release").exists()


def test_what_draws_no_rows_and_labels_none(capsys: pytest.CaptureFixture[str], release: Path, folder: Path) -> None:
    code, _, err = run(capsys, "predict", release, "public.csv", "--student", "forest")
    assert (code, "--student: this release has its own" in err) == (2, True)
    assert folder.is_dir()
