"""What a column's name alone suggests: its kind and its natural limits. No value is looked at, so it costs nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from understudy.tables.aside import Aside, AsideKind
from understudy.tables.column import Bound, Column, Kind

if TYPE_CHECKING:
    from understudy.tables.schema import Schema


@dataclass(frozen=True)
class Hint:
    """Public: a suggestion for one column, and what it rests on."""

    kind: Kind | AsideKind
    bounds: tuple[Bound, Bound] | None = None
    why: str = ""

    def column(self, name: str, place: int, *, nullable: bool) -> Column | Aside:
        """The suggestion as the schema has it."""
        if self.kind in ("id", "text", "drop"):
            return Aside(name, self.kind, place)
        return Column(name, self.kind, self.bounds, nullable=nullable)


_LIFE = (datetime(1900, 1, 1), datetime(2100, 12, 31))
# Words of a name, in the order in which they are tried: the first that fits decides. Limits are those of nature, of the
# calendar or of the unit, wide enough that nobody has to look.
_RULES: tuple[tuple[str, Hint], ...] = (
    (r"e ?mail|phone|telephone|mobile|fax|url|website|ip", Hint("text", why="it names a person or a place")),
    (r"(first|last|full|sur|middle|family|given) ?name|street|address", Hint("text", why="it names a person or a place")),
    (r"notes?|comments?|remarks?|free ?text|narrative|memo", Hint("text", why="free text")),
    (r"(.* )?(id|uuid|guid)|mrn|ssn|index|(.* )?(row|record|patient|case|account) ?(no|nr|number|id)|unnamed.*",
     Hint("id", why="it tells rows apart")),
    (r"zip( ?code)?|post(al)? ?code|postcode|plz", Hint("code", why="a code, not a number")),
    (r"(icd|icd ?9|icd ?10|atc|ops|cpt|drg|loinc|snomed|naics|sic|fips|ward|diagnosis|procedure|product)( ?10)? ?codes?|icd( ?9| ?10)?|fips",
     Hint("code", why="a code, not a number")),
    (r"(.* )?(duration|elapsed( time)?)", Hint("duration", why="how long")),
    (r"(dob|(date of )?birth ?(date|day)|date of birth)", Hint("datetime", (datetime(1900, 1, 1), datetime(2030, 12, 31)), "dates of birth")),
    (r"(.* )?(date|datetime|timestamp)|date .*|.* at", Hint("datetime", _LIFE, "the calendar")),
    (r"(.* )?year|yob|yr", Hint("integer", (1900, 2100), "years")),
    (r"months?( ?of ?year)?", Hint("integer", (1, 12), "the calendar")),
    (r"day( ?of ?month)?", Hint("integer", (1, 31), "the calendar")),
    (r"day ?of ?week|weekday", Hint("integer", (0, 7), "the calendar")),
    (r"hours?( ?of ?day)?", Hint("integer", (0, 24), "the clock")),
    (r"age( ?(in )?(years|yrs|y))?|(.* )age( years)?", Hint("integer", (0, 120), "ages of people")),
    (r"lat(itude)?", Hint("continuous", (-90.0, 90.0), "the globe")),
    (r"lon(g|gitude)?|lng", Hint("continuous", (-180.0, 180.0), "the globe")),
    (r"(.* )?(percent|pct|percentage)", Hint("continuous", (0.0, 100.0), "per cent")),
    (r"(.* )?(probability|prob)", Hint("continuous", (0.0, 1.0), "a probability")),
    (r"bmi|body ?mass( ?index)?", Hint("continuous", (5.0, 100.0), "body mass index of people")),
    (r"(body )?height ?(in )?cm", Hint("continuous", (30.0, 250.0), "people, in cm")),
    (r"(body )?weight ?(in )?kg", Hint("continuous", (0.0, 400.0), "people, in kg")),
    (r"(systolic|diastolic|sbp|dbp|blood ?pressure)( ?bp)?|.* bp", Hint("integer", (0, 300), "mmHg")),
    (r"(heart ?rate|pulse|hr)( ?bpm)?", Hint("integer", (0, 300), "beats a minute")),
    (r"(body ?)?temp(erature)? ?c(elsius)?", Hint("continuous", (20.0, 45.0), "people, in °C")),
    (r"glucose|blood ?sugar", Hint("integer", (0, 1000), "mg/dl")),
    (r"(is|has|was|had|did|does) .*", Hint("boolean", why="yes or no")),
    (r"sex|gender|race|ethnicity|country|state|region|city|marital( ?status)?|education|occupation",
     Hint("categorical", why="a category")),
)  # fmt: skip


def hint_for(name: str) -> Hint | None:
    """The first rule that the whole name fits, in whatever case and with whatever between its words."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    words = " ".join(re.split(r"[\s_\-./:]+", words.lower())).strip()
    return next((hint for rule, hint in _RULES if re.fullmatch(rule, words)), None)


def suggested(drafted: Schema, *, typed: bool) -> list[Column | Aside]:
    """One entry for each column of which something is suggested, from names and, where the file says them, types.

    Without types a column whose name says nothing is left out: all of it is then learnt and paid for.
    """
    found: list[Column | Aside] = []
    for column in drafted:
        hint = hint_for(column.name)
        target = column.name == drafted.target
        if target and (hint is None or hint.kind not in ("categorical", "boolean")):
            hint = None  # a target is what the method makes of it
        if hint is not None and typed and not _fits(hint, column.kind):
            hint = None
        if hint is not None:
            found.append(hint.column(column.name, len(found), nullable=not target))
        elif typed:
            found.append(column)
    return found


def _fits(hint: Hint, kind: Kind) -> bool:
    """Whether a column of the file's own type could be what its name suggests."""
    allowed: dict[str, tuple[str, ...]] = {
        "integer": ("integer", "continuous", "id", "categorical", "code", "boolean", "drop"),
        "continuous": ("continuous", "integer", "id", "drop"),
        "datetime": ("datetime", "drop"),
        "duration": ("duration", "drop"),
        "boolean": ("boolean", "categorical", "drop"),
        "categorical": ("categorical", "code", "duration", "id", "text", "drop"),
    }
    return hint.kind in allowed.get(kind, ())
