"""The integers at the gate are the same whatever the batches, their order and who adds them up; a run that was cut off goes on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_parts import FramePart  # pyright: ignore[reportMissingImports]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from understudy import registry
from understudy.engines import RowSource, Threads, open_source
from understudy.errors import InputError
from understudy.methods.moments import MomentsGenerator
from understudy.methods.moments.axes import Axes
from understudy.methods.moments.cell_rows import CellRows
from understudy.methods.moments.gaussian_model import MomentsLook, RadiiLook, radius_edges
from understudy.methods.moments.tables_model import PairsLook, ParitiesLook
from understudy.methods.moments.targets import target_of
from understudy.privacy import Budget, ClippedMoments, Ledger, PairTables, Parities
from understudy.release.driver import Run
from understudy.release.intake import Intake, check_table
from understudy.release.out_of_core import intake_of, take_source
from understudy.tables.coordinates import Coordinates, among, tally
from understudy.tables.io import private_batches, read_private

pytestmark = pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")
ROWS = 400


def table(rows: int = ROWS) -> pd.DataFrame:
    """Every kind of column, with blank rows, rows without a class, missing cells and a column of names."""
    rng = np.random.default_rng(3)
    here = rng.normal(size=rows)
    made = pd.DataFrame(
        {
            "free": here + rng.normal(size=rows),
            "age": pd.array(np.clip(40 + 20 * here, 0, 99).astype(int), dtype="Int64"),
            "money": np.where(rng.random(rows) < 0.3, 0.0, np.round(np.exp(here + 8), 2)),
            "ward": pd.Series(rng.choice(["north", "south", "east"], rows), dtype="str"),
            "name": pd.Series([f"n{number}" for number in rng.integers(0, rows // 2, rows)], dtype="str"),
            "since": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), unit="D"),
            "member": pd.array(rng.random(rows) < 0.4, dtype="boolean"),
            "class": pd.Series(np.where(here > 0, "sick", "well"), dtype="str"),
        }
    )
    made.loc[::17, "free"] = np.nan
    made.loc[::13, "age"] = pd.NA
    made.loc[[100, 222, 250, 333], "money"] = (
        np.nan
    )  # where none may be missing they are drawn, by the place of the row
    made.loc[5] = None
    made.loc[9, "class"] = None
    return made


def cut(frame: pd.DataFrame, ends: Sequence[int], adder: Any = None) -> RowSource:
    """The frame in parts that end at these rows."""
    places = [0, *sorted({end % len(frame) for end in ends} - {0}), len(frame)]
    parts = [FramePart(frame.iloc[low:high]) for low, high in itertools.pairwise(places)]
    return RowSource(parts, frame.iloc[:0], "the table", adder=adder or Threads(2))


class Backwards:
    """Does the last task first, and adds from the middle."""

    def results(self, tasks: Sequence[Callable[[], Any]], tell: Any) -> list[Any]:
        return [task() for task in tasks[::-1]][::-1]

    def total(self, tasks: Sequence[Callable[[], Any]], tell: Any) -> Any:
        from understudy.tables.batches import added

        found = [task() for task in tasks[::-1]]
        while len(found) > 1:
            found = [added(*found[at : at + 2]) if at + 1 < len(found) else found[at] for at in range(0, len(found), 2)]
        return found[0]


def held(frame: pd.DataFrame) -> Intake:
    rows, present, declared, goal = check_table(frame, "class", None)
    return Intake(rows, present, declared, goal, 7, Budget(1.0, 1e-5), Run())


def parted(source: RowSource) -> Intake:
    _, rows, declared, goal, persons = take_source(source, "class", None, None, 7, Run())
    return intake_of(rows, persons, declared, goal, 7, Budget(1.0, 1e-5), Run(), typed=True)


FRAME = table()
FOUND = Coordinates.release(FRAME, None, Budget(5.0, 1e-5, unsafe_noise_seed=0), target="class")
COORDINATES = replace(FOUND, columns=tuple(replace(c, nullable=c.nullable and c.name != "money") for c in FOUND))


def at_the_gate(rows: Intake) -> list[np.ndarray]:
    """Private: the sums that each look of the generator would put noise on."""
    goal = target_of(COORDINATES, 4)
    cells, bins = CellRows(rows.table, goal), goal.features.bins(6)
    axes = Axes(goal.features.columns, len(rows))
    middle = np.linspace(0, 0.3, axes.width)
    means = np.stack([middle / 2, -middle])
    high = np.arange(sum(bins.sizes)) % 2 == 0
    found: list[Any] = [
        cells.total(PairsLook(PairTables(1.0), bins, 2)),
        cells.total(ParitiesLook(Parities(1.0), bins, high, 2)),
        cells.total(RadiiLook(axes, middle, means, radius_edges(axes), 2)),
        *cells.total(MomentsLook(axes, None, None, ClippedMoments((1.0,), 1.0), "one")),
    ]
    rows.table.forget("around")
    found += cells.total(MomentsLook(axes, middle, means, ClippedMoments((0.7, 1.3), 1.0)))
    return found


EXPECTED = at_the_gate(held(FRAME))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ends=st.lists(st.integers(0, ROWS - 1), max_size=6), backwards=st.booleans())
def test_the_integers_at_the_gate_do_not_depend_on_batches(ends: list[int], backwards: bool) -> None:
    found = at_the_gate(parted(cut(FRAME, ends, Backwards() if backwards else None)))
    for one, other in zip(found, EXPECTED, strict=True):
        assert one.dtype == other.dtype == np.int64
        np.testing.assert_array_equal(one, other)


def test_one_row_a_batch_is_the_same_too() -> None:
    few = FRAME.iloc[:60].reset_index(drop=True)
    expected = at_the_gate(held(few))
    for one, other in zip(at_the_gate(parted(cut(few, range(60)))), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def fit(rows: Any, model: str = "auto", target: str = "class", **more: Any) -> MomentsGenerator:
    made = MomentsGenerator(
        5.0, 1e-4, model=model, random_state=0, unsafe_noise_seed=0, anyway=True,  # type: ignore[arg-type]
    ).set_params(fitting__components=5, fitting__steps=5)  # fmt: skip
    return made.fit(rows, target, **more)


def same(one: MomentsGenerator, other: MomentsGenerator) -> None:
    assert one.coordinates_ is not None
    assert other.coordinates_ is not None
    assert one.coordinates_.to_dict() == other.coordinates_.to_dict()
    assert one.facts_ == other.facts_
    for name, array in one.model_.arrays().items():
        np.testing.assert_array_equal(array, other.model_.arrays()[name])


@pytest.mark.parametrize("model", ["tables", "both"])
def test_a_release_is_the_same_bit_for_bit(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a column's different cells are too many to be kept."""
    whole = fit(FRAME, model)
    monkeypatch.setattr(tally, "MOST_CELLS", 20)
    same(fit(cut(FRAME, [70, 150, 290]), model), whole)


