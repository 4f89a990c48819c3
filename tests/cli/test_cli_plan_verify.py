"""`understudy plan` and `understudy verify`, as a person and as a machine would call them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import run  # pyright: ignore[reportMissingImports]

from understudy.privacy import Budget, Certificate, NoisyCounts
from understudy.privacy.plan import METHODS
from understudy.release.bundle import Bundle, write_bundle


@pytest.mark.parametrize("method", [pytest.param(m, marks=pytest.mark.slow) if m == "dpsgd" else m for m in METHODS])
def test_plan_and_back(capsys: pytest.CaptureFixture[str], method: str) -> None:
    """Noise for a number of queries, then queries for that noise, then epsilon for both: they agree, never over
    budget."""
    extra = ["--sampling-rate", "0.01"] if method == "dpsgd" else []
    queries = "3" if method == "dpsgd" else "50"
    common = ["plan", "--method", method, "--json", *extra]
    code, out, _ = run(capsys, *common, "--epsilon", "2", "--queries", queries)
    assert code == 0
    noise = json.loads(out)["noise"]
    assert json.loads(out)["epsilon"] <= 2
    _, out, _ = run(capsys, *common, "--epsilon", "2", "--noise", repr(noise))
    assert json.loads(out)["queries"] >= int(queries)
    _, out, _ = run(capsys, *common, "--noise", repr(noise), "--queries", queries)
    assert json.loads(out)["epsilon"] == pytest.approx(2, rel=0.01)


def test_plot_is_an_svg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "plan.svg"
    code, out, _ = run(capsys, "plan", "--epsilon", "1", "--queries", "100", "--plot", str(target))
    assert code == 0
    assert "queries" in out
    assert target.read_text().lstrip().startswith("<?xml")
    assert "ε" in target.read_text() or "<svg" in target.read_text()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--epsilon", "1"], "exactly two"),
        (["--epsilon", "1", "--queries", "5", "--noise", "3"], "exactly two"),
        (["--epsilon", "-1", "--queries", "5"], "epsilon"),
        (["--epsilon", "1", "--queries", "0"], "at least 1"),
        (["--epsilon", "1", "--queries", "5", "--delta", "2"], "delta"),
        (["--epsilon", "0.01", "--noise", "1"], "not even one"),
        (["--method", "magic", "--epsilon", "1", "--queries", "5"], "unknown method"),
        (["--method", "dpsgd", "--epsilon", "1", "--queries", "5"], "sampling_rate"),
        (["--epsilon", "nan", "--queries", "5"], "finite"),
        (["--epsilon", "1", "--queries", "5", "--plot", "/proc/none/plan.svg"], "cannot write"),
    ],
)
def test_bad_plans(capsys: pytest.CaptureFixture[str], argv: list[str], message: str) -> None:
    code, _, err = run(capsys, "plan", *argv)
    assert code == 2
    assert message in err


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    budget = Budget(1.0)
    NoisyCounts(0.5).release([1, 2, 3], budget)
    Certificate.from_budget(budget, release={"kind": "histogram"}).save(tmp_path / "certificate.json")
    return tmp_path / "certificate.json"


def test_verify_file_and_folder(certificate: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = certificate.with_name("release")
    write_bundle(Bundle("generator", "x", {}, {"a": np.zeros(2)}, Certificate.load(certificate)), folder)
    for target in (certificate, folder):
        code, out, _ = run(capsys, "verify", str(target), "--json")
        assert code == 0
        assert json.loads(out)["epsilon"] == json.loads(out)["recomputed"] == 0.5
    code, out, _ = run(capsys, "verify", str(certificate))
    assert code == 0
    assert "holds" in out


def test_verify_refuses_an_edit(certificate: Path, capsys: pytest.CaptureFixture[str]) -> None:
    value: dict[str, Any] = json.loads(certificate.read_text())
    value["epsilon"] = 0.1
    certificate.write_text(json.dumps(value))
    code, out, err = run(capsys, "verify", str(certificate))
    assert code == 2
    assert out == ""
    assert "edited" in err


def test_verify_needs_a_file_and_prints_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "verify")[0] == 2
    code, out, _ = run(capsys, "verify", "--schema")
    assert code == 0
    assert json.loads(out)["title"].startswith("Understudy certificate")
