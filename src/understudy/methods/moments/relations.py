"""Near-functional relations: what a code of one column all but rules out in another. Free of privacy cost.

A mixture of products blurs them: of the rows without internet a few get a film service all the same. In the noisy two-way tables
they are plain to see: a few cells of a code's row hold all of its rows. Drawn rows that break such a rule get their value anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.methods.moments.margins import code_counts
from understudy.methods.moments.mixture import Mixture
from understudy.release.arrays import fitting

# Cells that stand so many deviations out of the noise are a code's support; a code is looked at from so many of its rows on.
_CELL = 2.5
_CODE = 4.0
# A rule holds where at most this part of a code's rows lies elsewhere, two deviations of the noise added; or where at
# most this part of all rows does, over the codes of a column that are looked at.
EXCEPTIONS = 0.05
_ALL_EXCEPTIONS = 0.02
# A column follows from another where that makes its table so much likelier (a logarithm) than what the mixture draws; a cell is taken
# to have this chance there at least.
_LIKELIER, _RARE = 6.0, 0.01
# A column is ruled by at most so many others, those that say most.
_PARENTS = 8
# It must say something: at least this part of all rows lies outside a code's support.
_SAYS = 0.1


@dataclass(frozen=True)
class Relations:
    """Public. `allowed` (D x D): whether a row with the code of a line may have the code of a column. Columns come in `order`,
    and each one is ruled by those before it."""

    allowed: np.ndarray
    order: np.ndarray
    sizes: tuple[int, ...]

    def mended(
        self,
        codes: np.ndarray,
        mixture: Mixture,
        share: np.ndarray,
        rng: np.random.Generator,
        known: np.ndarray | None = None,
        barred: np.ndarray | None = None,
    ) -> np.ndarray:
        """Codes that keep the rules: a value that breaks one is drawn anew from those that keep all of them.

        `share` are the components' shares in all rows. Where nothing keeps all rules, those of the first column do. Columns that
        are `known` stay as they are, and rule the others; codes that are `barred` are not drawn.
        """
        order = self.order if known is None else self.order[np.argsort(~known[self.order], kind="stable")]
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        logs, codes = np.log(np.maximum(mixture.chances, 1e-12)), codes.copy()
        for place, child in enumerate(order):
            if known is not None and known[child]:
                continue
            here = slice(starts[child], starts[child + 1])
            ruling = [p for p in order[:place] if not self.allowed[starts[p] : starts[p + 1], here].all()]
            parents = np.array(ruling[:_PARENTS], dtype=np.int64)
            value = codes[:, child] + starts[child]
            broken = np.zeros(len(codes), dtype=bool)
            for p in parents:
                broken |= ~self.allowed[codes[:, p] + starts[p], value]
            if not broken.any():
                continue
            lines = codes[broken][:, parents] + starts[parents]
            may = self.allowed[lines[:, 0], here]
            if barred is not None:
                may = np.where((may & ~barred[here]).any(axis=1, keepdims=True), may & ~barred[here], ~barred[here])
            joint = np.log(np.maximum(share, 1e-12)) + logs[:, lines[:, 0]].T
            for line in lines.T[1:]:
                both = may & self.allowed[line, here]
                may = np.where(both.any(axis=1, keepdims=True), both, may)
                joint += logs[:, line].T
            chance = np.exp(joint - joint.max(axis=1, keepdims=True)) @ mixture.chances[:, here]
            upto = np.cumsum(np.where(may, chance + 1e-12, 0.0), axis=1)
            codes[broken, child] = (rng.random(len(upto))[:, None] * upto[:, -1:] >= upto).sum(axis=1)
        return codes

    def keeps(self, codes: np.ndarray, column: int, code: int) -> np.ndarray:
        """Which rows would break no rule with this code in a column."""
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        others = np.delete(self.order, np.flatnonzero(self.order == column))
        return np.asarray(self.allowed[codes[:, others] + starts[others], starts[column] + code].all(axis=1))

    def arrays(self) -> dict[str, np.ndarray]:
        """What a bundle keeps."""
        return {"allowed": self.allowed.astype(np.int8), "order": self.order}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], sizes: tuple[int, ...]) -> Relations | None:
        """What `arrays` gave, from whoever."""
        if "allowed" not in arrays:
            return None
        allowed = fitting(arrays, "allowed", sum(sizes), sum(sizes), least=0, most=1) > 0
        order = fitting(arrays, "order", None, least=0, most=len(sizes) - 1).astype(np.int64)
        return cls(allowed, order, sizes)


def find_relations(
    tables: np.ndarray, sizes: Sequence[int], one: float, two: float, joint: np.ndarray | None = None
) -> Relations | None:
    """The rules that the noisy tables of all classes together show, or None.

    `joint` (D x D) is what a fitted mixture says of all pairs of codes: with it, columns that are functions of others are found too
    where no single code is clear.
    """
    starts = np.concatenate([[0], np.cumsum(sizes)])
    pooled, noise = tables.sum(axis=0, dtype=np.float64), two * len(tables) ** 0.5
    counts, deviation = code_counts(tables, sizes, one, two)
    allowed = np.ones(pooled.shape, dtype=bool)
    said = np.zeros((len(sizes), len(sizes)))
    for i in range(len(sizes)):
        here = slice(starts[i], starts[i + 1])
        clear = counts[here] >= _CODE * np.hypot(noise, deviation[here])
        for j in range(len(sizes)):
            there = slice(starts[j], starts[j + 1])
            if i == j or not clear.any():
                continue
            support = pooled[here, there] > _CELL * noise
            common = np.maximum(counts[there], 0.0)
            outside = 1 - support @ common / max(common.sum(), 1.0)
            elsewhere = counts[here] - (pooled[here, there] * support).sum(axis=1)
            doubt = 2 * np.sqrt(noise**2 * support.sum(axis=1) + deviation[here] ** 2)
            kept = elsewhere + doubt <= EXCEPTIONS * counts[here]
            looked = clear & (outside >= _SAYS) & support.any(axis=1)
            rows = counts[here][looked].sum()
            if elsewhere[looked].sum() + (doubt[looked] ** 2).sum() ** 0.5 <= _ALL_EXCEPTIONS * rows:
                kept = kept | looked
            kept &= looked
            if not kept.any() and joint is not None:
                support = _function(pooled[here, there], counts[here], joint[here, there], noise)
                kept = np.full(sizes[i], support.any())
                outside = 1 - support @ common / max(common.sum(), 1.0)
            said[i, j] = (np.maximum(counts[here], 0.0) * outside)[kept].sum()
            allowed[here, there] = np.where(kept[:, None], support, True)
    if not said.any():
        return None
    # Whichever of two codes rules the other out, no row has both.
    allowed &= allowed.T
    for j in range(len(sizes)):
        there = slice(starts[j], starts[j + 1])
        allowed[~allowed[:, there].any(axis=1), there] = True
    ruled = np.flatnonzero(said.sum(axis=0) + said.sum(axis=1))
    return Relations(allowed, ruled[np.argsort(-said[ruled].sum(axis=1), kind="stable")], tuple(sizes))


def _function(table: np.ndarray, counts: np.ndarray, joint: np.ndarray, noise: float) -> np.ndarray:
    """Which cell each code of a column has in another one, if the other follows from it; nothing where it does not.

    Cells are chosen by the table and by what the mixture has there. It is a function if few rows lie elsewhere, and if the table
    looks far more like one than like what the mixture draws: by the logarithm of how much likelier it is.
    """
    total, nothing = max(float(counts.sum()), 1.0), np.zeros(table.shape, dtype=bool)
    held, drawn = np.maximum(counts, 0.0)[:, None], joint / joint.sum() * total
    chance = np.log(np.maximum(drawn / np.maximum(drawn.sum(axis=1, keepdims=True), 1e-9), _RARE))
    places = np.arange(len(table)), (table * held / noise**2 + chance).argmax(axis=1)
    if float(np.bincount(places[1], held[:, 0]).max() / total) > 1 - _SAYS:
        return nothing
    alone = np.zeros(table.shape)
    alone[places] = held[:, 0]
    likelier = float(((table - drawn) ** 2 - (table - alone) ** 2).sum()) / (2 * noise**2) + float(chance[places].sum())
    if counts.sum() - table[places].sum() > EXCEPTIONS * total or likelier < _LIKELIER:
        return nothing
    nothing[places] = True
    return nothing
