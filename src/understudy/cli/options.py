"""Options that several commands share: a ledger to charge, any setting of a method as NAME=VALUE, a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from understudy.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from understudy.registry import Entry
    from understudy.release.preflight import PublicSizes
    from understudy.tables import Schema
    from understudy.tables.io import PrivateTable
    from understudy.tables.persons import Person

LedgerOption = Annotated[str | None, typer.Option("--ledger", help="Charge this ledger. Needs --dataset.")]
DatasetOption = Annotated[str | None, typer.Option("--dataset", help="Name of the dataset in the ledger.")]
StrictOption = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Refuse a table with rows that do not fit, instead of leaving them out. That tells: whoever learns of the "
        "refusal learns something about the rows.",
    ),
]
SettingsOption = Annotated[
    list[str] | None, typer.Option("--set", help="Any other setting of the method, as NAME=VALUE; may be repeated.")
]

DeltaOption = Annotated[
    float | None,
    typer.Option(
        "--delta", help="The failure probability of the guarantee; 1e-5, or less where the rows are many, if left out."
    ),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what the fit would take, from public sizes, and stop. Spends nothing.")
]

SeparatorOption = Annotated[str | None, typer.Option(help="What stands between the cells of a text file, as ';'.")]
DecimalOption = Annotated[str | None, typer.Option(help="The decimal mark of a text file: a comma goes with ';'.")]
EncodingOption = Annotated[str | None, typer.Option(help="The encoding of a text file; UTF-8 if left out.")]
DATA_HELP = (
    "The private table: a file (.csv, .tsv, .parquet, .feather, .xlsx, .json, .dta, .sav, ...; packed or not), FILE.db::TABLE, "
    "postgresql://…::TABLE, duckdb:QUERY, or a named dataset."
)
DropOption = Annotated[str | None, typer.Option("--drop", help="Columns to leave out, with commas between them.")]
OnlyOption = Annotated[str | None, typer.Option("--only", help="The only columns to take, beside the target.")]
RuleOption = Annotated[
    list[str] | None,
    typer.Option("--rule", help="What holds in every row, as 'discharge >= admission'; may be repeated. Public."),
]
PersonOption = Annotated[
    str | None,
    typer.Option("--person", help="The column that says whose a row is: the promise is for a person with all rows."),
]
RowsPerPersonOption = Annotated[
    str | None,
    typer.Option(
        "--rows-per-person",
        help="With --person: the most rows of one person that are taken; auto: chosen by a look for 3 % of the precision.",
    ),
]
ClassesOption = Annotated[
    str | None,
    typer.Option("--classes", help="The names of all classes, a,b,c, where an image set does not hold them."),
]
SizeOption = Annotated[
    str | None,
    typer.Option(
        "--size", help="What pictures in folders or Parquet are brought to: 28, or 28x20 (height x width); else 32."
    ),
]
GreyOption = Annotated[bool, typer.Option("--grey", help="Take pictures in folders or Parquet without their colours.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Ask nothing, and go on.")]

Tell = Callable[[int, int, str], None]
"""Called with (done, total, words)."""


def with_safe_delta(estimator: Any, delta: float | None, rows: int) -> None:
    """Where nobody named a delta: one that is safe for the number of rows, which is public."""
    from understudy.release.preflight import safe_delta

    if delta is None and estimator.private:
        estimator.set_params(delta=safe_delta(rows))


def with_records(
    estimator: Any, delta: float | None, sizes: PublicSizes, records: Any, owner: Person | None, *, linked: bool = False
) -> PublicSizes:
    """Public sizes, and a delta that goes with them: of persons their number, and the most rows that they can have.

    `linked`: the records are the persons themselves, and their rows stand in another table.
    """
    from dataclasses import replace

    from understudy.tables.persons import count_persons
    from understudy.tables.rows_per_person import most_rows

    persons = None if owner is None else len(records) if linked else count_persons(records, owner)
    with_safe_delta(estimator, delta, len(records) if persons is None else persons)
    return sizes if persons is None or owner is None else replace(sizes, rows=persons * most_rows(owner))


def read_rows(text: str | None) -> int | str | None:
    """The most rows of a person as they are written on the command line: a whole number, or `auto`."""
    if text is None or text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--rows-per-person {text!r} must be a whole number from 1 on, or auto.") from None


def delta_for(delta: float | None, rows: int) -> float:
    """The delta of a command: the one that was named, with a warning where it is too large for so many rows, or a safe one."""
    from understudy.release.preflight import delta_warning, safe_delta

    if delta is None:
        return safe_delta(rows)
    if said := delta_warning(delta, rows):
        typer.echo(f"Warning: {said}", err=True)
    return delta


def make(entry: Entry, epsilon: float, delta: float | None, given: Mapping[str, Any], extra: Sequence[str]) -> Any:
    """The estimator of a method with the options that were given; one that it does not have is refused.

    Epsilon and delta have options of their own, which a ledger goes by: no setting may say them by the back door.
    """
    kind = entry.load()
    chosen = {name: value for name, value in given.items() if value is not None}
    if kind.private:
        chosen |= {"epsilon": epsilon} | ({} if delta is None else {"delta": delta})
    for text in extra:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--set {text!r}: write it as NAME=VALUE.")
        if name in ("epsilon", "delta"):
            raise InputError(f"--set {text!r}: say it with --{name}, which is what a ledger is charged.")
        chosen[name] = read_value(value)
    try:
        return kind.from_settings(**chosen)
    except InputError as error:
        raise InputError(f"method {entry.name!r}: {error}") from None


def look_ahead(
    entry: Entry, estimator: Any, sizes: Any, dry_run: bool, as_json: bool, *, at_once: int | None = None
) -> bool:
    """Refuse what cannot fit into memory; with `dry_run` say what the fit would take, and True.

    `at_once`: how many rows are in memory at the same time, where these are not all.
    """
    from dataclasses import replace

    from understudy.cli.app import print_json

    expected = entry.needs.estimate(sizes, _flat(estimator.get_params()))
    if at_once is not None:
        held = entry.needs.estimate(replace(sizes, rows=min(sizes.rows, at_once)), _flat(estimator.get_params()))
        expected = replace(expected, bytes=held.bytes)
    if not dry_run:
        expected.refuse_unfit()
        return False
    facts = {"rows": sizes.rows, "width": sizes.width, "classes": sizes.classes}
    if as_json:
        print_json({"method": entry.name, "bytes": expected.bytes, "seconds": expected.seconds, **facts})
    else:
        typer.echo(f"{entry.name}: {expected.words()}, roughly. Nothing was spent.")
    return True


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers by their last name: `training__batch` is `batch`."""
    return {name.rpartition("__")[2]: value for name, value in settings.items() if type(value) is int}


