"""The twelve mistakes found in public code of these methods: each is put in by hand, and each is caught.

Every mistake comes with a check. The check must pass on the code as it is, and fail on the code with the mistake in.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "methods"))

from small_generators import PRIVATE, SCHEMA, small, table  # pyright: ignore[reportMissingImports]

from understudy.audit.listening import Kind, Wrapped
from understudy.errors import BudgetExceeded, InputError
from understudy.learn import discriminators
from understudy.learn.partition import shards
from understudy.methods import adversarial, dpgan, paid_votes, pategan, teaching
from understudy.methods.moments.space import buy
from understudy.privacy import Budget, GaussianEvent, GNMax, LNMax, PrepaidAnswers, PrepaidSteps
from understudy.privacy.noise import NoiseSource, Shape
from understudy.release import estimator
from understudy.release import generator as release_generator
from understudy.release.driver import Run
from understudy.release.generator import TableGenerator
from understudy.release.intake import Intake

Patch = pytest.MonkeyPatch
# The teacher that owns row 17 of the small table.
OWNER = int(shards(60, 10, seed=small("pategan")._seed()).owner()[17])


class Replay(Run):
    """Answers from a script instead of the gate, so that two runs on different rows have the same answers."""

    def draw(self, name: str, make: Callable[[], np.ndarray], skip: Callable[[np.ndarray], None]) -> np.ndarray:
        exact = make()
        rng = np.random.default_rng(exact.size)
        return rng.integers(0, 2, exact.shape).astype(exact.dtype) if name == "votes" else np.ones_like(exact)

    def prelude(self, name: str, budget: Budget, make: Callable[[], np.ndarray]) -> np.ndarray:
        """The columns as a table says that neither run has seen; what was bought is charged."""
        make()
        assert name == "coordinates"
        said = buy(
            Intake(
                table(60, 9), np.ones(60, bool), SCHEMA, SCHEMA.target, 0, Budget(4.0, 1e-5, unsafe_noise_seed=1), Run()
            ),
            counted=True,
        )
        return np.frombuffer(json.dumps(said.to_dict()).encode(), dtype=np.uint8)


def run(method: str, frame: pd.DataFrame, **changes: Any) -> Any:
    """A fit whose answers are those of `Replay`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(release_generator, "Run", Replay)
        return small(method, **changes).fit(frame, schema=SCHEMA)


def same(a: Any, b: Any) -> bool:
    return all(np.array_equal(np.asarray(x), np.asarray(y)) for x, y in zip(*map(jax.tree.leaves, (a, b)), strict=True))


# ---- checks ------------------------------------------------------------------------------------------------------


def only_the_owner_of_a_row_learns_from_it() -> None:
    """Change one row: over a whole run, the one teacher that owns it changes, and no other."""
    frame, changed = table(), table()
    changed.loc[17, ["age", "ward"]] = [99, "w"]
    for method in ("pategan", "gpate"):
        before, after = (run(method, f).private_["state"].teachers.networks for f in (frame, changed))
        moved = np.any([np.any(np.asarray(a != b).reshape(10, -1), axis=1) for a, b in _pairs(before, after)], axis=0)
        assert np.flatnonzero(moved).tolist() == [OWNER]


def _pairs(a: Any, b: Any) -> Iterator[tuple[Any, Any]]:
    return zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)


def nothing_but_answers_reaches_the_release() -> None:
    """With the same answers, entirely different rows give the same generator, bit for bit, and the same facts."""
    for method in PRIVATE:
        one, two = (run(method, table(60, seed)) for seed in (0, 1))
        assert same(one.private_["state"].generator, two.private_["state"].generator)
        assert one.history_ == two.history_
        assert one.schema_ == two.schema_
        assert one.certificate_.body["release"] == two.certificate_.body["release"]
        assert one.sample(20, random_state=0).equals(two.sample(20, random_state=0))


