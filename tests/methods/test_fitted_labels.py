"""Labels of a distilled set, fitted to the records by a second look."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

sys.path.append(str(Path(__file__).parent.parent / "images"))
from small_images import bars  # pyright: ignore[reportMissingImports]

from understudy import ImageMoments, OneLook
from understudy.errors import InputError
from understudy.learn.kernels import ReLUKernel
from understudy.learn.krr import KernelRidge, one_hot
from understudy.methods.distillation.correction import noisy_descent
from understudy.methods.distillation.labels import LabelFitting, fit_labels
from understudy.methods.distillation.training import Support
from understudy.privacy import Budget, PoissonGaussianStep, PrepaidSteps

QUICK: dict[str, Any] = {
    "steps": 50, "batch": 50, "frequencies": 4, "deform": False, "random_state": 0, "unsafe_noise_seed": 1,
}  # fmt: skip


class Watched(PrepaidSteps):
    """The real thing, which also remembers what it was given."""

    def release(self, clipped_sum: Any, records: int) -> np.ndarray:
        self.given = [*getattr(self, "given", []), np.array(clipped_sum)]
        return super().release(clipped_sum, records)


def _paid(rows: int, steps: int, clip: float, noise: float) -> Watched:
    return Watched(PoissonGaussianStep(clip, noise, 1.0), steps, rows, rows, Budget(600.0, 1e-5, unsafe_noise_seed=0))


def _numbers(count: int) -> st.SearchStrategy[np.ndarray]:
    return arrays.arrays(np.float64, (1, count), elements=st.floats(-1e6, 1e6))


@settings(deadline=None, max_examples=40)
@given(_numbers(4), _numbers(3), st.floats(1e-3, 1e3))
def test_no_record_moves_a_sum_by_more_than_the_clip(seen: np.ndarray, off: np.ndarray, clip: float) -> None:
    paid = _paid(1, 2, clip, 1.0)
    noisy_descent(seen, lambda _: off, np.ones(len(seen), dtype=bool), np.zeros((4, 3)), paid, 1.0)
    assert max(np.linalg.norm(one) for one in paid.given) <= clip


def test_labels_become_those_of_a_regression_on_the_records() -> None:
    data, new = bars(900), bars(300, 3)
    kernel = ReLUKernel(64, 1)
    points = jnp.asarray(bars(12, 5).flat())
    wrong = Support(points, jnp.asarray(one_hot((np.arange(12) + 1) % 3, 3)))
    targets = one_hot(data.labels, 3)
    paid = _paid(900, 60, 5.0, 0.3)
    there = np.ones(len(data), dtype=bool)
    fitted = fit_labels(kernel, 1e-3, wrong, bars(300, 7).flat(), data.flat(), targets, there, paid, 1.0)
    assert np.array_equal(fitted.points, points)

    def right(support: Support) -> float:
        model = KernelRidge(kernel, np.asarray(support.points), np.asarray(support.labels), 1e-3)
        return float((model.predict(new.flat()) == new.labels).mean())

    assert right(wrong) < 0.3
    assert right(fitted) > 0.9


def test_the_second_look_is_paid_for_and_moves_labels_alone() -> None:
    made = OneLook.from_settings(epsilon=8.0, delta=1e-5, per_class=2, label_share=0.5, **QUICK).fit(bars(300))
    alone = OneLook.from_settings(epsilon=4.0, delta=1e-5, per_class=2, **QUICK).fit(bars(300))
    look = ImageMoments(4.0, 1e-5, frequencies=4, edges=0.0, random_state=0, unsafe_noise_seed=1).fit(bars(300))
    first = look.certificate_.body["events"]
    events = made.certificate_.body["events"]
    assert events[: len(first)] == first
    assert [one["mechanism"] for one in events[len(first) :]] == ["subsampled-gaussian"]
    assert (events[-1]["steps"], events[-1]["sampling_rate"]) == (LabelFitting().steps, 1.0)
    assert 7.9 < made.certificate_.epsilon <= 8.0
    np.testing.assert_allclose(made.support_.points, alone.support_.points, atol=1e-5)
    assert float(jnp.abs(made.support_.labels - alone.support_.labels).max()) > 1e-3


@pytest.mark.parametrize(
    "wrong", [{"label_share": 1.0}, {"label_share": -0.1}, {"label_share": 0.2, "refine_share": 0.2}]
)
def test_shares_that_make_no_sense_cost_nothing(wrong: dict[str, Any]) -> None:
    budget = Budget(8.0, 1e-5, unsafe_noise_seed=1)
    with pytest.raises(InputError, match="label_share"):
        OneLook.from_settings(per_class=2, **QUICK, **wrong).fit(bars(90), budget=budget)
    assert not budget.events
