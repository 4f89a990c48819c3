"""Tables in files of many kinds, and in databases, as Arrow tables.

What a file's own dictionary says of its types (Stata, SPSS, SAS, DuckDB, PostgreSQL) is public, as its names are. All other
kinds hold types in their rows, so every cell comes as text and what a column is has to be declared or paid for. For the same
reason separator, decimal mark and encoding are said, never found out from the rows.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from understudy.errors import InputError
from understudy.tables.csv_file import MISSING
from understudy.untrusted import check_expansion
from understudy.wording import did_you_mean, listed

if TYPE_CHECKING:
    import pandas as pd

    from understudy.tables.schema import Schema

PACKED = (".gz", ".xz", ".zip", ".bz2")
TEXTS = (".csv", ".tsv", ".txt", ".tab")
RECORDS = (".json", ".jsonl", ".ndjson")
LABELLED = (".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt")
BOOKS = (".xlsx", ".xlsm")
SQLITE = (".db", ".sqlite", ".sqlite3")
DUCKDB = (".duckdb", ".ddb")
_PIECE = 1 << 24
READABLE = (*TEXTS, *RECORDS, *LABELLED, *BOOKS, *SQLITE, *DUCKDB)


@dataclass(frozen=True)
class TableSource(os.PathLike[str]):
    """Where a table is and how its text is to be read.

    `load` gives the rows of one that has no file, such as a named set, of which `schema` and `rows` (their number) are public.
    """

    text: str
    separator: str | None = None
    decimal: str = "."
    encoding: str = "utf-8-sig"
    load: Callable[[], pd.DataFrame] | None = None
    schema: Schema | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and len(self.separator) != 1:
            raise InputError(f"--separator {self.separator!r} must be one character; write $'\\t' for a tab.")
        if self.decimal not in (".", ","):
            raise InputError(f"--decimal {self.decimal!r} must be a point or a comma.")
        if self.decimal == "," and self.separator == ",":
            raise InputError("--decimal , needs another --separator, such as ';'.")
        try:
            "".encode(self.encoding)
        except LookupError:
            raise InputError(f"--encoding {self.encoding!r} is unknown; utf-8, cp1252 and latin-1 are usual.") from None

    def __fspath__(self) -> str:
        return self.text

    def __str__(self) -> str:
        return re.sub(
            r"(?<=[?&]password=)[^&:]*", "…", re.sub(r"://[^/@]*@", "://…@", self.text)
        )  # no password in a message

    @property
    def name(self) -> str:
        return str(self) if "://" in self.text else Path(self.text.partition("::")[0]).name

    @property
    def suffix(self) -> str:
        return Path(self.text.partition("::")[0]).suffix

    def exists(self) -> bool:
        return Path(self.text.partition("::")[0]).exists()

    @property
    def plain(self) -> bool:
        """Whether it is a file that needs no more than its name."""
        return self.load is None and (self.separator, self.decimal, self.encoding) == (None, ".", "utf-8-sig")


def as_source(source: object) -> TableSource | None:
    """A source of one of the kinds that are read here; None for the kinds that `tables.io` reads itself."""
    if not isinstance(source, str | os.PathLike):
        return None
    made = source if isinstance(source, TableSource) else TableSource(os.fspath(source))  # pyright: ignore[reportArgumentType]
    if not made.plain or _scheme(made.text) or "::" in made.text:
        return made
    ending = _ending(made.text)
    ours = ending[0] in READABLE and ending not in ((".csv", ""), (".csv", ".gz"))
    return made if ours else None


def has_types(source: TableSource) -> bool:
    """Whether the file's own dictionary says what its columns are."""
    if source.load is not None or _scheme(source.text) == "postgresql":
        return True
    if _scheme(source.text) == "duckdb":
        return not re.search(r"csv|json", source.text, re.IGNORECASE)  # DuckDB tells their types from the rows
    return _ending(source.text)[0] in (*LABELLED, *DUCKDB)


def read(source: TableSource) -> pa.Table:
    """Reads private rows: the table, with text in every cell where the rows alone could tell the types."""
    return pa.concat_tables(list(batches(source)))


def batches(source: TableSource) -> Iterator[pa.Table]:
    """Reads private rows: as `read`, a bounded number at a time from databases; other kinds come as a whole."""
    try:
        yield from _read(source)
    except FileNotFoundError:
        raise InputError(f"there is no file {source.text.partition('::')[0]}.") from None
    except (OSError, EOFError, zipfile.BadZipFile, LookupError) as error:
        raise InputError(f"cannot read {source}: {getattr(error, 'strerror', None) or error}.") from None


