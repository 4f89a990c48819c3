"""Measured scores, read from the JSON of `understudy evaluate`, in the shape in which the page shows them.

Of all that an evaluation holds the page shows the settings A, B and C and their ranking. How like the *training* rows
a synthetic table is, and how near it lies to them, stays with the holder of those rows. Scores with noise
(`--epsilon-metrics`) are setting B alone, and carry a promise of their own to the test rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.errors import InputError
from understudy.report.audits import read_json
from understudy.report.text import number, shown

if TYPE_CHECKING:
    from understudy.evaluation.noisy import NoisyMetrics
    from understudy.evaluation.result import Evaluation, Setting, TableEvaluation

NAMES = {"auroc": "AUROC", "auprc": "AUPRC", "f1": "F1", "accuracy": "accuracy", "r2": "R²", "error": "error"}
_ENOUGH_TO_RANK = 5
RANKING = {
    "auroc": "Agreement on which classifier is better, by AUROC (1 is always, 0.5 is by chance)",
    "auprc": "The same by AUPRC",
    "r2": "Agreement on which model is better, by R²",
    "features": "Agreement on which feature matters more",
}


@dataclass(frozen=True)
class Row:
    """One classifier: trained on real rows (A) or synthetic ones (B) and tested on real; C is synthetic on synthetic."""

    classifier: str
    real: float | None
    synthetic: float | None
    inside: float | None
    note: str = ""

    def named(self) -> list[tuple[str, float | None]]:
        return [("trained on real", self.real), ("on synthetic", self.synthetic), ("all synthetic", self.inside)]


@dataclass(frozen=True)
class Noise:
    """What noisy scores promise to the test rows. `problem` says why that does not hold; empty if it does."""

    epsilon: float
    rows: int
    deviation: float
    problem: str = ""


@dataclass(frozen=True)
class ScoreTable:
    """The scores of one synthetic table. Without `noise` they are exact figures of real rows."""

    name: str
    metric: str
    rows: tuple[Row, ...]
    others: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()
    seeds: int = 1
    error: str | None = None
    noise: Noise | None = None

    @property
    def metric_name(self) -> str:
        return NAMES.get(self.metric, self.metric)

    def mean(self) -> dict[str, float | None]:
        def of(name: str) -> float | None:
            values = [v for row in self.rows if (v := getattr(row, name)) is not None]
            return sum(values) / len(values) if values else None

        return {"real": of("real"), "synthetic": of("synthetic"), "inside": of("inside")}

    @property
    def headline(self) -> str:
        """One sentence for the top of the page."""
        mean = self.mean()
        if mean["synthetic"] is None:
            return ""
        one = len(self.rows) == 1
        who = f"The classifier trained on “{shown(self.name)}” reaches"
        if not one:
            who = f"{len(self.rows)} classifiers trained on “{shown(self.name)}” reach on average"
        text = f"{who} {self.metric_name} {mean['synthetic']:.3f} on real test rows"
        if mean["real"] is not None:
            text += f"; trained on the real rows {'it reaches' if one else 'they reach'} {mean['real']:.3f}"
        if self.noise is not None:
            text += f", measured with noise (ε = {number(self.noise.epsilon)} for those rows)"
        return text + "."


def read_scores(path: str | Path) -> list[ScoreTable]:
    """The scores in a file, one for each synthetic table in it."""
    from understudy.evaluation.noisy import KIND, NoisyMetrics
    from understudy.evaluation.result import Evaluation

    plain = read_json(path, "the evaluation")
    try:
        if isinstance(plain, dict) and plain.get("kind") == KIND:
            return noisy_scores_of(NoisyMetrics.from_dict(plain))
        return scores_of(Evaluation.from_dict(plain))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def noisy_scores_of(found: NoisyMetrics) -> list[ScoreTable]:
    """Setting B alone; the certificate is recomputed, and the scores are checked to be of the tables that it names."""
    try:
        found.certificate.verify()
        problem = "" if found.certificate.epsilon <= found.epsilon else "its certificate states a larger ε"
    except InputError as error:
        problem = str(error)
    named = found.certificate.body["release"].get("tables")
    if not problem and named != list(found.scores):
        problem = "its certificate is that of other tables"
    noise = Noise(found.epsilon, found.rows, found.noise, problem)
    made: list[ScoreTable] = []
    for table, runs in found.scores.items():
        rows = tuple(Row(name, None, run["auroc"], None) for name, run in runs.items())
        mean = found.mean(table)
        others = tuple((f"Mean {NAMES[metric]}", mean[metric]) for metric in ("auprc", "accuracy"))
        made.append(ScoreTable(table, "auroc", rows, others, found.notes, noise=noise))
    return made


def scores_of(evaluation: Evaluation) -> list[ScoreTable]:
    """AUROC where it says most (two classes), macro F1 where there are more; R² of a number."""
    metric = "auroc" if len(evaluation.classes) <= 2 else "f1"
    if evaluation.real is not None and "r2" in evaluation.real.mean:
        metric = "r2"
    return [_table(table, evaluation, metric) for table in evaluation.tables]


def _table(table: TableEvaluation, evaluation: Evaluation, metric: str) -> ScoreTable:
    if table.error is not None:
        return ScoreTable(table.name, metric, (), error=table.error)
    settings = {"A": evaluation.real, **table.settings}
    rows = tuple(
        Row(
            name,
            *(_score(settings.get(setting), name, metric) for setting in ("A", "B", "C")),
            note=_note(settings.get("B"), name),
        )
        for name in evaluation.classifiers
    )
    ranked = table.ranking if len(evaluation.classifiers) >= _ENOUGH_TO_RANK else {}
    others = tuple((RANKING.get(name, name), value) for name, value in ranked.items())
    return ScoreTable(table.name, metric, rows, others, (*evaluation.notes, *table.notes), evaluation.seeds)


def _score(setting: Setting | None, name: str, metric: str) -> float | None:
    if setting is None or name not in setting.classifiers:
        return None
    return setting.classifiers[name].metrics[metric].mean


def _note(setting: Setting | None, name: str) -> str:
    return setting.classifiers[name].note if setting is not None and name in setting.classifiers else ""
