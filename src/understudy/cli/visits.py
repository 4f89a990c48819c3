"""Options for rows of a person in their order, and for a table of persons beside that of their rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.options import read_chosen, source
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.tables import Schema
    from understudy.tables.io import PrivateTable
    from understudy.tables.mending import Mended
    from understudy.tables.persons import Person

OrderOption = Annotated[
    str | None,
    typer.Option(
        "--order", help="With --person: the column by which a person's rows stand in time. Whole persons are drawn."
    ),
]
ConstantOption = Annotated[
    str | None,
    typer.Option("--constant", help="With --order: columns that stay the same for a person, with commas between them."),
]
ChildOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--child", help="The table of the persons' rows, where DATA has one row for each person.", parser=source
    ),
]
KeyOption = Annotated[str | None, typer.Option("--key", help="With --child: the column that joins the two tables.")]
ChildOutOption = Annotated[
    Path | None,
    typer.Option(help="File for the rows of persons, OUT being for the persons; OUT-child if left out, with --child."),
]


def one_child(
    child: list[Path] | None, key: str | None, person: str | None, out: Path, child_out: Path | None
) -> tuple[Path | None, str | None, Path | None]:
    """The child table, whose a row is, and where rows of persons go; what cannot be kept is refused."""
    if len(child or ()) > 1:
        raise InputError(
            f"--child was given {len(child or ())} times: two tables are learnt together, and not yet more. Join what belongs to one "
            "row into one child table; or make a release for each child table with the same table of persons, and know that their "
            "costs add up and that they draw different persons."
        )
    if (child is None or not child) != (key is None):
        raise InputError("--child and --key belong together: the table of rows, and the column that both tables have.")
    if key is not None and person not in (None, key):
        raise InputError(f"--key {key} says whose a row is already: leave --person {person} out.")
    return child[0] if child else None, key or person, child_path(out, child_out, linked=bool(child))


def read_tables(
    data: Path,
    child: Path | None,
    schema: Schema | None,
    target: str | None,
    chosen: tuple[str | None, str | None, Path | None],
    text: tuple[str | None, str | None, str | None],
    *,
    strict: bool,
    person: str | None,
) -> tuple[PrivateTable, PrivateTable | None, Schema | None]:
    """Reads private rows: those of the table, and of the child table if there is one; and what is public about them.

    `chosen` are --drop, --only and --public-sample, `text` how text files are written.
    """
    from understudy.release.intake import require_fit
    from understudy.tables import read_table
    from understudy.tables.aside import narrowed
    from understudy.tables.formats import with_text_options

    data = with_text_options(data, *text)
    if child is None:
        table, said = read_chosen(data, schema, target, *chosen, strict=strict, person=person)
        return table, None, said
    if any(given is not None for given in chosen):
        raise InputError(
            "--drop, --only and --public-sample do not go with --child: leave the columns out of the files."
        )
    under = with_text_options(child, *text)
    below, _ = read_chosen(under, schema, None, None, None, strict=False)
    table, said = read_chosen(data, schema, None, None, None, strict=False)
    for path, part in ((data, table), (under, below)) if strict else ():
        known = [str(name) for name in part.frame.columns]
        require_fit(read_table(path), None if schema is None else narrowed(schema, known), None)
    return table, below, said


def listed_names(text: str | None) -> list[str]:
    """Names with commas between them."""
    import csv

    return [] if text is None else [name for name in next(csv.reader([text], skipinitialspace=True), []) if name]


def child_path(out: Path, child_out: Path | None, *, linked: bool) -> Path | None:
    """Where the rows of persons go, if not beside what belongs to their persons."""
    from understudy.tables import check_table_path

    if child_out is None and linked:
        stem, dot, ending = out.name.partition(".")
        child_out = out.with_name(f"{stem}-child{dot}{ending}")
    if child_out is not None:
        check_table_path(child_out)
        if child_out.resolve() == out.resolve():
            raise InputError(f"--child-out (={child_out}) and --out are the same file.")
    return child_out


WORDS = {
    "beyond_rows_per_person": "rows are beyond those taken of their person",
    "without_person": "rows name no person and were left out",
    "without_order": "rows have no place in the order and were left out",
    "second_rows": "persons have the key of another one and were left out",
}


def left_out_of(
    table: PrivateTable,
    below: PrivateTable | None,
    owner: Person | None,
    schema: Schema | None,
    *,
    strict: bool = False,
) -> dict[str, int] | None:
    """Private, for the owner's eyes: how many rows of persons are left out, and why. With `strict` such rows are refused."""
    from understudy.release.visits import rows_left_out

    if owner is None:
        return None
    frames = (table.frame, None) if below is None else (below.frame, table.frame)
    found = rows_left_out(*frames, owner, schema)
    lost = [f"{n} {WORDS[why]}" for why, n in found.items() if n and why != "beyond_rows_per_person"]
    if strict and lost and "without_order" in found:
        raise InputError(f"{'; '.join(lost)}. (Refused because of `--strict`; without it they are left out.)")
    return found


def mended_tables(table: PrivateTable, below: PrivateTable | None, generator: Any) -> Mended:
    """Private, for the owner's eyes: what of one table or of two did not fit."""
    from understudy.tables.aside import narrowed
    from understudy.tables.mending import Mended, mended

    absent = generator.certificate_.body["release"].get("not_learnt", ())
    if below is None:
        return mended(table, generator.schema_, absent)
    found: list[Mended] = []
    for part in (table, below):
        if (schema := narrowed(generator.schema_, [str(name) for name in part.frame.columns])) is not None:
            found.append(mended(part, schema, absent))
    rows = {what: sum(one.rows.get(what, 0) for one in found) for what in found[0].rows}
    return Mended(rows, {name: cells for one in found for name, cells in one.cells.items()})
