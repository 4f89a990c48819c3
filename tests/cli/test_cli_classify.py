"""`understudy classify`: two tables in, a release out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from classifying import CLASSES, FAST, book, classify  # pyright: ignore[reportMissingImports]
from command import run  # pyright: ignore[reportMissingImports]
from patients import FEATURES, files, result  # pyright: ignore[reportMissingImports]

from understudy.errors import UnderstudyWarning
from understudy.privacy import Certificate
from understudy.tables import Column, Schema


def test_classes_said_and_charged(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    made = result(classify(capsys, *CLASSES, "--aggregator", "confident-gnmax", "--json"))
    assert made["classes"] == ["malignant", "benign"]
    assert (made["teachers"], made["delta"]) == (8, 1e-5)
    assert made["private_to_the_data_holder"]["mended"]["rows"] == {}
    assert files() == {"data.csv", "public.csv", "ledger.db", "release"}
    certificate = Certificate.load(folder / "release" / "certificate.json")
    assert certificate.verify() <= made["epsilon"] <= 8.0
    assert "teacher_agreement" not in json.dumps(certificate.to_json())
    (entry,) = book().entries("patients")
    assert (entry.state, entry.purpose) == ("committed", "classify diagnosis")
    assert entry.counted == (made["epsilon"], made["delta"])
    assert entry.certificate == certificate.to_json()

    code, _, err = classify(capsys, *CLASSES, "--out", "again")
    assert code == 3
    assert "Remaining" in err
    assert "again" not in files()
    assert len(book().entries("patients")) == 1


def test_classes_estimated_and_readable(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    code, out, err = classify(capsys)
    assert (code, err) == (0, "")
    assert "benign, malignant" in out
    assert "For your eyes only" in out
    assert "no class" not in out
    assert "Next: understudy verify release" in out
    assert run(capsys, "verify", folder / "release")[0] == 0
    certificate = Certificate.load(folder / "release" / "certificate.json")
    (classes,) = certificate.earlier()
    assert [type(event).__name__ for event in certificate.events] == ["LNMaxEvent"]
    assert {type(event).__name__ for event in classes.events} == {"DeltaEvent", "GaussianEvent"}
    # The ledger adds the two up; composed they cost less.
    assert certificate.total()[0] < book().spent("patients").epsilon <= 8.0
    assert book().spent("patients").epsilon == pytest.approx(certificate.epsilon + classes.epsilon)


def test_a_class_too_rare_to_be_taught_is_a_question(
    capsys: pytest.CaptureFixture[str], folder: Path, private: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever says no has paid for the classes alone, and has them."""
    rows = pd.concat([private] * 10, ignore_index=True)
    rows.loc[:100, "diagnosis"] = "unsure"
    rows.to_csv("data.csv", index=False)
    asked: list[str] = []

    def no(question: str, **_: object) -> None:
        asked.append(question)
        raise SystemExit(1)

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", no)
    code, _, err = classify(capsys)
    assert (code, asked) == (1, ["Go on all the same?"])
    assert "'unsure' of 'diagnosis' would get none" in err
    assert not (folder / "release").exists()
    assert 0.7 < book().spent("patients").epsilon <= 0.8
    assert set(Schema.read("release.classes.yaml")["diagnosis"].labels) >= {"benign", "malignant", "unsure"}
    # They are not paid for twice.
    code, _, err = classify(capsys)
    assert (code, "release.classes.yaml holds classes that were paid for: use them with --schema" in err) == (2, True)
    assert "unsure" in result(classify(capsys, "--schema", "release.classes.yaml", "--json"))["classes"]
    certificate = Certificate.load(folder / "release" / "certificate.json")
    assert [earlier.body["release"]["kind"] for earlier in certificate.earlier()] == ["schema"]


def test_a_label_too_rare_to_be_found_does_not_waste_the_run(
    capsys: pytest.CaptureFixture[str], folder: Path, private: pd.DataFrame
) -> None:
    rare = private.copy()
    rare.loc[[3, 77], "diagnosis"] = "unsure"
    rare.to_csv("data.csv", index=False)
    code, out, err = classify(capsys)
    assert (code, err) == (0, "")
    assert "2 rows have no target, or one that is no class" in out
    assert "benign, malignant" in out
    assert "unsure" not in (folder / "release" / "manifest.json").read_text()