def source(text: str) -> Path:
    """A table as it is named on the command line: a file, a place in a database, or a named dataset."""
    from understudy.tables.formats import TableSource, as_source

    path = Path(text)
    if not path.suffix and not path.exists() and ":" not in text:
        from understudy import datasets

        if text in datasets.names() and datasets.info(text).kind == "table":
            told = {"schema": datasets.schema(text), "rows": datasets.info(text).rows}
            return cast(Path, TableSource(text, load=lambda: datasets.load_table(text).frame, **told))
    other = as_source(text)
    return path if other is None or other.exists() else cast(Path, other)


SampleOption = Annotated[
    Path | None,
    typer.Option(
        "--public-sample",
        help="A table of public rows: what it says of the columns that it has is free.",
        parser=source,
    ),
]


def read_chosen(
    data: Path,
    schema: Schema | None,
    target: str | None,
    drop: str | None,
    only: str | None,
    sample: Path | None = None,
    *,
    strict: bool,
    empty_allowed: bool = False,
    person: str | None = None,
) -> tuple[PrivateTable, Schema | None]:
    """Reads private rows: the columns that were asked for, and what is public about them. The column `person` stays."""
    from dataclasses import replace

    from understudy.release.intake import read_rows
    from understudy.tables.aside import chosen_columns
    from understudy.tables.public import schema_with_sample
    from understudy.tables.written import as_read

    schema = schema or getattr(data, "schema", None)
    table = read_rows(data, schema, target, strict=strict, empty_allowed=empty_allowed)
    only = only if only is None or person is None else f'{only},"{person}"'
    frame, said = chosen_columns(table.frame, schema, target, drop, only)
    if sample is not None:
        said = schema_with_sample(frame, said, read_sample(sample, data), target, typed=table.typed)
    return replace(table, frame=as_read(frame, said)), said


