"""How often `plan` and a release's own verdict are right about what synthetic rows are worth.

For many tables and budgets: what `plan` says beforehand, what the release says of itself, and what a classifier that learns
from its rows is worth on real test rows, beside one that learns from the real rows. Tables of other packages are read from
UNDERSTUDY_TABLES (see `benchmarks/coordinates.py`). Half of each table is learnt from, half judges; only the classes of the
target are declared. The limits of both judges were chosen on `CHOSEN_ON` alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.coordinates import load, public_schema
from benchmarks.declare import Benchmark, Measured, Part, Size
from benchmarks.methods import DELTA
from benchmarks.result import Row, grouped
from understudy import MomentsGenerator, datasets
from understudy.errors import InputError
from understudy.evaluation import FIVE, TWELVE, score
from understudy.methods.choosing import advise
from understudy.tables import Column, Schema

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
SYNTHETIC, MOST_TEST = 3000, 5000
JUDGES = (FIVE["logistic regression"], TWELVE["gradient boosting"])
# Of what the real rows' AUROC has above one half: so much is good, less than that is lost. With less than `LEARNABLE` there is
# nothing to keep.
GOOD, LOST, LEARNABLE = 0.75, 0.4, 0.6

# The target of each table, and columns that would give it away or are numbers of people.
TARGETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "iris": ("target", ()),
    "wine": ("target", ()),
    "breast_cancer": ("target", ()),
    "diabetes": ("target", ()),
    "anes96": ("vote", ()),
    "birthwt": ("low", ("bwt",)),
    "boston": ("chas", ()),
    "channing": ("cens", ()),
    "colon": ("status", ("id", "study")),
    "fair": ("affairs", ()),
    "gbsg2": ("cens", ()),
    "lung": ("status", ()),
    "mgus2": ("death", ("id",)),
    "modechoice": ("choice", ("individual",)),
    "nafld1": ("status", ("id", "case.id")),
    "nwtco": ("rel", ("seqno", "edrel")),
    "pbc": ("status", ("id",)),
    "randhie": ("mdvis", ()),
    "rossi": ("arrest", ()),
    "rotterdam": ("death", ("pid", "rtime", "recur")),
    "solder": ("skips", ()),
    "survey": ("Sex", ()),
}
# Targets that are numbers are cut in two.
ABOVE: dict[str, float] = {"diabetes": 140, "fair": 0, "randhie": 0, "solder": 2}
# Named data, of which so many rows are learnt from and as many judge; of the widest the first columns.
PARTS = (
    "adult:500", "adult:2000", "adult:20000", "census:2000", "census:20000", "cervical:400", "credit:10000",
    "credit:60000", "epileptic:2000", "intrusion:3000", "isolet:2000", "pima:384",
)  # fmt: skip
WIDEST = 40
NAMES = (*TARGETS, *PARTS)
# Every second one: rows of one named set never stand on both sides.
CHOSEN_ON = (
    "iris", "breast_cancer", "anes96", "boston", "colon", "gbsg2", "mgus2", "nafld1", "pbc", "rossi", "solder",
    "adult:500", "adult:2000", "adult:20000", "cervical:400", "epileptic:2000",
)  # fmt: skip


def table(name: str) -> tuple[pd.DataFrame, str]:
    """Rows with a target of classes that are text, in an order of their own."""
    if ":" in name:
        source, _, rows = name.partition(":")
        loaded: Any = datasets.load(source)
        target, frame = loaded.target, loaded.frame
        frame = frame.sample(min(2 * int(rows), len(frame)), random_state=0)
        frame = frame[[*[c for c in frame.columns if c != target][:WIDEST], target]]
    else:
        target, aside = TARGETS[name]
        frame = load(name).drop(columns=list(aside))
        if name in ABOVE:
            frame = frame.assign(**{target: np.where(frame[target] > ABOVE[name], "more", "less")})
    frame = frame.dropna(subset=[target]).reset_index(drop=True)
    classes = frame[target]
    whole = pd.api.types.is_numeric_dtype(classes) and not pd.api.types.is_bool_dtype(classes)
    return frame.assign(**{target: classes.astype(int).astype(str) if whole else classes.astype(str)}), target


def auroc(train: pd.DataFrame, test: pd.DataFrame, target: str, schema: Schema) -> float:
    """That of the better of two classifiers."""
    return max(score(train, test, target, schema, judge).auroc for judge in JUDGES)


def measure(settings: Mapping[str, Any], repeats: Sequence[int]) -> list[Measured]:
    """Releases of one table at each epsilon."""
    name = settings["table"]
    frame, target = table(name)
    whole = public_schema(frame).with_target(target)
    classes = Schema((Column(target, "categorical", categories=whole[target].categories),), target)
    found: list[Measured] = []
    for repeat in repeats:
        order = np.random.default_rng(repeat).permutation(len(frame))
        half = len(frame) // 2
        train = frame.iloc[order[:half]].reset_index(drop=True)
        test = frame.iloc[order[half : half + MOST_TEST]].reset_index(drop=True)
        real = auroc(train, test, target, whole)
        for epsilon in settings["epsilons"]:
            planned = advise(whole, len(train), epsilon, DELTA).recommended.outlook
            told = {"epsilon": epsilon, "repeat": repeat, "rows": len(train), "columns": frame.shape[1] - 1}
            told |= {"chosen_on": name in CHOSEN_ON, "real": real, "plan": planned}
            told["rarest"] = float(train[target].value_counts(normalize=True).min())
            generator = MomentsGenerator(epsilon, DELTA, random_state=repeat)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    generator.fit(train, target, classes)
            except InputError:
                found.append({**told, "verdict": "refused"})
                continue
            rows = generator.sample(SYNTHETIC, random_state=repeat)
            verdict = generator.verdict_
            told |= {"model": generator.facts_["model"], "verdict": verdict.grade, **verdict.figures}
            told["synthetic"] = auroc(rows, test, target, whole)
            found.append({**told, **likeness(rows, test, target)})
    return found


def likeness(rows: pd.DataFrame, test: pd.DataFrame, target: str) -> dict[str, float]:
    """How far single columns (total variation on the real deciles or values) and correlations of numbers are off, on average."""
    far: list[float] = []
    for name in (c for c in test.columns if c != target):
        cells: list[Any] = [pd.Series(one[name]) for one in (test, rows)]
        if pd.api.types.is_numeric_dtype(cells[0]) and cells[0].nunique() > 10:
            cuts = np.unique(np.nanquantile(cells[0], np.linspace(0, 1, 11)[1:-1]))
            cells = [pd.Series(np.searchsorted(cuts, one.to_numpy(float))) for one in cells]
        shares = [one.astype(str).str.removesuffix(".0").value_counts(normalize=True) for one in cells]
        far.append(float(shares[0].sub(shares[1], fill_value=0.0).abs().sum() / 2))
    numbers = [c for c in test.columns if c != target and pd.api.types.is_numeric_dtype(test[c])]
    numbers = [c for c in numbers if c in rows and pd.api.types.is_numeric_dtype(rows[c])]
    told = {"columns_off": float(np.mean(far))}
    if len(numbers) > 1:
        ranked: list[Any] = [one[numbers].rank() for one in (test, rows)]
        real, made = (one.corr().fillna(0.0).to_numpy() for one in ranked)
        told["pairs_off"] = float(np.abs(real - made)[np.triu_indices(len(numbers), 1)].mean())
    return told


def parts(size: Size, repeats: int) -> list[Part]:
    quick = size == "quick"
    return [
        Part(
            name,
            "benchmarks.verdict:measure",
            {"table": name, "epsilons": [1.0, 10.0] if quick else list(EPSILONS)},
            repeats,
        )
        for name in (NAMES[:1] if quick else NAMES)
    ]


def worth(run: Row) -> str | None:
    """What the rows were worth; None where the real rows hold nothing that could be kept."""
    if run["real"] < LEARNABLE or run.get("synthetic") is None:
        return None
    kept = (run["synthetic"] - 0.5) / (run["real"] - 0.5)
    return "good" if kept >= GOOD else "lost" if kept < LOST else "thin"


def summary(runs: Sequence[Row]) -> list[Row]:
    """For the tables that limits were chosen on, and for the others: how often each judge is right, and how often far off."""
    said: dict[str, Callable[[Row], str]] = {
        "plan": lambda run: "lost" if run["plan"] == "hopeless" else run["plan"],
        "verdict": lambda run: run["verdict"],
    }
    made: list[Row] = []
    for judge, word in said.items():
        for (chosen,), mine in grouped(runs, "chosen_on").items():
            known = [(word(run), truth) for run in mine if (truth := worth(run)) is not None]
            row: Row = {"judge": judge, "tables": "chosen on" if chosen else "held out", "releases": len(known)}
            row["right"] = _share([a == b for a, b in known])
            row["good_but_lost"] = sum(a == "good" and b == "lost" for a, b in known)
            row["lost_but_good"] = sum(a == "lost" and b == "good" for a, b in known)
            for grade in ("good", "thin", "lost"):
                row[f"says_{grade}"] = sum(a == grade for a, _ in known)
                row[f"right_when_{grade}"] = _share([a == b for a, b in known if a == grade])
            made.append(row)
    for grade in ("good", "thin", "lost"):
        mine = [run for run in runs if run["verdict"] == grade and not run["chosen_on"] and run["real"] >= LEARNABLE]
        if mine:
            row = {"judge": "verdict", "tables": f"held out, says {grade}", "releases": len(mine)}
            for name in ("real", "synthetic"):
                row[name] = round(float(np.mean([run[name] for run in mine])), 3)
            made.append(row)
    return made


def _share(right: Sequence[bool]) -> float:
    return round(float(np.mean(right)), 3) if right else float("nan")


BENCHMARK = Benchmark(
    id="verdict",
    title="How often plan and the verdict are right about what synthetic rows are worth",
    datasets=("adult", "census", "cervical", "credit", "epileptic", "intrusion", "isolet", "pima"),
    repeats={"quick": 1, "full": 2},
    parts=parts,
    summary=summary,
    notes=(
        "moments at delta 1e-5, no schema but the target's classes. `real` and `synthetic` are the AUROC on test rows of the better of "
        f"a logistic regression and boosted trees. Rows are good where they keep {GOOD:.0%} of what the real rows' AUROC has above one half, "
        f"lost below {LOST:.0%}; tables on which real rows do not reach {LEARNABLE:g} are left out.",
    ),
)
