"""The benchmarks use the settings that were chosen on validation rows, and no others."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from understudy.benchmarks import pategan_3, pategan_5, pategan_eps, synthetic

HERE = Path(__file__).parents[2] / "benchmarks"
CHOSEN = HERE / "results" / "generators_choose_adult.json"
# Rows of the benchmarks, and the group of candidates of which each is the best.
GROUPS = {
    "pategan": "pategan, gnmax",
    "pategan, moments start": "pategan, 0.5 for a start",
    "pategan as published": "pategan as published (unsafe)",
    "gpate": "gpate",
    "gpate as published": "gpate as published (unsafe)",
    "dpgan": "dpgan",
    "gan": "gan (not private)",
}


@pytest.fixture(scope="module")
def candidates() -> Any:
    spec = importlib.util.spec_from_file_location("useful_generators", HERE / "useful_generators.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("method", sorted(GROUPS))
def test_a_row_is_the_best_candidate_of_its_group(candidates: Any, method: str) -> None:
    names = [name for name in candidates.chosen(CHOSEN) if name.rpartition(" #")[0] == GROUPS[method]]
    kind, given = candidates.SETTINGS[names[0]]
    used_kind, used, _ = synthetic.METHODS[method]
    assert used_kind == kind.upper()
    assert dict(used) == {"conditional": True, **given}


def test_candidates_were_compared_on_training_rows() -> None:
    assert json.loads(CHOSEN.read_text())["scored_on"] == "a fifth of the training rows"


def test_figures_and_ranking_share_their_generators() -> None:
    for size in ("quick", "full"):
        ranked = {part.name: part.settings for part in pategan_3.parts(size, 2)}
        for part in pategan_eps.parts(size, 2):
            assert ranked[part.name] == part.settings


def test_every_part_of_table_5_has_as_many_repeats_as_were_asked_for() -> None:
    assert {part.repeats for part in pategan_5.parts("full", 7)} == {7}