def _read(source: TableSource) -> Iterator[pa.Table]:
    if source.load is not None:
        yield pa.Table.from_pandas(source.load(), preserve_index=False)
        return
    scheme = _scheme(source.text)
    place, _, inside = source.text.partition("::")
    path, (kind, packed) = Path(place), _ending(place)
    if scheme is not None or kind in (*SQLITE, *DUCKDB):
        from understudy.tables import databases

        if scheme is not None:
            yield from {"postgresql": databases.postgresql, "duckdb": databases.duckdb_query}[scheme](source.text)
        elif kind in DUCKDB:
            yield from databases.duckdb_file(path, inside or None)
        else:
            yield databases.sqlite(path, inside or None)
        return
    yield _read_file(source, path, kind, packed, inside)


def _read_file(source: TableSource, path: Path, kind: str, packed: str, inside: str) -> pa.Table:
    if kind in LABELLED:
        return _labelled(path)
    if kind in BOOKS:
        return _book(path, inside or None)
    if kind in (".parquet", ".pq", ".feather", ".arrow"):
        raise InputError(f"{source}: --separator, --decimal and --encoding are for text such as .csv, not {kind}.")
    with _opened(path, packed) as raw, io.TextIOWrapper(raw, source.encoding, errors="replace", newline="") as text:
        if kind in RECORDS:
            return _records(text, path, kind)
        separator = source.separator or ("\t" if kind in (".tsv", ".tab", ".txt") else ",")
        return _separated(text, path, separator, source.decimal)


def _scheme(text: str) -> str | None:
    match = re.match(r"(postgres(?:ql)?|duckdb):", text)
    return None if match is None else "duckdb" if match[1] == "duckdb" else "postgresql"


def _ending(text: str) -> tuple[str, str]:
    """The suffix of the table, and that of what it is packed in."""
    suffixes = [suffix.lower() for suffix in Path(text.partition("::")[0]).suffixes]
    if not suffixes:
        return "", ""
    if suffixes[-1] in PACKED:
        inner = suffixes[-2] if len(suffixes) > 1 else ".csv"
        return (inner if inner in READABLE else ".csv"), suffixes[-1]
    return suffixes[-1], ""


def _opened(path: Path, packed: str) -> IO[bytes]:
    """The bytes of a file, unpacked, refused where they grow beyond what a table can."""
    if not packed:
        return path.open("rb")
    stored = path.stat().st_size
    if packed == ".zip":
        archive = zipfile.ZipFile(path)
        files = [info for info in archive.infolist() if not info.is_dir() and not info.filename.startswith("__MACOSX")]
        if len(files) != 1:
            raise InputError(
                f"{path} holds {len(files)} files ({listed([f.filename for f in files], 3)}); give one table."
            )
        stream: IO[bytes] = archive.open(files[0])
    else:
        import bz2
        import gzip
        import lzma

        stream = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}[packed](path, "rb")  # pyright: ignore
    whole = io.BytesIO()
    with stream:
        while True:
            try:
                part = stream.read(_PIECE)
            except Exception as error:  # each packer has errors of its own
                raise InputError(
                    f"{path}: the compressed file is damaged: {error}. Copy or download it again."
                ) from None
            if not part:
                break
            whole.write(part)
            check_expansion(path, stored, whole.tell())
    whole.seek(0)
    return whole


def as_text(names: Sequence[str], rows: Iterable[Sequence[object] | None]) -> pa.Table:
    """Rows of text under their names; a row that is None, or of another length, is blank, in its place."""
    blank = (None,) * len(names)
    kept = [blank if row is None or len(row) != len(names) else row for row in rows]
    columns = [
        [None if cell is None or cell in MISSING else str(cell) for cell in column]
        for column in zip(*kept, strict=True)
    ]
    columns = columns or [[] for _ in names]
    return pa.table([pa.array(column, pa.string()) for column in columns], names=list(names))


