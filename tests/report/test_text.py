"""Numbers and names as the page writes them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.report.text import at_most, clean, number, one_in, percent, shown


@given(st.floats(0, 1))
def test_at_most_is_never_less_than_the_truth(share: float) -> None:
    said = float(at_most(share).split("\N{NARROW NO-BREAK SPACE}")[0]) / 100
    assert said >= share - 1e-10
    assert said <= share + 0.001 + 1e-10


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_nothing_is_rounded_to_certainty(share: float) -> None:
    assert percent(share).split("\N{NARROW NO-BREAK SPACE}")[0] not in ("0", "100")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-5, "10⁻⁵"),
        (2.5e-7, "2.5 × 10⁻⁷"),
        (1.99969, "2"),
        (0.5, "0.5"),
        (12345.6, "12,346"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
        (0.0, "0"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_one_in() -> None:
    assert one_in(1e-5) == "1 in 100,000"
    assert one_in(0) == "none"


@given(st.text(max_size=300))
def test_any_name_is_one_short_clean_line(name: str) -> None:
    text = shown(name)
    assert len(text) < 110
    assert "\n" not in text
    text.encode("utf-8")
    assert not set(text) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\x00\x1b")


def test_long_names_say_how_long_they_are() -> None:
    assert "10,000 characters" in shown("x" * 10_000)
    assert shown("age") == "age"
    assert shown("a\u202eb\u2066c") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"
    assert clean("👩‍⚕️ a\tb\ud800") == "👩‍⚕️ a b\N{REPLACEMENT CHARACTER}"
