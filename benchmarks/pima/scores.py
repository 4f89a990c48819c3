"""The thesis' measures of a classifier (Section 4.5): accuracy, F1, confusion matrix, ROC curve and its area."""

from __future__ import annotations

import numpy as np

ROC_GRID = np.linspace(0, 1, 26)


def scores(
    model: str, truth: np.ndarray, probability: np.ndarray, *, threshold: float = 0.5
) -> dict[str, float | list[float]]:
    """All measures of one model on one test set, named `model/measure`.

    "auc of predictions" is what the thesis reports as AUC: its figures (0.720, 0.729) are exactly the areas under the
    one-corner curve of thresholded predictions, (recall + specificity) / 2 of its confusion matrices.
    """
    from sklearn.metrics import roc_auc_score, roc_curve

    predicted = probability >= threshold
    positive = truth == 1
    tp, fn = int(np.sum(predicted & positive)), int(np.sum(~predicted & positive))
    fp, tn = int(np.sum(predicted & ~positive)), int(np.sum(~predicted & ~positive))
    false_rate, true_rate, _ = roc_curve(truth, probability)
    found: dict[str, float | list[float]] = {
        "accuracy": (tp + tn) / len(truth),
        "f1": 2 * tp / (2 * tp + fp + fn) if tp else 0.0,
        "true negative": tn,
        "false positive": fp,
        "false negative": fn,
        "true positive": tp,
        "auc": float(roc_auc_score(truth, probability)),
        "auc of predictions": (tp / (tp + fn) + tn / (tn + fp)) / 2,
        "roc": np.interp(ROC_GRID, false_rate, true_rate).tolist(),
    }
    return {f"{model}/{name}": value for name, value in found.items()}
