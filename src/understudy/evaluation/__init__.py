"""How good synthetic data are: for learning from, for comparing models on, and beside the real rows.

    from understudy.evaluation import evaluate
    evaluation = evaluate(train, test, {"moments": synthetic}, "income", seeds=3)
    evaluation["moments"].settings["B"].mean["auroc"]

Every figure here looks at real rows. It is as private as they are, unless it was made with `epsilon_metrics`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy._lazy import attach

if TYPE_CHECKING:
    from understudy.evaluation.classifiers import FIVE, FOUR, PANELS, REPLACED, TWELVE
    from understudy.evaluation.image_fidelity import frechet_distance, picture_grid, precision_recall
    from understudy.evaluation.images import Training, image_accuracy
    from understudy.evaluation.noisy import noisy_metrics
    from understudy.evaluation.ranking import ranking_agreement
    from understudy.evaluation.result import Evaluation
    from understudy.evaluation.scores import Scores, score
    from understudy.evaluation.settings import evaluate
    from understudy.images.deform import Affine

_HOMES: dict[str, str] = {
    "Evaluation": "understudy.evaluation.result",
    "FIVE": "understudy.evaluation.classifiers",
    "FOUR": "understudy.evaluation.classifiers",
    "PANELS": "understudy.evaluation.classifiers",
    "REPLACED": "understudy.evaluation.classifiers",
    "TWELVE": "understudy.evaluation.classifiers",
    "Affine": "understudy.images.deform",
    "Scores": "understudy.evaluation.scores",
    "Training": "understudy.evaluation.images",
    "evaluate": "understudy.evaluation.settings",
    "frechet_distance": "understudy.evaluation.image_fidelity",
    "precision_recall": "understudy.evaluation.image_fidelity",
    "image_accuracy": "understudy.evaluation.images",
    "noisy_metrics": "understudy.evaluation.noisy",
    "picture_grid": "understudy.evaluation.image_fidelity",
    "ranking_agreement": "understudy.evaluation.ranking",
    "score": "understudy.evaluation.scores",
}

__getattr__, __dir__ = attach(__name__, _HOMES)

__all__ = [
    "FIVE",
    "FOUR",
    "PANELS",
    "REPLACED",
    "TWELVE",
    "Affine",
    "Evaluation",
    "Scores",
    "Training",
    "evaluate",
    "frechet_distance",
    "image_accuracy",
    "noisy_metrics",
    "picture_grid",
    "precision_recall",
    "ranking_agreement",
    "score",
]
