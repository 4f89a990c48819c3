"""What one record of a promise is: a row, an image, or a person with all of their rows."""

from __future__ import annotations

from understudy.errors import InputError

RECORDS = ("row", "image")
"""Units that are each a name for one record."""
PERSON = "person"
UNITS = (*RECORDS, PERSON)
NEIGHBOURS = "one row replaced by an empty row that contributes nothing; the number of rows is public"
PERSON_NEIGHBOURS = (
    "all rows of one person replaced by nothing; the number of persons is public, the number of rows is not"
)
ALWAYS_PUBLIC = "the number of rows"
PERSONS_PUBLIC = "the number of persons"


def neighbours_of(unit: str) -> str:
    """The neighbouring relation of a promise for such a unit."""
    return PERSON_NEIGHBOURS if unit == PERSON else NEIGHBOURS


def always_public(unit: str) -> str:
    """What every promise for such a unit assumes to be public."""
    return PERSONS_PUBLIC if unit == PERSON else ALWAYS_PUBLIC


def require_same_unit(here: str, there: str, what: str) -> None:
    """Refuse to add up promises for rows and for persons: a person's rows are several rows."""
    if (here == PERSON) != (there == PERSON):
        raise InputError(
            f"this promise is for one {here}, and {what} for one {there}: what the two cost together is neither. Make both for "
            "the same unit, or leave the other one out."
        )
