"""One process of several that share the teachers; see test_together.py.

Arguments: the folder, the port, how many processes, which this is, and after how many blocks it is killed ("None").
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from understudy.learn.processes import Processes
from understudy.methods.classify_table import classify_table
from understudy.methods.request import Request
from understudy.methods.together import Together


def request(folder: Path, ledger: str | None = None) -> Request:
    return Request(
        data=folder / "rows.csv",
        target="ill",
        public=folder / "public.csv",
        out=folder / "release",
        epsilon=4.0,
        delta=1e-5,
        classes=("no", "yes"),
        ledger=ledger,
        dataset=None if ledger is None else "ward",
    )


if __name__ == "__main__":
    place, port, count, number, killed = sys.argv[1:]

    def tell(done: int, of: int) -> None:
        if killed != "None" and done >= int(killed):
            os.kill(os.getpid(), signal.SIGKILL)

    def together() -> Together:
        joined = Processes.join(f"127.0.0.1:{port}", int(number), int(count))
        return Together(Path(place) / "release.private", joined, tell)

    made = classify_table(
        request(Path(place), str(Path(place) / "ledger.db")),
        teachers=24,
        estimator="network",
        unsafe_noise_seed=7,
        together=together,
    )
    print("voted" if made is None else "released")
