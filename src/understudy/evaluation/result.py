"""The result of an evaluation: plain data, to JSON and back, for a page, a table or a script to show.

The shape of `Evaluation.to_dict()` (format 1):

    {
      "format": 1,
      "target": "income" (null: nothing is predicted), "classes": ["<=50K", ">50K"],
      "positive": ">50K" (null with more than two classes),
      "classifiers": ["logistic regression", ...], "seeds": 3,
      "rows": {"train": 32561, "test": 16281},
      "real": SETTING,                       setting A: trained and tested on real rows
      "tables": [                            one for each synthetic table, in the order given
        {
          "name": "moments", "rows": 20000,
          "error": null,                     or a text: the table could not be read, and all below is null
          "settings": {"B": SETTING, "C": SETTING},   B: synthetic -> real test; C: synthetic -> synthetic
          "ranking": {"auroc": 0.91, "auprc": 0.87, "features": 0.95},   1 is perfect agreement, 0.5 is chance
          "fidelity": {
            "columns": [{"name", "kind", "tv", "wasserstein" (null for categories), "coverage"}, ...],
            "tv", "wasserstein", "correlation", "association", "marginals_2", "marginals_3", "c2st", "coverage",
            "distance_1", "distance_2", "distance_3", "range_error", "rules", "rules_broken", "rows_breaking"
          },
          "signals": {
            "closer_to_training", "closest_training", "closest_holdout", "copies", "membership_auc", "rows"
          },
          "notes": ["..."],
          "tuned": SCORES                    setting B of boosting that was tuned on the synthetic rows
        }
      ],
      "notes": ["..."],
      "tuned": SCORES,                       the same on real rows
      "held_out": {...}                      "fidelity" of the real test rows, for scale
    }

    SETTING   {"mean": {METRIC: INTERVAL}, "classifiers": {NAME: SCORES}}
    SCORES    {METRIC: INTERVAL, "seconds": s, "note": ""}
    METRIC    auroc, auprc, f1, accuracy; of a target that is a number r2 and error, and there are no classes
    INTERVAL  {"mean", "low", "high", "values"}: over seeds; low and high are null with one seed
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from understudy.errors import InputError
from understudy.evaluation.numbers import LEAST_R2, NumberScores
from understudy.evaluation.scores import Scores

FORMAT = 1
# The least and the most that a score can be, where that is not 0 and 1.
_ENDS: dict[str, tuple[float, float]] = {"r2": (LEAST_R2, 1.0), "error": (0.0, math.inf)}
SIGNALS_ARE_NO_PROOF = (
    "The privacy signals are signals, not proof: a table may pass them and still leak. What protects is the "
    "certificate of the method that made it."
)
AS_PRIVATE_AS_THE_ROWS = (
    "These figures were computed from real rows without noise: they are as private as those rows. To publish a score, "
    "use --epsilon-metrics."
)


@dataclass(frozen=True)
class Interval:
    """The mean over seeds with Student's 95 % interval, cut to what the score can be, and the value of each seed."""

    mean: float
    low: float | None
    high: float | None
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float], least: float = 0.0, most: float = 1.0) -> Interval:
        n = len(values)
        mean = float(np.mean(values))
        if n < 2:
            return cls(mean, None, None, tuple(values))
        from scipy import stats

        half = float(stats.t.ppf(0.975, n - 1)) * float(np.std(values, ddof=1)) / math.sqrt(n)
        return cls(mean, max(least, mean - half), min(most, mean + half), tuple(values))

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Interval:
        return cls(plain["mean"], plain["low"], plain["high"], tuple(plain["values"]))


@dataclass(frozen=True)
class ClassifierScores:
    """One classifier over all seeds."""

    metrics: Mapping[str, Interval]
    seconds: float
    note: str = ""

    @classmethod
    def of(cls, runs: Sequence[Scores | NumberScores]) -> ClassifierScores:
        notes = dict.fromkeys(run.note for run in runs if run.note)
        return cls(
            {name: Interval.of([run.metrics[name] for run in runs], *_ENDS.get(name, ())) for name in runs[0].metrics},
            float(sum(run.seconds for run in runs)),
            "; ".join(notes),
        )

    def to_dict(self) -> dict[str, Any]:
        return {m: asdict(i) for m, i in self.metrics.items()} | {"seconds": self.seconds, "note": self.note}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ClassifierScores:
        found = {m: Interval.from_dict(one) for m, one in plain.items() if m not in ("seconds", "note")}
        return cls(found, plain["seconds"], plain["note"])


