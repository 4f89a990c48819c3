"""`understudy schema init|check`: drafts cost nothing, estimates are charged and certified, mistakes spend nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import run  # pyright: ignore[reportMissingImports]

from understudy.cli import schema as _registered  # noqa: F401
from understudy.cli.app import main
from understudy.privacy import Certificate, Ledger
from understudy.tables import Schema


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = 4000
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, rows),
            "dose": rng.normal(0, 10, rows),
            "ward": rng.choice(["north", "south"], rows),
            "sick": rng.integers(0, 2, rows),
        }
    )
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


def cli(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    return run(capsys, "schema", *arguments)


def ok(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    code, out, err = cli(capsys, *arguments)
    assert (code, err) == (0, ""), err
    return out


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    return json.loads(ok(capsys, *arguments, "--json"))


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_draft_is_printed_and_no_value_is_in_it(capsys: pytest.CaptureFixture[str], data: Path) -> None:
    text = ok(capsys, "init", data, "--target", "sick")
    drafted = Schema.from_yaml(text)
    assert drafted.target == "sick"
    assert drafted.missing() == ["age", "dose", "ward", "sick"]
    assert "north" not in text
    assert files(data.parent) == {"data.csv"}


def test_a_draft_is_written(capsys: pytest.CaptureFixture[str], data: Path) -> None:
    out = data.parent / "schema.yaml"
    printed = ok(capsys, "init", data, "--out", out)
    assert "Still to be said: 4 of 4" in printed
    assert files(data.parent) == {"data.csv", "schema.yaml"}
    result = as_json(capsys, "init", data, "--out", data.parent / "schema.json")
    assert result["missing"] == ["age", "dose", "ward", "sick"]
    assert (result["epsilon"], result["delta"], result["certificate"]) == (0.0, 0.0, None)
    assert Schema.read(data.parent / "schema.json") == Schema.read(out) == Schema.from_dict(result["schema"])


def test_an_estimate_is_charged_certified_and_committed(capsys: pytest.CaptureFixture[str], data: Path) -> None:
    book = Ledger.create(data.parent / "ledger.db")
    book.add_dataset("patients", epsilon=5.0, delta=1e-5)
    out = data.parent / "schema.yaml"
    arguments = ("--out", out, "--target", "sick", "--epsilon", "4", "--delta", "1e-6")
    result = as_json(capsys, "init", data, *arguments, "--ledger", book.path, "--dataset", "patients")
    filled = Schema.read(out)
    assert result["missing"] == filled.missing() == []
    assert filled["ward"].categories == ("north", "south")
    assert filled["sick"].categories == (0, 1)
    certificate = Certificate.load(data.parent / "schema.certificate.json")
    assert 3.99 < certificate.verify() <= 4.0
    assert certificate.delta == 1e-6
    assert certificate.body["release"] == {"kind": "schema", "estimated": ["age", "dose", "ward", "sick"]}
    entry = book.entries("patients")[0]
    assert entry.state == "committed"
    assert entry.counted == (certificate.epsilon, 1e-6)
    assert entry.certificate == certificate.to_json() == filled.certificate
    assert files(data.parent) == {"data.csv", "schema.yaml", "schema.certificate.json", "ledger.db"}

    code, _, err = cli(
        capsys, "init", data, "--out", data.parent / "again.yaml", "--epsilon", "2", "--ledger", book.path,
        "--dataset", "patients",
    )  # fmt: skip
    assert code == 3
    assert "Remaining: 1" in err
    assert "again.yaml" not in files(data.parent)


def test_gaps_of_a_written_schema_are_filled(capsys: pytest.CaptureFixture[str], data: Path) -> None:
    start, out = data.parent / "start.yaml", data.parent / "full.yaml"
    start.write_text(
        "version: 1\ncolumns:\n"
        "- {name: age, kind: integer, bounds: [0, 120]}\n"
        "- {name: dose, kind: continuous}\n"
        "- {name: ward, kind: categorical, categories: [north, south]}\n"
        "- {name: sick, kind: boolean}\n"
    )
    printed = ok(capsys, "init", data, "--schema", start, "--target", "sick", "--epsilon", "1", "--out", out)
    assert "Spent epsilon 1, delta 1e-05" in printed
    filled = Schema.read(out)
    assert filled["age"].bounds == (0, 120)
    assert filled["dose"].bounds is not None
    assert filled.target == "sick"
    again = data.parent / "again.yaml"
    nothing = as_json(capsys, "init", data, "--schema", out, "--epsilon", "1", "--out", again)
    assert nothing["epsilon"] == 0.0
    assert "again.certificate.json" not in files(data.parent)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--epsilon", "1"), "--epsilon needs --out"),
        (("--delta", "1e-6"), "say how much with --epsilon"),
        (("--ledger", "l.db", "--dataset", "d"), "say how much with --epsilon"),
        (("--epsilon", "1", "--out", "OUT.yaml", "--ledger", "l.db"), "belong together"),
        (("--epsilon", "-1", "--out", "OUT.yaml"), "`epsilon`"),
        (("--epsilon", "1", "--delta", "2", "--out", "OUT.yaml"), "`delta`"),
        (("--out", "OUT.txt"), "a schema is a .yaml"),
        (("--out", "nowhere/s.yaml"), "Make it first"),
        (("--out", "data.csv"), "a schema is a .yaml"),
        (("--target", "sik"), "Did you mean 'sick'"),
        (("--schema", "none.yaml"), "there is no file"),
        (("--epsilon", "1", "--out", "OUT.yaml", "--ledger", "none.db", "--dataset", "d"), "none.db"),
    ],
)
def test_mistakes_spend_and_write_nothing(
    capsys: pytest.CaptureFixture[str],
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(data.parent)
    code, out, err = cli(capsys, "init", data, *arguments)
    assert code == 2, out
    assert words in err
    assert files(data.parent) == {"data.csv"}


def test_an_existing_schema_is_not_overwritten(capsys: pytest.CaptureFixture[str], data: Path) -> None:
    out = data.parent / "schema.yaml"
    ok(capsys, "init", data, "--out", out)
    before = out.read_text()
    code, _, err = cli(capsys, "init", data, "--out", out, "--epsilon", "1")
    assert code == 2
    assert "exists already" in err
    assert out.read_text() == before


def test_a_refused_look_gives_the_reservation_back(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data, start = tmp_path / "data.csv", tmp_path / "start.yaml"
    data.write_text("x\n1.0\ninf\n")
    start.write_text("version: 1\ncolumns:\n- {name: x, kind: ordinal}\n")
    book = Ledger.create(tmp_path / "ledger.db")
    book.add_dataset("d", epsilon=1.0, delta=1e-5)
    charged = ("--epsilon", "1", "--ledger", book.path, "--dataset", "d")
    code, _, err = cli(capsys, "init", data, "--schema", start, "--out", tmp_path / "s.yaml", *charged)
    assert code == 2
    assert "counts do not say their order" in err
    assert book.remaining("d").epsilon == 1.0
    assert files(tmp_path) == {"data.csv", "ledger.db", "start.yaml"}
    assert as_json(capsys, "init", data, "--out", tmp_path / "s.yaml", *charged)["missing"] == []


def test_a_schema_that_was_bought_is_named_by_what_is_made_with_it(
    capsys: pytest.CaptureFixture[str], data: Path
) -> None:
    book = Ledger.create(data.parent / "ledger.db")
    book.add_dataset("patients", epsilon=5.0, delta=1e-3)
    charged = ("--ledger", str(book.path), "--dataset", "patients")
    bought, edited = data.parent / "bought.yaml", data.parent / "edited.yaml"
    ok(capsys, "init", data, "--out", bought, "--target", "sick", "--epsilon", "1", *charged)
    first = Certificate.load(data.parent / "bought.certificate.json")
    out = data.parent / "rows.csv"
    with pytest.raises(SystemExit) as exit:
        main(["synthesize", str(data), "--schema", str(bought), "--out", str(out), "--epsilon", "2", *charged])
    assert not exit.value.code, capsys.readouterr().err
    made = Certificate.load(data.parent / "rows.csv.release" / "certificate.json")
    assert made.verify() <= 2.0
    assert [earlier.to_json() for earlier in made.earlier()] == [first.to_json()]
    epsilon, delta = made.total()
    assert made.body["total"] == {"epsilon": epsilon, "delta": delta}
    assert made.epsilon < epsilon < made.epsilon + first.epsilon, "events compose, epsilons would add up"
    assert delta == pytest.approx(made.delta + first.delta)
    # The ledger was charged for each look once.
    assert book.spent("patients").epsilon == pytest.approx(made.epsilon + first.epsilon)
    edited.write_text(bought.read_text("utf-8").replace("unit: row", "unit: image"), "utf-8")
    code, _, err = cli(capsys, "check", edited)
    assert (code, "was edited after it was written" in err) == (2, True)


def test_check_a_schema_alone_and_with_data(capsys: pytest.CaptureFixture[str], data: Path) -> None:
    out = data.parent / "schema.yaml"
    ok(capsys, "init", data, "--out", out)
    result = as_json(capsys, "check", out, data)
    assert (result["valid"], result["complete"]) == (True, False)
    assert result["private_to_the_data_holder"] == {"notes": []}
    text = out.read_text().replace("bounds: null", "bounds: [0, 50]", 1)
    out.write_text(text)
    printed = ok(capsys, "check", out, data)
    assert "0 to 50" in printed
    assert "fits it" in printed
    assert "outside its bounds and will be clipped" in printed
    code, printed, _ = cli(capsys, "check", out, data.parent / "dta.csv", "--json")
    assert code == 2
    assert "Did you mean 'data.csv'" in json.loads(printed)["message"]
    out.write_text(text.replace("kind: integer", "kind: integr"))
    code, _, err = cli(capsys, "check", out)
    assert code == 2
    assert "Did you mean 'integer'" in err


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, understudy.cli.schema, understudy.tables\n"
        "understudy.tables.Schema((understudy.tables.Column('a', 'boolean'),)).to_yaml()\n"
        "heavy = {'pandas', 'pyarrow', 'jax', 'opendp', 'sklearn', 'scipy'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    # The command line alone does not even need numpy.
    code = "import sys, understudy.cli.schema; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
