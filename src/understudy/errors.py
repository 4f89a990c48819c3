"""What can go wrong, in words for the person who has to act on it."""

from __future__ import annotations

_LONGEST = 4000


class InputError(ValueError):
    """Something handed in is wrong. Says what, where, and what to do; nothing was spent, nothing was written.

    A message that quotes too much of a file is cut: its end says what to do, so both ends stay.
    """

    def __init__(self, message: object = "") -> None:
        text = str(message)
        super().__init__(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 500]} […] {text[-400:]}")


class BudgetExceeded(RuntimeError):
    """A charge does not fit the privacy budget. Nothing was drawn, and nothing was charged."""

    def __init__(self, *, requested: float, remaining: float, what: str, unit: str = "epsilon") -> None:
        self.requested = requested
        self.remaining = remaining
        self.difference = requested - remaining
        self.what = what
        super().__init__(
            f"{what} does not fit the budget. Requested {unit}: {requested:.6g}. Remaining: {remaining:.6g}. "
            f"Difference: {self.difference:.6g}."
        )


class UnderstudyWarning(UserWarning):
    """A result that is valid but that the user should know something about."""


class UnsafeWarning(UnderstudyWarning):
    """A choice was made that the guarantee does not cover; the certificate says so too."""
