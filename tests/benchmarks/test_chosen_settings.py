"""The benchmarks use the settings that were chosen on validation rows, and no others."""

from __future__ import annotations

import pytest

from benchmarks import generators, methods, pategan, pategan_more
from benchmarks.result import read

# Rows of the benchmarks, and the group of candidates of which each is the best.
GROUPS = {
    "pategan": "pategan",
    "pategan, moments start": "pategan, 0.5 for a start",
    "pategan as published": "pategan as published (unsafe)",
    "gpate": "gpate",
    "gpate as published": "gpate as published (unsafe)",
    "dpgan": "dpgan",
    "gan": "gan (not private)",
}


@pytest.mark.parametrize("method", sorted(GROUPS))
def test_a_row_is_the_best_candidate_of_its_group(method: str) -> None:
    names = [name for name in generators.chosen() if name.rpartition(" #")[0] == GROUPS[method]]
    kind, given = generators.SETTINGS[names[0]]
    used = methods.get(method)
    assert used.method == kind
    assert dict(used.settings) == given


def test_candidates_were_compared_on_training_rows() -> None:
    assert all(run["validation"] for run in read(generators.CHOSEN).table("runs"))
    assert not any(part.settings["validation"] for part in generators.report_parts("full", 1))


def test_figures_and_ranking_share_their_generators() -> None:
    for size in ("quick", "full"):
        ranked = {part.name: part.settings for part in pategan.TABLE_3.parts(size, 2)}
        for part in pategan.FIGURES.parts(size, 2):
            assert ranked[part.name] == part.settings


def test_every_part_of_table_5_has_as_many_repeats_as_were_asked_for() -> None:
    assert {part.repeats for part in pategan_more.TABLE_5.parts("full", 7)} == {7}
