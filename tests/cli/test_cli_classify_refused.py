"""What `understudy classify` refuses: mistakes write and spend nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from classifying import CLASSES, FAST, classify, refused  # pyright: ignore[reportMissingImports]
from command import run  # pyright: ignore[reportMissingImports]
from patients import FEATURES, edit, result  # pyright: ignore[reportMissingImports]

from understudy.tables import Column, Schema


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--teachers", "251"), "251 teachers for 250 rows"),
        (("--teachers", "0"), "--teachers 0 must be at least 1"),
        (("--queries", "0"), "between 1 and the 150 public rows"),
        (("--queries", "151"), "between 1 and the 150 public rows"),
        (("--aggregator", "gnmx"), "Did you mean 'gnmax'"),
        (("--student", "forrest"), "Did you mean 'forest'"),
        (("--teacher", "parrot"), "must be one of logistic"),
        (("--seed", "-1"), "--seed -1 must lie between 0"),
        (("--epsilon", "0"), "epsilon"),
        (("--epsilon", "nan"), "epsilon"),
        (("--delta", "1"), "delta"),
        (("--delta", "0"), "needs a --delta above 0"),
        (("--epsilon", "0.5"), "250 rows are too few for two of them"),
        (("--classes", "malignant"), "has one class only"),
        (("--classes", "malignant,malignant,benign"), "more than once"),
        (("--classes", "malignant,,benign"), "a label is empty"),
        (("--public", "data.csv"), "is the sensitive table itself"),
        (("--public", "pulbic.csv"), "Did you mean 'public.csv'"),
        (("--schema", "none.yaml"), "there is no file"),
        (("--dataset", "patient"), "holds 'patients'"),
        (("--ledger", "none.db"), "There is no ledger"),
        (("--out", "data.csv"), "exists and is no folder"),
        (("--out", "data.csv/release"), "Name another place"),
    ],
)
def test_wrong_arguments(
    capsys: pytest.CaptureFixture[str], folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    refused(capsys, words, *arguments)


def test_a_ledger_needs_a_dataset(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    code, _, err = classify(capsys, "--ledger", "ledger.db", ledger=False)
    assert (code, "belong together" in err) == (2, True)


def test_a_target_that_is_not_there(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    refused(capsys, "data.csv has no column 'diagnosys'. Did you mean 'diagnosis'?", target="diagnosys")


def test_a_target_whose_declared_kind_is_no_class(
    capsys: pytest.CaptureFixture[str], folder: Path, private: pd.DataFrame
) -> None:
    columns = tuple(Column(name, "continuous", bounds=(0.0, 3000.0)) for name in (*FEATURES, "diagnosis"))
    Schema(columns).write("schema.yaml")
    refused(capsys, "is continuous; a classifier needs categories", "--schema", "schema.yaml")
    private.assign(diagnosis=pd.Timestamp("2024-01-01")).to_parquet("data.parquet")
    usual = ("--target", "diagnosis", "--public", "public.csv", "--out", "release", *FAST)
    code, _, err = run(capsys, "classify", "data.parquet", *usual)
    assert (code, "is datetime; a classifier needs categories" in err) == (2, True)


def test_classes_must_be_of_the_type_that_a_file_declares(
    capsys: pytest.CaptureFixture[str], folder: Path, private: pd.DataFrame
) -> None:
    refused(capsys, "must be text or whole numbers", "--classes", "0.5,1.5")
    usual = ("--target", "diagnosis", "--public", "public.csv", "--out", "release", *FAST, *CLASSES)
    for values, words in (([0.5, 1.5], "holds numbers"), ([False, True], "holds true and false")):
        benign = private["diagnosis"] == "benign"
        private.assign(diagnosis=np.where(benign, values[0], values[1])).to_parquet("data.parquet")
        code, _, err = run(capsys, "classify", "data.parquet", *usual)
        assert (code, f"{words}, so must the list" in err) == (2, True)


@pytest.mark.parametrize(
    ("name", "existing"), [("an existing release", "manifest.json"), ("an existing folder", "notes.txt")]
)
def test_an_output_folder_that_holds_something(
    capsys: pytest.CaptureFixture[str], folder: Path, name: str, existing: str
) -> None:
    (folder / "release").mkdir()
    (folder / "release" / existing).write_text(name)
    refused(capsys, "exists and is not empty", *CLASSES)
    assert (folder / "release" / existing).read_text() == name


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="this user may write everywhere")
def test_a_folder_that_may_not_be_written(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    locked = folder / "locked"
    locked.mkdir(mode=0o500)
    refused(capsys, "cannot write to", "--out", "locked/release", *CLASSES)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda f: f[:5], "8 teachers for 5 rows"),
        (lambda f: f[:0], "but no rows"),
        (lambda f: f.drop(columns="mean area"), "data.csv lacks column 'mean area', which public.csv has"),
        (lambda f: f.rename(columns={"mean area": "mean aera"}), "Did you mean 'mean aera'"),
        (lambda f: f.assign(age=1), "data.csv has column 'age', which public.csv does not have"),
        (lambda f: f.set_axis(["a", "b", "b", "c", "diagnosis"], axis=1), "duplicate column names: 'b'"),
    ],
)
def test_tables_that_do_not_fit(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    private: pd.DataFrame,
    edit: Callable[[pd.DataFrame], pd.DataFrame],
    words: str,
) -> None:
    edit(private).to_csv("data.csv", index=False)
    refused(capsys, words, *CLASSES)


@pytest.mark.parametrize(
    ("edit", "rows", "strictly"),
    [
        (edit("diagnosis", 7, None), {"without_target": 1}, "'diagnosis' is missing in 1 of 250 rows, first in row 8"),
        (edit("diagnosis", 7, "healthy"), {"without_target": 1}, "the value 'healthy' is none of its categories"),
        (lambda f: f.assign(diagnosis="benign"), {}, "the target 'diagnosis' has one class only"),
        (edit("mean area", 4, np.inf), {}, "column 'mean area', row 5 (the first is row 1): the value inf"),
        (edit("mean area", 4, "big"), {}, "the value 'big' is not a number"),
        (edit("mean area", slice(None), "big"), {}, "the value 'big' is not a number"),
    ],
)
def test_sensitive_rows_that_do_not_fit_are_left_out_unless_somebody_asks(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    private: pd.DataFrame,
    edit: Callable[[pd.DataFrame], pd.DataFrame],
    rows: dict[str, int],
    strictly: str,
) -> None:
    edit(private).to_csv("data.csv", index=False)
    assert strictly in refused(capsys, "data.csv: ", *CLASSES, "--strict")
    assert result(classify(capsys, *CLASSES, "--json"))["private_to_the_data_holder"]["mended"]["rows"] == rows


def test_lines_that_cannot_be_read_are_blank_rows(
    capsys: pytest.CaptureFixture[str], folder: Path, private: pd.DataFrame
) -> None:
    lines = (folder / "data.csv").read_bytes().splitlines()
    lines[3] += b",1"
    lines[9] = b"1,2"
    lines[20] = lines[20].replace(b"ig", b"\xff")
    lines[30] += b"\0"
    (folder / "data.csv").write_bytes(b"\n".join(lines))
    refused(capsys, "this is not text", *CLASSES, "--strict")
    made = result(classify(capsys, *CLASSES, "--json"))
    unreadable = 3 + (b"\xff" in lines[20])
    assert made["private_to_the_data_holder"]["mended"]["rows"] == {"unreadable": unreadable}


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda f: f.drop(columns="mean area"), "data.csv has column 'mean area', which public.csv does not have"),
        (lambda f: f.assign(age=1), "data.csv lacks column 'age', which public.csv has"),
        (edit("mean area", 4, np.inf), "public.csv: column 'mean area', row 5"),
        (lambda f: f.assign(**{"mean area": np.nan}), "public.csv: column 'mean area' has no value"),
        (lambda f: f[:0], "public.csv has columns"),
        (lambda f: f[[]].assign(diagnosis="benign"), "no columns"),
        (lambda f: f.set_axis(["a", "b", "b", "c"], axis=1), "duplicate column names: 'b'"),
    ],
)
def test_public_rows_that_do_not_fit(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    public: pd.DataFrame,
    edit: Callable[[pd.DataFrame], pd.DataFrame],
    words: str,
) -> None:
    edit(public).to_csv("public.csv", index=False)
    refused(capsys, words, *CLASSES)


def test_a_schema_that_does_not_fit(
    capsys: pytest.CaptureFixture[str], folder: Path, private: pd.DataFrame, public: pd.DataFrame
) -> None:
    columns = tuple(Column(name, "continuous", bounds=(0.0, 3000.0)) for name in FEATURES)
    schema = ("--schema", "schema.yaml", *CLASSES)
    Schema(columns[1:]).write("schema.yaml")
    refused(capsys, "data.csv has column 'mean radius', which schema.yaml does not have", *schema)
    Schema((*columns, Column("age", "boolean"))).write("schema.yaml")
    refused(capsys, "data.csv lacks column 'age', which schema.yaml has", *schema)
    Schema((*columns[1:], Column("mean radius", "continuous"))).write("schema.yaml")
    refused(capsys, "the schema does not say the bounds of 'mean radius'", *schema)
    Schema(columns).write("schema.yaml")
    edit("mean area", 4, None)(private).to_csv("data.csv", index=False)
    refused(capsys, "data.csv: column 'mean area' has a missing value in row 5", *schema, "--strict")
    private.to_csv("data.csv", index=False)
    edit("mean area", 4, None)(public).to_csv("public.csv", index=False)
    refused(capsys, "public.csv: column 'mean area' has a missing value in row 5", *schema)


def test_identifiers_are_refused_before_the_classes_are_paid_for(
    capsys: pytest.CaptureFixture[str], folder: Path, private: pd.DataFrame, public: pd.DataFrame
) -> None:
    for name, frame in (("data.csv", private), ("public.csv", public)):
        frame.assign(id=np.arange(len(frame)) * 2**50).to_csv(name, index=False)
    refused(capsys, "usually an identifier")


@pytest.mark.parametrize("which", ["data.csv", "public.csv"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n\n", "only white space"),
        ("größe,diagnosis\n1,ja\n2,nein\n".encode("latin-1"), "is not UTF-8"),
        ("a,diagnosis\n1,x\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_files_that_are_no_tables(
    capsys: pytest.CaptureFixture[str], folder: Path, which: str, content: bytes, words: str
) -> None:
    (folder / which).write_bytes(content)
    assert which in refused(capsys, words, *CLASSES)


@pytest.mark.slow
def test_a_line_of_a_gigabyte(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    with (folder / "data.csv").open("wb") as file:
        file.write(b"a,diagnosis\n1,")
        file.truncate(2**30)
    # Three lines: a header, one that is far too long to be a row, and that is all.
    refused(capsys, "data.csv lacks column", *CLASSES)
    with (folder / "data.csv").open("wb") as file:
        file.write(b"a" * (20 << 20))
        file.truncate(2**30)
    refused(capsys, "a line of more than 16 MB", *CLASSES)


def test_a_budget_that_buys_no_label_is_given_back(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    refused(
        capsys,
        "does not fit the budget",
        *CLASSES,
        "--aggregator",
        "gnmax",
        "--delta",
        "0",
        code=3,
        entries=("returned",),
    )


def test_a_limit_that_is_too_small(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    refused(capsys, "Remaining: 10", *CLASSES, "--epsilon", "11", code=3)
    code, out, _ = classify(capsys, *CLASSES, "--epsilon", "11", "--json")
    assert code == 3
    assert json.loads(out)["error"] == "budget"
