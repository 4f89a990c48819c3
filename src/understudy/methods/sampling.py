"""Records from a released generator, a bounded number at a time, none of which violates the schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.files import whole_file
from understudy.learn.adversarial import Design, draw_noise, make_records
from understudy.learn.networks import MLP
from understudy.methods.layout import Label, check_conditions
from understudy.tables import Encoder, check_table_path, write_table

CHUNK = 1 << 16
# A condition that fewer than one record in this many fulfils is given up.
_PATIENCE = 2000


@dataclass(frozen=True)
class Sampler:
    """All that sampling needs; public."""

    design: Design
    network: MLP
    encoder: Encoder
    label: Label | None
    ratio: np.ndarray

    def sample(self, n: int, conditions: Mapping[str, Any] | None, random_state: int | None) -> pd.DataFrame:
        parts = list(self.stream(n, conditions, random_state))
        return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)

    def stream(self, n: int, conditions: Mapping[str, Any] | None, random_state: int | None) -> Iterator[pd.DataFrame]:
        """Frames of together `n` records; conditions are checked before the first."""
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise InputError(f"`n` (={n!r}) must be a whole number of rows, at least 1.")
        wanted = dict(conditions or {})
        check_conditions(wanted, self.encoder)
        return self._stream(int(n), wanted, random_state)

    def _stream(self, n: int, wanted: dict[str, Any], random_state: int | None) -> Iterator[pd.DataFrame]:
        rng = np.random.default_rng(random_state)
        ratio = self._ratio(wanted)
        size = min(CHUNK, max(256, 1 << (n - 1).bit_length()))
        made = tried = 0
        while made < n:
            cube = np.asarray(make_records(self.design, self.network, draw_noise(self.design, rng, ratio, size)))
            frame: Any = self.encoder.decode(cube[: n - made] if not wanted else cube)
            if wanted:
                frame = frame[_fulfils(frame, wanted)].head(n - made).reset_index(drop=True)
            made, tried = made + len(frame), tried + size
            if len(frame):
                yield frame
            if tried > _PATIENCE * max(made, 100):
                raise InputError(
                    f"condition {wanted}: {made} of {tried:,} generated records fulfil it. This generator hardly makes "
                    "such records; drop the condition, or train it with `conditional=True` if it is on the target."
                )

    def _ratio(self, wanted: dict[str, Any]) -> np.ndarray:
        """The classes to ask a conditional generator for."""
        if self.design.label is None or self.label is None or self.label.name not in wanted:
            return self.ratio
        place = self.label.values.index(wanted[self.label.name])
        return np.eye(len(self.label.values), dtype=np.float32)[place]


def _fulfils(frame: pd.DataFrame, wanted: dict[str, Any]) -> np.ndarray:
    kept = np.ones(len(frame), dtype=bool)
    for name, value in wanted.items():
        column = frame[name]
        hits = column.isna() if pd.isna(value) else (column == value).fillna(False)
        kept &= hits.to_numpy(dtype=bool)
    return kept


def write_samples(
    sampler: Sampler, path: str | Path, n: int, conditions: Mapping[str, Any] | None, random_state: int | None
) -> None:
    """Write `n` records to a table file, a chunk at a time: memory does not grow with their number."""
    import pyarrow as pa

    suffix = check_table_path(path)
    frames = sampler.stream(n, conditions, random_state)
    if n <= CHUNK:
        write_table(pd.concat(list(frames), ignore_index=True), path)
        return
    with whole_file(path) as temporary, ExitStack() as opened:
        writer: Any = None
        schema: Any = None
        for frame in frames:
            table = pa.Table.from_pandas(frame, preserve_index=False, schema=schema)
            if writer is None:
                schema = table.schema
                writer = _writer(temporary, suffix, schema, opened)
            writer.write_table(table)


def _writer(path: Path, suffix: str, schema: Any, opened: ExitStack) -> Any:
    """A file that takes one table after the other, closed with `opened`."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    if suffix in (".parquet", ".pq"):
        return opened.enter_context(parquet.ParquetWriter(path, schema))
    if suffix == ".feather":
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        return opened.enter_context(pa.ipc.new_file(str(path), schema, options=options))
    stream = opened.enter_context(pa.output_stream(str(path), compression="gzip" if suffix == ".csv.gz" else None))
    return opened.enter_context(csv.CSVWriter(stream, schema))
