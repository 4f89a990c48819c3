"""What a fitted model keeps of the private side does not travel: not in a pickle, not in a copy.

The rule is a name. Whatever a fit keeps that the guarantee does not cover (rows, teachers, votes, figures for the
owner's eyes) is an attribute that begins with `private_`, and a model with such an attribute refuses to be pickled.
What may travel is a release, written by `save`; a model that was loaded from one holds nothing private.
"""

from __future__ import annotations

from typing import Any

from understudy.errors import InputError

PREFIX = "private_"


class KeepsPrivate:
    """Mixin for estimators, before `BaseEstimator`: refuses `pickle`, `copy.copy` and `copy.deepcopy` once fitted."""

    def __getstate__(self) -> Any:
        """The state of a model that holds nothing private, or an `InputError`."""
        held = sorted(name for name, value in vars(self).items() if name.startswith(PREFIX) and value is not None)
        if held:
            raise InputError(
                f"this {type(self).__name__} was fitted here and still holds what is private ({', '.join(held)}): it is "
                "not pickled or copied, since whoever opens the copy would have it. Call `save(path)` and hand on that "
                "folder; `understudy.load(path)` gives a model that can be pickled."
            )
        return super().__getstate__()
