"""Both models at once: common classes from the tables model, rare ones from the Gaussian model.

The two-way tables of a class of a few hundred rows are noise, and its means are not; the tables of all others tell far
more than an ellipse does. Both looks are bought, each with a part of the precision; which class is drawn from which is
read off the released counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from understudy.errors import InputError
from understudy.methods.moments.axes import Axes
from understudy.methods.moments.evening import evenly
from understudy.methods.moments.gaussian_model import GaussianModel
from understudy.methods.moments.luck import Luck
from understudy.methods.moments.margins import class_counts
from understudy.methods.moments.plan import TablesPlan
from understudy.methods.moments.tables_model import TablesModel
from understudy.release.arrays import fitting
from understudy.tables.coordinates import Bins

# A class with fewer rows than this many standard deviations of the noise on a one-way cell is rare; and so is one with
# fewer than this many for a cell of a two-way table, however little noise there is.
_RARE, _A_CELL = 20.0, 10.0


@dataclass(frozen=True)
class BothModels:
    """Public: what the release holds. `common` are the classes that `tables` knows, in its order."""

    tables: TablesModel
    gaussian: GaussianModel
    common: np.ndarray
    ratio: np.ndarray
    hidden: list[int] = field(default_factory=list)

    def draw(self, n: int, wanted: int | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """`n` rows of cells and their classes; all of class `wanted` if that is given."""
        classes = evenly(n, self.ratio, rng) if wanted is None else np.full(n, wanted)
        cells = np.empty((n, len(self.gaussian.axes.axes)))
        often = np.isin(classes, self.common)
        if wanted is None and often.any():
            cells[often], found = self.tables.draw(int(often.sum()), None, rng)
            classes[often] = self.common[found]
        for c in np.unique(classes[~often] if wanted is None else classes):
            mine = np.flatnonzero(classes == c)
            place = np.flatnonzero(self.common == c)
            model, known = (self.tables, int(place[0])) if len(place) else (self.gaussian, int(c))
            cells[mine] = model.draw(len(mine), known, rng)[0]
        return cells, classes

    def fill(
        self, cells: np.ndarray, known: np.ndarray, classes: np.ndarray, whole: np.ndarray, luck: Luck
    ) -> np.ndarray:
        """As of both models; the lanes of luck are those of the one and then of the other."""
        first, second = luck.split(len(self.tables.lanes))
        made = cells.copy()
        often = np.isin(classes, self.common)
        if often.any():
            place = np.searchsorted(self.common, classes[often])
            made[often] = self.tables.fill(cells[often], known, place, whole, first.of(often))
        if not often.all():
            made[~often] = self.gaussian.fill(cells[~often], known, classes[~often], whole, second.of(~often))
        return made

    @property
    def lanes(self) -> np.ndarray:
        """The column of each lane of luck."""
        return np.concatenate([self.tables.lanes, self.gaussian.lanes])

    def arrays(self) -> dict[str, np.ndarray]:
        """What a bundle keeps."""
        parts = {"tables": self.tables, "gaussian": self.gaussian}
        found = {f"{name}_{key}": array for name, part in parts.items() for key, array in part.arrays().items()}
        return found | {"common": self.common, "ratio": self.ratio}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], bins: Bins, axes: Axes, classes: int | None) -> BothModels:
        """What `arrays` gave, from whoever."""

        def part(name: str) -> dict[str, np.ndarray]:
            return {key.removeprefix(f"{name}_"): array for key, array in arrays.items() if key.startswith(f"{name}_")}

        ratio = fitting(arrays, "ratio", classes, shares=True)
        common = fitting(arrays, "common", None, least=0, most=len(ratio) - 1).astype(np.int64)
        if np.any(np.diff(common) <= 0):
            raise InputError("the classes that tables describe do not rise: the release is damaged. Copy it again.")
        tables = TablesModel.from_arrays(part("tables"), bins, len(common))
        gaussian = GaussianModel.from_arrays(part("gaussian"), axes, len(ratio))
        return cls(tables, gaussian, common, ratio / ratio.sum())


def common_classes(tables: np.ndarray, bins: Bins, plan: TablesPlan) -> tuple[np.ndarray, np.ndarray]:
    """The classes that released tables tell enough of, the largest always among them; and the rows of every class."""
    one, two = plan.pairs.sigmas(len(bins.sizes))
    counts = np.maximum(class_counts(tables, bins.sizes, one, two), 1.0)
    enough = max(_RARE * one, _A_CELL * float(np.mean(bins.sizes)) ** 2)
    return np.flatnonzero((counts >= enough) | (counts == counts.max())), counts
