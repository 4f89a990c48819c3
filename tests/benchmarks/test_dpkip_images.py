"""Table 1 of DP-KIP as a benchmark: every printed figure has its measurement, with the paper's settings."""

from __future__ import annotations

from understudy.benchmarks import registry
from understudy.benchmarks.dpkip_images import SETTINGS, TABLE_1, distiller, parts
from understudy.methods import DPKIP, KIP, OneLook


def test_every_printed_figure_is_measured_and_nothing_else() -> None:
    benchmark = registry.get("dpkip-images")
    full = {part.name for part in parts("full", 5)}
    assert full == {quote.part for quote in benchmark.quotes}
    assert len(full) == 5 * len(TABLE_1)
    printed = [quote.paper for quote in benchmark.quotes if quote.paper is not None]
    assert sorted(printed) == sorted(value for row in TABLE_1.values() for value in row)
    assert {part.name for part in parts("quick", 1)} < full


def test_settings_are_those_of_the_paper() -> None:
    made = [distiller(part.settings, 3) for part in parts("full", 1)]
    assert {type(one) for one in made} == {KIP, DPKIP, OneLook}
    assert all(one.random_state == 3 for one in made)
    found = {(one.batch, one.learning_rate, one.clip, one.ridge) for one in made if isinstance(one, DPKIP)}
    assert found == set(SETTINGS.values())
    assert all(one.epochs == 10 and one.delta == 1e-5 for one in made if isinstance(one, DPKIP))