@dataclass(frozen=True)
class Setting:
    """All classifiers in one of the settings A, B, C; `mean` is over the classifiers."""

    mean: Mapping[str, Interval]
    classifiers: Mapping[str, ClassifierScores]

    @classmethod
    def of(cls, runs: Mapping[str, Sequence[Scores | NumberScores]]) -> Setting:
        """From the scores of each classifier, one for each seed."""
        first = next(iter(runs.values()))
        mean = {
            metric: Interval.of(
                [float(np.mean([run[s].metrics[metric] for run in runs.values()])) for s in range(len(first))],
                *_ENDS.get(metric, ()),
            )
            for metric in first[0].metrics
        }
        return cls(mean, {name: ClassifierScores.of(scores) for name, scores in runs.items()})

    def to_dict(self) -> dict[str, Any]:
        return {
            "mean": {m: asdict(i) for m, i in self.mean.items()},
            "classifiers": {name: scores.to_dict() for name, scores in self.classifiers.items()},
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Setting:
        return cls(
            {m: Interval.from_dict(one) for m, one in plain["mean"].items()},
            {name: ClassifierScores.from_dict(scores) for name, scores in plain["classifiers"].items()},
        )


@dataclass(frozen=True)
class ColumnFidelity:
    """One column: total variation in [0, 1]; Wasserstein in standard deviations of the real column; what is covered."""

    name: str
    kind: str
    tv: float
    wasserstein: float | None
    coverage: float


@dataclass(frozen=True)
class Fidelity:
    """How like the real training rows the synthetic ones are. For equal tables every figure but c2st and coverage is 0.

    - `tv`, `wasserstein`, `coverage`: means over the columns;
    - `correlation`: mean absolute difference of Pearson correlations between numeric columns;
    - `association`: the same for Cramér's V between pairs with a category in them;
    - `marginals_2`, `marginals_3`: mean total variation of the two- and three-way tables, numbers in five bins;
    - `c2st`: AUROC of a classifier that tells real from synthetic rows: 0.5 if it cannot, 1 if always;
    - `distance_1`, `_2`, `_3`: mean total variation of the one-, two- and three-way tables on public bins: categories, and
      20, 10 and 5 equal bins between a number's declared bounds;
    - `range_error`: how far answers to random questions about ranges are off, in shares of the rows;
    - `rules`: how often the value of one column nearly decides another in the real rows; `rules_broken` is the share of what
      they say that synthetic rows break, `rows_breaking` the share of rows that break one or more. Real rows break some too.
    """

    columns: tuple[ColumnFidelity, ...]
    tv: float
    wasserstein: float | None
    correlation: float | None
    association: float | None
    marginals_2: float | None
    marginals_3: float | None
    c2st: float
    coverage: float
    # Evaluations that were written before these were measured lack them.
    distance_1: float | None = None
    distance_2: float | None = None
    distance_3: float | None = None
    range_error: float | None = None
    rules: int | None = None
    rules_broken: float | None = None
    rows_breaking: float | None = None

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Fidelity:
        rest = {name: value for name, value in plain.items() if name != "columns"}
        return cls(tuple(ColumnFidelity(**column) for column in plain["columns"]), **rest)


@dataclass(frozen=True)
class Signals:
    """Signals of leakage, no proof of its absence. The holdout are the real test rows, which no generator saw.

    - `closer_to_training`: share of synthetic rows that lie nearer to a training row than to a holdout row, both of
      the same number; about 0.5 if the table tells nothing about who was in it;
    - `closest_training`, `closest_holdout`: the median distance to the closest record of each;
    - `copies`: share of synthetic rows that equal a training row, less that for the holdout;
    - `membership_auc`: of an attack that calls a real row a member the nearer it lies to a synthetic one; 0.5 is chance.
    """

    closer_to_training: float
    closest_training: float
    closest_holdout: float
    copies: float
    membership_auc: float
    rows: int


@dataclass(frozen=True)
class TableEvaluation:
    """One synthetic table. With an `error` it could not be read, and nothing else is known of it."""

    name: str
    rows: int
    error: str | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)
    ranking: Mapping[str, float] = field(default_factory=dict)
    fidelity: Fidelity | None = None
    signals: Signals | None = None
    notes: tuple[str, ...] = ()
    tuned: ClassifierScores | None = None
    """Setting B of boosting that was tuned on a part of the synthetic rows."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rows": self.rows,
            "error": self.error,
            "settings": {name: setting.to_dict() for name, setting in self.settings.items()},
            "ranking": dict(self.ranking),
            "fidelity": None if self.fidelity is None else asdict(self.fidelity),
            "signals": None if self.signals is None else asdict(self.signals),
            "notes": list(self.notes),
            "tuned": None if self.tuned is None else self.tuned.to_dict(),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> TableEvaluation:
        return cls(
            plain["name"],
            plain["rows"],
            plain["error"],
            {name: Setting.from_dict(setting) for name, setting in plain["settings"].items()},
            dict(plain["ranking"]),
            None if plain["fidelity"] is None else Fidelity.from_dict(plain["fidelity"]),
            None if plain["signals"] is None else Signals(**plain["signals"]),
            tuple(plain["notes"]),
            _tuned(plain),
        )


def _tuned(plain: Mapping[str, Any]) -> ClassifierScores | None:
    """Evaluations that were written before boosting was tuned lack it."""
    return None if plain.get("tuned") is None else ClassifierScores.from_dict(plain["tuned"])


@dataclass(frozen=True)
class Evaluation:
    """Synthetic tables beside the real one. As private as the real rows; see this module's docstring for the JSON.

    Without a target there is nothing to predict: `real` and `tuned` are None. `held_out` says how like the training rows the
    real test rows are, for scale: as few rows as these differ so much by chance.
    """

    target: str | None
    classes: tuple[str, ...]
    positive: str | None
    classifiers: tuple[str, ...]
    seeds: int
    rows: Mapping[str, int]
    real: Setting | None
    tables: tuple[TableEvaluation, ...]
    notes: tuple[str, ...] = ()
    tuned: ClassifierScores | None = None
    held_out: Fidelity | None = None

    def __getitem__(self, name: str) -> TableEvaluation:
        for table in self.tables:
            if table.name == name:
                return table
        raise InputError(f"no table {name!r} was evaluated; there are {', '.join(t.name for t in self.tables)}.")

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "target": self.target,
            "classes": list(self.classes),
            "positive": self.positive,
            "classifiers": list(self.classifiers),
            "seeds": self.seeds,
            "rows": dict(self.rows),
            "real": None if self.real is None else self.real.to_dict(),
            "tables": [table.to_dict() for table in self.tables],
            "notes": list(self.notes),
            "tuned": None if self.tuned is None else self.tuned.to_dict(),
            "held_out": None if self.held_out is None else asdict(self.held_out),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Evaluation:
        """What `to_dict` wrote. Anything else is an `InputError`."""
        if not isinstance(plain, Mapping) or plain.get("format") != FORMAT:
            raise InputError(
                f"this is no evaluation of format {FORMAT}: make it again with `understudy evaluate --json`."
            )
        try:
            return cls(
                plain["target"],
                tuple(plain["classes"]),
                plain["positive"],
                tuple(plain["classifiers"]),
                plain["seeds"],
                dict(plain["rows"]),
                None if plain["real"] is None else Setting.from_dict(plain["real"]),
                tuple(TableEvaluation.from_dict(table) for table in plain["tables"]),
                tuple(plain["notes"]),
                _tuned(plain),
                None if plain.get("held_out") is None else Fidelity.from_dict(plain["held_out"]),
            )
        except (KeyError, TypeError) as error:
            raise InputError(f"the evaluation is damaged ({error}): make it again.") from None

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Evaluation:
        try:
            return cls.from_dict(json.loads(text))
        except json.JSONDecodeError as error:
            raise InputError(f"the evaluation is not JSON: {error}.") from None
