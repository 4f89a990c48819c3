"""Columns that are not learnt: nothing looks at them, ids come out new, text comes out empty, drop stays away."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy import load
from understudy.errors import InputError
from understudy.methods.moments.generator import MomentsGenerator
from understudy.tables import Schema, read_table, validate_frame
from understudy.tables.aside import chosen_columns

TEXT = """
version: 1
target: sick
columns:
  - {name: id, kind: id, pattern: P-#####}
  - {name: age, kind: integer, bounds: [0, 120]}
  - {name: secret, kind: drop}
  - {name: notes, kind: text}
  - {name: sick, kind: categorical, categories: [0, 1]}
"""


def frame(rows: int = 600, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": [f"real-{i}" for i in rng.permutation(rows)],
            "age": rng.integers(20, 80, rows),
            "secret": rng.normal(size=rows),
            "notes": [f"note {i}" for i in rng.permutation(rows)],
            "sick": rng.integers(0, 2, rows),
        }
    )


def test_a_schema_with_columns_aside_comes_back_from_a_file(tmp_path: Path) -> None:
    schema = Schema.from_yaml(TEXT)
    assert schema.names == ("age", "sick")
    assert [(column.name, column.kind) for column in schema.aside] == [
        ("id", "id"),
        ("secret", "drop"),
        ("notes", "text"),
    ]
    for name in ("schema.yaml", "schema.json"):
        schema.write(tmp_path / name)
        assert Schema.read(tmp_path / name) == schema
    assert [column["name"] for column in schema.to_dict()["columns"]] == ["id", "age", "secret", "notes", "sick"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("{name: id, kind: id, pattern: P}", "one run of #"),
        ("{name: id, kind: id, pattern: '#-#'}", "one run of #"),
        ("{name: id, kind: text, pattern: '#'}", "`pattern` is for ids"),
        ("{name: id, kind: id, bounds: [0, 1]}", "unknown key 'bounds'"),
        ("{name: sick, kind: id}", "more than once"),
        ("{name: '', kind: id}", "must be text"),
        ("{name: id, kind: ids}", "Did you mean 'id'"),
    ],
)
def test_what_is_said_wrong_about_such_a_column_is_refused(wrong: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Schema.from_yaml(TEXT.replace("{name: id, kind: id, pattern: P-#####}", wrong))


def test_a_table_with_such_columns_fits_the_schema_and_so_does_one_without() -> None:
    schema = Schema.from_yaml(TEXT)
    validate_frame(frame(), schema)
    validate_frame(frame()[["age", "sick"]], schema)


def test_rows_that_are_drawn_have_new_ids_and_no_text(tmp_path: Path) -> None:
    schema = Schema.from_yaml(TEXT)
    model = MomentsGenerator(epsilon=5.0, random_state=0).fit(frame(), schema=schema)
    assert model.certificate_.body["release"]["schema_estimated"] == []
    model.save(tmp_path / "release")
    for again in (model, load(tmp_path / "release")):
        made = again.sample(300, random_state=1)
        assert list(made.columns) == ["id", "age", "notes", "sick"]
        assert made["id"].tolist() == [f"P-{i:05d}" for i in range(1, 301)]
        assert all(pd.isna(value) for value in made["notes"])
        again.sample_to(tmp_path / "rows.csv", 40, random_state=1)
        assert list(read_table(tmp_path / "rows.csv").columns) == ["id", "age", "notes", "sick"]
    everything = b"".join(path.read_bytes() for path in (tmp_path / "release").iterdir())
    assert b"real-" not in everything
    assert b"note 1" not in everything


def test_a_schema_is_taken_as_a_path_as_plain_values_or_as_itself(tmp_path: Path) -> None:
    schema = Schema.from_yaml(TEXT)
    schema.write(tmp_path / "schema.yaml")
    for given in (schema, schema.to_dict(), tmp_path / "schema.yaml", str(tmp_path / "schema.yaml")):
        model = MomentsGenerator(epsilon=5.0, random_state=0).fit(frame(), schema=given)
        assert model.schema_ == schema
    shown = repr(model.certificate_)
    assert shown.startswith("Certificate(moments generator: epsilon ")
    assert "for one row" in shown
    assert "<th>assumed public</th>" in model.certificate_._repr_html_()


def test_ids_go_on_from_chunk_to_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import understudy.release.sampling as sampling

    monkeypatch.setattr(sampling, "CHUNK", 64)
    schema = Schema.from_yaml(TEXT.replace(", pattern: P-#####", ""))
    model = MomentsGenerator(epsilon=5.0, random_state=0).fit(frame(), schema=schema)
    for name in ("rows.csv", "rows.parquet"):
        model.sample_to(tmp_path / name, 200, random_state=1)
        assert read_table(tmp_path / name)["id"].tolist() == list(range(1, 201))


def test_nothing_depends_on_the_cells_of_such_a_column() -> None:
    schema = Schema.from_yaml(TEXT)
    table = frame()
    other = table.assign(id=None, notes=np.arange(len(table)), secret="x")
    made = [
        MomentsGenerator(epsilon=5.0, random_state=0, unsafe_noise_seed=0)
        .fit(rows, schema=schema)
        .sample(50, random_state=0)
        for rows in (table, other)
    ]
    pd.testing.assert_frame_equal(made[0], made[1])


def test_a_schema_may_do_nothing_but_set_columns_aside() -> None:
    schema = Schema.from_yaml(
        "version: 1\ncolumns:\n  - {name: id, kind: id, pattern: P-#####}\n  - {name: notes, kind: text}\n"
    )
    assert schema
    assert schema.names == ()
    made = MomentsGenerator(8.0, 1e-5, random_state=0).fit(frame(), "sick", schema).sample(2)
    assert made["id"].tolist() == ["P-00001", "P-00002"]
    assert made["notes"].dropna().empty


def test_what_is_set_aside_stays_so_where_all_other_columns_of_the_schema_are_dropped() -> None:
    """Else the ids would be learnt."""
    _, said = chosen_columns(frame(), Schema.from_yaml(TEXT.replace("target: sick", "")), None, "age,sick", None)
    assert said is not None
    assert [column.name for column in said.aside] == ["id", "secret", "notes"]


def test_columns_are_chosen_by_name() -> None:
    schema = Schema.from_yaml(TEXT)
    kept, said = chosen_columns(frame(), schema, None, "secret, id", None)
    assert list(kept.columns) == ["age", "notes", "sick"]
    assert said is not None
    assert [(column.name, column.place) for column in said.aside] == [("notes", 1)]
    kept, said = chosen_columns(frame(), None, "sick", None, "age")
    assert (list(kept.columns), said) == (["age", "sick"], None)
    assert chosen_columns(frame(), schema, None, None, None)[1] is schema


@pytest.mark.parametrize(
    ("drop", "only", "message"),
    [
        ("agee", None, "no column 'agee'. Did you mean 'age'"),
        ("sick", None, "it is the target"),
        ("age", "age", "give one of them"),
        (",", None, "names no column"),
    ],
)
def test_a_wrong_choice_is_refused(drop: str | None, only: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen_columns(frame(), None, "sick", drop, only)
