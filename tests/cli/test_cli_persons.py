"""Persons on the command line: `--person`, what is asked, refused and written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import run  # pyright: ignore[reportMissingImports]

from understudy import load
from understudy.audit.worlds import SCHEMA, visits
from understudy.errors import InputError
from understudy.methods.moments import MomentsGenerator
from understudy.privacy import Certificate
from understudy.tables import read_table
from understudy.tables.persons import Person

QUICK = ("--target", "sick", "--set", "model=gaussian", "--rows", 50)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("visits")
    visits(300).rename(columns={"who": "patient_id"}).to_csv(folder / "visits.csv", index=False)
    SCHEMA.write(folder / "schema.yaml")
    return folder / "visits.csv"


def test_a_promise_for_persons_from_the_table_to_the_ledger(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book, out = tmp_path / "ledger.db", tmp_path / "out.csv"
    run(capsys, "ledger", "init", book, "--dataset", "clinic", "--epsilon", 9, "--delta", "1e-3")
    given = ("--ledger", book, "--dataset", "clinic")
    code, text, err = run(
        capsys,
        "synthesize",
        table,
        "--out",
        out,
        *QUICK,
        "--person",
        "patient_id",
        "--rows-per-person",
        4,
        *given,
        "--json",
    )
    assert code == 0, err
    said = json.loads(text)
    assert said["unit"] == "person"
    assert "looks as if" not in err
    assert said["private_to_the_data_holder"]["left_out"]["beyond_rows_per_person"] > 0
    assert list(read_table(out).columns) == ["age", "dose", "ward", "sick"]
    certificate = Certificate.load(said["certificate"])
    assert certificate.verify() <= 1
    assert certificate.body["release"]["persons"] == 300
    assert "rows" not in certificate.body["release"]
    assert certificate.body["assumed_public"][0] == "the number of persons"
    assert len(load(said["release"]).sample(20)) == 20
    _, text, _ = run(capsys, "verify", said["release"])
    assert "Unit: person (of whom at most 4 rows were taken)" in " ".join(text.split())
    _, text, _ = run(capsys, "ledger", "show", book, "--json")
    assert '"unit": "person"' in text
    # A run for rows on the same data is another thing.
    code, _, err = run(capsys, "synthesize", table, "--out", tmp_path / "b.csv", *QUICK, *given)
    assert code == 2
    assert "do not add up to a promise for either. Nothing was reserved" in err


def test_an_id_that_repeats_is_asked_about_before_anything_is_spent(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.csv"
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: (_ for _ in ()).throw(SystemExit(1)))
    code, _, err = run(capsys, "synthesize", table, "--out", out, *QUICK)
    assert code == 1
    assert "'patient_id' looks as if it said whose a row is, and one of its 300 values is in 6 rows" in err
    assert not out.exists()
    assert run(capsys, "synthesize", table, "--out", out, *QUICK, "--yes")[0] == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--person", "patient_id"), "belong together"),
        (("--rows-per-person", 3), "belong together"),
        (("--person", "patient", "--rows-per-person", 3), "no column 'patient'"),
        (("--person", "sick", "--rows-per-person", 3), "cannot be the target"),
        (("--person", "patient_id", "--rows-per-person", 0), "a whole number from 1 on"),
        (("--person", "patient_id", "--rows-per-person", 3, "--method", "gan"), "one row, and not for a person"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], given: tuple[object, ...], message: str
) -> None:
    code, _, err = run(capsys, "synthesize", table, "--out", tmp_path / "o.csv", "--target", "sick", *given)
    assert code == 2
    assert message in " ".join(err.split())


def test_a_schema_that_says_persons_is_kept_to_or_refused(table: Path, tmp_path: Path) -> None:
    frame = read_table(table)
    from dataclasses import replace

    said = replace(SCHEMA, person=Person("patient_id", 4))
    made = MomentsGenerator(2.0, random_state=0, model="gaussian").fit(frame, schema=said)
    assert made.certificate_.body["unit"] == "person"
    assert made.certificate_.body["release"]["rows_per_person"] == 4
    from understudy import GAN

    with pytest.raises(InputError, match="promises for one row, and not for a person"):
        GAN().fit(frame, schema=said)


PERSON = ("--person", "patient_id", "--rows-per-person", 4, "--json")


def test_rules_and_a_check_go_with_persons(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.csv"
    more = ("--rule", "dose >= 0.5", "--check", 0.1, "--epsilon", 4)
    code, text, err = run(capsys, "synthesize", table, "--out", out, *QUICK, *more, *PERSON)
    assert code == 0, err
    said = json.loads(text)
    assert "held-out persons" in said["check"]["sentence"]
    assert read_table(out)["dose"].to_numpy().min() >= 0.5
    assert run(capsys, "verify", said["release"])[0] == 0


def test_a_classifier_for_persons(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public, out = tmp_path / "public.csv", tmp_path / "release"
    visits(60, seed=5).drop(columns=["who", "sick"]).to_csv(public, index=False)
    given = ("--target", "sick", "--public", public, "--epsilon", 20, "--teachers", 30, "--queries", 20, "--seed", 0)
    code, text, err = run(capsys, "classify", table, *given, "--out", out, *PERSON)  # its classes are looked for too
    assert code == 0, err
    assert json.loads(text)["unit"] == "person"
    release = Certificate.load(out / "certificate.json").body["release"]
    assert (release["persons"], release["rows_per_person"]) == (300, 4)
    assert run(capsys, "verify", out)[0] == 0
    assert run(capsys, "predict", out, public, "--out", tmp_path / "said.csv")[0] == 0
    code, _, err = run(capsys, "classify", table, *given, "--out", tmp_path / "b")
    assert code == 2
    assert "if it says whose a row is, name it with --person" in " ".join(err.split())
    code, text, _ = run(capsys, "classify", table, *given[:-4], "--teachers", 301, "--out", tmp_path / "b", *PERSON)
    assert code == 2
    assert "301 teachers for 300 persons" in text


def test_a_classifier_for_persons_without_public_rows(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--target", "sick", "--classes", "False,True", "--epsilon", 4, "--seed", 0, "--out", tmp_path / "release")
    code, _, err = run(capsys, "classify", table, *given, *PERSON)
    assert code == 0, err
    body = Certificate.load(tmp_path / "release" / "certificate.json").body
    assert (body["unit"], body["release"]["persons"]) == ("person", 300)


def test_a_distilled_set_for_persons(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quick = ("--per-class", 2, "--set", "descent.steps=2", "--set", "descent.samples=20", "--set", "descent.batch=10")
    out = tmp_path / "release"
    code, text, err = run(capsys, "distill", table, "--target", "sick", *quick, "--out", out, *PERSON)
    assert code == 0, err
    assert json.loads(text)["unit"] == "person"
    assert list(read_table(out / "records.csv").columns) == ["age", "dose", "ward", "sick"]
    assert run(capsys, "verify", out)[0] == 0


def test_a_description_of_persons_tells_how_many_rows_they_have(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "described.json"
    code, text, err = run(capsys, "describe", table, "--epsilon", 3, "--out", out, *PERSON)
    assert code == 0, err
    said = json.loads(text)
    assert said["certificate"]["unit"] == "person"
    assert said["certificate"]["release"]["persons"] == 300
    assert [column["name"] for column in said["columns"]][-1] == "rows of this person"
    assert said["schema"]["person"] == {"column": "patient_id", "rows": 4}
    assert "rows of this person" not in [column["name"] for column in said["schema"]["columns"]]


def test_a_schema_bought_for_rows_is_no_ground_for_a_promise_for_persons(table: Path) -> None:
    from understudy.privacy import Budget, GaussianEvent

    budget = Budget(1.0, 1e-6)
    budget.charge(GaussianEvent(10.0))
    bought = Certificate.from_budget(budget, release={"kind": "schema"}).to_json()
    schema = type(SCHEMA)(SCHEMA.columns, SCHEMA.target, bought)
    with pytest.raises(InputError, match="the schema was bought for one row"):
        MomentsGenerator(1.0).fit(read_table(table), schema=schema, person="patient_id", rows_per_person=4)


def test_rows_are_as_common_as_in_the_table_and_not_as_their_persons_are() -> None:
    """Who is sick has six rows, who is not has one: one person in five is sick, and six rows in ten are."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    sick = np.arange(3000) % 5 == 0
    each = np.where(sick, 6, 1)
    frame = pd.DataFrame({"id": np.repeat(np.arange(3000), each), "sick": np.repeat(sick, each)})
    frame["dose"] = rng.normal(frame["sick"] * 2.0, 1.0).round(2)
    made = MomentsGenerator(4.0, 1e-6, random_state=0, unsafe_noise_seed=0)
    made.fit(frame, "sick", person="id", rows_per_person=6)
    rows, persons = made.sample(4000, random_state=1), made.model_.draw(4000, {}, rng)
    assert np.mean(rows["sick"].to_numpy()) == pytest.approx(0.6, abs=0.05)
    assert np.mean(persons["sick"].to_numpy()) == pytest.approx(0.2, abs=0.03)