def _separated(text: IO[str], path: Path, separator: str, decimal: str) -> pa.Table:
    csv.field_size_limit(16 * 2**20)
    reader = csv.reader(text, delimiter=separator)
    names = [name.strip() for name in next(reader, [])]
    if not any(names):
        raise InputError(f"{path} has no header line.")
    if len(names) == 1:
        other = next((mark for mark in (",", ";", "\t", "|") if mark in names[0] and mark != separator), None)
        if other is not None:
            raise InputError(
                f"{path}: the header has no {separator!r}. Say what stands between the names: --separator {other!r}"
            )

    def rows() -> Iterable[list[str] | None]:
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error:
                yield None
                continue
            if row:
                torn = any("�" in cell or "\0" in cell for cell in row)
                yield None if torn else [_number(cell) for cell in row] if decimal == "," else row

    return as_text(names, rows())


def _number(cell: str) -> str:
    """1.234,5 and 0,5 with a point; anything that is no such number as it is."""
    if re.fullmatch(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?", cell.strip()):
        return cell.strip().replace(",", ".")
    if re.fullmatch(r"[-+]?\d{1,3}(?:\.\d{3})+,\d+", cell.strip()):
        return cell.strip().replace(".", "").replace(",", ".")
    return cell


def _records(text: IO[str], path: Path, kind: str) -> pa.Table:
    """Objects, one a line or in one list; the names of the first stand for all, as a header does."""
    if kind == ".json":
        try:
            found = json.load(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is not JSON: {error}. One object a line is .jsonl.") from None
        if not isinstance(found, list):
            raise InputError(f"{path}: a table in JSON is a list of objects, not {type(found).__name__}.")
    else:
        found = [_line(line) for line in text if line.strip()]
    if not found or not isinstance(found[0], dict):
        raise InputError(f"{path}: there is no first object, which names the columns.")
    names = list(found[0])
    return as_text(
        names, ([_cell(row.get(name)) for name in names] if isinstance(row, dict) else None for row in found)
    )


def _line(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _cell(value: object) -> object:
    """A cell as a CSV would hold it: whole numbers without a fraction, moments with the year first, nothing nested."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else repr(value)
    if hasattr(value, "isoformat"):
        return value.isoformat(sep=" ") if hasattr(value, "hour") and hasattr(value, "year") else value.isoformat()  # pyright: ignore
    return None


def _book(path: Path, sheet: str | None) -> pa.Table:
    try:
        import openpyxl
    except ImportError:
        raise InputError(f"{path}: spreadsheets are read by openpyxl: pip install 'understudy[files]'") from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (KeyError, ValueError, zipfile.BadZipFile, OSError) as error:
        raise InputError(f"{path} is not a whole spreadsheet: {error}. Save it again.") from None
    if sheet is not None and sheet not in book.sheetnames:
        raise InputError(f"{path} has no sheet {sheet!r}.{did_you_mean(sheet, book.sheetnames)}")
    if sheet is None and len(book.sheetnames) > 1:
        raise InputError(
            f"{path} has the sheets {listed(book.sheetnames)}: choose one, as in {path}::{book.sheetnames[0]}"
        )
    rows = book[sheet or book.sheetnames[0]].iter_rows(values_only=True)
    names = [str(name) for name in next(rows, ()) if name is not None]
    if not names:
        raise InputError(f"{path}: the first row must hold the names of the columns.")
    return as_text(names, ([_cell(value) for value in row[: len(names)]] for row in rows))


def _labelled(path: Path) -> pa.Table:
    """Stata, SPSS and SAS: codes as they are, types as the file's dictionary says them."""
    import pandas as pd

    from understudy.tables.codebooks import value_labels

    library = value_labels.pyreadstat(path)
    kinds: dict[str, Any] = {entry.name: entry.kind for entry in value_labels.read(path)}
    frame, said = getattr(library, value_labels.READERS[path.suffix.lower()])(str(path))
    for name in frame.columns:
        if kinds.get(name) == "datetime":
            frame[name] = pd.to_datetime(frame[name], errors="coerce")
        elif said.readstat_variable_types.get(name) == "string":
            frame[name] = frame[name].astype("str").where(frame[name].notna() & (frame[name] != ""))
    return pa.Table.from_pandas(frame, preserve_index=False)


def with_text_options(
    source: Path | TableSource, separator: str | None, decimal: str | None, encoding: str | None
) -> Any:
    """The source with what was said about its text; as it is where nothing was."""
    if separator is None and decimal is None and encoding is None:
        return source
    made = source if isinstance(source, TableSource) else TableSource(os.fspath(source))
    return replace(
        made,
        separator=separator or (";" if decimal == "," else made.separator),
        decimal=decimal or made.decimal,
        encoding=encoding or made.encoding,
    )
