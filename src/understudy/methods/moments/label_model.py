"""The class of a synthetic row, drawn from a model of its columns, and of the pairs and triples that matter. Free.

A mixture that was fitted to noisy tables carries interactions that only the noise put there, and a flexible classifier
learns them. A softmax regression on the codes has one number for each code and class, so the noise averages out; it is
fitted to the mixture's own posterior on the mixture's own rows, and needs no second look at the data. Where the released
tables say that a pair of columns tells more about the class than both by themselves (an exclusive or), the regression has
a number for each of the pair's cells as well; where the released parities say so of three columns, one for their parity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from understudy.errors import InputError
from understudy.methods.moments.mixture import Mixture, one_hot
from understudy.privacy.parities import triples as all_triples
from understudy.release.arrays import fitting

# Pairs and triples must stand so many deviations out of what noise and chance explain; at most so many, and so many cells.
_STANDS_OUT, _TRIPLES_STAND_OUT = 5.0, 4.0
_MOST_PAIRS = 40
_MOST_CELLS = 8_000
_MOST_TRIPLES = 40
# A dense product is faster as long as there are fewer than so many places for each that is not zero.
_DENSE = 6
_STEPS = 100


@dataclass(frozen=True)
class LabelTerms:
    """What the regression knows of a row: its codes, the cells of `pairs`, the parities of `triples` by the codes that are `high`."""

    sizes: tuple[int, ...]
    pairs: np.ndarray = field(default_factory=lambda: np.empty((0, 2), np.int64))
    triples: np.ndarray = field(default_factory=lambda: np.empty((0, 3), np.int64))
    high: np.ndarray = field(default_factory=lambda: np.empty(0, bool))

    @property
    def starts(self) -> np.ndarray:
        """Where the terms of each column, pair and triple begin, the intercept, and the end."""
        sizes, (i, j) = np.array(self.sizes), self.pairs.T
        widths = np.concatenate([sizes, sizes[i] * sizes[j], np.ones(len(self.triples) + 1, np.int64)])
        return np.concatenate([[0], np.cumsum(widths)])

    @property
    def number(self) -> int:
        return int(self.starts[-1])

    def widened(self, effects: np.ndarray) -> np.ndarray:
        """Effects of these terms that say what those of fewer said."""
        return np.insert(effects, [len(effects) - 1] * (self.number - len(effects)), 0.0, axis=0)

    def of(self, codes: np.ndarray) -> Any:
        """Rows x terms and the intercept, sparse: ones, and plus and minus ones of the parities."""
        from scipy.sparse import csr_matrix

        sizes, (i, j), starts = np.array(self.sizes), self.pairs.T, self.starts
        rows, single = len(codes), len(self.triples) + 1
        cells = np.concatenate(
            [codes, codes[:, i] * sizes[j] + codes[:, j], np.zeros((rows, single), np.int64)], axis=1
        )
        values = np.ones(cells.shape, np.float32)
        if len(self.triples):
            values[:, -single:-1] = signs(codes, self.sizes, self.high)[:, self.triples].prod(axis=2)
        places, ends = (cells + starts[:-1]).ravel(), np.arange(rows + 1) * cells.shape[1]
        return csr_matrix((values.ravel(), places, ends), shape=(rows, starts[-1]))


@dataclass(frozen=True)
class LabelModel:
    """Public. `effects` has a row for each term and one for the intercept, a column for each class."""

    effects: np.ndarray
    terms: LabelTerms

    def chances(self, codes: np.ndarray) -> np.ndarray:
        """The chance of each class given the codes, rows x classes."""
        logits = self.terms.of(codes) @ self.effects.astype(np.float32)
        raised = np.exp(logits - logits.max(axis=1, keepdims=True))
        return raised / raised.sum(axis=1, keepdims=True)

    def draw(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A class for each row of codes."""
        upto = np.cumsum(self.chances(codes), axis=1)
        return np.minimum((rng.random(len(codes))[:, None] > upto).sum(axis=1), upto.shape[1] - 1)

    def arrays(self) -> dict[str, np.ndarray]:
        """What a bundle keeps."""
        terms = self.terms
        places = {"pairs": terms.pairs, "triples": terms.triples, "high": terms.high.astype(np.int64)}
        return {"effects": self.effects} | {name: array for name, array in places.items() if len(array)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], sizes: tuple[int, ...], classes: int) -> LabelModel:
        """What `arrays` gave, from whoever."""
        terms = LabelTerms(
            sizes,
            _places(arrays, "pairs", None, 2, most=len(sizes) - 1),
            _places(arrays, "triples", None, 3, most=len(sizes) - 1),
            _places(arrays, "high", sum(sizes), most=1).astype(bool),
        )
        if len(terms.triples) and not len(terms.high):
            raise InputError("the release has triples and no array 'high': it is damaged. Copy it again.")
        return cls(fitting(arrays, "effects", terms.number, classes), terms)


