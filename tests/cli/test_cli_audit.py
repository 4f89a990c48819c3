"""`understudy audit` on a table of one's own: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from command import run  # pyright: ignore[reportMissingImports]

from understudy.audit import worlds
from understudy.audit.listening import Exit
from understudy.audit.planting import blanked, plant, random_rows, with_some, worst
from understudy.errors import InputError
from understudy.report.audits import read_audits
from understudy.tables import validate_frame


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    worlds.table(120).to_csv(tmp_path / "data.csv", index=False)
    worlds.SCHEMA.write(tmp_path / "schema.yaml")
    return [str(tmp_path / "data.csv"), "--schema", str(tmp_path / "schema.yaml"), "--set", "model=gaussian"]


def audit(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str]:
    code, out, err = run(capsys, "audit", *args)
    return code, out + err


def test_all_three_attacks_stand_beside_the_claim(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "audit.json"
    code, text = audit(capsys, *files, "--epsilon", 2, "--fits", 6, "--out", out)
    assert code == 0
    for words in ("replay", "ratio", "canaries, transcript", "canaries, release", "at most 1", "keep them to yourself"):
        assert words in text
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    (row,) = read_audits([out])
    assert (row["name"], row["holds"], row["replay"], row["private"]) == ("moments", True, True, True)
    assert 1.9 < row["claimed"] <= 2
    assert 0 < row["ratio"] <= 1
    assert row["measured"] <= row["claimed"]


def test_a_chosen_row_and_one_attack_as_json(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, text = audit(capsys, *files, "--attack", "ratio", "--canary", 7, "--json")
    found: dict[str, Any] = json.loads(text)["methods"]["moments"]
    assert code == 0
    assert found["replay"] is None
    assert found["measured_lower_bound"] is None
    assert 0 < found["ratio"]["worst"] <= 1


def test_one_fit_with_many_canaries(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, text = audit(capsys, *files, "--attack", "canaries", "--fits", 1)
    assert code == 0
    assert "one run, 12 canaries" in text


def test_a_broken_claim_ends_with_another_code(
    files: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from understudy.audit import ratio as ratios

    real = ratios.moved

    def twice(here: list[Exit], there: list[Exit]) -> tuple[float, float]:
        gaussian, laplace = real(here, there)
        return 4 * gaussian, laplace

    monkeypatch.setattr(ratios, "moved", twice)
    code, text = audit(capsys, *files, "--attack", "ratio")
    assert code == 1
    assert "BROKEN" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "gan"], "claims nothing"),
        (["--attack", "magic"], "replay, ratio, canaries or all"),
        (["--canary", "best"], "worst, or the number of a row"),
        (["--canary", "500"], "there is no row 500: the table has 120"),
        (["--fits", "3"], "must be at least 4"),
        (["--set", "epsilon=3"], "options of their own"),
        (["--method", "nothing"], "unknown method"),
    ],
)
def test_what_cannot_be_audited_is_refused(
    files: list[str], capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    code, text = audit(capsys, *files, *options)
    assert code == 2
    assert words in text


def test_planted_records_fit_the_schema_and_leave_the_rest_alone() -> None:
    frame = worlds.table(50)
    assert worst(worlds.SCHEMA) == {"age": 100, "dose": 10, "ward": "west", "sick": True}
    here = plant(frame, worst(worlds.SCHEMA), 3)
    validate_frame(here, worlds.SCHEMA)
    assert here.drop(3).reset_index(drop=True).astype(str).equals(frame.drop(3).reset_index(drop=True).astype(str))
    assert blanked(here, 3).iloc[3].isna().all()
    corners = random_rows(worlds.SCHEMA, 20, corners=True)
    validate_frame(corners, worlds.SCHEMA)
    assert set(corners["age"]) == {0, 100}
    present = corners["age"].to_numpy() == 100
    some = with_some(frame, corners, present)
    assert some.tail(20).isna().all(axis=1).tolist() == (~present).tolist()
    with pytest.raises(InputError, match="do not fit into a table of 50 rows"):
        with_some(frame, random_rows(worlds.SCHEMA, 60), present)