def test_an_audit_of_a_table_of_persons_hides_a_person(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from dataclasses import replace

    said = tmp_path / "schema.yaml"
    replace(SCHEMA, person=Person("patient_id", 4)).write(said)
    assert run(capsys, "schema", "check", said, table)[0] == 0  # the id is no column that is learnt
    given = ("--schema", said, "--method", "moments", "--set", "model=gaussian", "--json")
    code, text, err = run(capsys, "audit", table, *given, "--attack", "ratio")
    assert code == 0, err
    assert 0.05 < json.loads(text)["methods"]["moments"]["ratio"]["worst"] <= 1
    code, text, err = run(capsys, "audit", table, *given, "--fits", 1)
    assert code == 2
    assert "promises for one row alone" in text + err


def test_a_plan_says_what_so_many_rows_of_a_person_cost(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--data", table.with_name("schema.yaml"), "--rows", 3000, "--epsilon", 1, "--rows-per-person", 7)
    _, text, _ = run(capsys, "plan", *given, "--json")
    found = json.loads(text)["persons"]
    assert found["with_one_row"] < found["noise_on_a_count"] < 1.1 * found["with_one_row"]
    assert found["every_row_whole"] == pytest.approx(7 * found["with_one_row"])
    assert found["persons_a_category"] > found["persons_a_category_with_one_row"]
    _, text, _ = run(capsys, "plan", *given, "--person", "patient_id", "--target", "sick")
    text = " ".join(text.split())
    assert "Persons: 3,000, with at most 7 rows each" in text
    assert "--target sick --person patient_id --rows-per-person 7" in text  # what it recommends can be run as it stands
    code, _, err = run(capsys, "plan", *given[:-2], "--person", "patient_id")
    assert (code, "--person needs --rows-per-person" in err) == (2, True)
