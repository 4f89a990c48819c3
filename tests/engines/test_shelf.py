"""What passes leave for the next ones changes no sum, lies where nobody else may look, and is gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frame_parts import FramePart  # pyright: ignore[reportMissingImports]

from understudy.engines import RowSource, Shelf, Threads, shelf
from understudy.methods.moments import MomentsGenerator

pytestmark = pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")
ROWS, PART, BATCH = 20_000, 10_000, 5000


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    here = rng.normal(size=ROWS)
    made = pd.DataFrame(
        {"free": here, "other": here + rng.normal(size=ROWS), "age": np.rint(40 + 9 * here).astype(int)}
    )
    made["ward"] = pd.Series(rng.choice(["north", "south"], ROWS), dtype="str")
    made["class"] = pd.Series(np.where(here > 0, "sick", "well"), dtype="str")
    made.loc[::50, "free"] = np.nan
    made.loc[7] = None
    return made


@dataclass(frozen=True)
class Counted(FramePart):
    """A part that counts how often it is read."""

    reads: list[tuple[str, ...]]

    def batches(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        self.reads.append(tuple(columns))
        for start in range(0, self.rows, BATCH):
            yield self.frame.iloc[start : start + BATCH].loc[:, list(columns)]


def fit(reads: list[tuple[str, ...]]) -> MomentsGenerator:
    table = frame()
    parts = [Counted(table.iloc[at : at + PART], reads) for at in range(0, ROWS, PART)]
    source = RowSource(parts, table.iloc[:0], "the table", adder=Threads(2))
    made = MomentsGenerator(5.0, 1e-6, model="tables", random_state=0, unsafe_noise_seed=0)
    return made.set_params(fitting__components=5, fitting__steps=5).fit(source, "class")


def same(one: MomentsGenerator, other: MomentsGenerator) -> None:
    assert one.coordinates_.to_dict() == other.coordinates_.to_dict()  # type: ignore[union-attr]
    for name, array in one.model_.arrays().items():
        np.testing.assert_array_equal(array, other.model_.arrays()[name])


def test_sums_are_the_same_in_memory_on_disk_and_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    modes: list[tuple[int, int]] = []
    write = shelf._Files.write

    def written(folder: Path, made: tuple[object, ...], size: int) -> shelf._Files:
        files = write(folder, made, size)
        modes.extend((folder.stat().st_mode & 0o777, path.stat().st_mode & 0o777) for path in files.paths.values())
        return files

    reads: dict[str, list[tuple[str, ...]]] = {"memory": [], "disk": [], "none": []}
    expected = fit(reads["memory"])
    assert not modes
    monkeypatch.setattr(shelf._Files, "write", written)
    default = Shelf.__init__.__defaults__
    assert default is not None
    monkeypatch.setattr(Shelf.__init__, "__defaults__", (0, *default[1:]))
    same(fit(reads["disk"]), expected)
    assert set(modes) == {(0o700, 0o600)}
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(Shelf, "put", lambda *_: None)
    same(fit(reads["none"]), expected)
    # The rows that count, the first passes over the class and the rest, and the pairs; else each round and the parities as well.
    assert len(reads["memory"]) == len(reads["disk"]) == 4 * ROWS // PART
    assert len(reads["none"]) > 6 * ROWS // PART


def test_a_full_disk_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kept = Shelf(in_memory=100)
    made = (np.arange(50), 3, np.dtype(float))
    kept.put(0, 0, "a", made)
    kept.put(0, 1, "a", made)
    kept.whole(0, 2)
    for one in kept.kept(0, ["a"]) or []:
        np.testing.assert_array_equal(one["a"][0], made[0])
        assert one["a"][1:] == made[1:]
    kept._room = 0
    kept.put(1, 0, "a", made)
    kept.whole(1, 1)
    assert kept.kept(1, ["a"]) is None
    assert kept.kept(0, ["a", "b"]) is None
    kept.forget("a")
    assert kept.kept(0, ["a"]) is None
    kept.close()
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_later_takes_the_place_of_nothing_that_was_kept_before() -> None:
    kept = Shelf(in_memory=0)
    kept.put(0, 0, "gone", (np.zeros(10), np.zeros(0)))
    kept.put(0, 0, "first", (np.ones(10),))
    kept.forget("gone")
    kept.put(0, 0, "second", (np.full(10, 2.0), np.zeros(0)))
    kept.whole(0, 1)
    (batch,) = kept.kept(0, ["first", "second"]) or []
    assert (batch["first"][0][0], batch["second"][0][0], len(batch["second"][1])) == (1.0, 2.0, 0)
    kept.close()


def test_what_is_kept_goes_with_a_run_that_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    default = Shelf.__init__.__defaults__
    assert default is not None
    monkeypatch.setattr(Shelf.__init__, "__defaults__", (0, *default[1:]))
    seen: list[Path] = []

    class Stopping(list[tuple[str, ...]]):
        def append(self, columns: tuple[str, ...], /) -> None:
            seen.extend(tmp_path.iterdir())
            if seen:
                raise KeyboardInterrupt
            super().append(columns)

    with pytest.raises(KeyboardInterrupt):
        fit(Stopping())
    assert seen
    assert list(tmp_path.iterdir()) == []
