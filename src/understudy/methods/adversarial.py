"""Adversarial generators of tables: what a method plays on, and what it releases.

A method says in `begin` how its game is played: an object that starts, makes steps and finishes under the one driver.
The rows, the form of records, the ratio of classes and a paid start are prepared here, for all of them alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.learn.adversarial import (
    Design,
    NetworkState,
    draw_latents,
    imitate,
    make_records,
    start_generator,
)
from understudy.learn.networks import MLP
from understudy.methods.layout import Label, heads, label
from understudy.methods.warmstart import moments_rows
from understudy.privacy import NoisyCounts
from understudy.release.arrays import fitting
from understudy.release.bundle import Bundle
from understudy.release.driver import Trainer, train
from understudy.release.generator import Learnt, TableGenerator
from understudy.release.intake import Intake
from understudy.release.settings import Settings, layers, one_of, or_none, positive, setting, share, whole
from understudy.tables import Encoder, Schema


@dataclass
class GameTraining(Settings):
    """What all of them train with. `generator_hidden` are hidden layers; by default (d, d/2) for d encoded columns."""

    learning_rate: float = setting(1e-3, positive())
    generator_hidden: tuple[int, ...] | None = setting(None, or_none(layers()))


@dataclass
class CriticTraining(GameTraining):
    """Training against one critic. `critic_hidden` are hidden layers; by default (d, d/2)."""

    critic_hidden: tuple[int, ...] | None = setting(None, or_none(layers()))


@dataclass
class WarmStart(Settings):
    """A start that is bought before the game: "moments" pays `epsilon_share` of epsilon for a moments release.

    The generator is taught its rows for so many `steps`, for free. None starts at random, as published.
    """

    kind: Literal["moments"] | None = setting(None, or_none(one_of("moments")))
    epsilon_share: float = setting(0.5, share(ends="()"))
    steps: int = setting(500, whole())


@dataclass(frozen=True)
class Prepared:
    """Private: all that a game is played on. In `cube` a blank row is zeros and not `present`: it contributes nothing."""

    rows: Intake
    cube: np.ndarray
    design: Design
    label: Label | None
    ratio: np.ndarray
    warm: np.ndarray | None
    warm_steps: int

    @property
    def present(self) -> np.ndarray:
        return self.rows.present

    def rng(self, *path: int) -> np.random.Generator:
        """Public randomness of one place in the run; never that of the noise."""
        return self.rows.rng(*path)

    def start_generator(self) -> NetworkState:
        """The generator to start from: Xavier, taught the rows of a release if one was paid for."""
        rng = self.rng(1)
        generator = start_generator(self.design, rng)
        if self.warm is None:
            return generator
        classes = np.zeros(0, dtype=np.int64) if self.label is None else self.label.classes(self.warm)
        return imitate(self.design, self.warm_steps, generator, rng, self.warm, classes)


class Game(Trainer):
    """A method at work: `start` and `step` under the driver, then `finish`. A state has the `generator`."""

    def finish(self, state: Any) -> Learnt:
        """What was learnt, with the generator's bare network as the model."""
        raise NotImplementedError

    def restore(self, state: Any) -> None:
        del state  # a method that draws counts here what it has drawn

    def finished(self, state: Any) -> bool:
        del state
        return False


@dataclass(frozen=True)
class NetworkModel:
    """A trained generator and the ratio of classes that it is asked for. Public."""

    design: Design
    network: MLP
    encoder: Encoder
    label: Label | None
    ratio: np.ndarray

    def draw(self, n: int, wanted: Mapping[str, Any], rng: np.random.Generator) -> pd.DataFrame:
        ratio = self.ratio
        if self.design.label is not None and self.label is not None and self.label.name in wanted:
            chosen = self.label.values.index(wanted[self.label.name])
            ratio = np.eye(len(self.label.values), dtype=np.float32)[chosen]
        size = max(256, 1 << (n - 1).bit_length())  # few sizes, so that few programs are compiled
        latents = draw_latents(self.design, rng, ratio, size)
        return self.encoder.decode(np.asarray(make_records(self.design, self.network, latents))[:n])

    def arrays(self) -> dict[str, np.ndarray]:
        weights = {f"weight_{i}": np.asarray(w) for i, w in enumerate(self.network.weights)}
        biases = {f"bias_{i}": np.asarray(b) for i, b in enumerate(self.network.biases)}
        return {**weights, **biases, "ratio": np.asarray(self.ratio)}


