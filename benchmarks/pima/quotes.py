"""The thesis' printed numbers (Chapter 5), each with the name of the measurement that stands beside it."""

from __future__ import annotations

from benchmarks.declare import Quote
from benchmarks.pima.honest import TRIALS

LABELS = "imputed with the median of the row's own class, over the whole table: the label leaks into the features"
TEST_ROWS = "chosen by its accuracy on the test rows for which it is then reported"
STUDENT_ROWS = "the student's features are rows of the sensitive table, which no epsilon here covers"

# Teachers, gamma, epsilon, accuracy. T is 537 // (teachers + 1), delta 1e-5.
TABLE_5_6 = ((2, 0.2, 54.32, 0.79), (3, 0.48, 176.81, 0.80), (4, 0.38, 99.52, 0.81), (5, 0.65, 209.25, 0.83))
TABLE_5_7 = (
    *((2, 0.015, 2.08, 0.39), (2, 0.033, 5.02, 0.57), (2, 0.049, 8.01, 0.74)),
    *((3, 0.018, 2.17, 0.57), (3, 0.038, 5.00, 0.61), (3, 0.057, 8.07, 0.62)),
    *((4, 0.020, 2.16, 0.58), (4, 0.043, 5.06, 0.31), (4, 0.063, 7.95, 0.54)),
    *((5, 0.022, 2.16, 0.76), (5, 0.047, 5.04, 0.55), (5, 0.069, 7.94, 0.69)),
)
PRINTED_GAMMAS = tuple((teachers, gamma) for teachers, gamma, _, _ in (*TABLE_5_6, *TABLE_5_7))

_WITHOUT = "imputed without labels"
_CLASSIFIERS, _NETWORK, _GRID, _PATE = ("classifiers by-class", "network by-class", "grid by-class", "pate by-class")


def _honest(part: str) -> str:
    return part.replace("by-class", "training-median")


def _both(
    table: str, row: str, metric: str, part: str, key: str, paper: float | None, unsafe: str = LABELS
) -> list[Quote]:
    """The thesis' row, and the same without the leak; the second has no figure in the thesis."""
    second = unsafe.replace(LABELS, "").strip("; ") or None
    return [
        Quote(table, row, metric, part, key, paper, unsafe=unsafe),
        Quote(table, f"{row}, {_WITHOUT}", metric, _honest(part), key, unsafe=second),
    ]


def _table_5_1() -> list[Quote]:
    rows: list[Quote] = []
    for name, chosen, f1 in (("LR 1", "C 0.005", 0.61), ("LR 2", "C 0.2", 0.60)):
        for metric, paper in (("accuracy", 0.77), ("f1", f1)):
            table = "Table 5.1: logistic regression"
            rows += _both(table, f"{name} ({chosen})", metric, _CLASSIFIERS, f"{name}/{metric}", paper)
            rows += _both(table, f"{name}, searched again", metric, _CLASSIFIERS, f"{name} searched/{metric}", paper)
            if metric == "accuracy":
                key = f"{name}/accuracy"
                rows.append(
                    Quote(table, f"{name}, features not scaled", metric, "classifiers unscaled", key, unsafe=LABELS)
                )
    return rows


def _table_5_2() -> list[Quote]:
    table = "Table 5.2: networks of the search, 100 epochs"
    rows: list[Quote] = []
    for name, batch, paper in (("NN 1", 25, 0.87013), ("NN 2", 32, 0.85714)):
        best, own = f"batch {batch}/best on the test rows", f"batch {batch}/chosen on training rows"
        rows += _both(table, f"{name} (batch {batch})", "accuracy", _GRID, best, paper, f"{LABELS}; {TEST_ROWS}")
        rows += _both(table, f"{name}, chosen on training rows", "accuracy", _GRID, own, None)
    return rows


def _table_5_3() -> list[Quote]:
    table = "Table 5.3: test accuracy"
    return [
        *_both(table, "LR", "accuracy", _CLASSIFIERS, "LR 1/accuracy", 0.77),
        *_both(table, "SVM", "accuracy", _CLASSIFIERS, "SVM/accuracy", 0.78),
        *_both(table, "SVM, searched again", "accuracy", _CLASSIFIERS, "SVM searched/accuracy", 0.78),
        *_both(table, "NN (25 epochs)", "accuracy", _NETWORK, "NN 1/accuracy", 0.83),
        *_both(table, "NN, 100 epochs", "accuracy", _NETWORK, "NN 1 longer/accuracy", None),
        Quote(table, "most frequent class", "accuracy", _CLASSIFIERS, "majority/accuracy", 0.688),
    ]