class Recorded(Wrapped):
    """A noise source that remembers what it was asked for."""

    def __init__(self, source: NoiseSource) -> None:
        super().__init__(source)
        self.asked: list[Any] = []
        self.drawn: list[Any] = []

    def draw(self, kind: Kind, scale: float, shape: Shape) -> Any:
        drawn = super().draw(kind, scale, shape)
        self.asked.append((kind, scale, shape))
        self.drawn.append(drawn)
        return drawn


def every_count_gets_its_own_noise_of_the_claimed_scale() -> None:
    for mechanism, name, scale in ((LNMax(0.1), "discrete_laplace", 10.0), (GNMax(7.0), "discrete_gaussian", 7.0)):
        budget = Budget(1e3, 1e-5)
        budget.noise = heard = Recorded(budget.noise)
        PrepaidAnswers(mechanism, 50, budget).answer([[6, 5]] * 50)
        kind, used, shape = heard.asked[0]
        assert kind == name
        assert used == pytest.approx(scale)
        assert shape == (50, 2)
        noise = heard.drawn[0]
        assert np.all(noise.std(axis=0) > scale / 3)


def labels_come_from_noisy_votes() -> None:
    """A unanimous vote of many teachers is never turned over; noise on the label would do so now and then."""
    paid = PrepaidAnswers(GNMax(5.0), 500, Budget(1e4, 1e-5))
    assert not np.any(paid.answer([[1000, 0]] * 500))


def everything_drawn_was_charged() -> None:
    fitted = small("pategan votes").fit(table(), schema=SCHEMA)
    paid = fitted.private_["game"].paid.paid
    assert paid.used == paid.count == fitted.certificate_.events[-1].count
    with pytest.raises(BudgetExceeded):
        paid.answer([[5, 5]])


def a_cost_that_is_no_number_is_refused() -> None:
    votes = small("pategan votes", mode="as-published").fit(table(), schema=SCHEMA).private_["game"].paid
    state = votes.start()
    with pytest.raises(InputError, match="NaN"):
        votes.finished(state._replace(kept=np.full_like(state.kept, np.nan)))


def ratios_are_paid_for() -> None:
    fitted = [small("gpate").fit(table(), schema=SCHEMA) for _ in range(4)]
    assert any(isinstance(e, GaussianEvent) and e.integer_unit for e in fitted[0].certificate_.events)
    assert len({tuple(one.model_.space.ratio.tolist()) for one in fitted}) > 1


def the_stated_delta_is_the_given_one() -> None:
    fitted = small("pategan", delta=3e-4).fit(table(), schema=SCHEMA)
    assert fitted.certificate_.delta == 3e-4
    assert fitted.certificate_.verify() > 0
    second = small("pategan", delta=3e-4).fit(table(), schema=SCHEMA)
    assert second.certificate_.events == fitted.certificate_.events


def no_row_is_in_two_shards() -> None:
    frame = table()
    for method in ("pategan", "gpate"):
        seen: list[Any] = []
        with pytest.MonkeyPatch.context() as patch:
            real = teaching.deal_rows
            patch.setattr(teaching, "deal_rows", lambda *a, real=real, seen=seen: seen.append(real(*a)) or seen[-1])
            fitted = small(method).fit(frame, schema=SCHEMA)
        rows, _, count = (np.asarray(part) for part in seen[0])
        assert int(count.sum()) == len(frame)
        held = np.arange(rows.shape[1]) < count.sum(axis=1)[:, None]
        given = fitted.private_["game"].prepared.records
        assert sorted(map(tuple, rows[held].tolist())) == sorted(map(tuple, given.tolist()))


def a_release_holds_public_names_only(tmp: Path) -> None:
    from safetensors.numpy import load_file

    small("pategan").fit(table(), schema=SCHEMA).save(tmp / "release")
    names = set(load_file(tmp / "release" / "arrays.safetensors"))
    assert all(name in ("affine", "offset") or name.startswith(("weight_", "bias_")) for name in names)


