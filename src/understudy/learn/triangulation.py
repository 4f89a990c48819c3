"""Cliques of a triangulated graph, and how large a model over them is. Knows no row.

Columns are nodes, and the columns of one clique are joined with each other. Taking nodes out one after the other, and joining what each
leaves behind, makes the graph chordal; its maximal cliques are those of a junction tree.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

Clique = tuple[int, ...]
Near = dict[int, set[int]]


def maximal_cliques(sizes: Sequence[int], cliques: Iterable[Clique]) -> list[Clique]:
    """The cliques of a junction tree in which every given clique lies; every column is in one. The largest first."""
    return sorted(_eliminated(sizes, _joined(len(sizes), cliques)), key=lambda clique: (-len(clique), clique))


class Growth:
    """How many numbers the model over some cliques would have if a pair were joined too, for one pair after the other.

    Elimination never mixes parts of the graph that nothing joins, so only the parts that a pair lies in are triangulated again.
    """

    def __init__(self, sizes: Sequence[int], cliques: Iterable[Clique]) -> None:
        self.sizes, self.near = sizes, _joined(len(sizes), cliques)
        self.part = _parts(self.near)
        """For each column the columns of its part."""
        self.cells = {part: _cells(sizes, self._among(part)) for part in set(self.part.values())}
        self.all = sum(self.cells.values())

    def with_pair(self, a: int, b: int) -> int:
        if b in self.near[a]:
            return self.all
        here, there = self.part[a], self.part[b]
        if here is not there and len(here) == len(there) == 1:
            return self.all - self.sizes[a] - self.sizes[b] + self.sizes[a] * self.sizes[b]
        near = self._among(here if here is there else here | there)
        near[a].add(b)
        near[b].add(a)
        before = self.cells[here] if here is there else self.cells[here] + self.cells[there]
        return self.all - before + _cells(self.sizes, near)

    def _among(self, part: Collection[int]) -> Near:
        return {v: set(self.near[v]) for v in part}


def _joined(columns: int, cliques: Iterable[Clique]) -> Near:
    near: Near = {v: set() for v in range(columns)}
    for clique in cliques:
        for a, b in itertools.permutations(clique, 2):
            near[a].add(b)
    return near


def _parts(near: Mapping[int, Collection[int]]) -> dict[int, frozenset[int]]:
    found: dict[int, frozenset[int]] = {}
    for start in near:
        if start in found:
            continue
        seen, left = {start}, [start]
        while left:
            new = set(near[left.pop()]) - seen
            seen |= new
            left.extend(new)
        part = frozenset(seen)
        found.update(dict.fromkeys(part, part))
    return found


def _cells(sizes: Sequence[int], near: Near) -> int:
    return sum(math.prod(sizes[v] for v in clique) for clique in _eliminated(sizes, near))


def _eliminated(sizes: Sequence[int], near: Near) -> list[Clique]:
    """The maximal cliques. Takes the node with the smallest clique out first, and `near` apart as it goes."""

    def cost(v: int) -> int:
        return sizes[v] * math.prod(sizes[u] for u in near[v])

    now = {v: cost(v) for v in near}
    waiting = [(cost, v) for v, cost in now.items()]
    heapq.heapify(waiting)
    place: dict[int, int] = {}
    left_behind: list[tuple[int, set[int]]] = []
    while waiting:
        known, v = heapq.heappop(waiting)
        if v in place or known != now[v]:
            continue
        place[v] = len(left_behind)
        others = near.pop(v)
        left_behind.append((v, others))
        for u in others:
            mine = near[u]
            mine |= others
            mine -= {u, v}
            if (new := cost(u)) != now[u]:
                now[u] = new
                heapq.heappush(waiting, (new, u))
    # A clique lies within an earlier one just where it is all that one of those left behind, and the first of it to go.
    inside = set[int]()
    for _, others in left_behind:
        if others:
            first = min(others, key=place.__getitem__)
            if len(left_behind[place[first]][1]) == len(others) - 1:
                inside.add(first)
    return [tuple(sorted({v} | others)) for v, others in left_behind if v not in inside]
