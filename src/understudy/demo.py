"""`understudy demo`: the whole way on the embedded table: plan, spend, release, verify, use, and read about it.

The table is scikit-learn's breast-cancer data, public since 1995; it plays the sensitive one here.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.methods.loading import load
from understudy.methods.pate import PATEClassifier
from understudy.privacy import Certificate, Ledger, NoisyCounts
from understudy.privacy.plan import Family, plan, plot
from understudy.privacy.spending import spending
from understudy.tables import Schema
from understudy.tables.public import schema_from_public

DATASET = "breast-cancer"
LIMIT, DELTA = 3.0, 1e-5
HISTOGRAM_EPSILON, CLASSIFIER_EPSILON = 0.5, 2.0
EDGES = np.linspace(5, 30, 11)  # public: about what radii of cell nuclei can be in these images
_MARK = "made by understudy demo\n"


@dataclass(frozen=True)
class DemoResult:
    folder: Path
    accuracy: float
    ceiling: float
    majority: float
    labels: int
    spent: tuple[float, float]
    certificates: tuple[tuple[str, float, float], ...]


def run_demo(out: str | Path = "demo-output", *, say: Callable[[str], None] = print) -> DemoResult:
    """Run everything and write `report.md` with what was made; `say` gets one line a step."""
    folder = _fresh(Path(out))
    from understudy import datasets

    table = datasets.load_table(DATASET)
    frame: pd.DataFrame = table.frame
    order = np.random.default_rng(7).permutation(len(frame))
    private, public, test = (frame.iloc[part] for part in (order[:320], order[320:450], order[450:]))

    say(f"1/5  {len(private)} rows play the sensitive table, {len(public)} the public one, {len(test)} the test.")
    ledger = folder / "ledger.db"
    Ledger.create(str(ledger)).add_dataset(DATASET, epsilon=LIMIT, delta=2 * DELTA, note="demo")
    planned = plan(Family("gnmax"), DELTA, epsilon=CLASSIFIER_EPSILON, count=40)
    plot(planned, folder / "plan.svg")
    say(f"2/5  Plan: 40 labels for epsilon {CLASSIFIER_EPSILON:g} need noise of {planned.noise:.1f} votes.")

    counts, histogram = _histogram(private, ledger, folder)
    say(f"3/5  Private histogram of the mean radius, epsilon {HISTOGRAM_EPSILON:g}: {counts.tolist()}")

    model = _classifier(private, public, table.target, table.schema, ledger, folder)
    unseen = test.drop(columns=[table.target])
    accuracy = float((model.predict(unseen) == test[table.target]).mean())
    ceiling, majority = _ceiling(private, test, table.target)
    say(f"4/5  Private classifier, epsilon {CLASSIFIER_EPSILON:g}: {accuracy:.1%} of the test rows right.")

    certificates = []
    for name, path in (("histogram", histogram), ("classifier", folder / "classifier" / "certificate.json")):
        certificate = Certificate.load(path)
        certificates.append((name, certificate.verify(), certificate.delta))
    again = load(folder / "classifier")
    assert np.array_equal(again.predict(unseen), model.predict(unseen))
    spent = Ledger(str(ledger)).spent(DATASET)
    result = DemoResult(
        folder,
        accuracy,
        ceiling,
        majority,
        len(model.labels_),
        (float(spent.epsilon), float(spent.delta)),
        tuple(certificates),
    )
    (folder / "report.md").write_text(_report(result, counts), "utf-8")
    say("5/5  Both certificates recomputed from their events: they hold.")
    return result


def _fresh(folder: Path) -> Path:
    mark = folder / ".understudy-demo"
    if folder.exists() and any(folder.iterdir()) and not mark.exists():
        raise InputError(f"{folder} exists and was not made by the demo: name another folder with --out.")
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        mark.write_text(_MARK)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}. Name another folder.") from None
    return folder


def _histogram(private: pd.DataFrame, ledger: Path, folder: Path) -> tuple[np.ndarray, Path]:
    path = folder / "histogram.certificate.json"
    exact = np.histogram(private["mean radius"].clip(EDGES[0], EDGES[-1]), EDGES)[0]
    with spending(HISTOGRAM_EPSILON, 0.0, purpose="histogram", ledger=str(ledger), dataset=DATASET) as run:
        counts = NoisyCounts(HISTOGRAM_EPSILON).release(exact, run.budget)
        run.certificate = Certificate.from_budget(
            run.budget, release={"kind": "histogram", "column": "mean radius"}, assumed_public=["the edges of the bins"]
        )
        run.certificate.save(path)
    return counts, path


def _classifier(
    private: pd.DataFrame, public: pd.DataFrame, target: str, known: Schema, ledger: Path, folder: Path
) -> PATEClassifier:
    features = [name for name in private.columns if name != target]
    schema = Schema((*schema_from_public(public[features]).columns, known[target]), target)
    with spending(CLASSIFIER_EPSILON, DELTA, purpose="classifier", ledger=str(ledger), dataset=DATASET) as run:
        model = PATEClassifier(
            epsilon=CLASSIFIER_EPSILON, delta=DELTA, schema=schema, classes=known[target].labels, random_state=0
        )
        model.fit(private[features], private[target].to_numpy(), public=public[features], budget=run.budget)
        model.save(folder / "classifier")
        run.certificate = model.certificate_
    return model


def _ceiling(private: pd.DataFrame, test: pd.DataFrame, target: str) -> tuple[float, float]:
    """The same student on the real labels, without privacy, and the rate of the larger class: for comparison only."""
    from understudy.methods.students import make_student

    features = [name for name in private.columns if name != target]
    student = make_student("logistic", 0).fit(private[features].to_numpy(), private[target].to_numpy())
    right = float((student.predict(test[features].to_numpy()) == test[target]).mean())
    return right, float(test[target].value_counts(normalize=True).max())


def _report(result: DemoResult, counts: np.ndarray) -> str:
    promises = "\n".join(f"| {name} | {epsilon:.4g} | {delta:g} |" for name, epsilon, delta in result.certificates)
    rows = "\n".join(
        f"| {low:g} to {high:g} | {count} |" for low, high, count in zip(EDGES[:-1], EDGES[1:], counts, strict=True)
    )
    return f"""# What the demo released

From {DATASET} (scikit-learn's public table, playing a sensitive one), two things were released under differential
privacy. Whoever reads them learns almost nothing about any single row: adding or blanking one row changes the chance of any
outcome by at most a factor of e^epsilon, up to delta.

| release | epsilon | delta |
|---|---|---|
{promises}

The ledger `ledger.db` holds what was spent on this dataset: epsilon {result.spent[0]:.4g} of {LIMIT:g}, delta
{result.spent[1]:g}. The next request is checked against the rest.

## The classifier
{result.labels} labels for public rows, voted for by 50 teachers that never saw each other's rows, trained a student. It gets
**{result.accuracy:.1%}** of the test rows right. The same student on the real labels, without privacy: {result.ceiling:.1%}.
Always guessing the larger class: {result.majority:.1%}. (These test figures use real rows; publishing them is not covered.)

## The histogram
Mean radius of the cell nuclei, with noise; counts may be negative, and are left so because that is what was drawn.

| mean radius | noisy count |
|---|---|
{rows}

## Check it
    understudy verify {result.folder}/classifier
    understudy verify {result.folder}/histogram.certificate.json
    understudy ledger history {result.folder}/ledger.db

How epsilon grows with the number of labels: `plan.svg`.
"""