@pytest.mark.parametrize("others", [0, 1])
def test_one_class_is_released_like_any_other(
    capsys: pytest.CaptureFixture[str], folder: Path, private: pd.DataFrame, others: int
) -> None:
    lopsided = private.assign(diagnosis="benign")
    lopsided.loc[: others - 1, "diagnosis"] = "malignant"
    lopsided.to_csv("data.csv", index=False)
    with pytest.warns(UnderstudyWarning, match="no two classes"):
        assert result(classify(capsys, "--json"))["classes"] == ["benign"]
    predicted = result(run(capsys, "predict", "release", "public.csv", "--json"))
    assert set(predicted["predictions"]["diagnosis"]) == {"benign"}
    assert set(result(classify(capsys, *CLASSES, "--out", "said", "--json", ledger=False))["classes"]) == {
        "benign",
        "malignant",
    }


def test_where_no_class_stands_out_it_is_called_other(
    capsys: pytest.CaptureFixture[str], folder: Path, private: pd.DataFrame
) -> None:
    private.assign(diagnosis=np.arange(len(private)) / 7).to_csv("data.csv", index=False)
    with pytest.warns(UnderstudyWarning, match="no two classes of 'diagnosis' stood out of the noise: is it a number"):
        _, out, err = classify(capsys, "--json")
    assert json.loads(out)["classes"] == ["other"]
    assert "'diagnosis' looks like a number, with 250 values" in err


def test_a_number_is_refused_before_anything_is_spent(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    features = [Column(name, "continuous", bounds=(0.0, 3000.0)) for name in FEATURES]
    Schema((*features, Column("diagnosis", "integer", (0, 300)))).write("schema.yaml")
    code, _, err = classify(capsys, "--schema", "schema.yaml")
    assert (code, "understudy synthesize data.csv --target diagnosis" in err) == (2, True)
    assert book().spent("patients") == (0, 0)


def test_a_schema_says_features_and_classes(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    features = [Column(name, "continuous", bounds=(0.0, 3000.0)) for name in FEATURES]
    label = Column("diagnosis", "categorical", categories=("benign", "malignant"))
    # The file names another target: the command line decides.
    Schema((*features, label), FEATURES[0]).write("schema.yaml")
    printed = classify(capsys, "--schema", "schema.yaml", "--json", ledger=False)
    assert set(result(printed)["classes"]) == {"benign", "malignant"}
    manifest = json.loads((folder / "release" / "manifest.json").read_text())
    assert manifest["schema"]["target"] == "diagnosis"
    assert manifest["schema"]["columns"][0] == {"name": "mean radius", "kind": "continuous", "bounds": [0.0, 3000.0]}


@pytest.mark.parametrize(
    ("values", "arguments", "classes"),
    [
        ([0, 1], (), [0, 1]),
        ([1.0, 2.0], ("--classes", "1, 2"), [1, 2]),
        ([False, True], ("--classes", "True,False"), [False, True]),
    ],
)
def test_targets_that_are_no_text(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    private: pd.DataFrame,
    values: list[Any],
    arguments: tuple[str, ...],
    classes: list[Any],
) -> None:
    sick = private["diagnosis"] == "malignant"
    private.assign(diagnosis=np.where(sick, values[1], values[0])).to_parquet("data.parquet")
    usual = ("--target", "diagnosis", "--public", "public.csv", "--out", "release", *FAST)
    made = result(run(capsys, "classify", "data.parquet", *usual, *arguments, "--json"))
    assert made["classes"] == classes
    predicted = result(run(capsys, "predict", "release", "public.csv", "--json"))
    assert set(predicted["predictions"]["diagnosis"]) <= set(classes)


def test_constant_columns_and_missing_values_work(
    capsys: pytest.CaptureFixture[str], folder: Path, private: pd.DataFrame, public: pd.DataFrame
) -> None:
    gaps = private.assign(site="north", same=1.0)
    gaps.loc[5, "mean radius"] = np.nan
    gaps.to_csv("data.csv", index=False)
    public.assign(site="north", same=1.0).to_csv("public.csv", index=False)
    assert result(classify(capsys, *CLASSES, "--json"))["labels"] > 0


def test_a_dry_run_says_what_a_fit_takes_and_does_nothing(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert folder.is_dir()
    before = files()
    told = result(classify(capsys, *CLASSES, "--dry-run", "--json"))
    assert told["method"] == "pate"
    assert told["rows"] > 0
    assert told["bytes"] > 0
    assert files() == before
    assert not book().entries("patients")
