"""CSV text to an Arrow table, with errors that name the place in the file."""

from __future__ import annotations

import codecs
import csv
import gzip
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv

from understudy.errors import InputError

MISSING = ("", "NA", "NaN")
LONGEST_LINE = 16 * 2**20
_BLOCK_LIMIT = 2**31 - 1


def read_csv(path: Path, *, typed: bool = True) -> pa.Table:
    """The table in a UTF-8, comma-separated file with a header line, .csv or .csv.gz.

    Types are inferred from the whole file, so that a late surprise makes a column text instead of an error; without
    `typed` all columns are text.
    """
    size = _scan(path)
    try:
        types = None if typed else dict.fromkeys(_header(path), pa.string())
        return arrow_csv.read_csv(
            path,
            # One thread: only then does a parse error know its row.
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=min(size + 1, _BLOCK_LIMIT)),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                null_values=list(MISSING), strings_can_be_null=True, column_types=types
            ),
        )
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


def _header(path: Path) -> list[str]:
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file), [])


def _scan(path: Path) -> int:
    """How many bytes there are, after a check of all of them with one chunk in memory at a time."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    size = 0
    for chunk in _chunks(path):
        if size == 0:
            _check_start(path, chunk)
        # A line longer than two chunks has at least one whole chunk without an end of line.
        if len(chunk) == LONGEST_LINE and b"\n" not in chunk and b"\r" not in chunk:
            raise InputError(
                f"{path}: a line of more than {LONGEST_LINE >> 20} MB (no end of line after byte {size}). "
                "A CSV has one line for each row; is this another kind of file?"
            )
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
    return size


def _chunks(path: Path) -> Iterator[bytes]:
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opener(path, "rb") as file:
            while chunk := file.read(LONGEST_LINE):
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
    header = ""
    with suppress(UnicodeDecodeError):
        header = chunk[:LONGEST_LINE].splitlines()[0].decode()
    for separator, word in ((";", "semicolons"), ("\t", "tabs")):
        if "," not in header and separator in header:
            raise InputError(
                f"{path}: the header has {word} and no comma. Say so: --separator {separator!r}; or save it with commas, or "
                f"read it with pandas.read_csv(..., sep={separator!r}) and pass the frame."
            )


def _refuse_encoding(path: Path, offset: int, byte: int) -> None:
    raise InputError(
        f"{path}: byte {byte:#04x} at offset {offset} is not UTF-8. Text from spreadsheets is often Windows-1252: --encoding "
        "cp1252. " + _convert("WINDOWS-1252")
    )


def _convert(encoding: str) -> str:
    return f"Convert it: iconv -f {encoding} -t UTF-8 OLD.csv > NEW.csv"