def _table_5_4() -> list[Quote]:
    printed = {
        "LR": (_CLASSIFIERS, "LR 1", (134, 25, 29, 43)),
        "SVM": (_CLASSIFIERS, "SVM", (139, 20, 30, 42)),
        "NN": (_NETWORK, "NN 1", (140, 19, 21, 51)),
    }
    cells = ("true negative", "false positive", "false negative", "true positive")
    return [
        quote
        for name, (part, key, counts) in printed.items()
        for cell, count in zip(cells, counts, strict=True)
        for quote in _both("Table 5.4: confusion matrices", name, cell, part, f"{key}/{cell}", count)
    ]


def _figure_5_4() -> list[Quote]:
    table = "Figure 5.4: area under the ROC curve (the thesis' areas are of thresholded predictions)"
    rows: list[Quote] = []
    models = {"LR": (_CLASSIFIERS, "LR 1", 0.720), "SVM": (_CLASSIFIERS, "SVM", 0.729), "NN": (_NETWORK, "NN 1", 0.801)}
    for name, (part, key, paper) in models.items():
        rows += _both(table, name, "area of predictions", part, f"{key}/auc of predictions", paper)
        rows += _both(table, name, "AUC", part, f"{key}/auc", None)
    return rows


def _private(
    table: str,
    row: str,
    part: str,
    name: str,
    paper: float | None = None,
    epsilon: float | None = None,
    unsafe: str | None = None,
) -> Quote:
    """A row whose measurements of both kinds of epsilon are called after its accuracy."""
    spent = (epsilon, f"{name}/epsilon", f"{name}/epsilon data-dependent")
    return Quote(table, row, "accuracy", part, f"{name}/accuracy", paper, *spent, unsafe)


def _at_gamma(table: str, part: str, printed: tuple[tuple[int, float, float, float], ...]) -> list[Quote]:
    thesis = part == _PATE
    rows: list[Quote] = []
    for teachers, gamma, epsilon, accuracy in printed:
        name = f"{teachers} teachers/gamma {gamma:g}"
        row = f"{teachers} teachers, T {537 // (teachers + 1)}, gamma {gamma:g}"
        unsafe = f"{LABELS}; {STUDENT_ROWS}" if thesis else STUDENT_ROWS
        rows.append(_private(table, row, part, name, accuracy if thesis else None, epsilon, unsafe))
    return rows


def _table_5_6() -> list[Quote]:
    table = "Table 5.6: PATE, the best accuracy over gamma"
    unsafe = f"{LABELS}; {STUDENT_ROWS}; {TEST_ROWS}"
    rows = [
        quote
        for teachers, _, _, accuracy in TABLE_5_6
        for name in [f"{teachers} teachers"]
        for quote in _both(
            table, f"{name}, best gamma", "accuracy", _PATE, f"{name}/selected accuracy", accuracy, unsafe
        )
    ]
    return [*rows, *_at_gamma("Table 5.6, at the printed gamma", _PATE, TABLE_5_6)]


def _table_5_7() -> list[Quote]:
    return [
        *_at_gamma("Table 5.7: PATE at a privacy loss around 2, 5 and 8", _PATE, TABLE_5_7),
        *_at_gamma(f"Table 5.7, {_WITHOUT}", _honest(_PATE), TABLE_5_7),
    ]


def _figure_5_6() -> list[Quote]:
    table = "Figure 5.6: percentage gap (the thesis prints 100 for one teacher and less than 60 for 8 and 9)"
    rows = {"1 teacher": 1} | {f"{teachers} teachers": teachers for teachers in range(2, 11)}
    return [
        Quote(
            table, row, "percentage gap", _PATE, f"{n} teachers/percentage gap", 100 if n == 1 else None, unsafe=LABELS
        )
        for row, n in rows.items()
    ]


def _best() -> list[Quote]:
    table = "Best PATE at epsilon 2.16, delta 1e-5"
    bounds = {
        "the same setting without privacy": "no privacy, risk factors",
        "the same setting without privacy, all features": "no privacy, all",
        "no labels: equal weights of the four features": "no labels, equal weights",
        "most frequent class": "majority",
    }
    return [
        _private(table, "honest PATE (thesis: 5 teachers, one run)", "honest", "the recipe", 0.76, 2.16),
        *(Quote(table, row, "accuracy", "honest", f"{key}/accuracy") for row, key in bounds.items()),
    ]


def _tried() -> list[Quote]:
    table = "What was tried: the recipe with one change, on other splits than those reported"
    return [_private(table, name, "tried", name) for name in TRIALS]


QUOTES: tuple[Quote, ...] = (
    *_table_5_1(),
    *_table_5_2(),
    *_table_5_3(),
    *_table_5_4(),
    *_figure_5_4(),
    *_table_5_6(),
    *_table_5_7(),
    *_figure_5_6(),
    *_best(),
    *_tried(),
)