def write_parts(folder: Path, frame: pd.DataFrame) -> Path:
    folder.mkdir()
    for number, start in enumerate(range(0, len(frame), 150)):
        frame.iloc[start : start + 150].to_parquet(folder / f"{number}.parquet", row_group_size=40, index=False)
    return folder


def test_files_queries_and_readers_are_the_same_table(tmp_path: Path) -> None:
    folder = write_parts(tmp_path / "parts", FRAME)
    FRAME.to_parquet(tmp_path / "whole.parquet", index=False)
    whole = fit(read_private(tmp_path / "whole.parquet").frame)
    same(fit(folder), whole)
    same(fit(str(folder / "[0-9]*.parquet")), whole)
    same(fit(f"duckdb:SELECT * FROM '{folder}/*.parquet'"), whole)
    same(fit(iter(pa.Table.from_pandas(FRAME, preserve_index=False).to_batches(33))), whole)


def test_a_relation_of_duckdb_is_a_table(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    FRAME.to_parquet(tmp_path / "whole.parquet", index=False)
    with duckdb.connect() as connection:
        found = fit(connection.sql(f"SELECT * FROM '{tmp_path / 'whole.parquet'}'"))
    same(found, fit(read_private(tmp_path / "whole.parquet").frame))


def test_text_is_read_in_pieces(tmp_path: Path) -> None:
    from understudy.tables.csv_file import private_csv_batches

    path = tmp_path / "odd.csv"
    lines = [
        "name,text,x",
        *(f'{at},"a ""quoted""\nline {at}",{at / 7}' for at in range(60)),
        "1,2",
        "3,,",
        "",
        "4,\0,5",
    ]
    path.write_text("\n".join(lines) + "\n")
    whole = read_private(path)
    for most in (17, 100, 10_000):
        found = pa.concat_tables(list(private_csv_batches(path, most))).to_pandas()
        pd.testing.assert_frame_equal(found, whole.frame, check_dtype=False)
    assert private_batches(path)[1] is False
    FRAME[["age", "ward", "class"]].to_csv(tmp_path / "table.csv", index=False)
    same(fit(tmp_path / "table.csv"), fit(read_private(tmp_path / "table.csv").frame, typed=False))


def test_rows_of_a_person_are_put_together_first(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = FRAME.drop(columns="name").assign(patient=rng.integers(0, 150, ROWS))
    frame["patient"] = frame["patient"].astype("Int64").mask(rng.random(ROWS) < 0.02)
    whole = {"person": "patient", "rows_per_person": 3}
    folder = write_parts(tmp_path / "parts", frame)
    frame.to_parquet(tmp_path / "whole.parquet", index=False)
    expected = fit(read_private(tmp_path / "whole.parquet").frame, **whole)
    found = fit(folder, **whole)
    same(found, expected)
    assert found.certificate_.body["unit"] == expected.certificate_.body["unit"] == "person"
    assert list(tmp_path.glob("*.private")) == []


def test_a_run_that_was_cut_off_goes_on_and_is_charged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "MOST_CELLS", 20)  # so that there are looks that count again
    frame = FRAME.drop(columns=["money", "name", "since", "member"])
    folder, book, place = write_parts(tmp_path / "parts", frame), tmp_path / "ledger.db", tmp_path / "run.private"
    Ledger.create(book).add_dataset("ward", epsilon=6.0, delta=1e-3)
    paid = {"ledger": str(book), "dataset": "ward", "workspace": place}

    def stop(at: Any) -> None:
        if at.words == "pass 4" and at.iteration == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(folder, "tables", progress=stop, **paid)
    assert {entry.state for entry in Ledger(book).entries("ward")} == {"drawing"}
    assert all(file.stat().st_mode & 0o077 == 0 for file in place.iterdir())
    drawn = (place / "prelude.log").read_bytes()
    again: set[str] = set()
    found = fit(folder, "tables", progress=lambda at: again.add(at.words), resume=True, **paid)
    assert "pass 3" not in again
    assert again >= {"pass 1", "pass 4", "pass 5"}
    assert (place / "prelude.log").read_bytes().startswith(drawn)  # nothing was drawn a second time
    assert found.certificate_.epsilon <= 5
    assert [entry.state for entry in Ledger(book).entries("ward")] == ["committed"]
    assert 4.9 < Ledger(book).spent("ward").epsilon <= 5.0


def test_a_run_goes_on_with_the_same_files_only(tmp_path: Path) -> None:
    folder, place = write_parts(tmp_path / "parts", FRAME), tmp_path / "run.private"

    def stop(at: Any) -> None:
        if at.words == "pass 3":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(folder, progress=stop, workspace=place)
    with pytest.raises(InputError, match="`target` was 'class' there and is 'ward' now"):
        fit(folder, target="ward", resume=True, workspace=place)
    source = cast(RowSource, open_source(folder))
    with pytest.raises(InputError, match="`columns of the table` was"):
        fit(replace(source, types=source.types.drop(columns="ward")), resume=True, workspace=place)
    FRAME.iloc[:150].to_parquet(folder / "0.parquet", index=False)
    with pytest.raises(InputError, match="the rows of the table are not the same"):
        fit(folder, resume=True, workspace=place)


@pytest.mark.parametrize("person", [None, "name"])
def test_rules_leave_the_same_rows_to_be_learnt(person: str | None, tmp_path: Path) -> None:
    """A computed column, a later end as a difference, a clipped one: each row by its own cells, in whatever batch."""
    days = pd.to_timedelta(np.arange(ROWS) % 9 - 1, unit="D")
    ruled = FRAME.assign(until=FRAME["since"] + days, year=FRAME["since"].dt.year.astype("Int64"))
    given: dict[str, Any] = {"rules": ["until >= since", "year == year(since)", "age >= 18"]}
    given |= {} if person is None else {"person": person, "rows_per_person": 3}
    whole = fit(ruled, **given)
    found = fit(str(write_parts(tmp_path / "parts", ruled)), **given)
    same(found, whole)
    assert found.certificate_.body["release"]["rules"] == whole.certificate_.body["release"]["rules"]
    drawn = found.sample(200, random_state=0)
    pd.testing.assert_frame_equal(drawn, whole.sample(200, random_state=0))
    assert not (drawn["until"] < drawn["since"]).to_numpy().any()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rules": ["colour >= 0"]}, "no column 'colour'"),
        ({"strict": True}, "strict"),
        ({"person": "name", "rows_per_person": "auto"}, "auto"),
        ({"person": "name", "rows_per_person": 2, "order": "since"}, "order"),
    ],
)
def test_what_needs_all_rows_is_refused_before_anything_is_spent(given: dict[str, Any], words: str) -> None:
    budget = Budget(1.0, 1e-5)
    with pytest.raises(InputError, match=words):
        MomentsGenerator().fit(cut(FRAME, [100]), "class", budget=budget, **given)
    assert budget.events == ()


