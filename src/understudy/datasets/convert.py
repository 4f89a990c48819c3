"""Turn a table as OpenML keeps it into the file that the reader of this room opens: names, types, labels, order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from understudy.datasets.registry import DatasetInfo
from understudy.datasets.schemas import schema
from understudy.errors import InputError
from understudy.wording import listed

if TYPE_CHECKING:
    import pandas as pd

# OpenML's names where they are not the codebook's.
_ALIASES = {
    "pima": {
        "preg": "Pregnancies",
        "plas": "Glucose",
        "pres": "BloodPressure",
        "skin": "SkinThickness",
        "insu": "Insulin",
        "mass": "BMI",
        "pedi": "DiabetesPedigreeFunction",
    }
}
# Columns that the file has and the schema leaves out, by their position in it.
_LEFT_OUT = {"census": {24: "instance_weight"}}
_LARGEST_SHARE_OUTSIDE = 0.01
_ISOLET_GROUPS = (1560, 1560, 1560, 1558, 1559)


def convert(entry: DatasetInfo, table: Any, target: str, path: Path) -> None:
    """Write OpenML's `table`, whose label column is `target`, to `path` as the file of the dataset."""
    if entry.kind == "image":
        _write_images(entry, table, target, path)
        return
    if entry.name == "isolet":
        _write_isolet(table, target, path)
        return
    frame = _typed(entry, _named(entry, table, target))
    _check_fit(entry, frame)
    if (split := _split(entry, frame)) is not None:
        frame["split"] = split
    frame.to_parquet(path, index=False)


def _named(entry: DatasetInfo, frame: Any, target: str) -> pd.DataFrame:
    """The schema's columns under the schema's names, found by name or, where OpenML has none, by position."""
    wanted = list(schema(entry.name).names)
    known = {_plain(name): name for name in wanted} | _ALIASES.get(entry.name, {})
    known[_plain(target)] = str(entry.target)
    by_name = {name: known[_plain(name)] for name in frame.columns if _plain(name) in known}
    if sorted(by_name.values()) == sorted(wanted):
        return frame.rename(columns=by_name)[wanted]
    by_position = list(wanted)
    if len(frame.columns) > len(wanted):  # OpenML may mark such a column as one to be ignored: then it did not come
        for position, name in _LEFT_OUT.get(entry.name, {}).items():
            by_position.insert(position, name)
    if len(by_position) != len(frame.columns):
        raise InputError(
            f"it has {len(frame.columns)} columns ({listed(list(frame.columns), 5)}), not the {len(by_position)} of "
            f"{entry.name!r}."
        )
    return frame.set_axis(by_position, axis=1)[wanted]


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")


def _typed(entry: DatasetInfo, frame: Any) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, pd.Series] = {}
    for column in schema(entry.name):
        values = frame[column.name]
        if column.name == entry.target:
            columns[column.name] = _label(entry, _text(values))
        elif column.kind == "categorical" and isinstance(column.labels[0], str):
            text = _text(values)
            columns[column.name] = (text.fillna("?") if "?" in column.labels else text).astype("category")
        else:
            columns[column.name] = _numbers(values, None if column.kind == "continuous" else "integer")
    return pd.DataFrame(columns)


def _text(values: Any) -> pd.Series:
    """Bare text: OpenML keeps the spaces and quotes that the publishers left around it."""
    return values.astype("str").where(values.notna()).str.strip(" '\"")


def _numbers(values: Any, downcast: Literal["integer"] | None = None) -> pd.Series:
    """Numbers, in the smallest type for whole ones if asked; OpenML calls some columns of digits text."""
    import pandas as pd

    try:
        numbers: Any = pd.to_numeric(values if values.dtype.kind in "biuf" else _text(values), downcast=downcast)
    except ValueError as error:
        raise InputError(f"the column {values.name!r} should hold numbers: {error}.") from None
    return numbers


