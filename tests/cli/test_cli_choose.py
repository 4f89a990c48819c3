"""`understudy plan --data`: a recommendation from public facts alone."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pandas as pd
import pytest

from understudy.cli.app import main
from understudy.errors import InputError
from understudy.methods import measured
from understudy.methods.choosing import Facts, advise, mean_noise
from understudy.methods.measured import Reached
from understudy.tables import Column, Schema

TABLE = Schema(
    (
        *(Column(f"x{i}", "continuous", (0, 1)) for i in range(8)),
        Column("ward", "categorical", categories=("north", "south", "west"), nullable=True),
        Column("sick", "boolean"),
    ),
    "sick",
)


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


@pytest.fixture
def schema(tmp_path: Path) -> str:
    path = tmp_path / "schema.yaml"
    TABLE.write(path)
    return str(path)


def test_a_table_with_enough_rows(schema: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("plan", "--data", schema, "--rows", "20000", "--epsilon", "1", "--public-rows", "500", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["facts"] == {
        "rows": 20000, "columns": 9, "width": 12, "classes": 2, "epsilon": 1.0, "delta": 1e-5, "rarest": 0.25, "bins": 0,
    }  # fmt: skip
    assert found["recommended"]["method"] == "moments"
    assert found["recommended"]["outlook"] == "good"
    assert found["recommended"]["steps"] == 1
    assert found["others"][0]["method"] == "one-look"
    pate = found["others"][1]
    assert pate["settings"]["teachers"] == 20000 // 130
    assert 0 < pate["settings"]["labels"] <= 500
    assert found["others"][2]["steps"] >= 100
    assert found["warnings"] == []
    look = found["coordinates"]
    assert (look["share_of_precision"], look["columns"], look["rounds"]) == (0.07, 8, 3)
    assert 20 < look["bins"] < 256


def test_people_get_a_table_a_warning_and_a_command(schema: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("plan", "--data", schema, "--rows", "60", "--epsilon", "0.1") == 0
    out = capsys.readouterr().out
    assert "hopeless" in out
    assert "rows, or fewer columns" in out
    assert "needs public rows" in out
    assert "Coordinates: none are bought" in out
    assert f"understudy synthesize DATA --method moments --schema {schema}" in out.replace("\n", "")


def test_the_command_for_a_table_names_the_table_and_no_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame({"years of age": range(3000), "is ill": [True, False] * 1500})
    (tmp_path / "parts").mkdir()
    frame[:1000].to_parquet(tmp_path / "parts" / "1.parquet", index=False)
    frame[1000:].to_parquet(tmp_path / "parts" / "2.parquet", index=False)
    frame.to_csv(tmp_path / "my rows.csv", index=False)
    for name in ("my rows.csv", "parts"):
        path = tmp_path / name
        assert _run("plan", "--data", str(path), "--epsilon", "1", "--target", "is ill", "--json") == 0
        found = json.loads(capsys.readouterr().out)
        assert found["facts"]["rows"] == 3000
        assert found["facts"]["columns"] == 1
        words = shlex.split(found["recommended"]["command"])
        assert words[:3] == ["understudy", "synthesize", str(path)]
        assert words[words.index("--target") + 1] == "is ill"
        assert all("--schema" not in one["command"] for one in (found["recommended"], *found["others"]))


def test_what_is_said_to_be_enough_is_enough() -> None:
    advice = advise(TABLE, 60, 0.1)
    assert advice.recommended.outlook == "hopeless"
    words = next(w for w in advice.warnings if "would do" in w)
    epsilon = float(words.split("About epsilon ")[1].split()[0])
    assert mean_noise(Facts.of(TABLE, 60, epsilon, 1e-5), epsilon) <= 0.1
    rows = int(words.split(", or ")[1].split()[0].replace(",", ""))
    assert advise(TABLE, rows, 0.1).recommended.outlook != "hopeless"


def test_a_rare_class_is_no_good_outlook() -> None:
    """Six rows in a hundred are positive: what is good for even classes is not for these."""
    assert advise(TABLE, 2000, 1.0).recommended.outlook == "good"
    rare = advise(TABLE, 2000, 1.0, rarest=0.02).recommended
    assert rare.outlook == "thin"
    assert "a class of 40 rows" in rare.why
    with pytest.raises(InputError, match="--rarest"):
        advise(TABLE, 2000, 1.0, rarest=0.6)


def test_more_of_anything_is_never_worse() -> None:
    order = ["hopeless", "thin", "good"]
    places = [order.index(advise(TABLE, rows, 0.5).recommended.outlook) for rows in (20, 100, 1000, 10_000, 100_000)]
    assert places == sorted(places)
    places = [order.index(advise(TABLE, 500, e).recommended.outlook) for e in (0.05, 0.5, 5)]
    assert places == sorted(places)


def test_warnings_about_delta_epsilon_gaps_and_targets() -> None:
    text = " ".join(advise(TABLE, 1000, 20, 1e-2).warnings)
    assert "whole row" in text
    assert "next to nothing" in text
    open_schema = Schema((Column("age", "integer"), Column("x", "continuous", (0, 1))))
    text = " ".join(advise(open_schema, 1000, 1).warnings)
    assert "'age'" in text
    assert "no class to predict" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--epsilon", "1"], "needs --rows"),
        (["--rows", "100"], "needs --epsilon"),
        (["--rows", "0", "--epsilon", "1"], "rows"),
        (["--rows", "100", "--epsilon", "-1"], "epsilon"),
        (["--rows", "100", "--epsilon", "1", "--delta", "0"], "delta"),
        (["--rows", "100", "--epsilon", "1", "--queries", "5"], "--queries"),
        (["--rows", "100", "--epsilon", "1", "--public-rows", "0"], "public_rows"),
    ],
)
def test_what_is_wrong_is_named(
    schema: str, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("plan", "--data", schema, *arguments) == 2
    assert words in capsys.readouterr().err


def test_rows_need_a_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("plan", "--rows", "100", "--epsilon", "1") == 2
    assert "--data" in capsys.readouterr().err


def test_a_budget_for_more_labels_than_public_rows() -> None:
    """The search for the number of labels looks beyond the public rows there are; its answer does not."""
    pate = advise(TABLE, 1000, 20, 1e-6, public_rows=30).choices[2]
    assert pate.settings["labels"] == 30
    assert pate.steps == 30


def test_a_public_table_of_like_noise_says_what_to_expect(
    schema: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def reached(table: str, rows: int, epsilon: float) -> Reached:
        return Reached(table, rows, 9, 12, epsilon, 0.9, 0.85, 0.01, 0.03, 0.05 if table == "b" else None)

    known = (reached("a", 2_000, 1.0), reached("b", 20_000, 1.0), reached("c", 20_000, 10.0))
    monkeypatch.setattr(measured, "reached", lambda: known)
    for rows, epsilon, said in ((20_000, 1.0, "b"), (2_500, 1.0, "a"), (200_000, 0.1, "b"), (2_000, 10.0, "b")):
        advice = advise(TABLE, rows, epsilon)
        assert advice.measured is not None
        assert advice.measured.table == said, (rows, epsilon)
    assert advise(TABLE, 30, 0.1).measured is None, "no table is near enough to be a guide"
    assert advise(Schema(TABLE.columns), 20_000, 1.0).measured is None, "no class to predict"
    assert _run("plan", "--data", schema, "--rows", "20000", "--epsilon", "1") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "(b: 20,000 rows, 9 columns) moments at epsilon 1 reached an AUROC of 0.850, real rows 0.900" in out
    assert "near-certain rules broken 5.0%" in out


@pytest.mark.parametrize(
    ("data", "target", "rows", "classes"),
    [("breast-cancer", None, 569, 2), ("rows.csv", "c", 3, 2), ("rows.csv", None, 3, 1)],
)
def test_plan_takes_a_table_or_a_named_dataset(
    data: str, target: str | None, rows: int, classes: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a table its names and its number of rows are taken; without types a column counts as one number."""
    if data.endswith(".csv"):
        (tmp_path / data).write_text("a,b,c\n1,x,0\n2,y,1\n3,z,0\n")
        data = str(tmp_path / data)
    goal = () if target is None else ("--target", target)
    assert _run("plan", "--data", data, *goal, "--epsilon", "1", "--json") == 0
    facts = json.loads(capsys.readouterr().out)["facts"]
    assert (facts["rows"], facts["classes"]) == (rows, classes)