def _places(arrays: Mapping[str, np.ndarray], name: str, *shape: int | None, most: int) -> np.ndarray:
    """Whole numbers from zero to `most`; none where the release has no such array."""
    if name not in arrays:
        return np.empty((0, *(size or 0 for size in shape[1:])), np.int64)
    places = fitting(arrays, name, *shape, least=0, most=most)
    if not np.issubdtype(places.dtype, np.integer):
        raise InputError(f"the array {name!r} holds no whole numbers: the release is damaged.")
    return places


@dataclass(frozen=True)
class Triples:
    """Public: the released parities of each class, the deviation of their noise, the codes that count as plus one."""

    sums: np.ndarray
    sigma: float
    high: np.ndarray
    total: float
    """The rows of all classes, by the released tables."""

    def of(self, classes: np.ndarray) -> Triples | None:
        """Those of some classes alone; None where there is one, which needs no telling apart."""
        return replace(self, sums=self.sums[classes]) if len(classes) > 1 else None


def halves(single: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Which codes count as plus one, by a released count of each code: each column's upper half, as nearly as codes allow."""
    high = np.zeros(len(single), dtype=bool)
    for start, size in zip(np.cumsum([0, *sizes[:-1]]), sizes, strict=True):
        upto = np.cumsum(np.maximum(single[start : start + size], 0.0))
        if size > 1:
            cut = int(np.argmin(np.abs(upto[:-1] - upto[-1] / 2)))
            high[start + cut + 1 : start + size] = True
    return high


def signs(codes: np.ndarray, sizes: Sequence[int], high: np.ndarray) -> np.ndarray:
    """Plus and minus one for each row and column; as private as the codes are."""
    made = np.empty(codes.shape, dtype=np.int8, order="F")
    for column, its in enumerate(np.split(np.where(high, np.int8(1), np.int8(-1)), np.cumsum(sizes)[:-1])):
        its.take(codes[:, column], out=made[:, column], mode="clip")
    return made


def fit_label_model(
    mixture: Mixture, ratio: np.ndarray, tables: np.ndarray, two: float, triples: Triples | None, *, rows: int, seed: int,
    ridge: float = 1.0,
) -> LabelModel:  # fmt: skip
    """Softmax regression on the mixture's posterior. `ridge` is the usual L2 penalty.

    `tables` are the released two-way tables of each class, with noise of deviation `two` on a cell: they say which pairs are
    needed. Parities are nothing that the mixture knows: the regression is made to have what was released of them.
    """
    rng = np.random.default_rng(seed)
    codes = mixture.draw(rng.choice(len(ratio), size=rows, p=ratio), rng)
    wanted = mixture.posterior(codes, ratio)
    terms, half = LabelTerms(mixture.sizes), slice(rows // 2)
    start = np.zeros((terms.number, len(ratio)))
    start[-1] = np.log(np.maximum(ratio, 1e-12))
    model = _regress(codes[half], terms, wanted[half], None, start, ridge)
    pairs = interactions(codes[half], model.chances(codes[half]), mixture.sizes, tables, two)
    if len(pairs):
        terms = LabelTerms(mixture.sizes, pairs)
        model = _regress(codes, terms, wanted, None, terms.widened(model.effects), ridge)
    if triples is not None:
        chosen, sums = _parities(codes, model.chances(codes), mixture.sizes, triples)
        if len(chosen):
            terms = LabelTerms(mixture.sizes, terms.pairs, chosen, triples.high)
            model = _regress(codes, terms, wanted, sums, terms.widened(model.effects), ridge)
    return model


def _parities(
    codes: np.ndarray, chances: np.ndarray, sizes: Sequence[int], triples: Triples
) -> tuple[np.ndarray, np.ndarray]:
    """The triples whose parities tell more about the class than the model does, the clearest first; and their sums for these rows."""
    places = all_triples(len(sizes))
    sums, known = triples.sums.astype(np.float64), signs(codes, sizes, triples.high).astype(np.float32)
    share = chances.mean(axis=0)
    total, rows = len(codes), max(triples.total, 1.0)
    said, at = np.empty((chances.shape[1], len(places))), 0
    for i, j in combinations(range(len(sizes) - 1), 2):
        third = known[:, j + 1 :]
        said[:, at : at + third.shape[1]] = (chances * (known[:, i] * known[:, j])[:, None]).T @ third
        at += third.shape[1]
    # Which rows there are is the mixture's word; the parities only say how each one's classes divide.
    sums = sums / rows * total
    sums += share[:, None] * (said.sum(axis=0) - sums.sum(axis=0))
    deviation = np.sqrt((triples.sigma / rows * total) ** 2 + total * (1 + total / rows))
    score = np.abs(sums - said).max(axis=0) / deviation
    chosen = np.argsort(-score)[:_MOST_TRIPLES]
    chosen = chosen[score[chosen] > _TRIPLES_STAND_OUT]
    return places[chosen], sums[:, chosen]


def interactions(
    codes: np.ndarray, chances: np.ndarray, sizes: Sequence[int], tables: np.ndarray, two: float
) -> np.ndarray:
    """The pairs whose released tables differ from what `chances` says of rows with these codes, the clearest first.

    In each cell the count of a class is held against the cell's count in all classes times the class' share there by the
    model. Noise and chance explain squares whose mean is one; a pair stands out where theirs is far larger.
    """
    starts, hot = np.concatenate([[0], np.cumsum(sizes)]), one_hot(codes, sizes)
    said = np.stack([hot.T @ (hot * chances[:, [c]]) for c in range(chances.shape[1])])
    share = said / np.maximum(said.sum(axis=0), 1e-9)
    everyone = tables.sum(axis=0)
    variance = two**2 * (1 - 2 * share + len(tables) * share**2) + np.maximum(everyone, 0) * share * (1 - share)
    # Few of the mixture's rows in a cell tell its share badly.
    variance += np.maximum(everyone, 0) ** 2 * share * (1 - share) / np.maximum(said.sum(axis=0), 1.0)
    off = (tables - share * everyone) ** 2 / np.maximum(variance, 1e-9)
    scores: list[tuple[float, int, int]] = []
    for i in range(len(sizes)):
        for j in range(i + 1, len(sizes)):
            square = off[:, starts[i] : starts[i + 1], starts[j] : starts[j + 1]]
            known = square.size * (1 - 1 / len(tables))
            scores.append(((float(square.sum()) * (1 - 1 / len(tables)) - known) / (2 * known) ** 0.5, i, j))
    found: list[tuple[int, int]] = []
    cells = 0
    for score, i, j in sorted(scores, reverse=True)[:_MOST_PAIRS]:
        cells += sizes[i] * sizes[j]
        if score > _STANDS_OUT and cells <= _MOST_CELLS:
            found.append((i, j))
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _regress(
    codes: np.ndarray, terms: LabelTerms, wanted: np.ndarray, sums: np.ndarray | None, start: np.ndarray, ridge: float
) -> LabelModel:
    """The regression whose sums over these rows are those of `wanted`, and `sums` (classes x triples) for the parities."""
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    features = terms.of(codes)
    dense = features.shape[1] * len(codes) <= _DENSE * features.nnz
    features = features.toarray() if dense else features
    across = features.T if dense else features.T.tocsr()
    given = across @ wanted.astype(np.float32)
    if sums is not None:
        given[-1 - sums.shape[1] : -1] = sums.T
    shape = given.shape

    everyone = across @ np.ones(len(codes), np.float32)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        effects = flat.reshape(shape).astype(np.float32)
        # Differences alone tell classes apart: the last one's logits are zero, and chances sum to one. Classes x rows, for long loops.
        effects -= effects[:, -1:]
        logits = np.zeros((shape[1], len(codes)), np.float32)
        logits[:-1] = _times(features, effects[:, :-1]).T
        top = logits.max(axis=0)
        total = np.log(np.exp(logits - top).sum(axis=0)) + top
        value = float(total.sum(dtype=np.float64) - (given * effects).sum(dtype=np.float64))
        gradient = np.empty(shape, np.float32)
        gradient[:, :-1] = _times(across, np.exp(logits[:-1] - total).T)
        gradient[:, -1] = everyone - gradient[:, :-1].sum(axis=1)
        gradient -= given
        penalty = flat.reshape(shape).copy()
        penalty[-1] = 0.0
        value += ridge / 2 * float((penalty**2).sum())
        return value / len(codes), ((gradient + ridge * penalty) / len(codes)).astype(np.float64).ravel()

    with threadpool_limits(1):  # each product takes milliseconds; threads would wait for one another
        found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    return LabelModel(found.x.reshape(shape), terms)


def _times(matrix: Any, columns: np.ndarray) -> np.ndarray:
    """A sparse or dense matrix times a few columns: a single one is a vector, whose product takes less than half the time."""
    if columns.shape[1] == 1:
        return (matrix @ np.ascontiguousarray(columns[:, 0]))[:, None]
    return matrix @ np.ascontiguousarray(columns)