def test_other_methods_say_that_they_need_all_rows(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs all rows in memory"):
        registry.get("pategan", "generator", "table").load()().fit(str(tmp_path), "class")


@pytest.mark.parametrize(
    "declared", [None, {"columns": [{"name": "visits", "kind": "categorical", "categories": ["a"]}]}]
)
def test_a_column_of_lists_is_refused_by_its_type_before_anything_is_spent(
    declared: dict[str, Any] | None, tmp_path: Path
) -> None:
    frame = FRAME[["age", "class"]].assign(visits=[["a", "b"]] * ROWS)
    book = Ledger.create(tmp_path / "ledger.db")
    book.add_dataset("ward", epsilon=6.0, delta=1e-3)
    folder = write_parts(tmp_path / "parts", frame)
    schema = None if declared is None else {"version": 1, **declared}
    for source in (folder, read_private(folder / "0.parquet").frame):
        with pytest.raises(InputError, match=r"column 'visits' is of type list<element: .*string>, which no kind"):
            fit(source, schema=schema, ledger=str(book.path), dataset="ward")
    assert book.spent("ward").epsilon == 0.0


def test_bytes_that_are_no_text_do_not_end_a_run(tmp_path: Path) -> None:
    frame = FRAME[["age", "class"]].assign(scan=[b"\xff\xfe", b"abc"] * (ROWS // 2))
    folder = write_parts(tmp_path / "parts", frame)
    whole = pd.concat([read_private(file).frame for file in sorted(folder.iterdir())], ignore_index=True)
    same(fit(folder), fit(whole))
    assert fit(frame).coordinates_ is not None  # a frame of somebody's own may hold bytes too


def test_an_interval_of_a_query_is_a_duration(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("SELECT INTERVAL 3 DAYS AS stay, range AS number FROM range(10)")
    with cast(RowSource, open_source(relation)) as source:
        assert source.types.dtypes["stay"] == np.dtype("timedelta64[us]")
        (batch,) = source.parts[0].batches(["stay"])
        assert set(batch["stay"]) == {pd.Timedelta(days=3)}


def test_folders_that_are_no_table_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no Parquet file"):
        open_source(tmp_path)
    folder = write_parts(tmp_path / "parts", FRAME)
    FRAME.drop(columns="age").to_parquet(folder / "9.parquet")
    with pytest.raises(InputError, match=r"lacks 'age'"):
        open_source(folder)
    (folder / "9.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InputError, match="not a whole Parquet file"):
        open_source(folder)


def test_a_column_that_is_a_folder_is_not_lost_in_silence(tmp_path: Path) -> None:
    for year in (2020, 2021):
        (tmp_path / "stays" / f"year={year}").mkdir(parents=True)
        FRAME[["age"]].to_parquet(tmp_path / "stays" / f"year={year}" / "1.parquet", index=False)
    with pytest.raises(InputError, match="holds the folder year=2020: is 'year' a column"):
        open_source(tmp_path / "stays")
    with cast(RowSource, open_source(tmp_path / "stays" / "**" / "*.parquet")) as source:
        assert (source.rows, list(source.types)) == (2 * ROWS, ["age"])
    pytest.importorskip("duckdb")
    query = f"duckdb:SELECT * FROM read_parquet('{tmp_path}/stays/**/*.parquet', hive_partitioning=true)"
    with cast(RowSource, open_source(query)) as source:
        assert (source.rows, list(source.types)) == (2 * ROWS, ["age", "year"])


def test_a_task_that_fails_stops_the_others() -> None:
    done: list[int] = []

    def task(number: int) -> Callable[[], int]:
        def run() -> int:
            done.append(number)
            if number == 3:
                raise InputError("three")
            return number

        return run

    with pytest.raises(InputError, match="three"):
        Threads(1).total([task(number) for number in range(50)], lambda *_: None)
    assert len(done) < 10


def _edges(kind: str) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(0)
    for size in (2, 3, 20, 300):
        yield {
            "even": np.linspace(-3, 7, size),
            "normal": np.unique(rng.normal(size=size)),
            "skewed": np.unique(np.exp(rng.normal(size=size) * 8)),
            "huge": np.array([-1.7e308, *np.sort(rng.normal(size=size)), 1.7e308]),
        }[kind]


@pytest.mark.parametrize("kind", ["even", "normal", "skewed", "huge"])
def test_places_among_edges_are_exact(kind: str) -> None:
    rng = np.random.default_rng(1)
    for edges in _edges(kind):
        near = np.concatenate([np.nextafter(edges, -np.inf), edges, np.nextafter(edges, np.inf)])
        values = np.concatenate([near, rng.choice(near, 20_000), rng.normal(size=20_000) * 5, [-np.inf, np.inf, -0.0]])
        np.testing.assert_array_equal(among.places_among(edges, values), np.searchsorted(edges, values, side="right"))
