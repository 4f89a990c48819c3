"""One run of several processes, on one machine or many: all of them count votes, and the first alone answers and releases."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from understudy._version import __version__
from understudy.learn.blocks import AskBlock, VoteBlocks
from understudy.learn.checkpoints import Workspace
from understudy.learn.partition import Shards
from understudy.learn.processes import ALONE, Processes
from understudy.privacy import Budget
from understudy.release.driver import Run, closed_after


@dataclass(frozen=True)
class Together:
    """The processes of a run and its private folder, NAME.private, from which it goes on when it is started again.

    The folder has what the first process drew. Votes of finished blocks of teachers are beside it, in NAME.votes.private.
    `tell` is told how many blocks of how many are done.
    """

    folder: Path
    processes: Processes = ALONE
    tell: Callable[[int, int], None] | None = None

    @classmethod
    def meet(
        cls,
        folder: Path,
        coordinator: str | None,
        number: int,
        count: int,
        tell: Callable[[int, int], None] | None = None,
    ) -> Together:
        """Meet the other processes at the coordinator; without one there are none."""
        return cls(folder, ALONE if coordinator is None else Processes.join(coordinator, number, count), tell)

    @property
    def votes_folder(self) -> Path:
        return self.folder.with_name(self.folder.name.removesuffix(".private") + ".votes.private")

    @property
    def begun(self) -> bool:
        """Whether there is a run that goes on."""
        return (self.folder / "run.json").exists()

    @contextmanager
    def _run(self, identity: Mapping[str, Any], private: bytes) -> Generator[Run]:
        """The run, whose draws the first process logs before anything uses them. The others have nothing to draw."""
        if not self.processes.first:
            yield Run()
            return
        files = Workspace(self.folder, identity, np.frombuffer(private, np.uint8), resume=self.begun)
        with closed_after(files):
            yield Run(files)

    def asked(
        self,
        identity: Mapping[str, Any],
        private: Sequence[np.ndarray],
        shards: Shards,
        ask: AskBlock,
        answer: Callable[[np.ndarray], np.ndarray],
        budget: Budget,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Touches private data: all votes, and their answers through the gate, drawn by the first process and safe to publish.

        `identity` and the `private` arrays are what the votes follow from. The other processes get no answers.
        """
        versions = {"understudy": __version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__}
        made_of = hashlib.sha256(repr({**identity, **versions}).encode())
        for part in private:
            made_of.update(f"{part.dtype}{part.shape}".encode())
            made_of.update(np.ascontiguousarray(part).tobytes())
        known = {**identity, "epsilon": budget.epsilon, "delta": budget.delta}
        # Labels that a known seed drew must not go on in a run whose certificate does not say so.
        known |= {"unsafe_noise_seed": budget.unsafe_noise_seed}
        with self._run(known, made_of.digest()) as run:
            votes = VoteBlocks(self.votes_folder, self.processes, self.tell).votes(made_of.digest(), shards, ask)
            if not self.processes.first:
                return votes, np.zeros(0, np.int64)
            return votes, run.prelude("labels", budget, lambda: answer(votes))

    def end(self) -> None:
        """The release is written: wait for one another, and remove what is private and was on the way."""
        self.processes.gather(np.zeros(1, np.uint8))
        shutil.rmtree(self.votes_folder, ignore_errors=True)
        if self.processes.first:
            shutil.rmtree(self.folder, ignore_errors=True)
