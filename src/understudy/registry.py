"""Every method, one entry each: the only list of methods there is.

It feeds the public names of the package, `load`, the command line, the words of the report, the audits, the benchmarks
and the reference. A method is added by one entry here, or by `register` from anywhere else. Nothing is imported until a
method's class is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from understudy.errors import InputError
from understudy.release.preflight import Needs
from understudy.untrusted import damaged
from understudy.wording import did_you_mean

Kind = Literal["generator", "classifier", "distilled"]
Takes = Literal["table", "images", "public rows"]
Attack = Literal["replay", "ratio", "canaries"]

RELEASES: dict[str, str] = {
    "generator": "a generator of synthetic rows",
    "classifier": "a classifier",
    "distilled": "a distilled set of records",
}


@dataclass(frozen=True)
class Entry:
    """One method. `home` is where its class lives, "module:Class", or the class itself.

    `sentence` tells people who are no engineers what it does. `attacks` are those that the audits try on it; a method
    without privacy is attacked by none.
    """

    name: str
    kind: Kind
    home: str | type[Any]
    title: str
    sentence: str
    takes: tuple[Takes, ...] = ("table",)
    attacks: tuple[Attack, ...] = ("replay", "ratio", "canaries")
    release: str = ""
    """What is released, in words, where that is not what the kind says."""
    quick: tuple[tuple[str, Any], ...] = ()
    """Settings with which a fit on 400 small records takes seconds, for audits and tests."""
    needs: Needs = field(default_factory=Needs)
    """What a fit takes, from public sizes; see `release.preflight`."""

    @property
    def class_name(self) -> str:
        return self.home.partition(":")[2] if isinstance(self.home, str) else self.home.__name__

    @property
    def module(self) -> str:
        return self.home.partition(":")[0] if isinstance(self.home, str) else self.home.__module__

    @property
    def released(self) -> str:
        return self.release or RELEASES[self.kind]

    def load(self) -> type[Any]:
        """The class."""
        if not isinstance(self.home, str):
            return self.home
        return getattr(importlib.import_module(self.module), self.class_name)


_ENTRIES: dict[str, Entry] = {}


def register(entry: Entry) -> None:
    """Add a method; its name and the name of its class must be new."""
    for other in _ENTRIES.values():
        if other.name == entry.name or other.class_name == entry.class_name:
            raise InputError(f"there is a method {other.name!r} ({other.class_name}) already: choose another name.")
    _ENTRIES[entry.name] = entry


def unregister(name: str) -> None:
    """Take a method out again."""
    _ENTRIES.pop(get(name).name)


def entries(kind: Kind | None = None, takes: Takes | None = None) -> Iterator[Entry]:
    """All methods in the order of their entries, the recommended one of each kind first."""
    for entry in tuple(_ENTRIES.values()):
        if kind in (None, entry.kind) and (takes is None or takes in entry.takes):
            yield entry


def names(kind: Kind | None = None, takes: Takes | None = None) -> list[str]:
    return [entry.name for entry in entries(kind, takes)]


def get(name: str, kind: Kind | None = None, takes: Takes | None = None) -> Entry:
    """The method of that name, or an error that says which there are."""
    known = names(kind, takes)
    if name not in known:
        raise InputError(f"unknown method {name!r}; known are {', '.join(known)}.{did_you_mean(name, known)}")
    return _ENTRIES[name]


def find(name: str) -> Entry | None:
    """The method of that name, if there is one."""
    return _ENTRIES.get(name)


def homes() -> dict[str, str]:
    """The module of each class that is a public name of the package."""
    return {entry.class_name: entry.module for entry in _ENTRIES.values() if isinstance(entry.home, str)}


def load(path: str | Path) -> Any:
    """The classifier, generator or distilled set of a release folder."""
    from understudy.release.bundle import read_bundle

    bundle = read_bundle(path)
    entry = find(bundle.method)
    if entry is None:
        raise InputError(f"{path} was made by method {bundle.method!r}, which is not known here: update understudy.")
    with damaged(path):
        return entry.load().from_bundle(bundle)


for _entry in (
    Entry(
        "moments",
        "generator",
        "understudy.methods.moments.generator:MomentsGenerator",
        "moments",
        "A few statistics of the whole table (counts, means, how columns vary together) are released once, with noise. "
        "Everything else is computed from those noisy statistics.",
        quick=(("fitting.components", 4), ("fitting.steps", 5)),
        needs=Needs(per_cell=45, per_pair=64, seconds=2, per_million_cells=0.7, per_million_pairs=1.5),
    ),
    Entry(
        "pategan",
        "generator",
        "understudy.methods.pategan:PATEGAN",
        "PATE-GAN",
        "A generator learns to please a student that knows only what many teachers, each trained on its own part of the "
        "rows, said of made-up rows, blurred with noise.",
        quick=(
            *(("teachers", 200), ("iterations", 2), ("batch", 8), ("first_steps", 8), ("teacher_steps", 8)),
            *(("teacher_hidden", (4,)), ("teacher_batch", 4), ("teacher_learning_rate", 0.1), ("student_steps", 1)),
            *(("student_batch", 8), ("generator_hidden", (4,)), ("student_hidden", (4,)), ("learning_rate", 0.1)),
        ),
        needs=Needs(megabytes=550, seconds=4, steps=("iterations",), per_step=70),
    ),
    Entry(
        "gpate",
        "generator",
        "understudy.methods.gpate:GPATE",
        "G-PATE",
        "Teachers, each with its own part of the rows, tell a generator in which direction to improve; only the sum of "
        "what they say leaves, blurred with noise.",
        quick=(
            *(("teachers", 100), ("iterations", 2), ("batch", 4), ("dimensions", 2), ("bins", 4), ("threshold", 0.1)),
            *(("first_steps", 8), ("teacher_steps", 8), ("teacher_hidden", (4,)), ("teacher_batch", 4)),
            *(("teacher_learning_rate", 0.1), ("generator_hidden", (4,)), ("learning_rate", 0.1)),
        ),
        needs=Needs(megabytes=550, seconds=4, steps=("iterations",), per_step=100),
    ),
    Entry(
        "dpgan",
        "generator",
        "understudy.methods.dpgan:DPGAN",
        "DP-GAN",
        "A generator plays against a critic whose every learning step is clipped for each row and blurred with noise.",
        quick=(
            *(("iterations", 2), ("critic_steps", 2), ("batch", 360), ("fakes", 8), ("generator_hidden", (4,))),
            *(("critic_hidden", (4,)), ("learning_rate", 0.1)),
        ),
        needs=Needs(megabytes=550, seconds=8, steps=("iterations",), per_step=150),
    ),
    Entry(
        "mst",
        "generator",
        "understudy.methods.mst:MST",
        "MST",
        "Every column is counted, then the pairs of columns that go together most are chosen and counted, all with noise. A model of "
        "those counts draws the rows.",
        quick=(("bins", 4), ("steps", 20)),
        needs=Needs(per_cell=30, seconds=4, per_million_cells=0.5),
    ),
    Entry(
        "aim",
        "generator",
        "understudy.methods.aim:AIM",
        "AIM",
        "Again and again the table of one or two columns that the model so far gets most wrong is chosen and counted, with noise, and "
        "the model fitted again.",
        quick=(("bins", 4), ("steps", 20), ("rounds", 3)),
        needs=Needs(per_cell=30, seconds=60, per_million_cells=2),
    ),
    Entry(
        "dpmerf",
        "generator",
        "understudy.methods.dpmerf:DPMERF",
        "DP-MERF",
        "The mean of random waves through the rows of each class is released once, with noise, and a generator is trained until its rows "
        "have the same means.",
        quick=(("frequencies", 8), ("steps", 50), ("batch", 16), ("generator_hidden", (4,))),
        needs=Needs(megabytes=550, seconds=15, per_million_cells=4),
    ),
    Entry(
        "dphp",
        "generator",
        "understudy.methods.dphp:DPHP",
        "DP-HP",
        "The means of a few polynomials of the rows of each class are released once, with noise, and a generator is trained until its rows "
        "have the same means.",
        quick=(
            ("order", 4),
            ("product_order", 2),
            ("products", 1),
            ("steps", 50),
            ("batch", 16),
            ("generator_hidden", (4,)),
        ),
        needs=Needs(megabytes=550, seconds=15, per_million_cells=4),
    ),
    Entry(
        "gan",
        "generator",
        "understudy.methods.gan:GAN",
        "GAN",
        "A generator without any protection, as a ceiling to compare with.",
        attacks=(),
    ),
    Entry(
        "image-moments",
        "generator",
        "understudy.methods.image_moments.generator:ImageMoments",
        "image moments",
        "Counts, means and how pixels (and edges, unless left out) vary together are released once, with noise. "
        "Everything else is computed from those noisy statistics.",
        takes=("images",),
        release="a generator of synthetic images",
        quick=(("frequencies", 3),),
    ),
    Entry(
        "image-gpate",
        "generator",
        "understudy.methods.gpate:ImageGPATE",
        "G-PATE for images",
        "Counts, means and how pixels vary together are released once, with noise. Then teachers, each with its own part of "
        "the images, tell a generator in which direction to improve; only the sum of what they say leaves, blurred with noise.",
        takes=("images",),
        release="a generator of synthetic images",
        quick=(
            *(("teachers", 100), ("iterations", 2), ("batch", 4), ("dimensions", 2), ("bins", 4), ("threshold", 0.1)),
            *(("first_steps", 8), ("teacher_steps", 8), ("teacher_hidden", (4,)), ("teacher_batch", 4)),
            *(("teacher_learning_rate", 0.1), ("generator_hidden", (4,)), ("learning_rate", 0.1)),
            *(("teacher_kernels", 2), ("released_frequencies", 3), ("start.frequencies", 3)),
        ),
    ),
    Entry(
        "image-dpgan",
        "generator",
        "understudy.methods.dpgan:ImageDPGAN",
        "DP-GAN for images",
        "Counts, means and how pixels vary together are released once, with noise. Then a generator plays against a critic "
        "whose every learning step is clipped for each image and blurred with noise.",
        takes=("images",),
        release="a generator of synthetic images",
        quick=(
            *(("iterations", 2), ("critic_steps", 2), ("batch", 360), ("fakes", 8), ("generator_hidden", (4,))),
            *(("critic_hidden", (4,)), ("learning_rate", 0.1), ("start.frequencies", 3)),
        ),
    ),
    Entry(
        "image-dpmerf",
        "generator",
        "understudy.methods.image_dpmerf:ImageDPMERF",
        "DP-MERF for images",
        "The mean of random waves through the images of each class is released once, with noise, and a generator is trained until its "
        "images have the same means.",
        takes=("images",),
        release="a generator of synthetic images",
        quick=(("frequencies", 8), ("training.steps", 20), ("training.batch", 4)),
    ),
    Entry(
        "image-dphp",
        "generator",
        "understudy.methods.image_dphp:ImageDPHP",
        "DP-HP for images",
        "The mean of Hermite polynomials of each pixel, and of pairs of pixels, is released once for each class, with noise, and a "
        "generator is trained until its images have the same means.",
        takes=("images",),
        release="a generator of synthetic images",
        quick=(("order", 2), ("products", 8), ("training.steps", 20), ("training.batch", 4)),
    ),
    Entry(
        "image-gan",
        "generator",
        "understudy.methods.gan:ImageGAN",
        "GAN for images",
        "A generator of images without any protection, as a ceiling to compare with.",
        takes=("images",),
        attacks=(),
        release="a generator of synthetic images",
        quick=(("iterations", 2), ("batch", 8), ("critic_steps", 1)),
    ),
    Entry(
        "one-look",
        "distilled",
        "understudy.methods.distillation.onelook:OneLook",
        "one look",
        "A few statistics of the whole table are released once, with noise. A few records are then shaped until a model "
        "trained on them does as well as one trained on endless samples from those statistics.",
        takes=("table", "images"),
        quick=(("per_class", 2), ("descent.steps", 10), ("descent.batch", 20), ("descent.samples", 40)),
    ),
    Entry(
        "one-look-convnet",
        "distilled",
        "understudy.methods.distillation.convlook:OneLookConvNet",
        "one look, for networks",
        "A few statistics of all images are released once, with noise; what networks learn from them is then corrected "
        "by a second noisy look. A few images are shaped until a network trained on them does as well as those.",
        takes=("images",),
        quick=(
            *(("per_class", 4), ("network.width", 8), ("network.train_steps", 4), ("teaching.samples", 40)),
            *(("teaching.teachers", 1), ("teaching.teacher_steps", 4), ("matching.steps", 2), ("matching.batch", 16)),
        ),
    ),
    Entry(
        "dpkip",
        "distilled",
        "understudy.methods.distillation.dpkip:DPKIP",
        "DP-KIP",
        "A few records are shaped until a model trained on them does well on the real rows; each step is clipped for "
        "each row and blurred with noise.",
        takes=("table", "images"),
        quick=(("per_class", 2), ("epochs", 4), ("batch", 360)),
    ),
    Entry(
        "ndpdc",
        "distilled",
        "understudy.methods.distillation.ndpdc:NDPDC",
        "NDPDC",
        "What randomly drawn networks see of the images of each class is summed, and the sums are released with noise. A few images are "
        "then shaped until the networks see the same in them.",
        takes=("images",),
        quick=(
            *(("per_class", 2), ("networks", 3), ("clip", 0.01), ("matching.steps", 4)),
            *(("network.width", 4), ("network.train_steps", 4)),
        ),
    ),
    Entry(
        "psg",
        "distilled",
        "understudy.methods.distillation.psg:PSG",
        "PSG",
        "A few images are shaped until a network learns from them what it learns from the real ones; each of its lessons is clipped for "
        "each image and blurred with noise.",
        takes=("images",),
        quick=(
            *(("per_class", 2), ("networks", 2), ("rounds", 2), ("batch", 360), ("network.width", 4)),
            *(("network.train_steps", 4), ("matching.image_steps", 1), ("matching.learner_steps", 1)),
        ),
    ),
    Entry(
        "kip",
        "distilled",
        "understudy.methods.distillation.kip:KIP",
        "KIP",
        "A few records are shaped until a model trained on them does as well as one trained on all. Run on a private "
        "release it costs nothing more; run on real rows it protects nobody.",
        takes=("table", "images"),
        attacks=(),
    ),
    Entry(
        "pate",
        "classifier",
        "understudy.methods.pate:PATEClassifier",
        "PATE",
        "Many teachers, each trained on its own part of the rows, vote on labels for public rows. Only the noisy winner "
        "of each vote leaves, and a student learns from those labels.",
        takes=("table", "public rows"),
        quick=(("teachers", 100), ("queries", 20), ("n_jobs", 1)),
        needs=Needs(megabytes=350, seconds=3, steps=("teachers",), per_step=4),
    ),
    Entry(
        "dpsgd",
        "classifier",
        "understudy.methods.dpsgd:DPSGD",
        "DP-SGD",
        "A network learns from the images themselves; each step is clipped for each image and blurred with noise.",
        takes=("images",),
        quick=(("epochs", 4), ("batch", 360), ("training.width", 4)),
        release="a classifier of images",
    ),
    Entry(
        "neighbours",
        "classifier",
        "understudy.methods.neighbours:NeighbourPATE",
        "PATE by neighbours",
        "Every private image votes for the public images near it; the votes of all are summed once by class, with noise, and once more in what "
        "a network sees that has learnt from the first sum. Public images get their labels from those two sums, and a network learns from them.",
        takes=("images", "public rows"),
        quick=(
            *(("landmarks", 30), ("second_landmarks", 20), ("schooling.width", 2), ("units", 8), ("batch", 16)),
            *(("first_steps", 4), ("steps", 4)),
        ),
        release="a classifier of images",
    ),
):
    register(_entry)
