"""A graphical model of coded columns, fitted to noisy tables of some of them (McKenna, Sheldon and Miklau 2019). Knows no private row.

The model is the distribution of largest entropy whose tables come nearest to the measured ones: exponentials of potentials on the
cliques of a junction tree. Mirror descent moves the potentials against the gradient of the squared errors, and belief propagation
turns potentials into tables. All of it is numpy: an adaptive method asks for another tree in every round, and compiling a
program for each takes far longer than running it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from understudy.learn.triangulation import Clique, maximal_cliques

_ARMIJO, _FASTER, _SLOWER = 0.5, 1.1, 0.5
# A fit ends where so many steps in a row gain less than this part of the loss.
_GAIN, _PATIENCE = 1e-5, 10
# A count below this part of its noise is taken for so much, where a logarithm is needed.
_LEAST = 0.1


class Measured(NamedTuple):
    """A noisy table of a clique, flat or in its shape, and the noise's standard deviation on each cell, or on all of them."""

    clique: Clique
    table: np.ndarray
    sigma: float | np.ndarray


@dataclass(frozen=True)
class Tree:
    """A junction tree: maximal cliques in an order in which each shares with those before it only what it shares with its parent."""

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]

    @classmethod
    def over(cls, sizes: Sequence[int], cliques: Sequence[Clique], first: int = 0) -> Tree:
        """A tree in which every given clique lies within one of its cliques; all columns are in it, the column `first` in the first."""
        found = maximal_cliques(sizes, cliques)
        root = next(i for i, clique in enumerate(found) if first in clique)
        order, parents = [root], [-1]
        left = set(range(len(found))) - {root}
        shared = {i: (len(set(found[i]) & set(found[root])), 0) for i in left}
        while left:
            # Prim's tree of the largest separators is a junction tree; cliques with nothing in common share an empty one.
            best = max(left, key=lambda i: (shared[i][0], -i))
            parents.append(shared[best][1])
            left.remove(best)
            order.append(best)
            for i in left:
                common = len(set(found[i]) & set(found[best]))
                if common > shared[i][0]:
                    shared[i] = (common, len(order) - 1)
        return cls(tuple(sizes), tuple(found[i] for i in order), tuple(parents))

    @cached_property
    def cells(self) -> int:
        """How many numbers the model has."""
        return sum(math.prod(self.sizes[v] for v in clique) for clique in self.cliques)

    @cached_property
    def separators(self) -> tuple[Clique, ...]:
        return tuple(
            () if parent < 0 else tuple(v for v in clique if v in self.cliques[parent])
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    def shape(self, clique: Clique) -> tuple[int, ...]:
        return tuple(self.sizes[v] for v in clique)

    def host(self, clique: Clique) -> int:
        """The first clique that holds this one."""
        if (found := self._hosts.get(clique)) is None:
            wanted = set(clique)
            found = self._hosts[clique] = next(i for i, one in enumerate(self.cliques) if wanted.issubset(one))
        return found

    @cached_property
    def _hosts(self) -> dict[Clique, int]:
        return {}

    def tables(self, potentials: Mapping[Clique, np.ndarray]) -> list[np.ndarray]:
        """Belief propagation: the probabilities of each of its cliques, from potentials (logarithms) of some within them."""
        beliefs = [np.zeros(self.shape(clique)) for clique in self.cliques]
        for clique, potential in potentials.items():
            host = self.host(clique)
            beliefs[host] += _spread(potential, clique, self.cliques[host])
        up: list[np.ndarray] = [np.zeros(())] * len(beliefs)
        for i in range(len(beliefs) - 1, 0, -1):
            parent, between = self.parents[i], self.separators[i]
            up[i] = _log_marginal(beliefs[i], self.cliques[i], between)
            beliefs[parent] += _spread(up[i], between, self.cliques[parent])
        for i in range(1, len(beliefs)):
            parent, between = self.parents[i], self.separators[i]
            down = np.asarray(_log_marginal(beliefs[parent], self.cliques[parent], between) - up[i])
            beliefs[i] += _spread(down, between, self.cliques[i])
        made = []
        for belief in beliefs:
            table = np.exp(belief - belief.max())
            made.append(table / table.sum())
        return made


@dataclass(frozen=True)
class Model:
    """A tree with the probabilities of its cliques, and the potentials that they come from."""

    tree: Tree
    potentials: Mapping[Clique, np.ndarray]
    tables: list[np.ndarray]

    def marginal(self, clique: Clique) -> np.ndarray:
        """The probabilities of a clique that lies within one of the tree's."""
        host = self.tree.host(clique)
        return marginal(self.tables[host], self.tree.cliques[host], clique)

    def pairs(self) -> dict[Clique, np.ndarray]:
        """The probabilities of all pairs of columns, first < second."""
        tree, count = self.tree, len(self.tree.sizes)
        near: list[list[tuple[int, Clique]]] = [[] for _ in tree.cliques]
        for i in range(1, len(tree.cliques)):
            near[i].append((tree.parents[i], tree.separators[i]))
            near[tree.parents[i]].append((i, tree.separators[i]))
        found: dict[Clique, np.ndarray] = {}
        for a in range(count):
            start = tree.host((a,))
            stack: list[tuple[int, int, Clique, np.ndarray | None]] = [(start, -1, (), None)]
            while stack:
                at, came, between, given = stack.pop()
                clique, table = tree.cliques[at], self.tables[at]
                inside = a in clique
                for b in clique:
                    if b > a and b not in between and (a, b) not in found:
                        if inside:
                            found[(a, b)] = marginal(table, clique, (a, b))
                        else:
                            joint = marginal(table, clique, (*between, b))
                            found[(a, b)] = _through(given, joint.reshape(-1, tree.sizes[b]))
                for there, shared in near[at]:
                    if there == came:
                        continue
                    if inside:
                        after = None if a in shared else marginal(table, clique, (a, *shared))
                    else:
                        rest = tuple(v for v in shared if v not in between)
                        joint = marginal(table, clique, (*between, *rest))
                        after = _continued(given, joint, between, rest, shared)
                    if after is not None:
                        after = after.reshape(tree.sizes[a], -1)
                        after = after / np.maximum(after.sum(axis=0, keepdims=True), 1e-300)
                    stack.append((there, at, shared, after))
        return found


def fit(
    tree: Tree,
    measured: Sequence[Measured],
    total: float,
    start: Mapping[Clique, np.ndarray] | None = None,
    steps: int = 1000,
) -> Model:
    """The model of a tree whose tables, times `total`, are nearest to the measured ones in squares of their noise.

    It goes on from the potentials of `start`, as far as they are there.
    """
    potentials = dict(start or {})
    for one in measured:
        potentials.setdefault(one.clique, np.zeros(tree.shape(one.clique)))
    tables = tree.tables(potentials)
    parts = [_part(tree, one) for one in measured]
    rate = 2 / max(_curvature(tree, measured) * total, 1e-300)
    loss, gradient, now = _loss(tables, parts, total)
    idle = 0
    for _ in range(steps):
        moved = dict(potentials)
        for one, part in zip(measured, gradient, strict=True):
            moved[one.clique] = moved[one.clique] - rate * part.reshape(tree.shape(one.clique))
        new = tree.tables(moved)
        new_loss, new_gradient, then = _loss(new, parts, total)
        gain = sum(float(np.vdot(g, old - fresh)) for g, old, fresh in zip(gradient, now, then, strict=True))
        if loss - new_loss < _ARMIJO * gain - 1e-12 * abs(loss):
            rate *= _SLOWER
            continue
        idle = idle + 1 if loss - new_loss < _GAIN * new_loss else 0
        potentials, tables, loss, gradient, now = moved, new, new_loss, new_gradient, then
        rate *= _FASTER
        if idle >= _PATIENCE:
            break
    return Model(tree, potentials, tables)


def towards(one: Measured, expected: np.ndarray) -> np.ndarray:
    """A potential that brings what is `expected` of a clique (shares, in its shape) to what was measured: one step of iterative
    proportional fitting, and a far better start than nothing."""
    counts = np.maximum(one.table, _LEAST * one.sigma).reshape(expected.shape)
    return np.log(counts / counts.sum()) - np.log(np.maximum(expected, 1e-12))


def marginal(table: np.ndarray, clique: Clique, wanted: Clique) -> np.ndarray:
    """A table summed to some of its columns, in their order."""
    return _summed(table, clique, wanted=wanted)


def draw(
    sizes: Sequence[int],
    cliques: Sequence[Clique],
    tables: Sequence[np.ndarray],
    n: int,
    rng: np.random.Generator,
    given: tuple[int, int] | None = None,
) -> np.ndarray:
    """Codes of `n` rows, clique after clique, each given what it shares with those before it.

    Among rows that share the same codes each new code occurs as often as its chance says, as nearly as whole rows allow.
    `given` is a column of the first clique and the code that all rows have there.
    """
    codes = np.zeros((n, len(sizes)), dtype=np.int64)
    seen: set[int] = set()
    if given is not None:
        codes[:, given[0]] = given[1]
        seen.add(given[0])
    for clique, table in zip(cliques, tables, strict=True):
        known = tuple(v for v in clique if v in seen)
        new = tuple(v for v in clique if v not in seen)
        seen |= set(new)
        if not new:
            continue
        chances = marginal(table, clique, (*known, *new)).reshape(math.prod(sizes[v] for v in known), -1) + 1e-300
        upto = np.cumsum(chances, axis=1)
        upto /= upto[:, -1:]
        at = np.zeros(n, np.int64)
        if known:
            at = np.asarray(np.ravel_multi_index(codes[:, known].T, [sizes[v] for v in known]))
        # Row i of `upto` lies between i and i + 1: one search serves all rows.
        width = upto.shape[1]
        flat = (upto + np.arange(len(upto))[:, None]).ravel()
        chosen = np.searchsorted(flat, at + _evenly_spread(at, rng), side="right") - at * width
        codes[:, new] = np.array(np.unravel_index(np.clip(chosen, 0, width - 1), [sizes[v] for v in new])).T
    return codes


# --------------------------------------------------------------------------------------------------------------


def _evenly_spread(groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A number from 0 to 1 for each row, uniform; of the k rows of a group each has another k-th of that."""
    order = np.lexsort((rng.random(len(groups)), groups))
    sizes = np.bincount(groups)
    rank = np.empty(len(groups))
    rank[order] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return (rank + rng.random(len(groups))) / sizes[groups]


def _log_marginal(belief: np.ndarray, clique: Clique, wanted: Clique) -> np.ndarray:
    out = tuple(i for i, v in enumerate(clique) if v not in wanted)
    if not out:
        return belief
    top = belief.max(axis=out, keepdims=True)
    return np.asarray(np.log(np.exp(belief - top).sum(axis=out)) + np.squeeze(top, axis=out))


def _spread(table: np.ndarray, clique: Clique, over: Clique) -> np.ndarray:
    """A table of some columns, in the shape that adds to one of more; both in rising order."""
    return table.reshape([table.shape[clique.index(v)] if v in clique else 1 for v in over])


class _Part(NamedTuple):
    """A measurement in the shape of its clique in the tree: `out` are the axes to sum over."""

    host: int
    out: tuple[int, ...]
    table: np.ndarray
    weight: np.ndarray


def _part(tree: Tree, one: Measured) -> _Part:
    host = tree.host(one.clique)
    over = tree.cliques[host]
    out = tuple(i for i, v in enumerate(over) if v not in one.clique)
    table = np.asarray(one.table, dtype=np.float64).reshape(tree.shape(one.clique))
    weight = np.broadcast_to(1 / np.square(one.sigma), np.shape(one.table)).reshape(table.shape)
    return _Part(host, out, _spread(table, one.clique, over), _spread(weight, one.clique, over))


def _loss(
    tables: Sequence[np.ndarray], parts: Sequence[_Part], total: float
) -> tuple[float, list[np.ndarray], list[np.ndarray]]:
    """Half the squared errors in units of the noise; of each measurement the gradient by the expected counts, and those counts."""
    loss, gradient, expected = 0.0, [], []
    for host, out, table, weight in parts:
        expected.append(total * tables[host].sum(axis=out, keepdims=True))
        away = expected[-1] - table
        gradient.append(weight * away)
        loss += 0.5 * float(np.vdot(gradient[-1], away))
    return loss, gradient, expected


def _curvature(tree: Tree, measured: Sequence[Measured]) -> float:
    """At most how fast the gradient changes: of each clique the sum over its measurements."""
    found = [0.0] * len(tree.cliques)
    for clique, _, sigma in measured:
        host = tree.host(clique)
        found[host] += math.prod(tree.shape(tree.cliques[host])) / math.prod(tree.shape(clique)) / np.min(sigma) ** 2
    return max(found, default=1.0)


def _summed(*tables_and_cliques: Any, wanted: Clique) -> np.ndarray:
    """NumPy's einsum of tables, each followed by its clique. It knows 52 names, and there may be more columns than that."""
    named = sorted({v for clique in tables_and_cliques[1::2] for v in clique})
    at = {v: i for i, v in enumerate(named)}
    given = [part if isinstance(part, np.ndarray) else [at[v] for v in part] for part in tables_and_cliques]
    return np.asarray(np.einsum(*given, [at[v] for v in wanted]))


def _through(given: np.ndarray | None, joint: np.ndarray) -> np.ndarray:
    """P(a, b) from P(a | s) and P(s, b)."""
    assert given is not None
    return given @ joint


def _continued(
    given: np.ndarray | None, joint: np.ndarray, between: Clique, rest: Clique, wanted: Clique
) -> np.ndarray:
    """P(a, wanted) from P(a | between) and P(between, rest)."""
    assert given is not None
    shape = joint.shape[: len(between)]
    first = given.reshape(given.shape[0], *shape)
    a = max((*between, *rest), default=-1) + 1
    return _summed(first, (a, *between), joint, (*between, *rest), wanted=(a, *wanted))
