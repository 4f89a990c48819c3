"""The thesis' figures, drawn from means over repeats, with what a single run could have shown as a band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.pima.honest import TRIALS
from benchmarks.pima.scores import ROC_GRID
from benchmarks.result import Results

_COLOURS = {"LR": "#0072b2", "SVM": "#d55e00", "NN": "#009e73"}
_MODELS = {"LR": ("classifiers", "LR 1"), "SVM": ("classifiers", "SVM"), "NN": ("network", "NN 1")}
_STYLES = {"by-class": "-", "training-median": "--"}
_SAID = {"by-class": "imputed by class (leaks)", "training-median": "imputed without labels"}
_MAJORITY = 0.651


def draw(result: Results) -> dict[str, Figure]:
    return {
        "cross-validation": _cross_validation(result),
        "roc": _roc(result),
        "gamma": _gamma(result),
        "gap": _gap(result),
        "honest": _honest(result),
    }


def _cross_validation(result: Results) -> Figure:
    """Figures 5.2 and 5.3."""
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    axes: Any = figure.subplots(1, 2, sharey=True)
    folds = result.settings("network by-class")["folds"]
    for axis, kind in zip(axes, ("plain", "stratified"), strict=True):
        for model, (part, key) in _MODELS.items():
            for imputation, style in _STYLES.items():
                found = result.measured(f"{part} {imputation}", f"{key}/{kind} folds")
                label = model if imputation == "by-class" else None
                axis.plot(folds, found["mean"], style, color=_COLOURS[model], label=label)
        axis.set(title=f"{kind} folds", xlabel="folds")
    axes[0].set_ylabel("accuracy")
    axes[0].plot([], [], "k--", label=_SAID["training-median"])
    axes[0].legend(fontsize=8)
    return figure


def _roc(result: Results) -> Figure:
    """Figure 5.4, from scores instead of thresholded predictions."""
    figure = Figure(figsize=(4.4, 4.2), layout="constrained")
    axis = figure.subplots()
    for model, (part, key) in _MODELS.items():
        for imputation, style in _STYLES.items():
            name = f"{part} {imputation}"
            area = result.measured(name, f"{key}/auc")["mean"]
            curve = result.measured(name, f"{key}/roc")["mean"]
            axis.plot(ROC_GRID, curve, style, color=_COLOURS[model], label=f"{model}, {_SAID[imputation]}: {area:.3f}")
    axis.plot([0, 1], [0, 1], color="0.8", zorder=0)
    axis.set(xlabel="false positive rate", ylabel="true positive rate")
    axis.legend(fontsize=7, title="area under the curve", title_fontsize=8)
    return figure


def _gamma(result: Results) -> Figure:
    """Figure 5.5: test and training accuracy over gamma; the thesis' points of Table 5.6 as crosses."""
    from benchmarks.pima.quotes import TABLE_5_6

    figure = Figure(figsize=(9, 5), layout="constrained")
    axes: Any = figure.subplots(2, 3, sharex=True, sharey=True)
    settings = result.settings("pate by-class")
    printed = {teachers: (gamma, accuracy) for teachers, gamma, _, accuracy in TABLE_5_6}
    for axis, teachers in zip(axes.flat, settings["teachers"], strict=True):
        test = result.measured("pate by-class", f"{teachers} teachers/accuracy over gamma")
        training = result.measured("pate by-class", f"{teachers} teachers/training accuracy over gamma")
        axis.plot(settings["gammas"], test["mean"], color="#0072b2", label="test")
        axis.fill_between(settings["gammas"], test["run_low"], test["run_high"], color="#0072b2", alpha=0.15, lw=0)
        axis.plot(settings["gammas"], training["mean"], ":", color="#d55e00", label="training (five folds)")
        axis.axhline(_MAJORITY, color="0.6", lw=0.8)
        if teachers in printed:
            axis.plot(*printed[teachers], "kx", label="thesis")
        axis.set_title(f"{teachers} teachers", fontsize=9)
    axes[0, 0].legend(fontsize=8, loc="lower right")
    figure.supxlabel("gamma (band: 95 % of single runs; grey: most frequent class)", fontsize=9)
    figure.supylabel("accuracy", fontsize=9)
    return figure


def _gap(result: Results) -> Figure:
    """Figure 5.6."""
    figure = Figure(figsize=(4.8, 3), layout="constrained")
    axis = figure.subplots()
    teachers = result.settings("pate by-class")["agreement"]
    for imputation, style in _STYLES.items():
        found = [result.measured(f"pate {imputation}", f"{t} teachers/percentage gap") for t in teachers]
        axis.plot(teachers, [f["mean"] for f in found], style, marker="o", ms=3, label=_SAID[imputation])
    axis.set(xlabel="teachers", ylabel="percentage gap", ylim=(0, 102))
    axis.legend(fontsize=8)
    return figure


def _honest(result: Results) -> Figure:
    """The recipe and what was tried around it, at an unconditional epsilon of 2.16."""
    names = [name for name in TRIALS if result.has("tried", f"{name}/accuracy")]
    rows = [(name, result.measured("tried", f"{name}/accuracy")) for name in names]
    rows.insert(0, ("reported: the recipe, other splits", result.measured("honest", "the recipe/accuracy")))
    figure = Figure(figsize=(6.4, 0.7 + 0.2 * len(rows)), layout="constrained")
    axis = figure.subplots()
    _dots(axis, rows)
    axis.axvline(0.76, color="0.5", lw=0.8, ls="--")
    axis.set(xlabel="accuracy (bars: 95 % interval of the mean; dashed: the thesis' 0.76, one run)")
    axis.xaxis.label.set_fontsize(8)
    return figure


def _dots(axis: Any, rows: Sequence[tuple[str, Any]]) -> None:
    places = np.arange(len(rows))[::-1]
    means = [row["mean"] for _, row in rows]
    low = [row["low"] if row["low"] is not None else row["mean"] for _, row in rows]
    high = [row["high"] if row["high"] is not None else row["mean"] for _, row in rows]
    axis.hlines(places, low, high, color="#0072b2")
    axis.plot(means, places, "o", ms=4, color="#0072b2")
    axis.set_yticks(places, [name for name, _ in rows], fontsize=8)
