"""What it would cost to learn a column instead of declaring it: from public sizes alone, nothing is looked at."""

from __future__ import annotations

import math
from collections.abc import Sequence

from understudy.privacy.accountant import compose
from understudy.tables.coordinates.known import Known
from understudy.tables.coordinates.plan import DELTA_SHARE, READINGS_SHARE, plan_at

GOOD = 0.02
"""A column counts as learnt where two deviations of the noise on a count are this share of the rows."""


def price(known: Sequence[Known], rows: int, delta: float) -> float:
    """The epsilon at which all these columns are learnt together to within `GOOD` of the rows."""
    if not known:
        return 0.0
    share = 1 - READINGS_SHARE if any(column.asks for column in known) else 1.0
    noise = GOOD / 2 * max(rows, 1) / math.sqrt(len(known) / share)
    return compose(plan_at(known, rows, noise, DELTA_SHARE * delta).events(), delta).epsilon
