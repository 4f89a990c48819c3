"""CSV text to an Arrow table: public files with errors that name the place, private ones with none for what rows say."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv as arrow_csv

from understudy.errors import InputError
from understudy.untrusted import check_expansion, open_regular

pc: Any = pyarrow.compute  # its functions are made when it is imported
MISSING = ("", "NA", "NaN")
LONGEST_LINE = 16 * 2**20
MOST_COLUMNS = 20_000
_BLOCK_LIMIT = 2**31 - 1
_LEADING_ZERO = re.compile(rb'[,"\r\n][-+]?0[0-9]')


def read_csv(path: Path) -> pa.Table:
    """The table in a UTF-8, comma-separated file with a header line, .csv or .csv.gz. For rows that are public.

    Types are inferred from the whole file, so that a late surprise makes a column text instead of an error. Digits of
    which some begin with a zero are a code, and stay text.
    """
    size, zeros = _scan(path)

    def read(**options: Any) -> pa.Table:
        return arrow_csv.read_csv(
            path,
            # One thread: only then does a parse error know its row.
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=min(size + 1, _BLOCK_LIMIT)),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(null_values=list(MISSING), strings_can_be_null=True, **options),
        )

    try:
        table = read()
        digits = [field.name for field in table.schema if pa.types.is_integer(field.type)]
        if zeros and digits and len(set(table.column_names)) == len(table.column_names):
            texts = read(include_columns=digits, column_types=dict.fromkeys(digits, pa.string()))
            codes = [n for n in digits if pc.any(pc.match_substring_regex(texts.column(n), r"^[-+]?0[0-9]")).as_py()]
            for name in codes:
                table = table.set_column(table.column_names.index(name), name, texts.column(name))
        return table
    except pa.ArrowInvalid as error:
        message = str(error)
        if "Expected" in message and "columns, got" in message:
            message = message.partition("CSV parse error: ")[2].partition(": ")
            row, rest = (message[0], message[2]) if message[0].startswith("Row") else ("a row", "".join(message))
            expected = rest.partition(": ")[0].replace("Expected", "expected")
            raise InputError(
                f"{path}: the rows are not all of one length; {row.lower()} (the header is row #1): {expected}. "
                "Repair that row; a comma inside a value needs quotes around it."
            ) from None
        raise InputError(f"{path}: this is not a CSV table: {message}.") from None


def read_private_csv(path: Path) -> tuple[pa.Table, int]:
    """Looks at private rows: every cell as text, and how many lines could not be read, which is private too.

    Only the header can be refused. A line with too few or too many cells, or with bytes that are no text, is a blank row,
    in its place. What a column holds is not told from the rows: that is looked at later, and paid for.
    """
    size, zeros, long = _measure(path)
    text = _without_long_lines(path) if long else path
    return _private_cells(text, path, _header(path), min(size + 1, _BLOCK_LIMIT), zeros, first=True)


def private_csv_batches(path: Path, most: int = LONGEST_LINE) -> Iterator[pa.Table]:
    """Looks at private rows: as `read_private_csv`, so many bytes at a time, cut at an end of line outside of quotes."""
    names = _header(path)
    rest, first = b"", True
    for chunk in _cut(path, most):
        if first:
            _check_start(path, chunk)
            _check_columns(path, chunk)
        rest += chunk
        end = _end_of_rows(rest)
        if end and not (first and not rest[:end].strip()):
            yield _private_cells(io.BytesIO(rest[:end]), path, names, end + 1, b"\0" in rest[:end], first=first)[0]
            rest, first = rest[end:], False
    if rest.strip(b"\r\n") or first:
        _check_start(path, rest) if first else None
        yield _private_cells(io.BytesIO(rest), path, names, len(rest) + 1, b"\0" in rest, first=first)[0]


def _cut(path: Path, most: int) -> Iterator[bytes]:
    for chunk in _chunks(path, own=True):
        for at in range(0, len(chunk), most):
            yield chunk[at : at + most]


def _end_of_rows(text: bytes) -> int:
    """The place behind the last end of line before which quotes are even; 0 where there is none."""
    end = text.rfind(b"\n") + 1
    quotes = text.count(b'"', 0, end)
    while end and quotes % 2:
        before = text.rfind(b"\n", 0, end - 1) + 1
        quotes -= text.count(b'"', before, end)
        end = before
    return end


def _private_cells(
    text: Path | io.BytesIO, path: Path, names: list[str], size: int, zeros: bool, *, first: bool
) -> tuple[pa.Table, int]:
    """Private. The cells of a text, whose `first` line is the header or not, and how many lines could not be read."""
    ragged: list[int] = []

    def blank(row: arrow_csv.InvalidRow) -> str:
        ragged.append(row.number - (2 if first else 1))  # the header is row 1
        return "skip"

    try:
        table = arrow_csv.read_csv(
            text,
            read_options=arrow_csv.ReadOptions(
                use_threads=False, block_size=size, column_names=None if first else names
            ),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=blank),
            convert_options=arrow_csv.ConvertOptions(
                null_values=list(MISSING), strings_can_be_null=True, column_types=dict.fromkeys(names, pa.binary())
            ),
        )
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: this is not a CSV table: {error}.") from None
    if set(table.column_names) != set(names):
        raise InputError(
            f"{path}: the header line cannot be told into names. Write it plainly, with commas between them."
        )
    unread = _unreadable(table, zeros)
    there = np.ones(len(table) + len(ragged), dtype=bool)
    there[ragged] = False
    at = np.zeros(len(there), dtype=np.int64)
    at[there] = np.arange(len(table))
    there[there] = ~unread
    index = pa.array(at, mask=~there)  # a place without an index is a row without a cell
    columns = table.columns if there.all() else [column.take(index) for column in table.columns]
    texts = [column.cast(pa.string()) for column in columns]
    return pa.table(texts, names=table.column_names), int(np.count_nonzero(~there))


def _unreadable(table: pa.Table, zeros: bool) -> np.ndarray:
    """Private. Which rows hold bytes that are no UTF-8, or a zero byte, if there is any."""
    bad = np.zeros(len(table), dtype=bool)
    for column in table.columns:
        try:
            column.cast(pa.string())
            suspect = zeros
        except pa.ArrowInvalid:
            suspect = True
        if suspect:
            bad |= np.array([not _is_text(cell) for cell in column.to_pylist()], dtype=bool)
    return bad


def _is_text(cell: bytes | None) -> bool:
    try:
        return cell is None or "\0" not in cell.decode()
    except UnicodeDecodeError:
        return False


def _measure(path: Path) -> tuple[int, bool, bool]:
    """How many bytes there are, whether any is zero, and whether a line is too long, after a look at the beginning."""
    size, zeros, long = 0, False, False
    for chunk in _chunks(path, own=True):
        if size == 0:
            _check_start(path, chunk)
            _refuse_long(path, chunk, size)
            _check_columns(path, chunk)
        zeros |= b"\0" in chunk
        long |= _endless(chunk)
        size += len(chunk)
    if size == 0:
        raise InputError(f"{path} is empty: there is not even a header line.")
    return size, zeros or long, long


def _without_long_lines(path: Path) -> io.BytesIO:
    """Private. The file with a zero byte in place of each line that is too long to be a row: it is then a blank one."""
    kept, line, long = io.BytesIO(), bytearray(), False
    for chunk in _chunks(path, own=True):
        for piece in chunk.splitlines(keepends=True):
            long = long or len(line) + len(piece) > LONGEST_LINE
            line = bytearray() if long else line + piece
            if piece.endswith((b"\n", b"\r")):
                kept.write(b"\0\n" if long else line)
                line, long = bytearray(), False
    kept.write(b"\0" if long else line)
    kept.seek(0)
    return kept


def _endless(chunk: bytes) -> bool:
    """Whether a line goes on for a whole chunk: one longer than two of them does."""
    return len(chunk) == LONGEST_LINE and b"\n" not in chunk and b"\r" not in chunk


def _refuse_long(path: Path, chunk: bytes, size: int) -> None:
    if _endless(chunk):
        raise InputError(
            f"{path}: a line of more than {LONGEST_LINE >> 20} MB (no end of line after byte {size}). "
            "A CSV has one line for each row; is this another kind of file?"
        )


def _check_columns(path: Path, chunk: bytes) -> None:
    if (columns := _first_line(chunk).count(b",") + 1) > MOST_COLUMNS:
        raise InputError(f"{path}: the header has {columns:,} columns; at most {MOST_COLUMNS:,} are read.")


def _header(path: Path) -> list[str]:
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    # What is no text after the header must not be met here: the file is decoded in pieces.
    with opener(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        try:
            names = next((line for line in csv.reader(file) if line), [])
        except csv.Error:
            names = ["\0"]
    if any("\0" in name or any("\ud800" <= letter <= "\udfff" for letter in name) for name in names):
        raise InputError(
            f"{path}: the header line is not UTF-8 text. Text from spreadsheets is often Windows-1252. "
            + _convert("WINDOWS-1252")
        )
    return names


def _scan(path: Path) -> tuple[int, bool]:
    """How many bytes there are, after a check of all of them with one chunk in memory at a time.

    Also whether any cell could be digits that begin with a zero.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    size, zeros, last = 0, False, b""
    for chunk in _chunks(path):
        zeros = zeros or _LEADING_ZERO.search(last + chunk) is not None
        last = chunk[-4:]
        if size == 0:
            _check_start(path, chunk)
        _refuse_long(path, chunk, size)
        if size == 0:
            _check_columns(path, chunk)
        if (nul := chunk.find(b"\0")) >= 0:
            raise InputError(
                f"{path}: a zero byte at offset {size + nul}; this is not text. Is it another kind of file?"
            )
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError as error:
            _refuse_encoding(path, size - pending + error.start, error.object[error.start])
        size += len(chunk)
    pending = decoder.getstate()[0]
    if pending:
        _refuse_encoding(path, size - len(pending), pending[0])
    if size == 0:
        raise InputError(f"{path} is empty: there is not even a header line.")
    return size, zeros