def a_rows_gradient_is_clipped_before_the_noise() -> None:
    game = small("dpgan", clip=0.01).fit(table(), schema=SCHEMA).private_["game"]
    critic = game.start().critic.network
    slots, held = np.arange(1, dtype=np.int32), np.array([True])
    one = dpgan.clipped_sums(critic, game.rows, game.classes, slots, held, 0.01, 2)
    assert 0 < float(np.linalg.norm(np.asarray(one))) <= 0.01


def no_noise_is_used_twice() -> None:
    from understudy.privacy import PoissonGaussianStep

    paid = PrepaidSteps(PoissonGaussianStep(1.0, 3.0, 0.1), 2, 100, 40, Budget(4.0, 1e-3))
    assert not np.any(paid.release(np.zeros(9), 0) == paid.release(np.zeros(9), 0))
    one, two = (small("gpate").fit(table(), schema=SCHEMA).history_ for _ in range(2))
    assert [h["step_length"] for h in one] != [h["step_length"] for h in two]


def the_number_of_rows_is_asked_for() -> None:
    fitted = small("pategan").fit(table(), schema=SCHEMA)
    with pytest.raises(TypeError):
        fitted.sample()
    assert len(fitted.sample(7)) == 7


# ---- mistakes ----------------------------------------------------------------------------------------------------


def all_teachers_one_shard(patch: Patch) -> None:
    def deal(*given: Any) -> Any:
        rows = discriminators.deal_rows(*given)
        return jax.tree.map(lambda leaf: leaf.at[:].set(leaf[OWNER]), rows)

    patch.setattr(teaching, "deal_rows", deal)


def shards_drawn_anew_each_iteration(patch: Patch) -> None:
    real = discriminators.train_teachers

    rng = np.random.default_rng(0)

    def shuffled(plan: Any, teachers: Any, rows: Any, fakes: Any) -> Any:
        order = rng.permutation(plan.axis.teachers)
        return real(plan, teachers, jax.tree.map(lambda leaf: leaf[order], rows), fakes)

    patch.setattr(teaching, "train_teachers", shuffled)


def inverted_scale(patch: Patch) -> None:
    patch.setattr(GNMax, "_draw", lambda s, c, n: np.argmax(c + n.discrete_gaussian(1 / s.sigma, c.shape), axis=1))


def noise_on_the_label(patch: Patch) -> None:
    patch.setattr(GNMax, "_draw", lambda s, c, n: (c.argmax(axis=1) + n.discrete_gaussian(0.5, len(c))) % 2)


def one_noise_only(patch: Patch) -> None:
    def draw(mechanism: GNMax, counts: np.ndarray, noise: Any) -> np.ndarray:
        return np.argmax(counts + np.stack([0 * counts[:, 0], noise.discrete_gaussian(7.0, len(counts))], 1), axis=1)

    patch.setattr(GNMax, "_draw", draw)


def no_accountant(patch: Patch) -> None:
    patch.setattr(PrepaidAnswers, "_take", lambda *_: None)


def nan_is_below_every_budget(patch: Patch) -> None:
    patch.setattr(paid_votes, "moments_to_epsilon", lambda *_: (float(np.nan), 1.0))
    patch.setattr(paid_votes, "rdp_to_epsilon", lambda *_, **__: (float(np.nan), 1.0))


def ratio_for_free(patch: Patch) -> None:
    patch.setattr(adversarial, "buy", lambda rows, counted: adversarial._unpaid(rows))


def bounds_from_the_rows(patch: Patch) -> None:
    start = pategan.PATEGANGame.start

    def leaking(game: Any) -> Any:
        state = start(game)
        top = float(game.prepared.records.max(axis=0).sum() + game.prepared.records.mean())
        moved = jax.tree.map(lambda leaf: leaf * top, state.generator)
        return state._replace(generator=moved)

    patch.setattr(pategan.PATEGANGame, "start", leaking)


