"""Generators of tables: what they release fits the schema, says what it cost, and survives the disk."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_generators import PRIVATE, SCHEMA, SMALL, VOTES, small, table

from understudy import load
from understudy.errors import BudgetExceeded, InputError
from understudy.methods import gpate
from understudy.privacy import Budget, DeltaEvent, GaussianEvent, GNMaxEvent, LaplaceEvent, LNMaxEvent, compose
from understudy.tables import Schema, read_table, validate_frame


@pytest.mark.parametrize("method", SMALL)
def test_fit_sample_save_load(method: str, frame: pd.DataFrame, schema: Schema, tmp_path: Path) -> None:
    generator = small(method).fit(frame, schema=schema)
    rows = generator.sample(50, random_state=1)
    assert len(rows) == 50
    validate_frame(rows.assign(sick=[True, False] * 25), schema)  # a sample may lack a class; a table to learn from not
    assert list(rows.columns) == list(schema.names)
    assert generator.sample(50, random_state=1).equals(rows)
    assert not generator.sample(50, random_state=2).equals(rows)
    assert [h["iteration"] for h in generator.history_] == [1, 2]
    generator.save(tmp_path / "release")
    loaded = load(tmp_path / "release")
    assert loaded.sample(50, random_state=1).equals(rows)
    assert loaded.history_ == generator.history_
    assert not hasattr(loaded, "private_")
    if method == "gan":
        with pytest.raises(InputError, match="not private"):
            loaded.certificate_.verify()
    else:
        assert loaded.certificate_.verify() <= 4.0
        assert loaded.certificate_.delta == 1e-5


@pytest.mark.parametrize("method", SMALL)
def test_the_bundle_holds_the_generator_and_nothing_private(
    method: str, frame: pd.DataFrame, schema: Schema, tmp_path: Path
) -> None:
    from safetensors.numpy import load_file

    generator = small(method).fit(frame, schema=schema)
    generator.save(tmp_path / "release")
    assert sorted(os.listdir(tmp_path / "release")) == ["arrays.safetensors", "certificate.json", "manifest.json"]
    arrays = load_file(tmp_path / "release" / "arrays.safetensors")
    assert set(arrays) == {"affine", "offset", *(f"{kind}_{i}" for kind in ("weight", "bias") for i in range(2))}
    text = (tmp_path / "release" / "manifest.json").read_text()
    seen = {key for line in json.loads(text)["parameters"]["history"] for key in line}
    assert seen <= {
        *("iteration", "student_loss", "generator_value", "answered", "step_length"),
    }


def test_what_was_charged_is_what_was_drawn(frame: pd.DataFrame, schema: Schema) -> None:
    *_, votes = small("pategan votes").fit(frame, schema=schema).certificate_.events
    assert votes == GNMaxEvent(20.0, 16, "discrete")
    published = small("pategan votes", ballot="lnmax").fit(frame, schema=schema)
    assert published.certificate_.events[-1] == LNMaxEvent(0.05, 16)
    assert published.private_["game"].paid.paid.used == 16
    *_, votes = small("gpate votes").fit(frame, schema=schema).certificate_.events
    assert (votes.count, votes.answered) == (2 * 8 * 2, 2 * 8 * 2)
    for method, length in (("gpate", 8 * 6), ("gpate signs", 8 * 6), ("pategan", 8)):
        fitted = small(method).fit(frame, schema=schema)
        *_, sums = fitted.certificate_.events
        paid = fitted.private_["game"].paid.paid
        assert sums == GaussianEvent(paid.mechanism.noise_multiplier, 2, "discrete")
        assert (paid.used, paid.mechanism.dimension) == (2, length)
    *_, steps, overflow = small("dpgan").fit(frame, schema=schema).certificate_.events
    assert (steps.steps, steps.sampling_rate) == (4, 8 / 60)
    assert isinstance(overflow, DeltaEvent)
    assert overflow.delta <= 1e-8


@pytest.mark.parametrize("method", SMALL)
def test_what_is_bought_first_are_the_columns(method: str) -> None:
    """Of a table that is large enough; each listed column is counted once, and the generator starts from the counts."""
    many = table(4000)
    fitted = small(method).fit(many, schema=SCHEMA)
    assert fitted.coordinates_ is not None
    shares = np.array(fitted.coordinates_["ward"].shares)
    assert shares == pytest.approx([(many["ward"] == w).mean() for w in "nsw"], abs=0.05)
    if method != "gan":
        described = [e for e in fitted.certificate_.events if isinstance(e, GaussianEvent) and e.integer_unit]
        assert 0 < compose(described, 1e-5).epsilon < 1.6, "a tenth of the precision"


def test_the_start_draws_every_column_as_it_was_released() -> None:
    many = table(4000).assign(sick=lambda frame: frame["age"] > 60)
    fitted = small("gpate", learning_rate=1e-9).fit(many, schema=SCHEMA)
    made = fitted.sample(20_000, random_state=0)
    assert made["age"].mean() == pytest.approx(many["age"].mean(), abs=1.0)
    assert made["value"].isna().mean() == pytest.approx(many["value"].isna().mean(), abs=0.03)
    assert made["sick"].mean() == pytest.approx(many["sick"].mean(), abs=0.03)
    assert made["ward"].value_counts(normalize=True)["s"] == pytest.approx((many["ward"] == "s").mean(), abs=0.03)
    assert abs(np.corrcoef(made["age"], made["sick"])[0, 1]) < 0.05, "independent, however the rows are"


def test_noise_or_length_follows_from_the_budget(frame: pd.DataFrame, schema: Schema) -> None:
    for method in ("pategan votes", "gpate", "dpgan"):
        least = small(method, noise=None).fit(frame, schema=schema)
        assert least.certificate_.epsilon == pytest.approx(4.0, rel=1e-2)
    longest = small("pategan votes", iterations=None).fit(frame, schema=schema)
    assert longest.certificate_.epsilon <= 4.0
    assert longest.certificate_.body["release"]["iterations"] > 2
    for method in ("pategan votes", "gpate"):
        with pytest.raises(BudgetExceeded):
            small(method, noise=0.5).fit(frame, schema=schema)
    with pytest.raises(BudgetExceeded):
        small("dpgan", noise=0.35, epsilon=1.0).fit(frame, schema=schema)


def test_a_budget_is_all_that_is_asked_for() -> None:
    """The rule from public sizes fixes what is left open."""
    from understudy.methods.sizing import clearness, critic_batch, critic_sizes, direction_sizes, student_sizes

    adult, credit = direction_sizes(32_561, 64 * 105, 1.0, 1e-5), direction_sizes(227_845, 64 * 29, 1.0, 1e-5)
    assert (adult.teachers, adult.iterations, adult.caution) == (1017, 100, 0.1)
    assert (credit.teachers, credit.iterations, credit.caution) == (2000, 100, 0.1)
    without = direction_sizes(32_561, 64 * 105, 1e5, 1e-5)
    assert (without.teachers, without.iterations, without.caution) == (20, 400, 1.0)
    scores = [student_sizes(rows, epsilon, 1e-5) for rows in (60, 32_561) for epsilon in (1.0, 1e5)]
    assert [one.teachers for one in scores] == [2, 2, 1017, 20]
    assert (scores[2].iterations, scores[2].batch, scores[2].memory) == (100, 256, 0.97)
    assert (scores[3].iterations, scores[3].batch, scores[3].memory) == (600, 1024, pytest.approx(0.8))
    assert [(one.crossed, one.generator_steps) for one in scores[2:]] == [(0.0, 3), (pytest.approx(0.3), 1)]
    assert clearness(1017, 64 * 105, 1.0, 1e-5) == pytest.approx(0.5, abs=0.1)
    assert critic_batch(227_845) == 8192
    assert critic_sizes(8192 * 0.0017).iterations == 300
    assert critic_sizes(1302 * 0.24).iterations == 1200
    fitted = small("gpate", teachers=None, iterations=None, epsilon=50.0).fit(table(100), schema=SCHEMA)
    assert (fitted.facts_["teachers"], fitted.facts_["iterations"]) == (3, 100)


@pytest.mark.parametrize("method", PRIVATE)
def test_a_given_budget_pays_and_what_it_holds_already_counts(method: str, frame: pd.DataFrame, schema: Schema) -> None:
    budget = Budget(4.0, 1e-5)
    budget.charge(LaplaceEvent(1.0))
    generator = small(method, epsilon=9.0, noise=None).fit(frame, schema=schema, budget=budget)
    first, *_ = budget.events
    assert first == LaplaceEvent(1.0)
    assert generator.certificate_.events == budget.events
    assert 3.5 < generator.certificate_.verify() <= 4.0
    with pytest.raises(BudgetExceeded):
        small(method, noise=1.0).fit(frame, schema=schema, budget=budget)
    assert generator.certificate_.events == budget.events


@pytest.mark.parametrize("method", SMALL)
def test_a_blank_row_is_counted_and_contributes_nothing(method: str, frame: pd.DataFrame, schema: Schema) -> None:
    """Two rows in the same place, blanked, leave the same run; where the others stand does not change."""
    one, two = frame.astype(object), frame.astype(object)
    two.loc[17, ["age", "ward"]] = [99, "w"]
    one.loc[17], two.loc[17] = None, None
    seeds = {} if method == "gan" else {"unsafe_noise_seed": 3}
    fitted = [small(method, **seeds).fit(rows.infer_objects(), schema=schema) for rows in (one, two)]
    assert fitted[0].history_ == fitted[1].history_
    prepared = fitted[0].private_["game"].prepared
    assert prepared.records.shape[0] == len(frame)
    assert np.flatnonzero(prepared.classes < 0).tolist() == [17]
    assert not prepared.records[17].any()


@pytest.mark.parametrize("method", PRIVATE)
def test_a_single_step_that_does_not_fit_says_what_would(method: str, frame: pd.DataFrame, schema: Schema) -> None:
    with pytest.raises(InputError, match=r"not even one iteration.*Raise epsilon to"):
        small(method, iterations=None, noise=0.5, epsilon=0.1).fit(frame, schema=schema)


@pytest.mark.parametrize(
    ("method", "changes", "message"),
    [
        ("pategan", {"teachers": 61}, "fewer rows"),
        ("gpate", {"teachers": 61}, "fewer rows"),
        ("dpgan", {"batch": 61}, "larger than the table"),
        ("pategan", {"aggregator": "max"}, "aggregator"),
        ("pategan", {"mode": "free"}, "`mode`"),
        ("dpgan", {"mode": "data-dependent"}, "no data-dependent cost"),
        ("pategan votes", {"mode": "data-dependent", "ballot": "lnmax"}, "GNMax"),
        ("pategan", {"mode": "data-dependent"}, 'for the aggregator "votes"'),
        ("gpate signs", {"mode": "as-published", "noise": 1.0}, 'for the aggregator "votes"'),
        ("pategan votes", {"mode": "as-published", "noise": None}, "needs `noise`"),
        ("gpate", {"teachers": 20_000}, "at most 16384"),
        ("gpate", {"kept_share": 0.0}, "`kept_share`"),
        ("pategan", {"noise": -1.0}, "`noise`"),
        ("pategan", {"batch": 0}, "`batch`"),
        ("pategan", {"iterations": 1.5}, "`iterations`"),
        ("pategan", {"learning_rate": 0.0}, "`learning_rate`"),
        ("pategan", {"start.kind": "moments", "start.epsilon_share": 1.0}, "share of epsilon"),
        ("dpgan", {"start.kind": "moments", "start.epsilon_share": 0.0}, "share of epsilon"),
        ("gpate", {"start.kind": "histograms"}, "`kind`.*moments"),
        ("gpate", {"bins": 1}, "`bins`"),
        ("gpate", {"threshold": 2.0}, "`threshold`"),
        ("gpate", {"clip": 0.0}, "`clip`"),
        ("pategan", {"epsilon": 0.0}, "`epsilon`"),
        ("pategan", {"delta": 2.0}, "`delta`"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_spent(
    method: str, changes: dict[str, Any], message: str, frame: pd.DataFrame, schema: Schema
) -> None:
    with pytest.raises(InputError, match=message):
        small(method, **changes).fit(frame, schema=schema)


def test_a_mesh_of_other_axes_is_refused(frame: pd.DataFrame, schema: Schema) -> None:
    import jax

    with pytest.raises(InputError, match="needs exactly one, named 'teachers'"):
        small("pategan", mesh=jax.make_mesh((1,), ("rows",))).fit(frame, schema=schema)


def test_bad_tables(frame: pd.DataFrame, schema: Schema) -> None:
    with pytest.raises(InputError, match="one class only"):
        small("pategan").fit(frame.assign(sick=True), schema=schema, strict=True)
    with pytest.raises(InputError, match="the table lacks 'age'"):
        small("pategan").fit(frame.drop(columns="age"), schema=schema)
    with pytest.raises(InputError, match="learnt nothing"):
        small("pategan").sample(3)


@pytest.mark.parametrize("method", SMALL)
def test_a_table_without_a_class_is_learnt_too(method: str, frame: pd.DataFrame, schema: Schema) -> None:
    for target in (None, "age"):
        generator = small(method).fit(frame, schema=schema.with_target(target))
        assert len(generator.sample(20, random_state=0)) == 20


def test_what_the_schema_lacks_is_paid_for() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(["x", "y"], 4000), "b": rng.random(4000), "y": rng.random(4000) < 0.5})
    for method in ("pategan", "gan"):
        generator = small(method).fit(frame, "y")
        assert generator.certificate_.body["release"]["schema_estimated"] == ["a", "b", "y"]
        assert set(generator.sample(100, random_state=0)["a"].dropna()) <= {"x", "y", "other"}
        if method == "pategan":
            *described, sums = generator.certificate_.events
            assert isinstance(sums, GaussianEvent)
            assert {type(event) for event in described} == {DeltaEvent, GaussianEvent}
            assert generator.certificate_.verify() <= 4.0


def test_what_drowns_in_the_noise_is_no_reason_to_refuse() -> None:
    """A refusal would tell what the rows say, and the description is paid for already."""
    rng = np.random.default_rng(0)
    poor = pd.DataFrame({"a": rng.choice(["x", "y"], 60), "b": rng.random(60), "y": rng.random(60) < 0.5})
    generator = small("dpgan", epsilon=0.5, noise=None).fit(poor, "y")
    assert list(generator.sample(10, random_state=0).columns) == ["a", "b", "y"]
    assert generator.certificate_.verify() <= generator.epsilon


def test_conditions(frame: pd.DataFrame, schema: Schema) -> None:
    generator = small("pategan").fit(frame, schema=schema)
    assert set(generator.sample(30, {"ward": "s"}, 0)["ward"]) == {"s"}
    assert generator.sample(5, {"value": None}, 0)["value"].isna().all()
    for conditions, message in (
        ({"ward": "x"}, "column 'ward' is never 'x'"),
        ({"sick": "yes"}, "true or false"),
        ({"age": 121}, "between 0 and 120"),
        ({"age": "old"}, "between 0 and 120"),
        ({"age": None}, "never missing"),
        ({"size": 1}, "no column 'size'"),
    ):
        with pytest.raises(InputError, match=message):
            generator.sample(5, conditions)
    given = small("gpate").fit(frame, schema=schema)
    assert given.sample(300, {"sick": True}, 0)["sick"].all()


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_a_number_of_rows_that_is_none(n: Any, frame: pd.DataFrame, schema: Schema) -> None:
    with pytest.raises(InputError, match="at least 1"):
        small("pategan").fit(frame, schema=schema).sample(n)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".feather"])
def test_many_rows_stream_to_disk(suffix: str, frame: pd.DataFrame, schema: Schema, tmp_path: Path) -> None:
    generator = small("pategan").fit(frame, schema=schema)
    generator.sample_to(tmp_path / f"rows{suffix}", 150_000, random_state=0)
    rows = read_table(tmp_path / f"rows{suffix}")
    assert len(rows) == 150_000
    validate_frame(rows, schema)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory as Linux counts it")
def test_memory_does_not_grow_with_the_number_of_rows(frame: pd.DataFrame, schema: Schema, tmp_path: Path) -> None:
    import resource

    generator = small("gan").fit(frame, schema=schema)

    def peak(rows: int) -> float:
        generator.sample_to(tmp_path / "rows.parquet", rows, random_state=0)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    before = peak(150_000)
    assert peak(1_500_000) - before < 60  # in MiB; the whole table would take 150 and more


@pytest.mark.parametrize(
    "method", ["pategan", pytest.param("gpate", marks=pytest.mark.slow), pytest.param("dpgan", marks=pytest.mark.slow)]
)
def test_a_warm_start_is_paid_for_and_helps(method: str, frame: pd.DataFrame, schema: Schema, tmp_path: Path) -> None:
    many = pd.concat([frame.assign(age=30, ward="w")] * 40, ignore_index=True)
    warm = {
        "start.kind": "moments",
        "start.epsilon_share": 0.5,
        "start.steps": 300,
        "learning_rate": 1e-6,
        "noise": None,
    }
    where = tmp_path / "run.private"

    def fit() -> Any:
        return small(method, epsilon=16.0, **warm).fit(many, schema=schema, workspace=where, resume=True)

    generator = fit()
    certificate = generator.certificate_
    assert certificate.verify() <= 16.0
    assert sum(isinstance(event, GaussianEvent) for event in certificate.events) >= 2
    rows = generator.sample(500, random_state=0)
    assert (rows["ward"] == "w").mean() > 0.8
    assert rows["age"].mean() == pytest.approx(30, abs=10)
    again = fit()
    assert again.certificate_.events == certificate.events
    assert again.sample(50, random_state=0).equals(generator.sample(50, random_state=0))


def test_data_dependent_mode_publishes_a_sanitised_epsilon(frame: pd.DataFrame, schema: Schema) -> None:
    for method in VOTES:
        generator = small(method, mode="data-dependent", epsilon=6.0).fit(frame, schema=schema)
        certificate = generator.certificate_
        assert certificate.verify() <= 6.0
        sanitised = certificate.body["sanitised"]
        assert sanitised is None or sanitised["epsilon_upper"] >= sanitised["epsilon"] >= 0
        assert method == "gpate votes" or sanitised is not None


def test_as_published_takes_no_budget_that_it_would_not_charge(frame: pd.DataFrame, schema: Schema) -> None:
    budget = Budget(6.0, 1e-5)
    with pytest.raises(InputError, match="nothing true to charge"):
        small("pategan", aggregator="votes", mode="as-published", epsilon=6.0, noise=1.0, iterations=2).fit(
            frame, schema=schema, budget=budget
        )
    assert budget.events == ()


def test_as_published_stops_by_itself_and_says_that_it_is_unsafe(frame: pd.DataFrame, schema: Schema) -> None:
    for method, changes in (("pategan votes", {}), ("gpate votes", {}), ("pategan votes", {"ballot": "lnmax"})):
        generator = small(method, mode="as-published", iterations=500, epsilon=6.0, **changes)
        generator.fit(frame, schema=schema)
        assert 0 < len(generator.history_) < 500
        assert generator.certificate_.body["release"]["data_dependent_epsilon"] >= 6.0
        with pytest.raises(InputError, match="unsafe"):
            generator.certificate_.verify()


def test_as_published_counts_as_the_paper_does(frame: pd.DataFrame, schema: Schema) -> None:
    """G-PATE's theorem has k queries an iteration where its algorithm makes m k: a run is m times as long."""
    whole = small("gpate votes", mode="as-published", iterations=500, epsilon=6.0).fit(frame, schema=schema)
    assert whole.private_["game"].paid.counted == 1 / 8
    with pytest.MonkeyPatch.context() as patch:
        real = gpate.plan_run
        patch.setattr(gpate, "plan_run", lambda *a, counted, **how: real(*a, counted=1.0, **how))
        ours = small("gpate votes", mode="as-published", iterations=500, epsilon=6.0).fit(frame, schema=schema)
    assert len(whole.history_) > 4 * len(ours.history_)


