"""`understudy demo`: the whole way on the embedded table: plan, release, evaluate, verify, and a page to read about it.

The table is scikit-learn's breast-cancer data, public since 1995; it plays the sensitive one here.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from understudy.errors import InputError
from understudy.evaluation import evaluate
from understudy.evaluation.classifiers import FIVE
from understudy.methods.choosing import Advice, advise
from understudy.methods.distillation.onelook import OneLook
from understudy.methods.pate import PATEClassifier
from understudy.privacy import Certificate, Ledger
from understudy.release.spending import spending
from understudy.report import Sources, write_report
from understudy.tables import Schema, write_table
from understudy.tables.public import schema_from_public

DATASET = "breast-cancer"
POSITIVE = "malignant"
LIMIT, DELTA = 4.0, 1e-5
LOOK_EPSILON, CLASSIFIER_EPSILON = 1.0, 2.0
SYNTHETIC_ROWS, PER_CLASS = 1000, 10
ALL_RELEASES = "all-releases.html"
JUDGES = ("logistic regression", "random forest", "adaboost")
_MARK = "made by understudy demo\n"

Tell = Callable[[int, int, str], None]
"""Called with (step, steps, what is being done)."""


@dataclass(frozen=True)
class Made:
    """One release of the demo: its folder, its promise, and how it did on the real test rows."""

    what: str
    folder: Path
    epsilon: float
    delta: float
    score: float
    real: float
    metric: str


@dataclass(frozen=True)
class DemoResult:
    folder: Path
    page: Path
    made: tuple[Made, ...]
    spent: tuple[float, float]
    majority: float
    advice: Advice
    verdict: str


@dataclass(frozen=True)
class _Tables:
    private: pd.DataFrame
    public: pd.DataFrame
    test: pd.DataFrame
    schema: Schema
    target: str


def run_demo(out: str | Path = "demo-output", *, tell: Tell = lambda step, steps, what: None) -> DemoResult:
    """Run everything, and write `report.html` about the synthetic rows and another page about all releases together."""
    from understudy import datasets

    folder = _fresh(Path(out))
    table = datasets.load_table(DATASET)
    assert table.target is not None
    frame: pd.DataFrame = table.frame
    order = np.random.default_rng(7).permutation(len(frame))
    private, public, test = (
        frame.iloc[part].reset_index(drop=True) for part in (order[:350], order[350:450], order[450:])
    )
    tables = _Tables(private, public, test, table.schema, table.target)
    steps = 5
    rows = f"{len(tables.private)} rows play the sensitive table, {len(tables.public)} the public one"
    tell(1, steps, f"Plan: {rows}")
    ledger = str(folder / "ledger.db")
    Ledger.create(ledger).add_dataset(DATASET, epsilon=LIMIT, delta=4 * DELTA, note="demo")
    advice = advise(tables.schema, len(tables.private), LOOK_EPSILON, DELTA, public_rows=len(tables.public))

    tell(2, steps, f"One look at epsilon {LOOK_EPSILON:g}: a generator, and a set distilled from it for free")
    distiller = _look(tables, ledger, folder)
    synthetic = distiller.generator_.sample(SYNTHETIC_ROWS, random_state=0)
    write_table(synthetic, folder / "synthetic.csv")
    write_table(tables.test, folder / "test.csv")

    tell(3, steps, f"Classifier: 50 teachers vote at epsilon {CLASSIFIER_EPSILON:g}")
    model = _classifier(tables, ledger, folder)

    tell(4, steps, f"Evaluate on {len(tables.test)} real test rows that nobody learnt from")
    evaluation = evaluate(
        tables.private,
        tables.test,
        {"synthetic rows": synthetic},
        tables.target,
        tables.schema,
        classifiers={name: FIVE[name] for name in JUDGES},
        positive=POSITIVE,
        with_fidelity=False,
        with_signals=False,
        jobs=1,
    )
    assert evaluation.real is not None
    (folder / "evaluation.json").write_text(evaluation.to_json(), "utf-8")
    truth = tables.test[tables.target]
    unseen = tables.test.drop(columns=[tables.target])
    accuracy = {
        "classifier": float((model.predict(unseen) == truth).mean()),
        "distilled set": distiller.score(tables.test),
    }
    ceiling = _ceiling(tables)

    tell(5, steps, "Verify every certificate and write the report")
    made = (
        _made(
            "synthetic rows",
            folder / "generator",
            evaluation["synthetic rows"].settings["B"].mean["auroc"].mean,
            evaluation.real.mean["auroc"].mean,
            "AUROC",
        ),
        _made("distilled set", folder / "distilled", accuracy["distilled set"], ceiling, "accuracy"),
        _made("classifier", folder / "classifier", accuracy["classifier"], ceiling, "accuracy"),
    )
    told = {
        "evaluations": [folder / "evaluation.json"],
        "test": folder / "test.csv",
        "ledger": ledger,
        "dataset": DATASET,
    }
    # The page to read first is about one release and one epsilon, as a first release is.
    page = write_report(Sources([made[0].folder], **told), folder / "report.html")
    every = Sources([one.folder for one in made], **told, title="The demo’s private stand-ins")
    write_report(every, folder / ALL_RELEASES)
    spent = Ledger(ledger).spent(DATASET)
    result = DemoResult(
        folder,
        page,
        made,
        (float(spent.epsilon), float(spent.delta)),
        float(truth.value_counts(normalize=True).max()),
        advice,
        distiller.generator_.verdict_.sentence(),
    )
    (folder / "summary.json").write_text(json.dumps(summary(result), indent=2) + "\n", "utf-8")
    return result


def summary(result: DemoResult) -> dict[str, object]:
    """What was made and where to look, for machines."""
    return {
        "folder": str(result.folder),
        "report": str(result.page),
        "report_of_all": str(result.folder / ALL_RELEASES),
        "releases": [
            {
                "what": one.what,
                "folder": str(one.folder),
                "epsilon": one.epsilon,
                "delta": one.delta,
                "metric": one.metric,
                "score": one.score,
                "without_privacy": one.real,
            }
            for one in result.made
        ],
        "spent": {"epsilon": result.spent[0], "delta": result.spent[1]},
        "majority": result.majority,
        "verdict": result.verdict,
    }


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


def _made(what: str, folder: Path, score: float, real: float, metric: str) -> Made:
    certificate = Certificate.load(folder / "certificate.json")
    return Made(what, folder, certificate.verify(), certificate.delta, score, real, metric)


def _look(tables: _Tables, ledger: str, folder: Path) -> OneLook:
    """Touches private data: one look at the rows that play the sensitive ones, and two releases from it."""
    distiller = OneLook.from_settings(
        epsilon=LOOK_EPSILON,
        delta=DELTA,
        per_class=PER_CLASS,
        steps=300,
        batch=500,
        samples=SYNTHETIC_ROWS,
        random_state=0,
    )
    with spending(LOOK_EPSILON, DELTA, purpose="one look", ledger=ledger, dataset=DATASET) as run:
        distiller.fit(tables.private, tables.target, tables.schema, budget=run.budget)
        distiller.generator_.save(folder / "generator")
        distiller.save(folder / "distilled")
        run.certificate = distiller.generator_.certificate_
    return distiller


def _classifier(tables: _Tables, ledger: str, folder: Path) -> PATEClassifier:
    """Touches private data: teachers learn from the rows that play the sensitive ones."""
    features = [name for name in tables.private.columns if name != tables.target]
    label = tables.schema[tables.target]
    schema = Schema((*schema_from_public(tables.public[features]).columns, label), tables.target)
    with spending(CLASSIFIER_EPSILON, DELTA, purpose="classifier", ledger=ledger, dataset=DATASET) as run:
        model = PATEClassifier(
            epsilon=CLASSIFIER_EPSILON, delta=DELTA, schema=schema, classes=label.labels, random_state=0
        )
        labels = tables.private[tables.target].to_numpy()
        model.fit(tables.private[features], labels, public=tables.public[features], budget=run.budget)
        model.save(folder / "classifier")
        run.certificate = model.certificate_
    return model


def _ceiling(tables: _Tables) -> float:
    """The classifier's student on the real labels, without privacy: for comparison only."""
    from understudy.methods.students import make_student

    features = [name for name in tables.private.columns if name != tables.target]
    student = make_student("logistic", 0).fit(
        tables.private[features].to_numpy(), tables.private[tables.target].to_numpy()
    )
    return float((student.predict(tables.test[features].to_numpy()) == tables.test[tables.target]).mean())