def read_sample(sample: Path, data: Path) -> pd.DataFrame:
    """The public rows, refused where they are the private table itself."""
    from understudy.tables.io import read_private

    public = read_private(sample).frame
    if isinstance(data, Path) and isinstance(sample, Path) and data.exists() and sample.samefile(data):
        raise InputError(
            f"--public-sample {sample} is the private table itself. Give other rows, which anybody may see already."
        )
    return public


def read_value(text: str) -> Any:
    """A number, true, false, null or a list as JSON has them; anything else is text."""
    import json

    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return tuple(value) if isinstance(value, list) else value


def tell_owner(*sentences: str) -> None:
    """What only the owner of the rows may know: in one place, so that the rest of the output may be shown to anybody."""
    typer.echo("For your eyes only, not part of the release: " + "; ".join(sentences) + ".")


def ask_about_persons(frame: pd.DataFrame, method: str, yes: bool) -> None:
    """Looks at private rows, for their owner's eyes: where somebody seems to have several, ask before anything is spent."""
    import sys

    from understudy.tables.persons import repeating_ids

    for name, (values, most) in repeating_ids(frame).items():
        typer.echo(
            f"For your eyes only: the column {name!r} looks as if it said whose a row is, and one of its {values:,} values is in "
            f"{most:,} rows. {method} would promise for one row, and protect somebody with several less. For a promise for one "
            f"person with all rows say --person {name} --rows-per-person K, with K from what is publicly known.",
            err=True,
        )
        if not yes and sys.stdin.isatty():
            typer.confirm("Go on, with a promise for one row?", abort=True, err=True)
        return


def ask_about_numbers(frame: pd.DataFrame, target: str, yes: bool) -> None:
    """Looks at private rows, for their owner's eyes: where a class to be seems to be a number, ask before anything is spent."""
    import sys

    import pandas as pd

    from understudy.evaluation.features import QUANTITY
    from understudy.tables.io import column_of

    if target not in frame.columns:
        return  # the fit refuses it, and says which column may have been meant
    numbers = pd.Series(pd.to_numeric(column_of(frame, target), errors="coerce")).dropna()
    values = numbers.nunique()
    if values <= QUANTITY or 2 * len(numbers) < len(frame):
        return
    typer.echo(
        f"For your eyes only: {target!r} looks like a number, with {values:,} values, and each would be a class of its "
        "own. Cut it into a few classes first; `understudy synthesize` takes numbers as they are.",
        err=True,
    )
    if not yes and sys.stdin.isatty():
        typer.confirm("Go on all the same?", abort=True, err=True)


def tell_verdict(estimator: Any, as_json: bool) -> None:
    """What the release says of itself, before it is written."""
    if not as_json:
        typer.echo(f"Verdict: {estimator.verdict_.sentence()}")
        if (check := estimator.certificate_.body["release"].get("check")) is not None:
            typer.echo(f"Check: {check['sentence']}")


@contextmanager
def progress_bar(title: str, shown: bool) -> Iterator[Tell]:
    """A bar with the time left on the error stream; nothing for machines."""
    if not shown:
        yield lambda done, total, words: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    with Progress(*columns, TextColumn("{task.fields[words]}"), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, words="")
        yield lambda done, total, words: bar.update(task, total=total, completed=done, words=words)
