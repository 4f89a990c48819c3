"""Names from elsewhere, made fit to be shown: any text at all may come, and it stays text.

Escaping is the template's work; this is about what escaping does not mend: names as long as a book, characters that
turn the rest of the line around, and bytes that no file can hold.
"""

from __future__ import annotations

import math
import unicodedata

LONGEST = 72
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def shown(name: object, longest: int = LONGEST) -> str:
    """The name on one line without control characters, cut in the middle where it is long (and says how long)."""
    text = clean(name)
    if len(text) <= longest:
        return text
    head, tail = text[: longest * 2 // 3], text[-(longest // 5) :]
    return f"{head} … {tail} ({len(text):,} characters)"


def clean(value: object) -> str:
    """Text without control, direction-changing and unpaired surrogate characters; each is shown as one mark."""
    text = " ".join(str(value).split())
    return "".join(_REPLACEMENT if _hidden(character) else character for character in text)


def _hidden(character: str) -> bool:
    if character in "\u200d\ufe0f":  # they join the parts of an emoji
        return False
    return unicodedata.category(character) in ("Cc", "Cs", "Co", "Cn") or character in _DIRECTIONS


# Marks, embeddings, overrides and isolates: they could turn the page's own words around.
_DIRECTIONS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def number(value: float, digits: int = 3) -> str:
    """A number as people write it: 1.9, 0.05, 1,234, 1e-05 as 10⁻⁵."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value and abs(value) < 1e-3:
        return power_of_ten(value)
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value + 0.0:.{digits}g}"  # minus zero is zero


def power_of_ten(value: float) -> str:
    """`10⁻⁵`, `2.5 × 10⁻⁷`."""
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if mantissa == "1" else f"{mantissa} × 10{raised}"


_THIN = "\N{NARROW NO-BREAK SPACE}"


def percent(share: float) -> str:
    """A share for people: whole percents in the middle, more digits towards 0 and 1, never rounded to certainty."""
    if share in (0.0, 1.0):
        return f"{100 * share:.0f}{_THIN}%"
    for digits in (0, 1, 2, 3):
        text = f"{100 * share:.{digits}f}"
        exact = abs(float(text) - 100 * share) < 1e-9
        if 0 < float(text) < 100 and (exact or digits > 0 or 0.1 <= share < 0.99):
            return f"{text}{_THIN}%"
    return f"below 0.001{_THIN}%" if share < 0.5 else f"above 99.999{_THIN}%"


def at_most(share: float) -> str:
    """A share for a sentence with "at most": rounded up, so that the sentence stays true."""
    if share >= 1:
        return f"100{_THIN}%"
    for digits in (1, 2, 3):
        scale = 10**digits
        up = math.ceil(100 * share * scale - 1e-9) / scale
        if up < 100 and (share >= 0.001 or up <= 110 * share or digits == 3):
            text = f"{up:.{digits}f}".removesuffix(".0")
            return f"{text}{_THIN}%"
    return f"100{_THIN}%"


def one_in(share: float) -> str:
    """`1 in 14`, for a share between 0 and 1."""
    return f"1 in {round(1 / share):,}" if share > 0 else "none"
