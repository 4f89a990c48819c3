"""Teachers of a generator: how many there are, and which rows each of them is given."""

from __future__ import annotations

from dataclasses import dataclass

from jax.sharding import Mesh

from understudy.learn.discriminators import Discriminators, RealRows, deal_rows
from understudy.learn.partition import shards
from understudy.learn.teachers import TeacherAxis, one_device
from understudy.methods.adversarial import Prepared, Training
from understudy.release.settings import layers, setting, whole


@dataclass
class TeacherTraining(Training):
    """Training with teachers, who learn from `batch` rows in each of so many steps; their hidden layers are none."""

    teacher_steps: int = setting(1, whole())
    batch: int = setting(32, whole())
    teacher_hidden: tuple[int, ...] = setting((), layers())


def n_teachers(asked: int | None, rows: int) -> int:
    """One teacher for every 32 rows unless told otherwise; the number of rows is public."""
    return asked if asked is not None else max(2, min(rows // 32, 4000))


def check_shards(asked: int | None, rows: int) -> None:
    """Refuse a table that has fewer rows than there are teachers."""
    shards(rows, n_teachers(asked, rows), seed=0)


def hire(
    prepared: Prepared, teachers: int, how: TeacherTraining, learning_rate: float, mesh: Mesh | None
) -> tuple[Discriminators, RealRows]:
    """Touches private data: untrained teachers, and the rows dealt to them by position alone."""
    dealt = shards(len(prepared.rows), teachers, seed=prepared.rows.seed)
    axis = TeacherAxis(teachers, one_device() if mesh is None else mesh)
    width = prepared.design.heads.width
    plan = Discriminators(axis, width, tuple(how.teacher_hidden), how.batch, learning_rate, dealt.width)
    return plan, deal_rows(prepared.cube, prepared.present, dealt, axis)
