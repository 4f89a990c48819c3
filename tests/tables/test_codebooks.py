"""Codebooks as people have them: each is read into the schema that it tells, and rows as its program writes them fit it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy.cli import schema_import as _registered  # noqa: F401
from understudy.cli.app import main
from understudy.errors import InputError
from understudy.tables import Schema, validate_frame, write_table
from understudy.tables.codebooks import FORMATS, detect, import_codebook
from understudy.tables.hints import Hint, hint_for
from understudy.tables.questions import bounds_from, categories_from, glance

REDCAP = """"Variable / Field Name","Form Name","Section Header","Field Type","Field Label","Choices, Calculations, OR Slider Labels","Field Note","Text Validation Type OR Show Slider Number","Text Validation Min","Text Validation Max",Identifier?,"Branching Logic (Show field only if...)","Required Field?","Custom Alignment","Question Number (surveys only)","Matrix Group Name","Matrix Ranking?","Field Annotation"
record_id,demographics,,text,"Study ID",,,,,,,,,,,,,
name,demographics,,text,"Name",,,,,,y,,,,,,,
dob,demographics,,text,"Date of birth",,,date_dmy,1920-01-01,2010-12-31,,,y,,,,,
sex,demographics,"<div>Who</div>",radio,"Sex","0, Female | 1, Male, or other",,,,,,,y,,,,,
weight,demographics,,text,"Weight (kg)",,,number,30,250.5,,,,,,,,
children,demographics,,text,"Children",,,integer,0,20,,,y,,,,,
race,demographics,,checkbox,"Race","1, White | 2, Black | -9, Unknown",,,,,,,,,,,,
smoker,history,,yesno,"Smoker?",,,,,,,,y,,,,,
packs,history,,text,"Packs",,,number,0,today,,"[smoker] = '1'",y,,,,,
stage,history,,dropdown,"Stage","I, One | II, Two | III, Three",,,,,,,,,,,,
pain,history,,slider,"Pain","none | some | worst",,number,,,,,y,,,,,
bmi,history,,calc,"BMI","[weight]/2",,,,,,,,,,,,
remarks,history,,notes,"Remarks",,,,,,,,,,,,,
intro,history,,descriptive,"Welcome",,,,,,,,,,,,,
"""


def test_redcap(tmp_path: Path) -> None:
    path = tmp_path / "Study_DataDictionary_2026-01-01.csv"
    path.write_text(REDCAP, encoding="utf-8")
    assert detect(path) == "redcap"
    schema = import_codebook(path, target="sex")
    assert [(column.name, column.kind) for column in schema.aside] == [
        ("record_id", "id"),
        ("name", "text"),
        ("remarks", "text"),
    ]
    assert schema["dob"].bounds == (datetime(1920, 1, 1), datetime(2010, 12, 31))
    assert (schema["sex"].categories, schema["sex"].nullable) == ((0, 1), False)
    assert (schema["weight"].bounds, schema["weight"].nullable) == ((30, 250.5), True)
    assert (schema["children"].kind, schema["children"].nullable) == ("integer", False)
    assert [name for name in schema.names if name.startswith("race")] == ["race___1", "race___2", "race____9"]
    assert (schema["packs"].bounds, schema["packs"].nullable) == (None, True)
    assert schema["stage"].categories == ("I", "II", "III")
    assert schema["pain"].bounds == (0, 100)
    assert schema.missing() == ["packs", "bmi"]
    assert "intro" not in schema
    rows = pd.DataFrame(
        {
            "record_id": [1, 2],
            "name": ["a", "b"],
            "dob": ["1950-03-04", "1999-12-01"],
            "sex": [0, 1],
            "weight": [70.5, None],
            "children": [0, 3],
            "race___1": [1, 0],
            "race___2": [0, 0],
            "race____9": [0, 1],
            "smoker": [0, 1],
            "packs": [None, 2.5],
            "stage": ["I", None],
            "pain": [10, 20],
            "bmi": [20.1, None],
            "remarks": ["", "x"],
        }
    )
    validate_frame(rows, schema)
    assert "age" not in import_codebook(path, table="demographics").names
    assert "smoker" not in import_codebook(path, table="demographics").names


def test_redcap_as_its_interface_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "metadata.csv"
    path.write_text(
        "field_name,form_name,field_type,select_choices_or_calculations,text_validation_type_or_show_slider_number,"
        "text_validation_min,text_validation_max,identifier,required_field\n"
        "id,f,text,,,,,,\nage,f,text,,integer,0,120,,y\n"
    )
    assert import_codebook(path)["age"].bounds == (0, 120)


@pytest.fixture
def survey() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sex": rng.integers(1, 3, 50).astype(float),
            "agree": rng.integers(1, 6, 50).astype(float),
            "income": rng.normal(3000, 500, 50),
            "children": rng.integers(0, 5, 50).astype(float),
            "city": rng.choice(["A", "B"], 50),
        }
    )


@pytest.mark.parametrize("suffix", [".sav", ".zsav"])
def test_spss_value_labels(survey: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    path = tmp_path / f"survey{suffix}"
    pyreadstat.write_sav(
        survey,
        str(path),
        compress=suffix == ".zsav",
        variable_value_labels={"sex": {1: "female", 2: "male"}, "agree": {i: f"level {i}" for i in range(1, 6)}},
        variable_measure={"sex": "nominal", "agree": "ordinal", "income": "scale", "children": "scale"},
        variable_format={"children": "F8.0"},
    )
    schema = import_codebook(path)
    assert schema["sex"].labels == (1, 2, "other")
    assert (schema["agree"].kind, schema["agree"].categories) == ("ordinal", (1, 2, 3, 4, 5))
    assert [schema[name].kind for name in ("income", "children", "city")] == ["continuous", "integer", "categorical"]
    read, _ = pyreadstat.read_sav(str(path))
    validate_frame(read, schema)


def test_stata_value_labels(survey: pd.DataFrame, tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    path = tmp_path / "survey.dta"
    frame = survey.astype({"sex": "int8", "agree": "int8", "children": "int16"})
    frame["visit"] = pd.date_range("2020-01-01", periods=50)
    labels = {"sex": {1: "female", 2: "male"}}
    pyreadstat.write_dta(frame, str(path), variable_value_labels=labels)
    schema = import_codebook(path)
    assert schema["sex"].labels == (1, 2, "other")
    kinds = {column.name: column.kind for column in schema}
    assert kinds == {
        "sex": "categorical",
        "agree": "integer",
        "income": "continuous",
        "children": "integer",
        "city": "categorical",
        "visit": "datetime",
    }
    validate_frame(pyreadstat.read_dta(str(path))[0], schema)


SDV = {
    "tables": {
        "guests": {
            "columns": {
                "guest_email": {"sdtype": "email", "pii": True},
                "guest_id": {"sdtype": "id", "regex_format": "G-[0-9]{5}"},
                "room_type": {"sdtype": "categorical"},
                "amenities_fee": {"sdtype": "numerical", "computer_representation": "Float"},
                "nights": {"sdtype": "numerical", "computer_representation": "Int64"},
                "checkin_date": {"sdtype": "datetime", "datetime_format": "%d %b %Y"},
                "has_rewards": {"sdtype": "boolean"},
            },
            "primary_key": "guest_id",
        }
    },
    "relationships": [],
    "METADATA_SPEC_VERSION": "V1",
}


def test_sdv(tmp_path: Path) -> None:
    several, single, older = (tmp_path / f"{name}.json" for name in "abc")
    several.write_text(json.dumps(SDV))
    single.write_text(json.dumps({**SDV["tables"]["guests"], "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1"}))
    fields = {"age": {"type": "numerical", "subtype": "integer"}, "kind": {"type": "categorical"}}
    older.write_text(json.dumps({"fields": fields}))
    assert [detect(path) for path in (several, single, older)] == ["sdv"] * 3
    schema = import_codebook(several, target="has_rewards")
    assert schema == import_codebook(single, target="has_rewards")
    assert {column.name: column.kind for column in schema} == {
        "room_type": "categorical",
        "amenities_fee": "continuous",
        "nights": "integer",
        "checkin_date": "datetime",
        "has_rewards": "boolean",
    }
    assert [(c.name, c.kind, c.pattern) for c in schema.aside] == [
        ("guest_email", "text", None),
        ("guest_id", "id", "G-#####"),
    ]
    assert import_codebook(older).names == ("age", "kind")
    two = tmp_path / "two.json"
    two.write_text(json.dumps({"tables": {**SDV["tables"], "hotels": {"columns": {"stars": {"sdtype": "numerical"}}}}}))
    with pytest.raises(InputError, match="choose one with --table"):
        import_codebook(two)
    assert import_codebook(two, table="hotels").names == ("stars",)
    with pytest.raises(InputError, match="Did you mean 'hotels'"):
        import_codebook(two, table="hotel")


def test_frictionless(tmp_path: Path) -> None:
    described = {
        "fields": [
            {"name": "id", "type": "integer"},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120, "required": True}},
            {"name": "when", "type": "datetime", "constraints": {"minimum": "2020-01-01T00:00:00Z", "maximum": "2021-01-01T00:00:00Z"}},
            {"name": "size", "type": "string", "categories": ["S", "M", "L"], "categoriesOrdered": True},
            {"name": "code", "type": "string", "constraints": {"enum": ["01", "02"]}},
            {"name": "score", "type": "number", "constraints": {"minimum": 0}},
            {"name": "mail", "type": "string", "format": "email"},
            {"name": "yes", "type": "boolean"},
            {"name": "free", "type": "string"},
        ],
        "primaryKey": "id",
    }  # fmt: skip
    path, package = tmp_path / "tableschema.json", tmp_path / "datapackage.json"
    path.write_text(json.dumps(described))
    package.write_text(json.dumps({"resources": [{"name": "people", "path": "p.csv", "schema": described}]}))
    assert detect(path) == detect(package) == "frictionless"
    schema = import_codebook(path)
    assert schema == import_codebook(package)
    assert (schema["age"].bounds, schema["age"].nullable) == ((0, 120), False)
    assert schema["when"].bounds == (datetime(2020, 1, 1), datetime(2021, 1, 1))
    assert (schema["size"].kind, schema["size"].categories) == ("ordinal", ("S", "M", "L"))
    assert schema["code"].categories == ("01", "02")
    assert schema.missing() == ["score", "free"]
    assert [(c.name, c.kind, c.place) for c in schema.aside] == [("id", "id", 0), ("mail", "text", 6)]


DDL = """
-- people, and more
CREATE TABLE IF NOT EXISTS public."people" (
  person_id bigserial PRIMARY KEY,
  age int NOT NULL CHECK (age BETWEEN 0 AND 120),
  "Height" numeric(5, 2) CHECK ("Height" >= 30.5 AND "Height" <= 250),
  points numeric(8),
  ward varchar(10) CHECK (ward IN ('north', 'the ''new'' one', 'south')),
  mood ENUM('good','bad') NOT NULL,
  admitted timestamp with time zone,
  alive boolean NOT NULL,
  photo bytea,
  level smallint, /* checked below */
  CONSTRAINT levels CHECK (level IN (1, 2, 3)),
  FOREIGN KEY (ward) REFERENCES wards (name)
);
create table wards (name text primary key, beds integer);
"""


def test_sql(tmp_path: Path) -> None:
    path = tmp_path / "tables.sql"
    path.write_text(DDL)
    with pytest.raises(InputError, match="'people', 'wards'"):
        import_codebook(path)
    schema = import_codebook(path, table="people")
    assert schema.names == ("age", "Height", "points", "ward", "mood", "admitted", "alive", "level")
    assert (schema["age"].bounds, schema["age"].nullable) == ((0, 120), False)
    assert (schema["Height"].kind, schema["Height"].bounds) == ("continuous", (30.5, 250))
    assert schema["points"].kind == "integer"
    assert schema["ward"].categories == ("north", "the 'new' one", "south")
    assert schema["mood"].categories == ("good", "bad")
    assert schema["level"].categories == (1, 2, 3)
    assert [(c.name, c.kind) for c in schema.aside] == [("person_id", "id"), ("photo", "drop")]
    assert import_codebook(path, table="wards").names == ("beds",)
    path.write_text("select 1")
    with pytest.raises(InputError, match="no CREATE TABLE"):
        import_codebook(path)


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_arrow_types_come_without_a_row(survey: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"survey{suffix}"
    frame = survey.assign(
        sex=survey["sex"].astype(int), when=pd.Timestamp("2020-01-01"), city=survey["city"].astype("category")
    )
    write_table(frame, path)
    schema = import_codebook(path)
    assert {column.name: column.kind for column in schema} == {
        "sex": "integer",
        "agree": "continuous",
        "income": "continuous",
        "children": "continuous",
        "city": "categorical",
        "when": "datetime",
    }
    assert "A" not in schema.to_yaml().split()
    validate_frame(frame, schema)


def test_codes_durations_and_their_forms_are_told(tmp_path: Path) -> None:
    """In every codebook that has words for them: column, kind, format."""
    head = "Variable / Field Name,Field Type,Text Validation Type OR Show Slider Number\n"
    field = [
        {"name": "zip", "type": "string", "constraints": {"pattern": "^[0-9]{5}$"}},
        {"name": "took", "type": "duration", "constraints": {"minimum": "PT0S", "maximum": "PT5H"}},
        {"name": "at", "type": "time"},
    ]
    sdv = {"zip": {"sdtype": "postcode"}, "at": {"sdtype": "datetime", "datetime_format": "%d %b %Y"}}
    books = {
        "redcap.csv": head + "record,text,\nzip,text,zipcode\nat,text,time\nwell,yesno,\n",
        "table.json": json.dumps({"fields": field}),
        "sdv.json": json.dumps({"METADATA_SPEC_VERSION": "V1", "columns": sdv}),
        "table.sql": "CREATE TABLE t (zip char(5), took interval, name text);",
    }
    told: dict[str, dict[str, tuple[str, str | None]]] = {}
    for name, text in books.items():
        (tmp_path / name).write_text(text)
        told[name] = {column.name: (column.kind, column.format) for column in import_codebook(tmp_path / name)}
    assert told == {
        "redcap.csv": {"zip": ("code", None), "at": ("duration", "%H:%M"), "well": ("boolean", "0/1")},
        "table.json": {"zip": ("code", None), "took": ("duration", "ISO8601"), "at": ("duration", "%H:%M:%S")},
        "sdv.json": {"zip": ("code", None), "at": ("datetime", "%d %b %Y")},
        "table.sql": {"zip": ("code", None), "took": ("duration", None), "name": ("categorical", None)},
    }
    lengths = import_codebook(tmp_path / "table.json")["took"].number_bounds
    assert lengths == (0, 5 * 3600)
    frame = pd.DataFrame(
        {"took": pd.to_timedelta([1], unit="h"), "at": pd.to_datetime(["2020-01-01"]).tz_localize("UTC")}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    arrow = import_codebook(tmp_path / "t.parquet")
    assert (arrow["took"].kind, arrow["at"].zone) == ("duration", "UTC")


def test_an_owner_is_shown_and_says_codes_and_durations() -> None:
    seen = glance(pd.Series(["01067", "10115", "80331"] * 3, dtype=object))
    assert seen.kind == "code"
    seen = glance(pd.Series(["00:30:00", "26:00:00"], dtype=object))
    assert (seen.kind, seen.words) == (
        "duration", "durations from 0 days 00:30:00 to 1 days 02:00:00, 2 different, none missing")  # fmt: skip
    assert bounds_from("1 days 00:00:00 to 2 days 00:00:00", "x", "duration") == (timedelta(days=1), timedelta(days=2))
    assert bounds_from("0:00:00 12:00:00", "x", "duration") == (timedelta(0), timedelta(hours=12))
    assert categories_from("1, 07, *", "x", "code") == (("1", "07"), True)
    assert (hint_for("zip_code") or Hint("id")).kind == "code"
    assert (hint_for("icd10") or Hint("id")).kind == "code"
    assert (hint_for("surgery_duration") or Hint("id")).kind == "duration"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "a,b\n1,2\n", "schema init"),
        ("a.json", "{}", "none of the codebooks"),
        ("a.json", "[1]", "expected keys and values"),
        ("a.json", "{", "not valid JSON"),
        ("a.xyz", "", "Say it with --format"),
        ("a.sql", "create table a (b int", "before its parenthesis is closed"),
        ("a.sql", "create table a (b int primary key)", "no column in it"),
        ("a.sav", "nonsense", "cannot be read"),
        ("a.dta", "nonsense", "cannot be read"),
        ("a.parquet", "nonsense", "cannot be read"),
        ("a.csv", "\xff\n", "none of the codebooks"),
    ],
)
def test_what_is_no_codebook_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        import_codebook(tmp_path / name)


@pytest.mark.parametrize("format", FORMATS)
def test_a_codebook_that_is_not_there_is_said_to_be(tmp_path: Path, format: str) -> None:
    suffixes = {"spss": ".sav", "stata": ".dta", "sas": ".xpt"}
    with pytest.raises(InputError, match="there is no file"):
        import_codebook(tmp_path / f"gone{suffixes.get(format, '.json')}", format)


def test_the_command_writes_a_schema_that_reads_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "dictionary.csv", tmp_path / "schema.yaml"
    path.write_text(REDCAP)
    with pytest.raises(SystemExit) as exit:
        main(["schema", "import", str(path), "--out", str(out), "--target", "sex"])
    assert int(exit.value.code or 0) == 0
    assert "Still to be said: bounds of packs, bmi" in capsys.readouterr().out
    assert Schema.read(out) == import_codebook(path, target="sex")
    with pytest.raises(SystemExit) as exit:
        main(["schema", "import", str(path), "--out", str(out)])
    assert exit.value.code == 2
    assert "exists already" in capsys.readouterr().err