def test_the_users_seed_does_not_drive_the_noise(frame: pd.DataFrame, schema: Schema) -> None:
    def heard(**changes: Any) -> list[float]:
        return [h["step_length"] for h in small("gpate", **changes).fit(frame, schema=schema).history_]

    assert heard() != heard()
    assert heard(unsafe_noise_seed=1) == heard(unsafe_noise_seed=1)
    marked = small("pategan", unsafe_noise_seed=1).fit(frame, schema=schema)
    with pytest.raises(InputError, match="fixed seed"):
        marked.certificate_.verify()


def test_ctrl_c_keeps_what_was_paid_for(frame: pd.DataFrame, schema: Schema, tmp_path: Path) -> None:
    def interrupt(progress: Any) -> None:
        if progress.iteration == 2:
            signal.raise_signal(signal.SIGINT)

    generator = small("pategan", iterations=6, epsilon=6.0)
    generator.fit(frame, schema=schema, progress=interrupt, workspace=tmp_path / "run.private")
    assert generator.interrupted_
    assert len(generator.history_) == 2
    assert generator.certificate_.verify() <= 6.0
    assert len(generator.sample(5)) == 5
    finished = small("pategan", iterations=6, epsilon=6.0)
    finished.fit(frame, schema=schema, workspace=tmp_path / "run.private", resume=True)
    assert finished.history_[:2] == generator.history_
    assert len(finished.history_) == 6