def _chunks(path: Path, *, own: bool = False) -> Iterator[bytes]:
    """The file piece by piece, unpacked. How well a file packs depends on its rows: one's `own` is not refused for it."""
    packed = path.name.lower().endswith(".gz")
    unpacked = 0
    try:
        with open_regular(path) as file, gzip.open(file) if packed else nullcontext(file) as stream:
            stored = os.fstat(file.fileno()).st_size
            while chunk := stream.read(LONGEST_LINE):
                unpacked += len(chunk)
                if packed and not own:
                    check_expansion(path, stored, unpacked)
                yield chunk
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: the compressed file is damaged: {error}. Copy or download it again.") from None


def _check_start(path: Path, chunk: bytes) -> None:
    for magic, what, hint in (
        (b"PAR1", "a Parquet file", "Name it .parquet."),
        (b"ARROW1", "a Feather file", "Name it .feather."),
        (b"\x1f\x8b", "compressed", "Name it .csv.gz."),
        (b"PK\x03\x04", "a zip archive or spreadsheet", "Save it as CSV."),
        (b"\xff\xfe", "UTF-16 text", _convert("UTF-16")),
        (b"\xfe\xff", "UTF-16 text", _convert("UTF-16")),
    ):
        if chunk.startswith(magic):
            raise InputError(f"{path} is {what} (its first bytes say so), not UTF-8 text. {hint}")
    if not chunk.removeprefix(codecs.BOM_UTF8).strip():
        raise InputError(f"{path} holds only white space: there is not even a header line.")
    header = _first_line(chunk).decode(errors="replace")
    for separator, word in ((";", "semicolons"), ("\t", "tabs")):
        if "," not in header and separator in header:
            raise InputError(
                f"{path}: the header has {word} and no comma. Say so: --separator {separator!r}; or save it with commas, or "
                f"read it with pandas.read_csv(..., sep={separator!r}) and pass the frame."
            )


def _first_line(chunk: bytes) -> bytes:
    return chunk.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n").splitlines()[0]


def _refuse_encoding(path: Path, offset: int, byte: int) -> None:
    raise InputError(
        f"{path}: byte {byte:#04x} at offset {offset} is not UTF-8. Text from spreadsheets is often Windows-1252: --encoding "
        "cp1252. " + _convert("WINDOWS-1252")
    )


def _convert(encoding: str) -> str:
    return f"Convert it: iconv -f {encoding} -t UTF-8 OLD.csv > NEW.csv"