def _label(entry: DatasetInfo, text: pd.Series) -> pd.Series:
    import pandas as pd

    if entry.name == "pima":
        return text.map({"tested_negative": 0, "tested_positive": 1}).astype("int8")
    if entry.name in ("adult", "census"):
        mark, classes = (">", ["<=50K", ">50K"]) if entry.name == "adult" else ("+", ["- 50000.", "50000+."])
        codes = text.str.contains(mark, regex=False).to_numpy(bool)
        return pd.Series(np.where(codes, classes[1], classes[0]), index=text.index).astype("category")
    if entry.name == "intrusion":
        return text.astype("category")
    return _numbers(text, "integer")


def _check_fit(entry: DatasetInfo, frame: Any) -> None:
    """Refuse a table whose values do not fit the schema: columns that were swapped would pass every count of labels."""
    for column in schema(entry.name).features:
        values, allowed = frame[column.name], _LARGEST_SHARE_OUTSIDE
        if column.kind == "categorical":
            wrong, allowed = ~values.isin(list(column.labels)).to_numpy(), 0.0
        else:
            low, high = (0, 1) if column.kind == "boolean" else column.number_bounds
            wrong = ~values.between(low, high).to_numpy()
        if wrong.mean() > allowed:
            example = values.iloc[int(wrong.argmax())]
            raise InputError(
                f"{wrong.mean():.1%} of the values of {column.name!r} are none that it can have, such as {example!r}."
            )


def _split(entry: DatasetInfo, frame: Any) -> pd.Series | None:
    """The publisher's split, where all train rows stand before or after all test rows; their numbers say which."""
    import pandas as pd

    if not entry.parts:
        return None
    positive = (frame[entry.target] == entry.positive).to_numpy()
    for order in (entry.parts, entry.parts[::-1]):
        (_, first), (_, second) = order
        if len(frame) == first.rows + second.rows and positive[: first.rows].sum() == first.positives:
            names = np.repeat([name for name, _ in order], [first.rows, second.rows])
            return pd.Series(names, index=frame.index).astype("category")
    return None


def _write_isolet(frame: Any, target: str, path: Path) -> None:
    letters = _numbers(frame[target]).to_numpy().astype(np.int8)
    features = frame.drop(columns=target).to_numpy(np.float64) * 1e4
    rounded = np.rint(features)
    if np.abs(features - rounded).max() > 0.01 or np.abs(rounded).max() > 1e4:
        raise InputError("its values are not four decimals between -1 and 1.")
    arrays = {"X_e4": rounded.astype(np.int16), "y": letters}
    if _in_groups(letters):
        arrays["group"] = np.repeat(np.arange(1, 6, dtype=np.int8), _ISOLET_GROUPS)
    np.savez_compressed(path, **arrays)  # pyright: ignore[reportArgumentType]


def _in_groups(letters: np.ndarray) -> bool:
    """Whether the rows stand in UCI's order: five groups of thirty speakers, each letter twice, and three rows lost."""
    if len(letters) != sum(_ISOLET_GROUPS):
        return False
    blocks = np.split(letters, np.cumsum(_ISOLET_GROUPS)[:-1])
    counts = np.array([np.bincount(block, minlength=27)[1:] for block in blocks])
    return bool(counts.min() >= 58 and counts.max() == 60)


def _write_images(entry: DatasetInfo, table: Any, target: str, path: Path) -> None:
    pixels, labels = table.drop(columns=target).to_numpy(), _numbers(table[target]).to_numpy().astype(np.uint8)
    if pixels.shape != (entry.rows, entry.features) or pixels.dtype != np.uint8:
        raise InputError(f"it has {pixels.shape} images and pixels, not {(entry.rows, entry.features)} bytes.")
    if entry.name == "cifar10":
        images = np.moveaxis(pixels.reshape(-1, 3, 32, 32), 1, -1)
    else:
        images = pixels.reshape(-1, *entry.shape)
    if entry.name == "svhn":
        labels = labels % 10
    cut = sum(entry.train)
    np.savez_compressed(path, x_train=images[:cut], y_train=labels[:cut], x_test=images[cut:], y_test=labels[cut:])
