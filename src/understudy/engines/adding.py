"""Who does the work: threads of this machine. A task is done for each part, and what tasks say is added up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol

from understudy._parallel import cores
from understudy.tables.batches import summed

Told = Callable[[int, int], None]
"""Told how many of how many parts are done."""


class Adder(Protocol):
    """Something that can do tasks, in whatever order, and add up what they say."""

    def results(self, tasks: Sequence[Callable[[], Any]], tell: Told) -> list[Any]:
        """What each task says, in the order of the tasks."""
        ...

    def total(self, tasks: Sequence[Callable[[], Any]], tell: Told) -> Any:
        """The sum of what all tasks say."""
        ...


@dataclass(frozen=True)
class Threads:
    """So many threads, as many as there are cores if left out: reading, sorting and adding up leave Python's lock free."""

    workers: int | None = None

    @property
    def number(self) -> int:
        return max(self.workers or cores(), 1)

    def results(self, tasks: Sequence[Callable[[], Any]], tell: Told) -> list[Any]:
        found = dict(self._done(tasks, tell))
        return [found[place] for place in range(len(tasks))]

    def total(self, tasks: Sequence[Callable[[], Any]], tell: Told) -> Any:
        return summed(one for _, one in self._done(tasks, tell))

    def _done(self, tasks: Sequence[Callable[[], Any]], tell: Told) -> Iterator[tuple[int, Any]]:
        """Tasks as they end; no more of them are begun than there are threads, so that sums do not pile up."""
        pool = ThreadPoolExecutor(min(self.number, max(len(tasks), 1)))
        waiting: dict[Future[Any], int] = {}
        left = iter(enumerate(tasks))
        done = 0
        try:
            while True:
                while len(waiting) <= self.number and (one := next(left, None)) is not None:
                    waiting[pool.submit(one[1])] = one[0]
                if not waiting:
                    return
                for ended in wait(waiting, return_when=FIRST_COMPLETED).done:
                    place = waiting.pop(ended)
                    done += 1
                    yield place, ended.result()
                    tell(done, len(tasks))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
