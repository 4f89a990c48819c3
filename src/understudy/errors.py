"""What can go wrong, in words for the person who has to act on it."""

from __future__ import annotations


class InputError(ValueError):
    """Something handed in is wrong. Says what, where, and what to do; nothing was spent, nothing was written."""


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
