"""Every private method for images on pictures of 32 x 32 pixels in three colours, as CIFAR-10 and SVHN have them: made-up shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy
from benchmarks.colour import CLASSES, shapes
from understudy import ImageMoments, NeighbourPATE, OneLook, OneLookConvNet, registry
from understudy.errors import InputError
from understudy.images import ImageDataset
from understudy.privacy import Budget

NAMES = [entry.name for entry in registry.entries(takes="images") if entry.load().private]
# These by `make test`, the rest by `make test-slow`: each takes some four processor seconds.
QUICK = ("image-moments", "one-look", "ndpdc", "neighbours")
# Beside what each method's entry says: less of what takes long with 3,072 pixels.
LESS: dict[str, dict[str, Any]] = {
    "image-moments": {"frequencies": 2, "edges": 0.0},
    "image-gpate": {"epsilon": 30.0, "teachers": 10, "start.frequencies": 2},
    "one-look": {"frequencies": 2},
    "one-look-convnet": {"frequencies": 2, "edges": 0.0, "per_class": 2, "samples": 20, "width": 4},
    "psg": {"networks": 1, "rounds": 1},
}


def halved(data: ImageDataset) -> ImageDataset:
    """Every other pixel: a look at edges is four times as quick."""
    return ImageDataset(data.images[:, ::2, ::2], data.labels, data.classes)


def made(name: str, **more: Any) -> Any:
    entry = registry.get(name)
    given = {**dict(entry.quick), **LESS.get(name, {}), "random_state": 0, "unsafe_noise_seed": 1, **more}
    return entry.load().from_settings(**given)


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in NAMES])
def test_a_release_of_pictures_in_colour_comes_back(name: str, tmp_path: Path) -> None:
    entry, data = registry.get(name), shapes(420)
    fitted = made(name).fit(data, *([shapes(60, 1)] if "public rows" in entry.takes else []))
    fitted.save(tmp_path / "release")
    back = understudy.load(tmp_path / "release")
    if entry.kind == "classifier":
        assert set(back.predict(data.take(slice(0, 20)))) <= set(CLASSES)
        return
    shown = [one.sample(12, 0) if entry.kind == "generator" else one.distilled_ for one in (fitted, back)]
    assert shown[0].shape == (32, 32, 3)
    assert shown[0].classes == CLASSES
    np.testing.assert_array_equal(shown[0].images, shown[1].images)
    # Three planes of one picture are not one grey plane three times.
    assert np.ptp(shown[0].images.astype(int), axis=3).mean() > 1


@pytest.mark.parametrize(
    ("refused", "data", "why"),
    [
        (lambda: ImageMoments(frequencies=33), shapes(60), "`frequencies` \\(=33\\) must be between 1 and 32"),
        (lambda: OneLook.from_settings(**{"look.frequencies": 33}), shapes(60), "`frequencies` \\(=33\\)"),
        (lambda: OneLookConvNet.from_settings(parts=3, per_class=2), shapes(60), "32 x 32 pixels cannot be cut into `parts` \\(=3\\)"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_with_nothing_spent(refused: Any, data: ImageDataset, why: str) -> None:
    budget = Budget(1.0, 1e-5)
    with pytest.raises(InputError, match=why):
        refused().fit(data, budget=budget)
    assert budget.events == ()


def test_grey_and_coloured_pictures_are_not_mixed() -> None:
    coloured = halved(shapes(120))
    grey = ImageDataset(coloured.images[..., 1], coloured.labels, coloured.classes)
    with pytest.raises(InputError, match=r"shape \(16, 16\).*of \(16, 16, 3\)"):
        NeighbourPATE().fit(coloured, grey)
    released = made("image-moments", edges=0.3).fit(coloured)
    with pytest.raises(InputError, match=r"\(16, 16, 3\)"):
        released.shares(grey)
    with pytest.raises(InputError, match="1 or 3 colours"):
        ImageDataset(np.zeros((4, 32, 32, 4), np.uint8), np.array([0, 1, 0, 1]), ("a", "b"))


def test_colour_is_looked_at_and_not_only_shape() -> None:
    """A disc in warm and cold colours is told apart, which no grey picture could."""
    data = halved(shapes(1800))
    discs = data.take(np.flatnonzero(data.labels % 3 == 0))
    two = ImageDataset(discs.images, discs.labels // 3, ("warm", "cold"))
    fitted = ImageMoments(30.0, frequencies=2, edges=0.6, random_state=0, unsafe_noise_seed=1).fit(two)
    assert (fitted.shares(two).argmax(axis=1) == two.labels).mean() > 0.9
    samples = fitted.sample(40, 0, labels=np.arange(40) % 2)
    redder = samples.images[..., 0].astype(float) - samples.images[..., 2]
    inside = redder[:, 5:11, 5:11].mean(axis=(1, 2))
    assert inside[samples.labels == 0].mean() > inside[samples.labels == 1].mean() + 20
