"""Image sets as Parquet in the form that Hugging Face's `datasets` reads and writes: encoded pictures, class labels, names.

from datasets import load_dataset
load_dataset("parquet", data_files="release/records.parquet")
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from understudy.errors import InputError
from understudy.files import whole_file
from understudy.images.dataset import BLANK, ImageDataset
from understudy.images.encoded import PictureSize, encoded
from understudy.untrusted import open_regular

_PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_KEY = b"huggingface"
_BATCH = 256


def has_pictures(path: Path) -> bool:
    """Whether the file's own types say that one of its columns holds encoded pictures."""
    try:
        with open_regular(path) as file:
            return _picture_column(pq.read_schema(file)) is not None
    except (OSError, InputError, pa.ArrowException):
        return False


def read_parquet(
    path: str | Path, size: PictureSize | None = None, classes: Sequence[str] | None = None
) -> ImageDataset:
    """Reads private pictures of a Parquet file, each brought to one public `size` (32 x 32, in colour).

    The set of classes is public: `classes`, or the names in the file's description of itself.
    """
    source = Path(path)
    try:
        with open_regular(source) as opened, pq.ParquetFile(opened) as file:
            schema = file.schema_arrow
            picture = _picture_column(schema)
            if picture is None:
                raise InputError(f"{source} has no column of pictures (a struct of `bytes` and `path`).")
            label, known = _label_column(schema)
            names = known if classes is None else tuple(classes)
            if label is None or names is None:
                raise InputError(
                    f"{source} does not say which column holds the class and which classes there are: it needs a column `label` of "
                    "whole numbers and the names of classes (on the command line with --classes a,b,c)."
                )
            return (size or PictureSize()).dataset(_pictures(file, picture, label, len(names)), names)
    except pa.ArrowException as error:
        raise InputError(f"cannot read {source} as Parquet: {' '.join(str(error).split())[:200]}.") from None


def read_parquet_pictures(path: str | Path) -> Iterator[bytes | None]:
    """The pictures of a Parquet file as they are encoded, whatever their classes."""
    try:
        with open_regular(Path(path)) as opened, pq.ParquetFile(opened) as file:
            picture = _picture_column(file.schema_arrow)
            if picture is None:
                raise InputError(f"{path} has no column of pictures (a struct of `bytes` and `path`).")
            for batch in file.iter_batches(_BATCH, columns=[picture]):
                yield from batch.column(picture).field("bytes").to_pylist()
    except pa.ArrowException as error:
        raise InputError(f"cannot read {path} as Parquet: {' '.join(str(error).split())[:200]}.") from None


def write_parquet(data: ImageDataset, path: str | Path) -> None:
    """Write every image as a PNG with its label, the whole file or nothing."""
    if (data.labels == BLANK).any():
        raise InputError("a blank image has no class to be written with.")
    features = {"image": {"_type": "Image"}, "label": {"names": list(data.classes), "_type": "ClassLabel"}}
    said = {_KEY: json.dumps({"info": {"features": features}})}
    schema = pa.schema([("image", _PICTURE), ("label", pa.int64())], metadata=said)
    pictures = pa.array([{"bytes": encoded(image), "path": None} for image in data.images], _PICTURE)
    with whole_file(path) as temporary:
        pq.write_table(pa.table([pictures, pa.array(data.labels)], schema=schema), temporary)


def _pictures(file: Any, picture: str, label: str, classes: int) -> Iterator[tuple[bytes | None, int]]:
    for batch in file.iter_batches(_BATCH, columns=[picture, label]):
        held, numbers = batch.column(picture), batch.column(label).to_pylist()
        for data, number in zip(held.field("bytes").to_pylist(), numbers, strict=True):
            known = isinstance(number, int) and 0 <= number < classes
            yield (data, number) if known else (None, BLANK)


def _picture_column(schema: pa.Schema) -> str | None:
    for column in schema:
        kind = column.type
        if pa.types.is_struct(kind) and {"bytes", "path"} <= {kind.field(i).name for i in range(kind.num_fields)}:
            return column.name
    return None


def _label_column(schema: pa.Schema) -> tuple[str | None, tuple[str, ...] | None]:
    """The column with the numbers of classes, and their names where the file says them."""
    try:
        features = json.loads((schema.metadata or {}).get(_KEY, b"{}"))["info"]["features"]
        for name, kind in features.items():
            if kind.get("_type") == "ClassLabel" and name in schema.names:
                return name, tuple(str(one) for one in kind["names"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    return ("label" if "label" in schema.names else None), None
