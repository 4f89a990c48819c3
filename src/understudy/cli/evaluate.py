"""`understudy evaluate`: how good synthetic tables are, beside the real one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.app import EXIT_INPUT, Json, app, print_json, print_table
from understudy.cli.options import DatasetOption, LedgerOption, source
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.evaluation.noisy import NoisyMetrics
    from understudy.evaluation.result import Evaluation, Fidelity, Interval, Setting, TableEvaluation
    from understudy.tables import Schema

# The first is what a line is about.
_METRICS = {"auroc": "AUROC", "auprc": "AUPRC", "f1": "F1", "accuracy": "accuracy", "r2": "R²", "error": "error"}
_SETTINGS = {"B": "B: synthetic → real", "C": "C: synthetic → synthetic"}


@app.command()
def evaluate(
    test: Annotated[Path, typer.Option(help="Real rows that no generator saw.", parser=source)],
    synthetic: Annotated[list[Path], typer.Option(help="A synthetic table; may be repeated.", parser=source)],
    target: Annotated[
        str | None, typer.Option(help="The column to predict; without one, likeness and signals alone.")
    ] = None,
    train: Annotated[
        Path | None, typer.Option(help="The real rows that the synthetic ones were made from.", parser=source)
    ] = None,
    synthetic_name: Annotated[
        list[str] | None,
        typer.Option(help="What to call each synthetic table, in their order; the file's name if left out."),
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="What the columns may hold; else read off the real rows.")] = None,
    classifiers: Annotated[
        str, typer.Option(help="five (quick), four (G-PATE), twelve (PATE-GAN) or tuned (boosting).")
    ] = "five",
    seeds: Annotated[int, typer.Option(help="Repeats, for an interval.")] = 1,
    positive: Annotated[str | None, typer.Option(help="The positive class; the last of two if left out.")] = None,
    epsilon_metrics: Annotated[
        float | None, typer.Option(help="Print noisy scores alone, which may be published, at this epsilon.")
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="File for the certificate of the noisy scores.")] = None,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    out: Annotated[Path | None, typer.Option(help="File for the whole result as JSON.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one a core.")] = -1,
    cache: Annotated[
        Path | None, typer.Option(help="Folder that keeps finished scores, so that a run goes on; private.")
    ] = None,
    json: Json = False,
) -> None:
    """Score synthetic tables beside the real one: models trained on them, likeness, and signals of leakage.

    The figures are computed from real rows and are as private as those, unless made with --epsilon-metrics.
    """
    from understudy.files import check_writable
    from understudy.release.spending import check_ledger_options
    from understudy.tables import Schema, read_table

    check_ledger_options(ledger, dataset)
    described = None if schema is None else Schema.read(schema)
    for path in (out, certificate):
        if path is not None:
            check_writable(path)
    names = _names(synthetic, synthetic_name)
    tables, unread = _tables(names, synthetic)
    real = _read(read_table, test, "test")
    if epsilon_metrics is not None:
        _require_no_errors(unread)
        if target is None:
            raise InputError("--epsilon-metrics needs a --target: its scores are of predictions.")
        found = _noisy(real, tables, target, described, epsilon_metrics, classifiers, positive, ledger, dataset)
        _publish(found, certificate, out, json)
        return
    for option, value in (("certificate", certificate), ("ledger", ledger)):
        if value is not None:
            raise InputError(f"--{option} belongs to --epsilon-metrics: other scores carry no guarantee.")
    if train is None:
        raise InputError("--train is missing: the real rows that the synthetic ones were made from.")
    from understudy.evaluation.settings import evaluate as judge
    from understudy.files import write_text

    if not tables:
        _require_no_errors(unread)
    learnt = _read(read_table, train, "train")
    try:
        found = judge(
            learnt, real, tables, target, described,
            classifiers=classifiers, seeds=seeds, positive=positive, jobs=jobs, cache=_cache(cache),
        )  # fmt: skip
    except KeyboardInterrupt:
        typer.echo("interrupted: finished scores are kept, and the same command goes on from there.", err=True)
        raise SystemExit(130) from None
    found = _with_errors(found, names, unread)
    if out is not None:
        write_text(out, found.to_json())
    if json:
        print_json(found.to_dict())
    else:
        _print(found)
    if any(table.error for table in found.tables):
        raise SystemExit(EXIT_INPUT)


def _names(paths: list[Path], given: list[str] | None) -> list[str]:
    if given is not None and len(given) != len(paths):
        raise InputError(f"{len(paths)} --synthetic tables but {len(given)} --synthetic-name; give one for each.")
    names = given or [path.name.split(".")[0] for path in paths]
    if len(set(names)) < len(names):
        names = given or [str(path) for path in paths]
    if len(set(names)) < len(names):
        raise InputError("two synthetic tables have the same name: tell them apart with --synthetic-name.")
    return list(names)


def _tables(names: list[str], paths: list[Path]) -> tuple[dict[str, Any], dict[str, str]]:
    """The tables that can be read, and what is wrong with the others: one bad file does not stop the rest."""
    from understudy.tables import read_table

    tables: dict[str, Any] = {}
    unread: dict[str, str] = {}
    for name, path in zip(names, paths, strict=True):
        try:
            tables[name] = read_table(path)
        except InputError as error:
            unread[name] = str(error)
    return tables, unread


def _require_no_errors(unread: dict[str, str]) -> None:
    if unread:
        raise InputError(" ".join(unread.values()))


def _read(read: Any, path: Path, name: str) -> Any:
    try:
        return read(path)
    except InputError as error:
        raise InputError(f"--{name}: {error}") from None


def _cache(named: Path | None) -> Path:
    from understudy.datasets.cache import cache_folder

    return cache_folder().parent / "evaluation" if named is None else named


def _with_errors(found: Evaluation, names: list[str], unread: dict[str, str]) -> Evaluation:
    from dataclasses import replace

    from understudy.evaluation.result import TableEvaluation

    tables = [TableEvaluation(name, 0, error=unread[name]) if name in unread else found[name] for name in names]
    return replace(found, tables=tuple(tables))


def _noisy(
    test: Any, tables: dict[str, Any], target: str, schema: Schema | None, epsilon: float, classifiers: str,
    positive: str | None, ledger: str | None, dataset: str | None,
) -> NoisyMetrics:  # fmt: skip
    """Scores with noise; what they cost the test rows is set aside in a ledger before they are drawn, if one is named."""
    from understudy.evaluation.noisy import noisy_metrics
    from understudy.release.spending import spending

    if schema is None:
        raise InputError("--epsilon-metrics needs a --schema: one read off the real rows would not be public.")
    purpose = f"noisy scores of {', '.join(tables)}"
    with spending(epsilon, 0.0, purpose=purpose, ledger=ledger, dataset=dataset) as run:
        metrics = noisy_metrics(
            test, tables, target, schema, epsilon, classifiers=classifiers, positive=positive, budget=run.budget
        )
        run.certificate = metrics.certificate
    return metrics


def _publish(found: NoisyMetrics, certificate: Path | None, out: Path | None, json: bool) -> None:
    from understudy.files import write_text

    if certificate is not None:
        found.certificate.save(certificate)
    if out is not None:
        write_text(out, found.to_json())
    if json:
        print_json(found.to_dict())
        return
    rows: list[Sequence[object]] = []
    for name, runs in found.scores.items():
        rows += [[name, classifier, *(f"{run[m]:.3f}" for m in run)] for classifier, run in runs.items()]
        rows.append([name, "mean", *(f"{value:.3f}" for value in found.mean(name).values())])
    print_table(
        f"Setting B with noise: epsilon {found.epsilon:g} for the {found.rows:,} test rows",
        ["table", "classifier", "accuracy", "AUROC", "AUPRC"],
        rows,
    )
    typer.echo(f"May be published. Each count has noise of standard deviation {found.noise:.1f}.")
    if found.noise > found.rows / 100:
        typer.echo(
            f"That is much for {found.rows:,} rows. Fewer tables or classifiers (--classifiers four), more test rows or a "
            "larger epsilon give clearer scores."
        )
    for note in found.notes:
        typer.echo(note)


def _print(found: Evaluation) -> None:
    good = [table for table in found.tables if table.error is None]
    if found.real is not None:
        _print_scores(found, found.real, good)
    if found.tuned is not None:
        print_table(
            "Gradient boosting, tuned on a part of its own training rows and tested on real rows",
            ["", *(_METRICS[m] for m in found.tuned.metrics)],
            [
                [name, *map(_cell, scores.metrics.values())]
                for name, scores in (("real rows", found.tuned), *((t.name, t.tuned) for t in good))
                if scores is not None
            ],
        )
    print_table(
        "Likeness and signals (see the guide for what each means)",
        ["", *(("real test rows",) if found.held_out is not None else ()), *(t.name for t in good)],
        _likeness(good, found.held_out),
    )
    for table in found.tables:
        if table.error is not None:
            typer.echo(f"{table.name} could not be evaluated: {table.error}", err=True)
        for note, names in _notes(table).items():
            typer.echo(f"{table.name}: {note} ({names})")
        for note in table.notes:
            typer.echo(f"{table.name}: {note}")
    for note in found.notes:
        typer.echo(note)


def _print_scores(found: Evaluation, real: Setting, good: list[TableEvaluation]) -> None:
    names = [_METRICS[m] for m in real.mean]
    first = next(iter(real.mean))
    for table in good:
        typer.echo(
            f"{table.name}: models trained on it reach {names[0]} {table.settings['B'].mean[first].mean:.3f} on real rows; "
            f"trained on real rows they reach {real.mean[first].mean:.3f}."
        )
    rows: list[Sequence[object]] = [["real rows", "A: real → real", *map(_cell, real.mean.values())]]
    for table in good:
        rows += [
            [table.name, _SETTINGS[letter], *map(_cell, setting.mean.values())]
            for letter, setting in table.settings.items()
        ]
    what = "classifiers" if found.classes else "models"
    title = f"Mean of {len(found.classifiers)} {what} of {found.target!r}, {found.seeds} seed{'s' if found.seeds > 1 else ''}"
    print_table(title, ["table", "trained → tested", *names], rows)
    print_table(
        f"{names[0]} of each of the {what}, trained on synthetic and tested on real rows (* see below)",
        ["model", "real rows", *(table.name for table in good)],
        [
            [name, _cell(one.metrics[first]), *(_with_note(t.settings["B"].classifiers[name], first) for t in good)]
            for name, one in real.classifiers.items()
        ],
    )


def _notes(table: TableEvaluation) -> dict[str, str]:
    """What was odd with which classifiers, each remark once."""
    found: dict[str, list[str]] = {}
    for letter, setting in table.settings.items():
        for name, scores in setting.classifiers.items():
            if scores.note:
                found.setdefault(scores.note, []).append(f"{letter}: {name}")
    return {
        note: ", ".join(names)
        if len(names) <= 3
        else f"{len(names)} of {2 * len(table.settings['B'].classifiers)} models"
        for note, names in found.items()
    }


# What is shown of the likeness, beside a ranking and signals.
_LIKENESS = {
    "tv": "column distance, TV on the real rows' quantiles (0 is best)",
    "wasserstein": "column distance, Wasserstein (0 is best)",
    "correlation": "correlation distance (0 is best)",
    "association": "association distance (0 is best)",
    "marginals_2": "2-way marginals on the real rows' quantiles (0 is best)",
    "marginals_3": "3-way marginals on the real rows' quantiles (0 is best)",
    "distance_1": "1-way distance, TV on public bins (0 is best)",
    "distance_2": "2-way distance on public bins (0 is best)",
    "distance_3": "3-way distance on public bins (0 is best)",
    "range_error": "error of range queries (0 is best)",
    "rules_broken": "near-certain rules broken, share of what they say",
    "rows_breaking": "rows that break one or more of them, share",
    "c2st": "told from real rows, AUROC (0.5 is best)",
    "coverage": "coverage (1 is best)",
}


def _likeness(good: list[TableEvaluation], held_out: Fidelity | None) -> list[list[object]]:
    """The real test rows, where they were compared, stand beside for scale."""

    def row(label: str, values: list[float | None], held: float | None = None) -> list[object]:
        every = values if held_out is None else [held, *values]
        return [label, *("" if value is None else f"{value:.3f}" for value in every)]

    rows = [
        row("ranking of classifiers, AUROC (1 is best)", [t.ranking.get("auroc") for t in good]),
        row("ranking of models, R² (1 is best)", [t.ranking.get("r2") for t in good]),
        row("ranking of features (1 is best)", [t.ranking.get("features") for t in good]),
    ]
    for name, label in _LIKENESS.items():
        rows.append(row(label, [getattr(t.fidelity, name, None) for t in good], getattr(held_out, name, None)))
    for name, label in {
        "closer_to_training": "signal: nearer to training than to test rows (0.5)",
        "membership_auc": "signal: membership attack, AUROC (0.5)",
        "copies": "signal: copies of training rows (0)",
    }.items():
        rows.append(row(label, [getattr(t.signals, name, None) for t in good]))
    return [one for one in rows if any(one[1:])]


def _cell(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return f"{interval.mean:.3f}"
    return f"{interval.mean:.3f} ({interval.low:.3f} to {interval.high:.3f})"


def _with_note(scores: Any, metric: str) -> str:
    return _cell(scores.metrics[metric]) + (" *" if scores.note else "")
