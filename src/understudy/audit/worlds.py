"""Small tables and pictures to audit on, with neighbours: public, made up, and the same every time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from understudy.audit.fitting import fitting
from understudy.audit.planting import blanked, blanked_person, plant, plant_person, worst
from understudy.audit.replay import Fit
from understudy.registry import Entry
from understudy.tables import Column, Schema
from understudy.tables.persons import Person

TARGET = "sick"
SCHEMA = Schema(
    (
        Column("age", "integer", bounds=(0, 100)),
        Column("dose", "continuous", bounds=(0, 10)),
        Column("ward", "categorical", categories=("north", "south", "west")),
        Column(TARGET, "boolean"),
    ),
    TARGET,
)


def table(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """Rows whose columns go together."""
    rng = np.random.default_rng(seed)
    sick = rng.random(rows) < 0.4
    return pd.DataFrame(
        {
            "age": np.clip(rng.normal(45 + 15 * sick, 12), 0, 100).astype(int),
            "dose": np.clip(rng.gamma(2 + 2 * sick), 0, 10).round(2),
            "ward": np.where(rng.random(rows) < 0.5 + 0.3 * sick, "north", rng.choice(["south", "west"], rows)),
            TARGET: sick,
        }
    )


def with_extreme_row(frame: pd.DataFrame, place: int = -1) -> pd.DataFrame:
    """The table with a row, the last if nothing is said, that is as far out as the schema allows."""
    return plant(frame, worst(SCHEMA), place)


def alone(rows: int = 400) -> pd.DataFrame:
    """The worst neighbourhood for a record: all others are equal but for their class, at the other end of every column.

    It is the last.
    """
    others = pd.DataFrame([worst(SCHEMA, lowest=True)] * rows).assign(**{TARGET: np.arange(rows) % 2 == 0})
    return plant(others, worst(SCHEMA))


VISITORS = Person("who", 4)
VISITS = replace(SCHEMA, person=VISITORS)


def visits(persons: int = 150, seed: int = 0) -> pd.DataFrame:
    """A table of one to six rows a person. Who there is does not depend on `seed`; all else does."""
    rng = np.random.default_rng(seed)
    each = rng.integers(1, 7, persons)
    frame = table(int(each.sum()), seed)
    return frame.assign(who=rng.permutation(np.repeat(np.arange(persons), each)))


def with_extreme_person(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with a person, the first, who has as many rows as are taken, all alike and as far out as the schema allows."""
    return plant_person(frame, [worst(SCHEMA)] * VISITORS.rows, VISITORS.column, 0)


def with_scattered_person(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with a person whose rows lie at both ends, in both classes."""
    ends = [worst(SCHEMA), worst(SCHEMA, lowest=True)] * (VISITORS.rows // 2)
    return plant_person(frame, ends, VISITORS.column, 0)


def with_person_alone(persons: int = 60) -> pd.DataFrame:
    """The worst neighbourhood for a person, the first: all others have two rows, at the other end of every column."""
    others = pd.DataFrame([worst(SCHEMA, lowest=True)] * 2 * persons).assign(who=np.arange(2 * persons) // 2)
    return with_extreme_person(others)


def without_person(frame: pd.DataFrame) -> pd.DataFrame:
    """The neighbour: of the first person nothing is left."""
    return blanked_person(frame, VISITORS.column, 0)


def as_rows(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The same two tables as somebody sees them who takes rows for persons: whose a row is, is not said."""
    rest: Any = frame.drop(columns=[VISITORS.column])
    return rest, rest.where(frame[VISITORS.column] != 0)


def pictures(number: int = 400, seed: int = 0) -> Any:
    """Small images of two classes: a bright upper half, a bright lower half."""
    from understudy.images import ImageDataset

    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, number)
    rows = np.arange(8)[None, :, None]
    bright = np.where(labels[:, None, None] == 0, rows < 4, rows >= 4)
    images = np.clip(200 * bright + rng.normal(30, 20, (number, 8, 8)), 0, 255).astype(np.uint8)
    return ImageDataset(images, labels, ("upper", "lower"))


def faint(number: int = 400) -> Any:
    """Pictures that are all black, but for the last one, which is all white."""
    from understudy.images import ImageDataset

    images = np.zeros((number, 8, 8), dtype=np.uint8)
    images[-1] = 255
    return ImageDataset(images, np.arange(number) % 2, ("upper", "lower"))


def with_white_picture(given: Any, place: int = -1) -> Any:
    """The pictures with one, the last if nothing is said, that is all white."""
    from understudy.images import ImageDataset

    images = given.images.copy()
    images[place] = 255
    return ImageDataset(images, given.labels, given.classes)


def without_picture(given: Any, place: int = -1) -> Any:
    """The neighbour: one picture is blank, of no class, and counted nowhere."""
    from understudy.images import BLANK, ImageDataset

    labels = given.labels.copy()
    labels[place] = BLANK
    return ImageDataset(given.images, labels, given.classes)


@dataclass(frozen=True)
class World:
    """Where a method is attacked: two ordinary tables, three worst cases with a record to hide, and how to hide it.

    The record to hide is the last, but for `first`, where all others stand behind it: whatever moves with the place of a row
    moves there.
    """

    ordinary: Callable[[int], Any]
    extreme: Callable[[], Any]
    first: Callable[[], Any]
    alone: Callable[[], Any]
    blanked: Callable[[Any, int], Any]


TABLES = World(
    lambda seed: table(seed=seed),
    lambda: with_extreme_row(table()),
    lambda: with_extreme_row(table(), 0),
    alone,
    blanked,
)
PICTURES = World(
    lambda seed: pictures(seed=seed),
    lambda: with_white_picture(pictures()),
    lambda: with_white_picture(pictures(), 0),
    faint,
    without_picture,
)


def person_settings(entry: Entry, records: int) -> dict[str, Any]:
    """Settings of a quick fit on so many records in which each of them shows as much as it can.

    There are as many teachers as records, or every record is in every batch and is clipped. By this `random_state` the first
    person of `with_person_alone` shares its teacher with nobody.
    """
    known = {field.name for field in fields(entry.load())}
    more = {"random_state": 5} | ({"anyway": True} if "anyway" in known else {})
    if "teachers" in known:
        more["teachers"] = records
    elif "clip" in known:
        more |= {"batch": records, "clip": 1e-3}
    return {**dict(entry.quick), **more}


def fit_persons(entry: Entry, records: int, schema: Schema | None = VISITS, **settings: Any) -> Fit:
    """A small fit of any method that takes persons on a table like `visits`, of so many persons.

    With `SCHEMA`, which names no person, it is one that pretends that rows are persons; then `records` are rows.
    """
    given = {**person_settings(entry, records), **settings}
    return fitting(entry, schema, public=table(60, seed=99), **given)


def fit(entry: Entry, data: Any, budget: Any, **settings: Any) -> Any:
    """A small fit of any method of the registry on `table` or `pictures`, charging `budget`."""
    return fitting(entry, SCHEMA, public=table(60, seed=99), **{**dict(entry.quick), **settings})(data, budget)
