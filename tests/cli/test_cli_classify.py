"""`understudy classify`: two tables in, a release out; mistakes write and spend nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import run  # pyright: ignore[reportMissingImports]
from patients import FEATURES, edit, files, result, table  # pyright: ignore[reportMissingImports]

from understudy.cli import main
from understudy.cli.hosts import Meeting, read_meeting
from understudy.errors import UnderstudyWarning
from understudy.privacy import Certificate, Ledger
from understudy.tables import Column, Schema

CLASSES = ("--classes", "malignant,benign")
# lnmax with a fixed number of queries is the quickest to account for.
FAST = ("--teachers", "8", "--epsilon", "8", "--seed", "0", "--aggregator", "lnmax", "--queries", "20")


@pytest.fixture(scope="module")
def private() -> pd.DataFrame:
    return table().head(250)


@pytest.fixture(scope="module")
def public() -> pd.DataFrame:
    return table().drop(columns="diagnosis").iloc[250:400].reset_index(drop=True)


@pytest.fixture
def folder(tmp_path: Path, private: pd.DataFrame, public: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Here commands run: both tables, a ledger, and nothing else."""
    private.to_csv(tmp_path / "data.csv", index=False)
    public.to_csv(tmp_path / "public.csv", index=False)
    Ledger.create(tmp_path / "ledger.db").add_dataset("patients", epsilon=10.0, delta=1e-4)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def classify(
    capsys: pytest.CaptureFixture[str], *arguments: str | Path, target: str = "diagnosis", ledger: bool = True
) -> tuple[int, str, str]:
    charged = ("--ledger", "ledger.db", "--dataset", "patients") if ledger else ()
    # What a test says comes last, and so replaces what is said here.
    usual = ("--target", target, "--public", "public.csv", "--out", "release", *FAST, *charged)
    return run(capsys, "classify", "data.csv", *usual, *arguments)


def book() -> Ledger:
    return Ledger("ledger.db")


def refused(
    capsys: pytest.CaptureFixture[str],
    words: str,
    *arguments: str | Path,
    code: int = 2,
    target: str = "diagnosis",
    entries: tuple[str, ...] = (),
) -> str:
    """It ends with `code` and says `words`; nothing is written, nothing is spent; these are the ledger's entries."""
    before = files()
    got, out, err = classify(capsys, *arguments, target=target)
    assert (got, out) == (code, ""), err
    assert words in err
    assert err.startswith("error: ")
    assert files() == before
    assert book().spent("patients") == (0.0, 0.0)
    assert tuple(entry.state for entry in book().entries("patients")) == entries
    return err


# ---- a classifier --------------------------------------------------------------------------------------------


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


# ---- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--teachers", "251"), "251 teachers for 250 rows"),
        (("--teachers", "0"), "--teachers 0 must be at least 1"),
        (("--queries", "0"), "between 1 and the 150 public rows"),
        (("--queries", "151"), "between 1 and the 150 public rows"),
        (("--aggregator", "gnmx"), "Did you mean 'gnmax'"),
        (("--student", "forrest"), "Did you mean 'forest'"),
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


def test_a_dry_run_says_what_a_fit_takes_and_does_nothing(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert folder.is_dir()
    before = files()
    told = result(classify(capsys, *CLASSES, "--dry-run", "--json"))
    assert told["method"] == "pate"
    assert told["rows"] > 0
    assert told["bytes"] > 0
    assert files() == before
    assert not book().entries("patients")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--hosts", "2"], "need the --coordinator"),
        (["--coordinator", "here:1"], "how many processes are there"),
        (["--coordinator", "here", "--hosts", "2", "--host-number", "0"], "must be HOST:PORT"),
        (["--coordinator", "here:99999", "--hosts", "2", "--host-number", "0"], "a port up to 65535"),
        (["--coordinator", "here:1", "--hosts", "2", "--host-number", "2"], "between 0 and 1"),
        (["--coordinator", "here:1", "--hosts", "0", "--host-number", "0"], "--hosts 0 must be at least 1"),
        (["--teacher", "parrot"], "must be one of logistic"),
    ],
)
def test_several_hosts_are_said_wholly_or_refused(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    arguments = ["classify", "rows.csv", "--target", "ill", "--public", "public.csv", "--out", "release", *options]
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code
    assert said in " ".join("".join(capsys.readouterr()).split())


def test_a_launcher_says_which_process_this_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_NTASKS", "4")
    monkeypatch.setenv("SLURM_PROCID", "3")
    assert read_meeting(None, None, None) is None  # a job of SLURM's is not several hosts unless somebody says so
    assert read_meeting("node0:1234", None, None) == Meeting("node0:1234", 4, 3)
