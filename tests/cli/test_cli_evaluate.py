"""`understudy evaluate`: tables for people, JSON for machines, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run  # pyright: ignore[reportMissingImports]

import understudy.cli.evaluate
from understudy.cli.app import main
from understudy.evaluation import Evaluation
from understudy.evaluation.noisy import NoisyMetrics
from understudy.privacy import Certificate, Ledger
from understudy.tables import Column, Schema

assert understudy.cli.evaluate, "importing the module registers the command"


SCHEMA = Schema(
    (
        Column("age", "integer", (18, 90)),
        Column("town", "categorical", categories=("north", "south")),
        Column("sick", "categorical", categories=("no", "yes")),
    ),
    "sick",
)


def patients(rows: int, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    age, town = random.integers(18, 91, rows), random.choice(["north", "south"], rows)
    sick = np.where(age + random.normal(0, 15, rows) > 55, "yes", "no")
    return pd.DataFrame({"age": age, "town": town, "sick": sick})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    patients(300).to_csv(tmp_path / "train.csv", index=False)
    patients(300, 1).to_csv(tmp_path / "test.csv", index=False)
    patients(300, 2).to_csv(tmp_path / "good.csv", index=False)
    patients(300, 3).drop(columns="town").to_csv(tmp_path / "townless.csv", index=False)
    (tmp_path / "empty.csv").touch()
    SCHEMA.write(tmp_path / "schema.yaml")
    return tmp_path


def cli(folder: Path, capsys: pytest.CaptureFixture[str], *given: str, tables: tuple[str, ...]) -> tuple[int, str, str]:
    arguments = ["evaluate", "--test", str(folder / "test.csv"), "--cache", str(folder / "cache")]
    arguments += [] if "--without-target" in given else ["--target", "sick"]
    given = tuple(one for one in given if one != "--without-target")
    for table in tables:
        arguments += ["--synthetic", str(folder / f"{table}.csv")]
    return run(capsys, *arguments, "--jobs", "1", *given)


def test_tables_stand_side_by_side_and_a_bad_one_stops_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = ("--train", str(folder / "train.csv"))
    code, out, err = cli(
        folder, capsys, *train, "--out", str(folder / "found.json"), tables=("good", "townless", "empty")
    )
    assert code == 2, "not everything that was asked for could be done"
    shown = ("real rows", "A: real → real", "B: synthetic → real", "good", "xgboost", "signal: membership")
    for words in (
        *shown,
        "tuned on a part",
        "real test rows",
        "3-way distance on public bins",
        "error of range queries",
    ):
        assert words in out
    assert "as private as those rows" in out
    assert "signals, not proof" in out
    assert "townless could not be evaluated: the table lacks 'town'" in err
    assert "empty.csv is empty" in err
    kept = Evaluation.from_json((folder / "found.json").read_text())
    assert [bool(table.error) for table in kept.tables] == [False, True, True]
    # The same again, from what was kept, as JSON and under another name.
    code, out, _ = cli(folder, capsys, *train, "--json", "--synthetic-name", "mine", tables=("good",))
    assert code == 0
    found = Evaluation.from_dict(json.loads(out))
    assert found["mine"].settings == kept["good"].settings
    assert found.real == kept.real


def test_without_a_target_there_is_likeness_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--without-target", "--schema", str(folder / "schema.yaml"))
    code, out, _ = cli(folder, capsys, *given, "--train", str(folder / "train.csv"), tables=("good",))
    assert code == 0
    assert "2-way distance on public bins" in out
    assert "AUPRC" not in out
    code, out, err = cli(folder, capsys, *given, "--epsilon-metrics", "1", tables=("good",))
    assert code == 2
    assert "needs a --target" in err


def test_noisy_scores_alone_are_printed_with_a_certificate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--schema", str(folder / "schema.yaml"), "--epsilon-metrics", "50")
    code, out, _ = cli(folder, capsys, *given, "--certificate", str(folder / "c.json"), tables=("good",))
    assert code == 0
    assert "epsilon 50 for the 300 test rows" in out
    assert "May be published" in out
    assert "A: real" not in out, "nothing without noise stands beside it"
    certificate = Certificate.load(folder / "c.json")
    certificate.verify()
    assert certificate.epsilon == pytest.approx(50)
    code, out, _ = cli(folder, capsys, *given, "--json", tables=("good",))
    assert set(json.loads(out)["tables"]["good"]) == {"mean", "classifiers"}


def test_noisy_scores_are_charged_to_a_ledger_and_shown_by_the_report(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = Ledger.create(folder / "ledger.db")
    book.add_dataset("test rows", epsilon=30.0, delta=0.0)
    given = ("--schema", str(folder / "schema.yaml"), "--epsilon-metrics", "20")
    charged = (*given, "--ledger", str(folder / "ledger.db"), "--dataset", "test rows")
    code, out, _ = cli(folder, capsys, *charged, "--out", str(folder / "noisy.json"), tables=("good",))
    assert code == 0
    assert book.spent("test rows").epsilon == pytest.approx(20)
    (entry,) = book.entries("test rows")
    assert (entry.state, entry.purpose) == ("committed", "noisy scores of good")
    kept = NoisyMetrics.from_dict(json.loads((folder / "noisy.json").read_text()))
    assert kept.certificate.epsilon == pytest.approx(20)
    code, out, _ = cli(folder, capsys, *charged, tables=("good",))
    assert code == 3, "the rest of the ledger is too little"
    assert "good" not in out
    assert book.spent("test rows").epsilon == pytest.approx(20)
    # What is refused before anything is drawn is given back.
    small = ("--schema", str(folder / "schema.yaml"), "--epsilon-metrics", "5", *charged[4:])
    assert cli(folder, capsys, *small, tables=("townless",))[0] == 2
    assert book.spent("test rows").epsilon == pytest.approx(20)
    assert cli(folder, capsys, *small, "--positive", "maybe", tables=("good",))[0] == 2
    assert book.spent("test rows").epsilon == pytest.approx(20)
    kept.certificate.save(folder / "certificate.json")
    with pytest.raises(SystemExit):
        main(
            [
                "report",
                str(folder / "certificate.json"),
                "--evaluation",
                str(folder / "noisy.json"),
                "--out",
                str(folder / "page.html"),
            ]
        )
    assert "exact figures" not in capsys.readouterr().out
    page = (folder / "page.html").read_text("utf-8")
    assert "may be published" in page
    assert "A: real" not in page


@pytest.mark.parametrize(
    ("given", "tables", "message"),
    [
        ((), ("good",), "--train is missing"),
        (("--train", "nowhere.csv"), ("good",), "--train: there is no file"),
        (("--train", "TRAIN"), ("empty",), "empty.csv is empty"),
        (("--train", "TRAIN"), ("townless",), "no synthetic table can be evaluated. townless: the table lacks 'town'"),
        (
            ("--train", "TRAIN", "--synthetic-name", "a"),
            ("good", "good"),
            "2 --synthetic tables but 1 --synthetic-name",
        ),
        (("--train", "TRAIN"), ("good", "good"), "two synthetic tables have the same name"),
        (("--train", "TRAIN", "--classifiers", "six"), ("good",), "no classifiers 'six'"),
        (("--train", "TRAIN", "--seeds", "0"), ("good",), "`seeds`"),
        (("--train", "TRAIN", "--positive", "maybe"), ("good",), "none of the classes: no, yes"),
        (("--train", "TRAIN", "--certificate", "c.json"), ("good",), "--certificate belongs to --epsilon-metrics"),
        (
            ("--train", "TRAIN", "--ledger", "l.db", "--dataset", "d"),
            ("good",),
            "--ledger belongs to --epsilon-metrics",
        ),
        (("--epsilon-metrics", "1", "--ledger", "l.db"), ("good",), "--ledger and --dataset belong together"),
        (("--epsilon-metrics", "1"), ("good",), "needs a --schema"),
        (("--epsilon-metrics", "1"), ("empty",), "empty.csv is empty"),
    ],
)
def test_refusals(
    folder: Path, capsys: pytest.CaptureFixture[str], given: tuple[str, ...], tables: tuple[str, ...], message: str
) -> None:
    given = tuple(str(folder / "train.csv") if word == "TRAIN" else word for word in given)
    code, _, err = cli(folder, capsys, *given, tables=tables)
    assert code == 2
    assert message in err
