"""What all generators of tables share: from a frame to a fitted generator, to records, to a release and back.

The order is always the same. The frame is checked against the schema; what the schema does not say is paid for; the
method fixes its noise and its length from what is left of the budget and charges the whole run; only then it trains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from understudy._private import KeepsPrivate
from understudy.errors import BudgetExceeded, InputError
from understudy.learn.adversarial import Design, Learner, imitate, start_generator
from understudy.learn.checkpoints import Workspace
from understudy.learn.networks import MLP
from understudy.learn.processes import AXIS, spans_processes
from understudy.methods import layout, warmstart
from understudy.methods.sampling import Sampler, write_samples
from understudy.privacy import Budget, Certificate, NoisyCounts, Sanitised
from understudy.release.bundle import Bundle, check_target, write_bundle
from understudy.release.driver import Progress, Run, Trainer, train
from understudy.tables import Encoder, Schema, estimate_schema, settle_target, validate_frame
from understudy.tables.io import Table, as_frame

Mode = Literal["unconditional", "data-dependent", "as-published"]
_COUNTS = (
    *("batch", "teachers", "iterations", "queries", "memory", "dimensions", "bins", "warm_steps"),
    *("teacher_steps", "student_steps", "generator_steps", "critic_steps"),
)
MODES: tuple[Mode, ...] = ("unconditional", "data-dependent", "as-published")


class Prepared:
    """Private: all that a method trains on. `present` is False where a row was blanked and contributes nothing."""

    def __init__(
        self, cube: np.ndarray, present: np.ndarray, encoder: Encoder, design: Design, ratio: np.ndarray,
        warm: np.ndarray | None, classes: np.ndarray, seed: int, budget: Budget, run: Run,
    ) -> None:  # fmt: skip
        self.cube = cube
        self.present = present
        self.encoder = encoder
        self.design = design
        self.ratio = ratio
        self.warm = warm
        self.classes = classes
        self.seed = seed
        self.budget = budget
        self.run = run

    def rng(self, *place: int) -> np.random.Generator:
        """Public randomness of one place in the run; never that of the noise."""
        return np.random.default_rng([self.seed, *place])

    def generator(self, steps: int) -> Learner:
        """The generator to start from: Xavier, taught the rows of a release if one was paid for."""
        rng = self.rng(1)
        generator = start_generator(self.design, rng)
        if self.warm is None:
            return generator
        return imitate(self.design, steps, generator, rng, self.warm, self.classes)


class TableGenerator(KeepsPrivate, BaseEstimator):
    """Base of the generators. Fitted: `certificate_`, `history_` and `schema_` are public, `private_` never is."""

    method: ClassVar[str]
    private: ClassVar[bool] = True
    resumable: ClassVar[bool] = True

    epsilon: float
    delta: float
    schema_epsilon_share: float
    ratio_epsilon_share: float
    warm_start: Literal["moments"] | None
    warm_epsilon_share: float
    warm_steps: int
    conditional: bool
    batch: int
    learning_rate: float
    generator_hidden: tuple[int, ...] | None
    random_state: int | None
    unsafe_noise_seed: int | None

    # ---- learning ------------------------------------------------------------------------------------------

    def fit(
        self,
        frame: Table,
        target: str | None = None,
        schema: Schema | None = None,
        *,
        workspace: str | Path | None = None,
        resume: bool = False,
        progress: Callable[[Progress], None] | None = None,
        checkpoint_seconds: float = 60.0,
    ) -> Self:
        """Touches private data (`frame`). What the schema does not say is estimated at `schema_epsilon_share`.

        `workspace`, a folder named `*.private`, keeps checkpoints; with `resume` the run in it goes on. Ctrl-C ends the
        training after the current iteration and leaves a generator that may be released: all of it is paid for.
        """
        self._check_parameters()
        table = as_frame(frame)
        given = Schema.draft(table, target) if schema is None else schema
        given = given if target is None else given.with_target(target)
        validate_frame(table, given)
        self._check_rows(len(table))
        seed = int(np.random.SeedSequence(self.random_state).generate_state(1)[0] >> 1)
        files = None
        if workspace is not None:
            if self.random_state is None:
                raise InputError("a run with a workspace needs a `random_state`: resumed without, it would be another.")
            hashing: Any = pd.util  # pyright: ignore[reportAttributeAccessIssue]
            digest = hashing.hash_pandas_object(table[list(given.names)], index=False).to_numpy()
            identity = {**self._public_parameters(), "method": self.method, "rows": len(table), **given.to_dict()}
            files = Workspace(workspace, identity, digest, resume=resume)
        run = Run(files, progress, checkpoint_seconds)
        try:
            budget = self._budget()
            complete = self._complete(table, given, budget, run)
            table = settle_target(table, given, complete, seed)
            encoder = Encoder(complete)
            cube = encoder.encode(table).astype(np.float32)
            warm = self._warm(table, encoder, seed, budget, run)
            self._fit(cube, np.ones(len(cube), dtype=bool), encoder, seed, budget, run, given.missing(), warm)
        except (InputError, BudgetExceeded):
            if files is not None and files.untouched:
                files.remove()  # refused before the first draw: there is no run to resume
            raise
        finally:
            if files is not None:
                files.close()
        return self

    def _fit(
        self, cube: np.ndarray, present: np.ndarray, encoder: Encoder, seed: int, budget: Budget, run: Run,
        estimated: list[str], warm: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """Touches private data: everything after encoding. `warm` are rows of a release that was paid for."""
        label = layout.label(encoder)
        if self.conditional and label is None:
            raise InputError("`conditional` needs a target that is a class: categorical, ordinal or boolean.")
        d = encoder.width
        hidden = (d, max(d // 2, 1)) if self.generator_hidden is None else tuple(self.generator_hidden)
        design = Design(
            layout.heads(encoder),
            hidden,
            self._critic_hidden(d),
            self.batch,
            self.learning_rate,
            (label.start, label.stop) if self.conditional and label else None,
            label.codes if self.conditional and label else (),
        )
        classes = np.zeros(0, dtype=np.int64) if warm is None or label is None else label.classes(warm)
        ratio = self._ratio(cube, present, label, classes if warm is not None else None, budget, run)
        prepared = Prepared(cube, present, encoder, design, ratio, warm, classes, seed, budget, run)
        trainer, facts = self._trainer(prepared)
        state, self.history_ = train(trainer, run)
        self.interrupted_ = run.stopped
        facts |= {"iterations_done": self.history_[-1]["iteration"] if self.history_ else 0}
        self.sampler_ = Sampler(design, self._network(state), encoder, label, ratio)
        self.schema_ = encoder.schema
        self.private_ = {"state": state, "trainer": trainer}
        self.certificate_ = self._certify(prepared, trainer, state, facts, estimated)

    def _budget(self) -> Budget:
        return Budget(self.epsilon, self.delta, unsafe_noise_seed=self.unsafe_noise_seed)

    def _complete(self, table: pd.DataFrame, given: Schema, budget: Budget, run: Run) -> Schema:
        """Touches private data: pay for what the schema does not say, or refuse."""
        if not given.missing():
            return given
        if not self.private or self.schema_epsilon_share <= 0:
            given.require_complete()
        epsilon = self.schema_epsilon_share * self.epsilon
        delta = self.schema_epsilon_share * self.delta

        def draw() -> np.ndarray:
            found = estimate_schema(table, given, budget, epsilon, delta)
            return np.frombuffer(found.to_json().encode(), dtype=np.uint8)

        complete = Schema.from_json(run.prelude("schema", budget, draw).tobytes().decode())
        if gaps := complete.missing():
            raise InputError(
                f"epsilon {epsilon:g} was spent on the gaps of the schema, and {', '.join(gaps)} did not stand out "
                "from the noise. Write what is public about them into a schema, or raise `schema_epsilon_share`."
            )
        return complete

    def _warm(self, table: pd.DataFrame, encoder: Encoder, seed: int, budget: Budget, run: Run) -> np.ndarray | None:
        """Touches private data: rows of the paid release that the generator starts from."""
        if self.warm_start is None:
            return None
        epsilon = self.warm_epsilon_share * self.epsilon
        return run.prelude("moments", budget, lambda: warmstart.moments_rows(table, encoder, epsilon, seed, budget))

    def _ratio(
        self, cube: np.ndarray, present: np.ndarray, label: layout.Label | None, warm: np.ndarray | None,
        budget: Budget, run: Run,
    ) -> np.ndarray:  # fmt: skip
        """Touches private data: the class ratio, for a conditional generator, with Laplace noise (as G-PATE has it).

        Where rows of a release were paid for, their classes (`warm`) say it already.
        """
        if not self.conditional or label is None:
            return np.ones(1, dtype=np.float32)
        if warm is not None:
            counts = np.bincount(warm, minlength=len(label.codes))
        else:
            counts = np.bincount(label.classes(cube)[present], minlength=len(label.codes))
            if self.private:
                exact, mechanism = counts, NoisyCounts(self.ratio_epsilon_share * self.epsilon)
                counts = run.prelude("ratio", budget, lambda: mechanism.release(exact, budget))
        positive = np.maximum(counts, 1)
        return (positive / positive.sum()).astype(np.float32)

    def _certify(
        self, prepared: Prepared, trainer: Any, state: Any, facts: dict[str, Any], estimated: list[str]
    ) -> Certificate:
        release = {"kind": "generator", "method": self.method, **facts, "schema_estimated": estimated}
        public = ["all settings of the method, chosen without a look at the rows"]
        if estimated:
            public += ["names and types of the columns, and what the schema said before it was estimated"]
        else:
            public += ["the schema: kinds, bounds and categories of all columns"]
        sanitised, unsafe = self._afterwards(prepared, trainer, state, release)
        return Certificate.from_budget(
            trainer.budget, release=release, assumed_public=public, sanitised=sanitised, unsafe=unsafe
        )

    # ---- what each method says -----------------------------------------------------------------------------

    def _trainer(self, prepared: Prepared) -> tuple[Trainer, dict[str, Any]]:
        """Charge the whole run and return what trains, with public facts for the certificate."""
        raise NotImplementedError

    def _network(self, state: Any) -> MLP:
        """The generator in a state."""
        return state.generator.network

    def _critic_hidden(self, width: int) -> tuple[int, ...]:
        return (width, max(width // 2, 1))

    def _afterwards(
        self, prepared: Prepared, trainer: Any, state: Any, release: dict[str, Any]
    ) -> tuple[Sanitised | None, list[str]]:
        """The sanitised epsilon, and reasons why the release is not safe."""
        return None, []

    def _check_rows(self, rows: int) -> None:
        """Refuse a table that is too small, before anything is spent."""

    def _check_parameters(self) -> None:
        if self.warm_start not in (None, "moments"):
            raise InputError(f'`warm_start` (={self.warm_start!r}) must be "moments", or None for a random start.')
        if self.warm_start is not None and not 0 < self.warm_epsilon_share < 1:
            raise InputError(
                f"`warm_epsilon_share` (={self.warm_epsilon_share}) is a share of epsilon: above 0 and below 1."
            )
        for name in ("schema_epsilon_share", "ratio_epsilon_share"):
            if not 0 <= getattr(self, name, 0.0) < 1:
                raise InputError(f"`{name}` (={getattr(self, name)}) is a share of epsilon: at least 0 and below 1.")
        for name in _COUNTS:
            value = getattr(self, name, None)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InputError(f"`{name}` (={value!r}) must be a whole number, at least 1.")
        if not 0 < self.learning_rate < float("inf"):
            raise InputError(f"`learning_rate` (={self.learning_rate}) must be a positive number.")
        mesh = getattr(self, "mesh", None)
        if mesh is not None and mesh.axis_names != (AXIS,):
            raise InputError(f"`mesh` has the axes {mesh.axis_names}, but needs exactly one, named {AXIS!r}.")
        if mesh is not None and spans_processes(mesh):
            raise InputError(
                "`mesh` reaches over several processes, each of which would draw noise of its own for the same votes. "
                "Use the devices of one process, jax.local_devices()."
            )
        if getattr(self, "mode", "unconditional") not in MODES:
            raise InputError(f"`mode` (={self.mode!r}) must be one of {', '.join(MODES)}.")  # type: ignore[attr-defined]

    def _public_parameters(self) -> dict[str, Any]:
        given = self.get_params(deep=False)
        return {k: list(v) if isinstance(v, tuple) else v for k, v in given.items() if k != "mesh"}

    # ---- the release ---------------------------------------------------------------------------------------

    def sample(
        self, n: int, conditions: Mapping[str, Any] | None = None, random_state: int | None = None
    ) -> pd.DataFrame:
        """`n` synthetic records, all of which fit the schema; with `conditions` such that fulfil them. Free."""
        return self._fitted().sample(n, conditions, random_state)

    def sample_to(
        self, path: str | Path, n: int, conditions: Mapping[str, Any] | None = None, random_state: int | None = None
    ) -> None:
        """Write `n` synthetic records to a table file, however many they are."""
        write_samples(self._fitted(), path, n, conditions, random_state)

    def save(self, path: str | Path) -> None:
        """Write the release: a new folder with the generator, the schema and the certificate, and nothing private."""
        sampler = self._fitted()
        arrays = {f"weight_{i}": np.asarray(w) for i, w in enumerate(sampler.network.weights)}
        arrays |= {f"bias_{i}": np.asarray(b) for i, b in enumerate(sampler.network.biases)}
        arrays["ratio"] = np.asarray(sampler.ratio)
        parameters = {"settings": self._public_parameters(), "history": self.history_}
        write_bundle(
            Bundle("generator", self.method, parameters, arrays, self.certificate_, self.schema_), check_target(path)
        )

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        """The generator of a release."""
        settings = {k: tuple(v) if isinstance(v, list) else v for k, v in bundle.parameters["settings"].items()}
        try:
            generator = cls(**settings)
        except TypeError as error:
            raise InputError(f"the release has settings unknown here ({error}): update understudy.") from None
        if bundle.schema is None:
            raise InputError("the release has no schema: it is damaged. Copy it again.")
        encoder = Encoder(bundle.schema)
        label = layout.label(encoder)
        layers = sum(name.startswith("weight_") for name in bundle.arrays)
        weights = tuple(jnp.asarray(bundle.arrays[f"weight_{i}"]) for i in range(layers))
        biases = tuple(jnp.asarray(bundle.arrays[f"bias_{i}"]) for i in range(layers))
        given = (label.start, label.stop) if generator.conditional and label else None
        design = Design(
            layout.heads(encoder),
            tuple(len(b) for b in biases[:-1]),
            (),
            generator.batch,
            generator.learning_rate,
            given,
            label.codes if given and label else (),
        )
        empty = start_generator(design, np.random.default_rng(0)).network
        if [w.shape for w in weights] != [w.shape for w in empty.weights]:
            raise InputError("the generator's weights do not fit the schema: the release is damaged. Copy it again.")
        leaves = jax.tree.structure(empty)
        network = jax.tree.unflatten(leaves, [*weights, *biases])
        generator.sampler_ = Sampler(design, network, encoder, label, bundle.arrays["ratio"])
        generator.schema_ = bundle.schema
        generator.history_ = list(bundle.parameters["history"])
        generator.certificate_ = bundle.certificate
        return generator

    def _fitted(self) -> Sampler:
        if not hasattr(self, "sampler_"):
            raise InputError("this generator has learnt nothing yet. Call `fit` first.")
        return self.sampler_
