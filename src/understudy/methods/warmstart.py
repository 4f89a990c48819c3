"""One private look first: a share of the budget buys a moments release, and its samples are where learning starts.

A generator that starts at random spends its first votes on being called a fake by everybody, and noisy steps that start
from a Gaussian do not get far; at a small epsilon there are few of either. What is done with the samples of a release is
post-processing and free.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from understudy.images import ImageDataset
from understudy.privacy import Budget
from understudy.privacy.share import BudgetShare
from understudy.release.intake import Intake

if TYPE_CHECKING:
    from understudy.methods.image_moments import ImageMoments
    from understudy.methods.moments import MomentsGenerator

# So many rows of the release are taught. Their number costs nothing; more teach no better.
ROWS = 1 << 15


def moments_frame(rows: Intake, epsilon: float) -> pd.DataFrame:
    """Touches private data: buy a moments release for `epsilon` and draw rows from it.

    Safe to publish: everything comes from the release, which is charged to the budget before its noise is drawn.
    """
    release = moments_release(rows, epsilon)
    if rows.persons is not None:  # the networks learn what the release did, the number of a person's rows with it
        return release.model_.draw(ROWS, {}, np.random.default_rng(rows.seed))
    return release.sample(ROWS, random_state=rows.seed)


def moments_release(rows: Intake, epsilon: float) -> MomentsGenerator:
    """Touches private data: a moments release for `epsilon`, charged to the budget before its noise is drawn; it is public."""
    from understudy.methods.moments import MomentsGenerator

    start = MomentsGenerator(epsilon, rows.budget.delta, random_state=rows.seed)
    return start.fit_intake(replace(rows, budget=BudgetShare(rows.budget, epsilon)))


def image_moments_release(
    data: ImageDataset, epsilon: float, seed: int, budget: Budget, **settings: Any
) -> ImageMoments:
    """Touches private data: the same for images, without a look at edges."""
    from understudy.methods.image_moments import ImageMoments

    start = ImageMoments(epsilon, budget.delta, edges=0.0, random_state=seed, **settings)
    return start.fit(data, budget=BudgetShare(budget, epsilon))
