"""What a row is drawn with, and what of it the next row of the same person keeps. Public randomness; free.

A model draws a row from standard normal numbers, a lane for each column or axis, and a uniform one. The row after it is drawn from
numbers that are as random by themselves and go with the first ones: what a single row looks like is not changed by that, whatever
row of a person it is, and how alike two rows are follows from what is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Luck:
    """One row of `normals` (rows x lanes) and one `uniform` for each row that is drawn; `rng` for the rest."""

    normals: np.ndarray
    uniform: np.ndarray
    rng: np.random.Generator

    @classmethod
    def new(cls, rows: int, lanes: int, rng: np.random.Generator) -> Luck:
        return cls(rng.normal(size=(rows, lanes)), rng.random(rows), rng)

    def of(self, rows: np.ndarray) -> Luck:
        """That of some rows."""
        return replace(self, normals=self.normals[rows], uniform=self.uniform[rows])

    def split(self, lanes: int) -> tuple[Luck, Luck]:
        """The first lanes and the others."""
        return replace(self, normals=self.normals[:, :lanes]), replace(self, normals=self.normals[:, lanes:])

    def kept(self, keep: np.ndarray) -> Luck:
        """That of the next rows: each lane has the correlation `keep` (from -1 to 1) with its last number, and the uniform one stays as
        often as the lanes keep on average."""
        rows, lanes = self.normals.shape
        normals = keep * self.normals + np.sqrt(1 - keep**2) * self.rng.normal(size=(rows, lanes))
        stays = self.rng.random(rows) < (float(np.maximum(keep, 0.0).mean()) if lanes else 0.0)
        return replace(self, normals=normals, uniform=np.where(stays, self.uniform, self.rng.random(rows)))
