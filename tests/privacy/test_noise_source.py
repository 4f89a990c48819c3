"""Where gradient noise comes from: never the same twice, in no thread and no process, and of the right distribution."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

from understudy.errors import InputError
from understudy.privacy import noise
from understudy.privacy.noise import SystemNoise


def test_threads_never_share_noise() -> None:
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: SystemNoise().gaussian(1.0, 2000), range(16)))
    assert len(np.unique(np.concatenate(drawn))) == 16 * 2000


def test_whole_numbers_are_drawn_by_many_threads_and_never_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "_MANY", 1 << 60)  # all of it from OpenDP
    monkeypatch.setattr(noise, "_PIECE", 1000)  # pieces small enough for a test; the last ones are not all alike
    monkeypatch.setattr(noise.os, "sched_getaffinity", lambda _: set(range(7)), raising=False)
    wide = SystemNoise().discrete_gaussian(2.0**45, (3, 4001))
    assert wide.shape == (3, 4001)
    assert len(np.unique(wide)) == wide.size
    assert stats.kstest(wide.ravel() / 2.0**45, stats.norm.cdf).pvalue > 1e-6
    assert SystemNoise().discrete_laplace(3.0, 0).shape == (0,)


def test_seeding_other_generators_does_not_repeat_the_noise() -> None:
    found = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002 (the very seed that must not matter)
        found.append(SystemNoise().uniform(100))
    assert not np.isin(found[0], found[1]).any()


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="the system cannot fork")
def test_a_forked_process_does_not_repeat_its_parent() -> None:
    program = (
        "import os; from understudy.privacy.noise import SystemNoise; n = SystemNoise(); n.uniform(5)\n"
        "child = os.fork(); child and os.waitpid(child, 0); print(*n.uniform(5), flush=True); os._exit(0)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert len(set(ran.stdout.split())) == 10


def test_gaussian_noise_is_gaussian_at_its_scale() -> None:
    drawn = SystemNoise().gaussian(3.0, (200, 1000))
    assert drawn.shape == (200, 1000)
    assert stats.kstest(drawn.ravel(), stats.norm(scale=3.0).cdf).pvalue > 1e-6


def test_both_ends_of_the_uniform_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The all-ones bits round up to 1: noise must be finite even then."""
    for byte in (b"\xff", b"\x00"):
        monkeypatch.setattr(noise, "_random_bytes", lambda count, byte=byte: byte * count)
        assert 0 < SystemNoise().uniform(3)[0] < 1
        assert np.isfinite(SystemNoise().gaussian(1.0, 3)).all()


@pytest.mark.parametrize("sigma", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_that_is_none_is_refused(sigma: float) -> None:
    with pytest.raises(InputError):
        SystemNoise().gaussian(sigma, 3)
