"""How good synthetic data are: for learning from, for comparing models on, and beside the real rows.

    from understudy.evaluation import FIVE, score
    score(synthetic, test, "income", schema, FIVE["xgboost"], seed=0).auroc

Every figure here looks at real rows. It is as private as they are, unless it was made with `epsilon_metrics`.
"""

from __future__ import annotations

from understudy._lazy import attach

_HOMES: dict[str, str] = {
    "Evaluation": "understudy.evaluation.result",
    "FIVE": "understudy.evaluation.classifiers",
    "FOUR": "understudy.evaluation.classifiers",
    "PANELS": "understudy.evaluation.classifiers",
    "REPLACED": "understudy.evaluation.classifiers",
    "TWELVE": "understudy.evaluation.classifiers",
    "Affine": "understudy.evaluation.images",
    "Scores": "understudy.evaluation.scores",
    "Training": "understudy.evaluation.images",
    "frechet_distance": "understudy.evaluation.image_fidelity",
    "image_accuracy": "understudy.evaluation.images",
    "picture_grid": "understudy.evaluation.image_fidelity",
    "score": "understudy.evaluation.scores",
}

__getattr__, __dir__ = attach(__name__, _HOMES)

__all__ = list(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]