def test_a_fit_off_the_main_thread_works(frame: pd.DataFrame, schema: Schema) -> None:
    generator = small("pategan")
    thread = threading.Thread(target=lambda: generator.fit(frame, schema=schema))
    thread.start()
    thread.join()
    assert len(generator.history_) == 2


@pytest.mark.parametrize(
    ("method", "changes", "message"),
    [
        ("pategan votes", {"noise": 200.0}, "drowns the votes"),
        ("gpate", {"epsilon": 0.1}, "drowns what 10 teachers say"),
    ],
)
def test_noise_that_drowns_is_said(
    method: str, changes: dict[str, Any], message: str, frame: pd.DataFrame, schema: Schema
) -> None:
    from understudy.errors import UnderstudyWarning

    with pytest.warns(UnderstudyWarning, match=message):
        small(method, **changes).fit(frame, schema=schema)


def test_crossed_fakes_take_whole_columns_from_their_own_class() -> None:
    """A group of a category, and a number with its flag, come from one fake."""
    from types import SimpleNamespace

    import jax.numpy as jnp

    from understudy.learn.adversarial import Heads
    from understudy.methods.pategan import PATEGANGame

    heads = Heads(6, one_hot=((0, 3),), missing=((3, 4),))
    classes = np.repeat([0, 1], 50)
    fakes = np.repeat(np.arange(100.0)[:, None], 6, axis=1)
    game: Any = SimpleNamespace(sizes=SimpleNamespace(crossed=0.4), design=SimpleNamespace(heads=heads))
    made = np.asarray(PATEGANGame._crossed(game, jnp.asarray(fakes), classes, np.random.default_rng(0)))
    assert (made[:, 0] == made[:, 1]).all()
    assert (made[:, 0] == made[:, 2]).all()
    assert (made[:, 3] == made[:, 4]).all()
    assert (classes[made.astype(int)] == classes[:, None]).all()
    assert 20 < (made != fakes).any(axis=1).sum() < 50
    game.sizes.crossed = 0.0
    assert PATEGANGame._crossed(game, jnp.asarray(fakes), classes, np.random.default_rng(0)) is not None
