"""Adversarial generators of tables: what a method plays on, and what it releases.

A method says in `begin` how its game is played: an object that starts, makes steps and finishes under the one driver.
The coordinates, the rows in them and the generator that all of them start from are prepared here, for all of them alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.learn.adversarial import (
    Design,
    Generator,
    GeneratorState,
    NetworkState,
    draw_latents,
    imitate,
    independent_table,
    make_records,
    start_critic,
)
from understudy.learn.discriminators import Picture
from understudy.methods.moments.space import buy, buy_once
from understudy.methods.records import RecordSpace
from understudy.methods.warmstart import moments_frame
from understudy.release.arrays import fitting
from understudy.release.bundle import Bundle
from understudy.release.driver import Trainer, train
from understudy.release.generator import Learnt, TableGenerator
from understudy.release.intake import Intake
from understudy.release.settings import Settings, layers, one_of, or_none, positive, setting, share, whole
from understudy.tables import Schema
from understudy.tables.coordinates import Coordinates


@dataclass
class GameTraining(Settings):
    """What all of them train with: Adam's rate for the generator, and how many times slower all but its offsets learn (None:
    by the rule); and the layers of its residual network.
    """

    learning_rate: float | None = setting(None, or_none(positive()))
    caution: float | None = setting(None, or_none(share("the rate", ends="(]")))
    generator_hidden: tuple[int, ...] = setting((64,), layers())


@dataclass
class WarmStart(Settings):
    """A start that is bought before the game: "moments" pays `epsilon_share` of epsilon for a moments release.

    The generator is taught its rows for so many `steps`, for free. None starts from the independent table.
    """

    kind: Literal["moments"] | None = setting(None, or_none(one_of("moments")))
    epsilon_share: float = setting(0.5, share(ends="()"))
    steps: int = setting(500, whole())


@dataclass(frozen=True)
class Prepared:
    """Private: all that a game is played on. In `records` a blank row is zeros, of class -1: it contributes nothing."""

    rows: Intake
    records: np.ndarray
    classes: np.ndarray
    hidden: tuple[int, ...]

    @property
    def width(self) -> int:
        """How many numbers say in which direction a record should move."""
        return len(self.design().free)

    @property
    def ratio(self) -> np.ndarray:
        """Public: how common each class is."""
        raise NotImplementedError

    @property
    def picture(self) -> Picture | None:
        """How teachers look at records that are pictures."""
        return None

    @property
    def lens(self) -> np.ndarray | None:
        """Public: through what directions are seen when they leave; None: as they are."""
        return None

    def rng(self, *path: int) -> np.random.Generator:
        """Public randomness of one place in the run; never that of the noise."""
        return self.rows.rng(*path)

    def design(self, learning_rate: float = 1.0, steps: int = 1, caution: float = 1.0) -> Design:
        raise NotImplementedError

    def start_generator(self, design: Design) -> GeneratorState:
        raise NotImplementedError

    def start_critic(self, hidden: tuple[int, ...], rate: float) -> NetworkState:
        """Of DP-GAN."""
        return start_critic(self.design().heads.width, hidden, rate, self.rng(3))


@dataclass(frozen=True)
class PreparedTable(Prepared):
    """Private: rows as records in bought coordinates."""

    space: RecordSpace
    warm: np.ndarray | None
    warm_steps: int

    @property
    def ratio(self) -> np.ndarray:
        return self.space.ratio

    def design(self, learning_rate: float = 1.0, steps: int = 1, caution: float = 1.0) -> Design:
        return Design(self.space.heads, self.hidden, self.space.label, learning_rate, steps, caution)

    def start_generator(self, design: Design) -> GeneratorState:
        """The independent table, taught the rows of a release if one was paid for."""
        rng = self.rng(1)
        generator = independent_table(design, self.space.start, rng)
        if self.warm is None:
            return generator
        return imitate(design, self.warm_steps, generator, rng, self.warm, self.space.classes(self.warm))


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
    """A trained generator in its coordinates. Public."""

    design: Design
    network: Generator
    space: RecordSpace

    def draw(self, n: int, wanted: Mapping[str, Any], rng: np.random.Generator) -> pd.DataFrame:
        ratio, target = self.space.ratio, self.space.target
        if target is not None and (name := self.space.coordinates.names[target]) in wanted:
            ratio = np.eye(len(ratio))[self.space.values.index(wanted[name])]
        size = max(256, 1 << (n - 1).bit_length())  # few sizes, so that few programs are compiled
        latents = draw_latents(self.design, rng, ratio, size)
        return self.space.frame(np.asarray(make_records(self.design, self.network, latents))[:n])

    def arrays(self) -> dict[str, np.ndarray]:
        residual = self.network.residual
        weights = {f"weight_{i}": np.asarray(w) for i, w in enumerate(residual.weights)}
        biases = {f"bias_{i}": np.asarray(b) for i, b in enumerate(residual.biases)}
        return {
            "affine": np.asarray(self.network.affine),
            "offset": np.asarray(self.network.offset),
            **weights,
            **biases,
        }


class AdversarialGenerator(TableGenerator):
    """Base of the adversarial generators. Fitted: `history_` is public too, `private_` is not and is never saved."""

    resumable = True
    buys_coordinates: ClassVar[bool] = True

    training: Any
    """A `GameTraining`."""
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
        model = NetworkModel(prepared.design(), learnt.model, prepared.space)
        done = self.history_[-1]["iteration"] if self.history_ else 0
        facts = learnt.facts | {"iterations_done": done}
        return learnt._replace(model=model, facts=facts, coordinates=prepared.space.coordinates)

    def _prepare(self, rows: Intake) -> PreparedTable:
        """Touches private data: coordinates and a start are bought, and the rows brought there."""
        coordinates = rows.coordinates or self._coordinates(rows)
        space = RecordSpace(coordinates)
        own = space.records(rows.frame, rows.chances(7))
        classes = np.full(len(rows.present), -1, dtype=np.int32)
        classes[rows.present] = space.classes(own)
        warm, start = None, self.start
        if start is not None and start.kind is not None:
            epsilon, known = start.epsilon_share * rows.budget.epsilon, replace(rows, coordinates=coordinates)
            warm = rows.run.prelude(
                "moments", rows.budget, lambda: space.records(moments_frame(known, epsilon), rows.rng(9))
            )
        hidden = tuple(self.training.generator_hidden)
        steps = 0 if start is None else start.steps
        return PreparedTable(rows, rows.at_their_places(own), classes, hidden, space, warm, steps)

    def _coordinates(self, rows: Intake) -> Coordinates:
        """Touches private data: what is released of the columns, paid for; of a method without privacy, for nothing."""
        return buy_once(rows, lambda: buy(rows, counted=True) if self.private else _unpaid(rows))

    # ---- the release ---------------------------------------------------------------------------------------------

    def restore(self, arrays: Mapping[str, np.ndarray], schema: Schema, facts: Mapping[str, Any]) -> NetworkModel:
        if self.coordinates_ is None:
            raise InputError("the release does not describe its columns: it is damaged, or of an older understudy.")
        space = RecordSpace(self.coordinates_)
        count = sum(name.startswith("weight_") for name in arrays)
        biases = [fitting(arrays, f"bias_{i}", None) for i in range(count)]
        design = Design(space.heads, tuple(len(bias) for bias in biases[:-1]), space.label)
        # Shapes first: a network of the sizes that a stranger's biases claim could fill any memory.
        sizes = [design.heads.width + design.classes, *design.hidden, design.heads.width]
        if count == 0 or len(biases[-1]) != sizes[-1]:
            raise InputError("the generator's weights do not fit its columns: the release is damaged. Copy it again.")
        weights = [
            fitting(arrays, f"weight_{i}", *sides) for i, sides in enumerate(zip(sizes[1:], sizes, strict=False))
        ]
        empty = independent_table(design, space.start, np.random.default_rng(0)).network
        linear = [
            fitting(arrays, name, *leaf.shape)
            for name, leaf in zip(("affine", "offset"), jax.tree.leaves(empty), strict=False)
        ]
        leaves = [jnp.asarray(array, jnp.float32) for array in (*linear, *weights, *biases)]
        return NetworkModel(design, jax.tree.unflatten(jax.tree.structure(empty), leaves), space)

    def _contents(self) -> Bundle:
        bundle = super()._contents()
        return replace(bundle, parameters={**bundle.parameters, "history": self.history_})

    def _restore(self, bundle: Bundle) -> None:
        super()._restore(bundle)
        self.history_ = list(bundle.parameters["history"])

    def _settings(self) -> dict[str, Any]:
        """Where a run was computed is no part of it."""
        return {name: value for name, value in super()._settings().items() if name != "mesh"}


def _unpaid(rows: Intake) -> Coordinates:
    """Lets private data out: the columns as they are, for a method that protects nothing."""
    return Coordinates.release(
        rows.frame, rows.declared, rows.budget, target=rows.target, public_sample=rows.frame, rows=len(rows)
    )
