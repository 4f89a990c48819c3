"""The thesis on PATE for the Pima diabetes table (Krueger 2020), run again: Chapters 4 and 5, table by table.

The thesis reports single runs on one split. Here every number is a mean over random splits with its interval, beside the
thesis' figure and the rate of the most frequent class; what it does that no guarantee covers is kept and marked.
"""

from __future__ import annotations

from benchmarks.declare import Benchmark, Part, Size
from benchmarks.pima.figures import draw
from benchmarks.pima.honest import TRIALS
from benchmarks.pima.quotes import PRINTED_GAMMAS, QUOTES

_HERE = "benchmarks.pima"
_IMPUTATIONS = ("by-class", "training-median")
# Section 4.4.2; the two penalties are those of Table 5.2.
_GRID = {
    "optimisers": ["adam", "sgd", "rmsprop"],
    "neurons": [[4, 8], [4, 8, 16], [4, 8, 16]],
    "l2": [0.01, 0.001],
    "batches": [25, 32],
    "epochs": 100,
}
_QUICK_GRID = _GRID | {"optimisers": ["rmsprop"], "neurons": [[8], [8], [8, 16]]}
_GAMMAS = [0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
_QUICK_GAMMAS = [0.02, 0.2, 0.6, 1.0]
_QUICK_TRIALS = ["5 teachers, as the thesis", "25 queries", "54 nearest centroids", "all eight features"]
# What was tried is measured on other splits than what is reported.
_TUNING = 1000


def _parts(size: Size, repeats: int) -> list[Part]:
    quick = size == "quick"
    folds = [2, 5, 10, 20] if quick else list(range(2, 21))
    search = {"step": 3, "largest": 1} if quick else {"step": 1, "largest": 1000}
    at_once = min(repeats, 10)
    parts: list[Part] = []
    for imputation in _IMPUTATIONS:
        shared = {"imputation": imputation, "scaled": True, "folds": folds}
        grid = {"imputation": imputation, **(_QUICK_GRID if quick else _GRID)}
        pate = {
            "imputation": imputation,
            "teachers": [2, 3, 4, 5, 10, 20],
            "gammas": _QUICK_GAMMAS if quick else _GAMMAS,
            "printed": [list(pair) for pair in PRINTED_GAMMAS],
            "agreement": list(range(1, 11)),
        }
        parts += [
            Part(f"pate {imputation}", f"{_HERE}.pate:measure", pate, repeats, together=at_once),
            Part(f"grid {imputation}", f"{_HERE}.networks:measure_grid", grid, repeats, together=at_once),
            Part(f"network {imputation}", f"{_HERE}.networks:measure", shared, repeats, together=at_once),
            Part(f"classifiers {imputation}", f"{_HERE}.classifiers:measure", {**shared, "grid": search}, repeats),
        ]
    raw = {"imputation": "by-class", "scaled": False, "folds": [], "grid": None}
    parts.append(Part("classifiers unscaled", f"{_HERE}.classifiers:measure", raw, repeats))
    parts.append(Part("honest", f"{_HERE}.honest:measure", {"trials": ["the recipe"], "bounds": True}, repeats))
    tried = {"trials": _QUICK_TRIALS if quick else list(TRIALS), "bounds": False}
    parts.append(Part("tried", f"{_HERE}.honest:measure", tried, repeats, first=_TUNING))
    return parts


BENCHMARK = Benchmark(
    id="pima",
    title="PATE and its baselines on the Pima Indians diabetes table",
    paper="Krueger (2020), Application and Evaluation of Differential Privacy in Health Data Classification Tasks, Chapter 5",
    datasets=("pima",),
    repeats={"quick": 4, "full": 100},
    parts=_parts,
    quotes=QUOTES,
    figures=draw,
    notes=(
        "The thesis' test set has 72 positive rows of 231 (most frequent class: 0.688). The same split call on the table "
        "as published gives 74; over random splits the most frequent class is 0.65 of the test rows.",
        "The thesis says nothing of scaling. Its LR 1 (C = 0.005, liblinear) reaches its 0.77 on standardised features "
        "only, so features are standardised by the training rows here, except where a row says otherwise.",
        "The thesis gives no number of epochs for PATE's networks: 100 is used here, as in its search.",
        "An interval is that of the mean over random splits of this one table; '95 % of single runs' is where one run, "
        "such as each of the thesis', would land.",
        "Data-dependent epsilons are themselves private. They are shown because this table is public.",
        "The recipe of 'Best PATE' was chosen on other random splits of the same table than the ones it is reported on "
        "(numbers 0 to 99), and what was tried is shown on splits from number 1000. It has been fitted to this table by "
        "hand all the same: on another table expect less.",
        "How it was chosen: 160 random combinations on 200 splits (60 to 150 public rows, one to five rows a teacher, 100 to "
        "500 queries, four or five features, glucose weighing 1 to 1.5 times, queries drawn or taken from the public rows, "
        "the student's C from 0.1 to 1), then 28 variations of the best on 400 splits. Most lay within a point of each "
        "other; whitening by the public rows' covariance lost up to a point.",
    ),
)