def student_on_real_rows(patch: Patch) -> None:
    step = pategan.PATEGANGame.step

    def real_rows(game: Any, iteration: int, state: Any, draw: Any) -> Any:
        state, seen = step(game, iteration, state, draw)
        said = state.student.network(jax.numpy.asarray(game.prepared.records[:8])).sum()
        return state._replace(generator=jax.tree.map(lambda leaf: leaf + said, state.generator)), seen

    patch.setattr(pategan.PATEGANGame, "step", real_rows)


def delta_hard_coded(patch: Patch) -> None:
    patch.setattr(TableGenerator, "_budget", lambda s, given, rows: Budget(s.epsilon, 1e-5))


def upsampled_rows(patch: Patch) -> None:
    real = discriminators.deal_rows

    def doubled(*given: Any) -> Any:
        rows = real(*given)
        return rows._replace(values=rows.values.at[0].set(rows.values[1]))

    patch.setattr(teaching, "deal_rows", doubled)


def teachers_in_the_bundle(patch: Patch) -> None:
    def leaky(bundle: Any, path: Any) -> None:
        arrays = {**bundle.arrays, "teachers": np.zeros(3)}
        real(
            type(bundle)(bundle.kind, bundle.method, bundle.parameters, arrays, bundle.certificate, bundle.schema), path
        )

    real = estimator.write_bundle
    patch.setattr(estimator, "write_bundle", leaky)


def no_clipping(patch: Patch) -> None:
    real = dpgan.clipped_sums
    patch.setattr(dpgan, "clipped_sums", lambda *given: real(*given[:5], 1e9, given[6]))


def the_users_seed_as_noise(patch: Patch) -> None:
    def seeded(s: Any, given: Any, rows: int) -> Budget:
        return Budget(s.epsilon, s.delta, unsafe_noise_seed=s.random_state)

    patch.setattr(TableGenerator, "_budget", seeded)


def as_many_rows_as_the_private_table(patch: Patch) -> None:
    sample = TableGenerator.sample
    patch.setattr(TableGenerator, "sample", lambda s, n=60, *a, **k: sample(s, n, *a, **k))


MISTAKES: list[tuple[Callable[[Patch], None], Callable[..., None]]] = [
    (all_teachers_one_shard, only_the_owner_of_a_row_learns_from_it),
    (shards_drawn_anew_each_iteration, only_the_owner_of_a_row_learns_from_it),
    (inverted_scale, every_count_gets_its_own_noise_of_the_claimed_scale),
    (noise_on_the_label, labels_come_from_noisy_votes),
    (one_noise_only, every_count_gets_its_own_noise_of_the_claimed_scale),
    (no_accountant, everything_drawn_was_charged),
    (nan_is_below_every_budget, a_cost_that_is_no_number_is_refused),
    (ratio_for_free, ratios_are_paid_for),
    (bounds_from_the_rows, nothing_but_answers_reaches_the_release),
    (student_on_real_rows, nothing_but_answers_reaches_the_release),
    (delta_hard_coded, the_stated_delta_is_the_given_one),
    (upsampled_rows, no_row_is_in_two_shards),
    (teachers_in_the_bundle, a_release_holds_public_names_only),
    (no_clipping, a_rows_gradient_is_clipped_before_the_noise),
    (the_users_seed_as_noise, no_noise_is_used_twice),
    (as_many_rows_as_the_private_table, the_number_of_rows_is_asked_for),
]


@contextmanager
def _caught() -> Iterator[None]:
    with pytest.raises((AssertionError, BudgetExceeded, InputError, pytest.fail.Exception)):
        yield


@pytest.mark.parametrize(("mistake", "check"), MISTAKES, ids=[m.__name__ for m, _ in MISTAKES])
def test_the_mistake_is_caught(
    mistake: Callable[[Patch], None], check: Callable[..., None], monkeypatch: Patch, tmp_path: Path
) -> None:
    def checked(place: Path) -> None:
        place.mkdir()
        check(place) if check is a_release_holds_public_names_only else check()

    checked(tmp_path / "as it is")
    mistake(monkeypatch)
    with _caught():
        checked(tmp_path / "with the mistake")
