"""REDCap data dictionaries: the CSV that a project's designer exports.

A checkbox field becomes a yes/no column for each choice, named as REDCap exports it. The first field is the record id;
fields marked as identifiers and free text are not learnt.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

from understudy.errors import InputError
from understudy.tables.aside import Aside
from understudy.tables.codebooks.plain import bounded, listed, text_of
from understudy.tables.column import Column
from understudy.tables.forms import CLOCK_FORMAT, SHORT_FORMAT

NAME, TYPE = "Variable / Field Name", "Field Type"
CHOICES = "Choices, Calculations, OR Slider Labels"
VALIDATION, LOW, HIGH = "Text Validation Type OR Show Slider Number", "Text Validation Min", "Text Validation Max"
IDENTIFIER, REQUIRED = "Identifier?", "Required Field?"
BRANCHING = "Branching Logic (Show field only if...)"
# The same columns as REDCap's programming interface calls them.
_ALSO = {
    "field_name": NAME,
    "field_type": TYPE,
    "select_choices_or_calculations": CHOICES,
    "text_validation_type_or_show_slider_number": VALIDATION,
    "text_validation_min": LOW,
    "text_validation_max": HIGH,
    "identifier": IDENTIFIER,
    "required_field": REQUIRED,
    "branching_logic": BRANCHING,
}


def is_one(path: Path) -> bool:
    names = _header(text_of(path))
    return NAME in names and TYPE in names


def _header(text: str) -> list[str]:
    first = next(csv.reader(io.StringIO(text)), [])
    return [_ALSO.get(name.strip().strip('"'), name.strip().strip('"')) for name in first]


def read(path: Path, table: str | None = None) -> list[Column | Aside]:
    """One entry or more for each field that has data; `table` chooses one form."""
    text = text_of(path)
    names = _header(text)
    if NAME not in names or TYPE not in names:
        raise InputError(f"{path}: a REDCap data dictionary has the columns {NAME!r} and {TYPE!r}; this one has not.")
    rows = [dict(zip(names, row, strict=False)) for row in list(csv.reader(io.StringIO(text)))[1:] if any(row)]
    found: list[Column | Aside] = []
    for number, row in enumerate(rows):
        form = row.get("Form Name", row.get("form_name", ""))
        if table is not None and number > 0 and form != table:
            continue
        try:
            found += [Aside(row[NAME], "id", 0)] if number == 0 else _entries(row)
        except InputError as error:
            raise InputError(f"{path}, field {row[NAME]!r}: {error}") from None
    return found


def _entries(row: dict[str, str]) -> list[Column | Aside]:
    name, kind = row[NAME].strip(), row[TYPE].strip().lower()
    rule = row.get(VALIDATION, "").strip().lower()
    nullable = row.get(REQUIRED, "").strip().lower() != "y" or bool(row.get(BRANCHING, "").strip())
    ends = (row.get(LOW, "").strip(), row.get(HIGH, "").strip())
    if kind == "descriptive":
        return []
    if row.get(IDENTIFIER, "").strip().lower() == "y" or kind in ("notes", "file", "signature"):
        return [Aside(name, "text", 0)]
    if kind == "checkbox":
        codes = [code for code, _ in choices(row.get(CHOICES, ""))]
        return [Column(f"{name}___{code.lower().replace('-', '_')}", "boolean", format="0/1") for code in codes]
    if kind in ("radio", "dropdown"):
        return [listed(name, [code for code, _ in choices(row.get(CHOICES, ""))], nullable=nullable)]
    if kind in ("yesno", "truefalse"):
        return [Column(name, "boolean", nullable=nullable, format="0/1")]
    if kind == "slider":
        return [bounded(name, "integer", ends[0] or 0, ends[1] or 100, nullable=nullable)]
    if kind == "calc":
        return [Column(name, "continuous", nullable=nullable)]
    if kind == "sql":
        return [Column(name, "categorical", nullable=nullable)]
    if rule.startswith(("date_", "datetime_")):
        # Whatever order the form shows, an export has the year first.
        dates = [end if re.fullmatch(r"\d{4}-\d{2}-\d{2}.*", end) else "" for end in ends]
        return [bounded(name, "datetime", *dates, nullable=nullable)]
    if rule.startswith("integer") or rule == "number_0dp":
        return [bounded(name, "integer", *_numbers(ends), nullable=nullable)]
    if rule.startswith("number"):
        return [bounded(name, "continuous", *_numbers(ends), nullable=nullable)]
    if rule.startswith(("zipcode", "postalcode")):
        return [Column(name, "code", nullable=nullable)]
    if rule.startswith("time"):
        form = CLOCK_FORMAT if rule == "time_hh_mm_ss" else SHORT_FORMAT
        times = [end if re.fullmatch(r"\d\d?:\d\d(:\d\d)?", end) else "" for end in ends]
        return [bounded(name, "duration", *times, nullable=nullable, format=form)]
    return [Aside(name, "text", 0)]


def _numbers(ends: tuple[str, str]) -> list[str]:
    """Ends that are numbers; others (today, another field) say nothing here."""
    return [end.replace(",", ".") if re.fullmatch(r"-?\d+([.,]\d+)?", end) else "" for end in ends]


def choices(text: str) -> list[tuple[str, str]]:
    """`1, Male | 2, Female` as pairs of code and label."""
    pairs = [part.partition(",") for part in text.split("|") if part.strip()]
    return [(code.strip(), label.strip()) for code, _, label in pairs]
