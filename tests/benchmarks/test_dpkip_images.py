"""Tables 1 and 2 of DP-KIP as benchmarks: every printed figure has its measurement, with the paper's settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks import dpkip_images, registry
from benchmarks.dpkip_images import PRINTED_1, PRINTED_2, SETTINGS, distiller
from understudy import DPKIP, KIP, OneLook
from understudy.images import ImageDataset


def test_every_printed_figure_is_measured_and_nothing_else() -> None:
    benchmark = registry.get("dpkip-images")
    full = {part.name for part in benchmark.parts("full", 5)}
    assert full == {quote.part for quote in benchmark.quotes}
    assert len(full) == 5 * len(PRINTED_1) + sum(per_class > 1 for _, per_class in PRINTED_1)
    printed = [quote.paper for quote in benchmark.quotes if quote.paper is not None]
    assert sorted(printed) == sorted(value for row in PRINTED_1.values() for value in row)
    assert {part.name for part in benchmark.parts("quick", 1)} < full


def _printed(one: DPKIP) -> tuple[Any, ...]:
    return one.batch, one.descent.learning_rate, one.clip, one.descent.ridge


def test_settings_are_those_of_the_paper() -> None:
    made = [distiller(part.settings, 3) for part in registry.get("dpkip-images").parts("full", 1)]
    assert {type(one) for one in made} == {KIP, DPKIP, OneLook}
    assert all(one.random_state == 3 for one in made)
    cold = [one for one in made if isinstance(one, DPKIP) and one.warm_start is None]
    assert {_printed(one) for one in cold} == set(SETTINGS.values())
    warm = [one for one in made if isinstance(one, DPKIP) and one.warm_start is not None]
    assert {one.epsilon for one in warm} == {1.0}
    assert {(one.batch, one.descent.ridge) for one in warm} <= {(one.batch, one.descent.ridge) for one in cold}
    assert all(one.epochs == 10 and one.delta == 1e-5 for one in made if isinstance(one, DPKIP))


def test_table_2_is_measured_with_the_settings_of_ten_a_class() -> None:
    benchmark = registry.get("dpkip-2")
    full = {part.name: part for part in benchmark.parts("full", 3)}
    assert set(full) == {quote.part for quote in benchmark.quotes}
    assert {part.name for part in benchmark.parts("quick", 1)} < set(full)
    printed = [quote.paper for quote in benchmark.quotes if quote.paper is not None]
    assert sorted(printed) == sorted(value for row in PRINTED_2.values() for value in row if value is not None)
    made = distiller(full["fashion-20-dpkip-10"].settings, 2)
    assert isinstance(made, DPKIP)
    assert _printed(made) == SETTINGS["fashion", 10, 10.0]
    assert (made.per_class, made.epochs, made.epsilon, made.random_state) == (20, 10, 10.0, 2)
    ceiling = distiller(full["mnist-20-kip"].settings, 1)
    assert isinstance(ceiling, KIP)
    assert (ceiling.per_class, ceiling.random_state) == (20, 1)


@pytest.mark.slow
def test_a_network_learns_from_distilled_images(monkeypatch: pytest.MonkeyPatch) -> None:
    def shapes(name: str, part: str = "train") -> ImageDataset:
        rng = np.random.default_rng(len(part))
        labels = np.arange(120) % 2
        pixels = rng.integers(0, 60, (120, 8, 8))
        pixels[labels == 1, :, 4:] += 150
        return ImageDataset(pixels.astype(np.uint8), labels, ("left", "right"))

    monkeypatch.setattr("understudy.datasets.load_images", shapes)
    settings = {
        "dataset": "mnist",
        "per_class": 2,
        "method": "kip",
        "epochs": 1,
        "train_steps": 4,
        "train_batch": 4,
        "kernels": 4,
    }
    (found,) = dpkip_images.measure(settings, [0])
    assert set(found) == {"accuracy", "kernel_regression", "seconds"}
    assert float(found["kernel_regression"]) > 90  # pyright: ignore[reportArgumentType]
    assert 0 <= float(found["accuracy"]) <= 100  # pyright: ignore[reportArgumentType]
