"""The tables model: all two-way tables of binned columns, class by class, and a mixture of products that fits them.

For tables with many rows. The private part is `measure`; everything after it is free.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from understudy.errors import InputError
from understudy.methods.moments.cell_rows import CODES, CellRows, Cells
from understudy.methods.moments.evening import FEWEST, counts_of, evenly, moved
from understudy.methods.moments.label_model import LabelModel, Triples, fit_label_model, halves, signs
from understudy.methods.moments.luck import Luck
from understudy.methods.moments.margins import class_counts, likely_counts
from understudy.methods.moments.mixture import Mixture, fit_mixture
from understudy.methods.moments.plan import TablesPlan
from understudy.methods.moments.relations import EXCEPTIONS, Relations, find_relations
from understudy.methods.moments.targets import class_ratio
from understudy.privacy import Budget, PairTables, Parities
from understudy.release.arrays import fitting
from understudy.tables.coordinates import Bins

# Rows that the label model learns from; they are the mixture's own, so more of them cost only time.
_LABEL_ROWS = 50_000
# A class with fewer rows than this many standard deviations of the noise on a one-way cell is not told apart.
_STANDS_OUT = 1.0
# How many rows of the mixture stand for one row that is asked for with a given class.
_CANDIDATES = 4
# A code that a component has next to never is taken to have this chance there, when rows are put right.
_LEAST = 1e-4
# The variance of a bin's count by a released marginal, in squares of its noise: a bin is made of several of its intervals.
_UNSURE = 2.0


@dataclass(frozen=True)
class TablesModel:
    """Public: what the release holds. `draw` makes rows of cells."""

    bins: Bins
    mixture: Mixture
    labels: LabelModel | None
    ratio: np.ndarray
    hidden: list[int] = field(default_factory=list)
    relations: Relations | None = None
    margins: np.ndarray | None = None
    """The share of each code in its column, by all looks together."""

    def draw(self, n: int, wanted: int | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """`n` rows of cells and their classes; all of class `wanted` if that is given."""
        if wanted is None:
            classes = evenly(n, self.ratio, rng)
            component = self.mixture.components(classes, rng)
            codes = self._evened(self._mended(self.mixture.codes(component, rng), classes, rng), component, rng)
            if self.labels is not None:
                classes = self.labels.draw(codes, rng)
        else:
            codes = self._given(n, wanted, rng)
            classes = np.full(n, wanted)
        return self.bins.decode(codes, rng), classes

    def fill(
        self,
        cells: np.ndarray,
        known: np.ndarray,
        classes: np.ndarray,
        whole: np.ndarray,
        luck: Luck,
    ) -> np.ndarray:
        """Cells with the columns that are not `known` drawn anew given the others and the class; those of `whole` are not missing.

        A lane of `luck` is a column: what is drawn has its rank.
        """
        ends = np.cumsum(self.bins.sizes) - 1
        barred = np.zeros(ends[-1] + 1, dtype=bool)
        barred[ends[whole & np.array([column.nullable for column in self.bins.columns])]] = True
        start = self.bins.encode(cells).astype(np.int64)
        codes, within = self.mixture.fill(start, known, classes, barred, special.ndtr(luck.normals), luck.uniform)
        if self.relations is not None:
            share = self.ratio @ self.mixture.weights
            codes = self.relations.mended(codes, self.mixture, share, luck.rng, known, barred)
        return np.where(known, cells, self.bins.decode(codes, luck.rng, within))

    @property
    def lanes(self) -> np.ndarray:
        """The column of each lane of luck."""
        return np.arange(len(self.bins.sizes))

    def _given(self, n: int, wanted: int, rng: np.random.Generator) -> np.ndarray:
        """Codes of one class: the mixture's, picked anew by how much likelier the label model finds them."""
        if self.labels is None:
            return self._mended(self.mixture.draw(np.full(n, wanted), rng), np.full(n, wanted), rng)
        asked = np.full(n * _CANDIDATES, wanted)
        codes = self._mended(self.mixture.draw(asked, rng), asked, rng)
        weight = self.labels.chances(codes)[:, wanted] / self.mixture.posterior(codes, self.ratio)[:, wanted]
        return codes[rng.choice(len(codes), size=n, p=weight / weight.sum())]

    def _mended(self, codes: np.ndarray, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Codes that keep what most rows keep. A class that is no more common than a rule's exceptions may be all of them."""
        common = self.ratio[classes] >= EXCEPTIONS
        if self.relations is None or not common.any():
            return codes
        codes = codes.copy()
        codes[common] = self.relations.mended(codes[common], self.mixture, self.ratio @ self.mixture.weights, rng)
        return codes

    def _evened(self, codes: np.ndarray, component: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Codes as common as the looks say. Within a component columns are independent, so a change within it is as likely
        as the two codes are there; none breaks a rule."""
        if self.margins is None or len(codes) < FEWEST:
            return codes
        logs, starts = np.log(np.maximum(self.mixture.chances, _LEAST)), self.mixture.starts
        for j in range(codes.shape[1]):

            def fit(rows: np.ndarray, code: int, j: int = j) -> np.ndarray:
                of = component[rows]
                better = logs[of, starts[j] + code] - logs[of, starts[j] + codes[rows, j]]
                return (
                    better
                    if self.relations is None
                    else np.where(self.relations.keeps(codes[rows], j, code), better, -np.inf)
                )

            wanted = counts_of(len(codes), self.margins[starts[j] : starts[j + 1]], rng)
            codes[:, j] = moved(codes[:, j], wanted, fit, rng)
        return codes

    def arrays(self) -> dict[str, np.ndarray]:
        """What a bundle keeps."""
        found = {"chances": self.mixture.chances, "weights": self.mixture.weights, "ratio": self.ratio}
        if self.labels is not None:
            found |= self.labels.arrays()
        if self.relations is not None:
            found |= self.relations.arrays()
        return found if self.margins is None else found | {"margins": self.margins}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], bins: Bins, classes: int | None) -> TablesModel:
        """What `arrays` gave, from whoever; None stands for any number of classes."""
        sizes = tuple(bins.sizes)
        ratio = fitting(arrays, "ratio", classes, shares=True)
        chances = fitting(arrays, "chances", None, sum(sizes), least=0.0)
        weights = fitting(arrays, "weights", len(ratio), len(chances), shares=True)
        labels = LabelModel.from_arrays(arrays, sizes, len(ratio)) if "effects" in arrays else None
        relations = Relations.from_arrays(arrays, sizes)
        margins = fitting(arrays, "margins", sum(sizes), least=0.0) if "margins" in arrays else None
        if margins is not None and not np.add.reduceat(margins, np.cumsum([0, *sizes[:-1]])).all():
            raise InputError("a column's codes have no share in the rows: the release is damaged. Copy it again.")
        mixture = Mixture(chances, weights, sizes)
        return cls(bins, mixture, labels, ratio / ratio.sum(), relations=relations, margins=margins)


def measure(
    rows: CellRows, n_classes: int, bins: Bins, plan: TablesPlan, budget: Budget
) -> tuple[np.ndarray, Triples | None]:
    """Touches private data: the noisy tables of all classes, and the parities of triples if they were planned. Safe to publish."""
    sizes = bins.sizes
    tables = plan.pairs.release_counts(rows.total(PairsLook(plan.pairs, bins, n_classes)), sizes, budget)
    if plan.parities is None:
        rows.forget(CODES)
        return tables, None
    high = halves(np.diagonal(tables, axis1=1, axis2=2).sum(axis=0), sizes)
    counted = rows.total(ParitiesLook(plan.parities, bins, high, n_classes))
    rows.forget(CODES)
    sums = plan.parities.release_sums(counted, len(sizes), budget)
    total = class_counts(tables, sizes, *plan.pairs.sigmas(len(sizes))).sum()
    return tables, Triples(sums, plan.parities.sigma(len(sizes)), high, float(total))


@dataclass(frozen=True)
class PairsLook:
    """A look at all tables of pairs, class by class."""

    pairs: PairTables
    bins: Bins
    n_classes: int

    @property
    def needs(self) -> tuple[Hashable, ...]:
        return (CODES,)

    def __call__(self, rows: Cells) -> np.ndarray:
        codes, classes = rows.coded(self.bins)
        return self.pairs.count(codes, self.bins.sizes, classes, self.n_classes, rows.weights)


@dataclass(frozen=True)
class ParitiesLook:
    """A look at the parities of all triples, by the codes that are `high`."""

    parities: Parities
    bins: Bins
    high: np.ndarray
    n_classes: int

    @property
    def needs(self) -> tuple[Hashable, ...]:
        return (CODES,)

    def __call__(self, rows: Cells) -> np.ndarray:
        codes, classes = rows.coded(self.bins)
        signed = signs(codes, self.bins.sizes, self.high)
        return self.parities.add_up(signed, classes, self.n_classes, rows.weights)


def learn(
    tables: np.ndarray, triples: Triples | None, bins: Bins, plan: TablesPlan, *, components: int, steps: int,
    relabel: bool, seed: int,
) -> TablesModel:  # fmt: skip
    """The model of noisy tables. Free: nothing private is looked at."""
    one, two = plan.pairs.sigmas(len(bins.sizes))
    counts = np.maximum(class_counts(tables, bins.sizes, one, two), 1.0)
    hidden = np.flatnonzero(counts < _STANDS_OUT * one)
    ratio = class_ratio(counts, hidden)
    likely = likely_counts(
        tables, bins.sizes, counts.sum(), one, two, listed=_listed(bins), also=_bought(bins, counts.sum())
    )
    mixture = fit_mixture(
        tables, bins.sizes, counts, one, two, likely=likely, components=components, steps=steps, seed=seed
    )
    if 0 < len(hidden) < len(counts):
        # What the tables of such a class say is noise: it is given what the others have in common.
        seen = np.setdiff1d(np.arange(len(counts)), hidden)
        weights = mixture.weights.copy()
        weights[hidden] = counts[seen] @ mixture.weights[seen] / counts[seen].sum()
        mixture = Mixture(mixture.chances, weights, mixture.sizes)
    labels = None
    if relabel and len(ratio) > 1:
        labels = fit_label_model(mixture, ratio, tables, two, triples, rows=_LABEL_ROWS, seed=seed)
    joint = (mixture.chances * (ratio @ mixture.weights)[:, None]).T @ mixture.chances
    relations = find_relations(tables, bins.sizes, one, two, joint)
    margins = likely[0] / counts.sum()
    return TablesModel(bins, mixture, labels, ratio, hidden.tolist() if len(counts) > 1 else [], relations, margins)


def _bought(bins: Bins, total: float) -> tuple[np.ndarray, np.ndarray]:
    """What the released marginals say of each code's count, and its variance: infinite where no marginal was bought."""
    counts, variance = np.zeros(sum(bins.sizes)), np.full(sum(bins.sizes), np.inf)
    for start, column, edges in zip(np.cumsum([0, *bins.sizes[:-1]]), bins.columns, bins.edges, strict=True):
        if edges is not None and column.found and column.sigma:
            shares = column.marginal.between(edges) * (1 - column.missing)
            shares = np.append(shares, column.missing) if column.nullable else shares
            here = slice(start, start + len(shares))
            counts[here], variance[here] = shares * total, _UNSURE * column.sigma**2
    return counts, variance


def _listed(bins: Bins) -> np.ndarray:
    """Which codes are categories, or a missing value: not bins that were made to hold about the same number of rows."""
    listed = np.repeat([not column.ordered for column in bins.columns], bins.sizes)
    ends = np.cumsum(bins.sizes) - 1
    listed[ends[[column.nullable for column in bins.columns]]] = True
    return listed
