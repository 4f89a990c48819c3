"""One private look before the votes: a moments release, whose samples the generator is taught first.

A generator that starts at random spends its first votes on being called a fake by everybody, and at a small epsilon
there are few votes. A share of epsilon buys a release of `MomentsGenerator`; teaching its samples to the network is
post-processing and free.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from understudy.privacy import Budget
from understudy.privacy.share import BudgetShare
from understudy.release.intake import Intake
from understudy.release.sampling import stream
from understudy.tables import Encoder

if TYPE_CHECKING:
    from understudy.methods.moments import MomentsGenerator

# So many rows of the release are taught. Their number costs nothing; more teach no better.
ROWS = 1 << 15


def moments_rows(rows: Intake, epsilon: float) -> np.ndarray:
    """Touches private data: buy a moments release for `epsilon` and draw rows of the unit cube from it.

    Safe to publish: everything comes from the release, which is charged to the budget before its noise is drawn.
    """
    from understudy.methods.moments import MomentsGenerator

    seed = rows.seed
    start = MomentsGenerator(epsilon, rows.budget.delta, random_state=seed)
    part = replace(rows, seed=start._seed(), budget=BudgetShare(rows.budget, epsilon))
    model = start.learn(part).model
    drawn = pd.concat(list(stream(model, rows.schema, ROWS, None, seed)))
    return rows.encoder().encode(drawn).astype(np.float32)


def moments_release(
    table: pd.DataFrame, encoder: Encoder, epsilon: float, seed: int, budget: Budget
) -> MomentsGenerator:
    """Touches private data: a moments release for `epsilon`, charged to `budget` before its noise is drawn; it is public."""
    from understudy.methods.moments import MomentsGenerator

    start = MomentsGenerator(epsilon, budget.delta, random_state=seed)
    return start.fit(table, schema=encoder.schema, budget=BudgetShare(budget, epsilon))
