"""`understudy synthesize` of a table that does not fit into memory: a folder of Parquet files, or whatever --out-of-core says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.engines import RowSource
    from understudy.registry import Entry
    from understudy.tables import Schema
    from understudy.tables.persons import Person

OutOfCoreOption = Annotated[
    bool,
    typer.Option(
        "--out-of-core",
        help="Read the table in batches, for one that does not fit into memory; a folder or pattern of Parquet files always is.",
    ),
]
DaskOption = Annotated[
    str | None,
    typer.Option(
        "--dask",
        help="The scheduler of a Dask cluster, as tcp://host:8786 or its file.json, whose workers read the table in batches.",
    ),
]


@contextmanager
def going_on(workspace: Path) -> Iterator[None]:
    """Whoever stops a run is told that it can go on, where something of it is kept."""
    try:
        yield
    except KeyboardInterrupt:
        if (workspace / "run.json").exists():
            typer.echo(
                f"What is finished is kept in {workspace} (private). The same command with --resume goes on: nothing is drawn or "
                "charged twice.",
                err=True,
            )
        raise


def in_batches(data: Path, out_of_core: bool, generator: Any, **whole: object) -> bool:
    """Whether a table is read in batches; refused where the method cannot, or where an option needs the `whole` table."""
    from understudy.engines.sources import is_many

    if not (out_of_core or is_many(data)):
        return False
    if not generator.takes_batches:
        raise InputError(
            f"method {generator.method!r} needs all rows in memory; {data} is read in batches. Use the method moments, or give one "
            "file that fits. Nothing was spent."
        )
    for name, value in whole.items():
        if value:
            raise InputError(
                f"--{name.replace('_', '-')} and a table that is read in batches do not go together yet: leave it out, or learn from "
                "one file that fits into memory. Nothing was spent."
            )
    return True


@contextmanager
def open_batches(
    data: Path, schema: Schema | None, target: str | None, drop: str | None, only: str | None, sample: Path | None,
    person: str | None, dask: str | None,
) -> Iterator[tuple[RowSource, Schema | None]]:  # fmt: skip
    """The table in parts, with the columns that were asked for, and what is public about them. However it ends, no rows stay behind."""
    from dataclasses import replace

    from understudy.cli.options import read_sample
    from understudy.engines import open_source
    from understudy.tables.aside import chosen_columns
    from understudy.tables.public import schema_with_sample

    adder = None
    if dask is not None:
        from understudy.engines.on_dask import cluster

        adder = cluster(dask)
    source = open_source(data, adder)
    assert source is not None
    with source:
        only = only if only is None or person is None else f'{only},"{person}"'
        types, said = chosen_columns(source.types, schema, target, drop, only)
        if sample is not None:
            said = schema_with_sample(types, said, read_sample(sample, data), target, typed=source.typed)
        yield replace(source, types=types), said


def ready(
    source: RowSource, schema: Schema | None, entry: Entry, generator: Any, target: str | None, delta: float | None,
    owner: Person | None, *, dry_run: bool, yes: bool, as_json: bool,
) -> bool:  # fmt: skip
    """Whether to go on: what the fit takes fits in, or only that was asked for; looks at a few rows for their owner's eyes."""
    from dataclasses import replace

    from understudy.cli.options import ask_about_persons, look_ahead, with_safe_delta
    from understudy.engines import Threads
    from understudy.engines.parts import rows_at_once
    from understudy.release.preflight import table_sizes

    with_safe_delta(generator, delta, source.rows)
    sizes = replace(table_sizes(source.types, schema, target), rows=source.rows)
    # A batch is in memory as it was read, and in codes: far less than the rows of a table that a method works on whole.
    at_once = rows_at_once(source.types.shape[1]) * Threads().number // 4
    if look_ahead(entry, generator, sizes, dry_run, as_json, at_once=at_once):
        return False
    if owner is None:
        first = next(iter(source.parts[0].batches(list(map(str, source.types.columns)))))
        ask_about_persons(first, generator.method, yes or as_json)
    return True
