"""Runs inside the peer's environment: seconds of each PATE-GAN iteration of smartnoise-synth, as JSON on one line.

Seconds of the clock and of the processor: the second are the same however busy the machine is.

    python smartnoise_worker.py ROWS.npy TEACHERS ITERATIONS

The peer has no option for the number of teachers (it takes rows // 1000), so the attribute is held from outside. It is
given rows that are encoded already, so that both sides learn from the same numbers.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import snsynth.pytorch.nn.pategan as peer  # pyright: ignore[reportMissingImports]
import torch  # pyright: ignore[reportMissingImports]


class Enough(Exception):
    """So many iterations were timed."""


def measure(rows: np.ndarray, teachers: int, iterations: int) -> dict[str, list[float]]:
    class Held(peer.PATEGAN):
        @property
        def num_teachers(self) -> int:
            return teachers

        @num_teachers.setter
        def num_teachers(self, _: int) -> None:
            """The number asked for stands."""

        def _get_train_data(self, data: Any, **_: Any) -> Any:
            return data

    synthesizer = Held(epsilon=1e9, delta=1e-5)
    marks: list[tuple[float, float]] = []
    teaching: list[float] = []
    calls = 0
    account, vote = peer.moments_acc, peer.pate

    def counted(*given: Any) -> Any:
        """The accountant is called once a student step: every fifth call is in the same place of an iteration."""
        nonlocal calls
        calls += 1
        if calls % synthesizer.student_iters == 0:
            marks.append((time.perf_counter(), time.process_time()))
            if len(marks) > iterations:
                raise Enough
        return account(*given)

    def asked(*given: Any) -> Any:
        """The first vote of an iteration comes right after its teachers' updates."""
        if marks and calls % synthesizer.student_iters == 0:
            teaching.append(time.process_time() - marks[-1][1])
        return vote(*given)

    peer.moments_acc, peer.pate = counted, asked
    try:
        synthesizer.train(rows)
    except Enough:
        clock, processor = np.diff(marks, axis=0).T
        return {"clock": clock.tolist(), "processor": processor.tolist(), "teaching": teaching}
    raise SystemExit("the peer stopped before it was measured")


if __name__ == "__main__":
    torch.manual_seed(0)
    seconds = measure(np.load(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    print(json.dumps({**seconds, "torch": torch.__version__, "threads": torch.get_num_threads()}))
