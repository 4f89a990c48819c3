"""What a person asks `understudy classify` for, in files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import InputError
from understudy.tables import Schema


@dataclass(frozen=True)
class Request:
    """What a person asks `understudy classify` for."""

    data: Path
    target: str
    public: Path | None
    out: Path
    epsilon: float
    delta: float | None
    schema: Path | None = None
    classes: tuple[str, ...] | None = None
    ledger: str | None = None
    dataset: str | None = None
    strict: bool = False
    person: str | None = None
    rows_per_person: int | str | None = None

    def declared(self) -> Schema | None:
        """What a file says is public about the columns, if one was named."""
        return None if self.schema is None else Schema.read(self.schema)


@contextmanager
def about(where: Path | None) -> Iterator[None]:
    """Two tables are in play: say which one an error is about."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