class AdversarialGenerator(TableGenerator):
    """Base of the adversarial generators. Fitted: `history_` is public too, `private_` is not and is never saved."""

    resumable = True

    conditional: bool
    training: Any
    """A `GameTraining`."""
    ratio_epsilon_share: float = 0.0
    start: Any = None
    """A `WarmStart`, where one can be bought."""

    def begin(self, prepared: Prepared) -> Game:
        """Touches private data: fix noise and length, charge the whole run, and return what plays it."""
        raise NotImplementedError

    def learn(self, rows: Intake) -> Learnt:
        """Touches private data: prepare, play, and keep what was played for the data holder (`private_`)."""
        prepared = self._prepare(rows)
        game = self.begin(prepared)
        state, self.history_ = train(game, rows.run)
        self.private_ = {"state": state, "game": game}
        learnt = game.finish(state)
        model = NetworkModel(prepared.design, learnt.model, rows.encoder(), prepared.label, prepared.ratio)
        done = self.history_[-1]["iteration"] if self.history_ else 0
        return learnt._replace(model=model, facts=learnt.facts | {"iterations_done": done})

    def _prepare(self, rows: Intake) -> Prepared:
        """Touches private data: rows of the unit cube; a start and the class ratio are bought."""
        encoder = rows.encoder()
        cube = rows.at_their_places(encoder.encode(rows.frame).astype(np.float32))
        target = label(encoder)
        if self.conditional and target is None:
            raise InputError("`conditional` needs a target that is a class: categorical, ordinal or boolean.")
        design = self._design(encoder, target, hidden_layers(self.training.generator_hidden, encoder.width))
        warm, start = None, self.start
        if start is not None and start.kind is not None:
            epsilon = start.epsilon_share * rows.budget.epsilon
            warm = rows.run.prelude("moments", rows.budget, lambda: moments_rows(rows, epsilon))
        ratio = self._ratio(rows, cube, target, warm)
        return Prepared(rows, cube, design, target, ratio, warm, 0 if start is None else start.steps)

    def _design(self, encoder: Encoder, target: Label | None, hidden: tuple[int, ...]) -> Design:
        given = target if self.conditional else None
        return Design(
            heads(encoder),
            hidden,
            self.training.learning_rate,
            None if given is None else (given.start, given.stop),
            () if given is None else given.codes,
        )

    def _ratio(self, rows: Intake, cube: np.ndarray, target: Label | None, warm: np.ndarray | None) -> np.ndarray:
        """Touches private data: the class ratio, for a conditional generator, with Laplace noise (as G-PATE has it).

        Where rows of a release were paid for (`warm`), their classes say it already.
        """
        if not self.conditional or target is None:
            return np.ones(1, dtype=np.float32)
        classes = target.classes(cube)[rows.present] if warm is None else target.classes(warm)
        counts = np.bincount(classes, minlength=len(target.codes))
        if warm is None and self.private:
            exact, mechanism = counts, NoisyCounts(self.ratio_epsilon_share * rows.budget.epsilon)
            counts = rows.run.prelude("ratio", rows.budget, lambda: mechanism.release(exact, rows.budget))
        positive = np.maximum(counts, 1)
        return (positive / positive.sum()).astype(np.float32)

    # ---- the release ---------------------------------------------------------------------------------------------

    def restore(self, arrays: Mapping[str, np.ndarray], schema: Schema, facts: Mapping[str, Any]) -> NetworkModel:
        encoder = Encoder(schema)
        target = label(encoder)
        count = sum(name.startswith("weight_") for name in arrays)
        biases = [fitting(arrays, f"bias_{i}", None) for i in range(count)]
        design = self._design(encoder, target, tuple(len(bias) for bias in biases[:-1]))
        # Shapes first: a network of the sizes that a stranger's biases claim could fill any memory.
        sizes = [design.inputs, *design.generator, design.heads.width]
        if count == 0 or len(biases[-1]) != sizes[-1]:
            raise InputError("the generator's weights do not fit the schema: the release is damaged. Copy it again.")
        weights = [
            fitting(arrays, f"weight_{i}", *sides) for i, sides in enumerate(zip(sizes[1:], sizes, strict=False))
        ]
        empty = start_generator(design, np.random.default_rng(0)).network
        leaves = [jnp.asarray(array, jnp.float32) for array in (*weights, *biases)]
        network = jax.tree.unflatten(jax.tree.structure(empty), leaves)
        classes = len(target.values) if self.conditional and target is not None else 1
        return NetworkModel(design, network, encoder, target, fitting(arrays, "ratio", classes, shares=True))

    def _contents(self) -> Bundle:
        bundle = super()._contents()
        return replace(bundle, parameters={**bundle.parameters, "history": self.history_})

    def _restore(self, bundle: Bundle) -> None:
        super()._restore(bundle)
        self.history_ = list(bundle.parameters["history"])

    def _settings(self) -> dict[str, Any]:
        """Where a run was computed is no part of it."""
        return {name: value for name, value in super()._settings().items() if name != "mesh"}


def hidden_layers(asked: tuple[int, ...] | None, width: int) -> tuple[int, ...]:
    """The papers' (d, d/2) unless told otherwise."""
    return (width, max(width // 2, 1)) if asked is None else tuple(asked)
