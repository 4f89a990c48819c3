"""`understudy classify` and `understudy predict`: a private classifier, made and used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from understudy.cli.app import Json, app, print_json, print_table
from understudy.cli.options import (
    DATA_HELP,
    DatasetOption,
    DeltaOption,
    DryRunOption,
    LedgerOption,
    StrictOption,
    look_ahead,
    source,
    tell_owner,
)
from understudy.cli.report import ReportOption, check_report, write_report_for


@app.command()
def classify(
    data: Annotated[Path, typer.Argument(help=DATA_HELP, parser=source)],
    target: Annotated[str, typer.Option(help="The column to predict.")],
    public: Annotated[Path, typer.Option(help="Public rows with the same features; no labels needed.", parser=source)],
    out: Annotated[Path, typer.Option(help="Folder for the release.")],
    epsilon: Annotated[float, typer.Option(help="The privacy budget.")] = 2.0,
    delta: DeltaOption = None,
    teachers: Annotated[int, typer.Option(help="How many teachers.")] = 50,
    aggregator: Annotated[str, typer.Option(help="confident-gnmax, gnmax or lnmax.")] = "confident-gnmax",
    queries: Annotated[
        int | None, typer.Option(help="How many labels to ask for; chosen from the budget if left out.")
    ] = None,
    student: Annotated[str, typer.Option(help="logistic, forest, boosting or mlp.")] = "logistic",
    schema: Annotated[Path | None, typer.Option(help="Public schema; made from the public rows if left out.")] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help="The labels, with commas; looked at for 10 % of epsilon if neither this nor a schema says them."
        ),
    ] = None,
    strict: StrictOption = False,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    seed: Annotated[int | None, typer.Option(help="For shards and student; never for the noise.")] = None,
    dry_run: DryRunOption = False,
    report: ReportOption = None,
    as_json: Json = False,
) -> None:
    """Learn a classifier from sensitive rows; release a student that saw public rows and private labels only."""
    from understudy import registry
    from understudy.methods.classify_table import Request, classify_table

    check_report(report)
    request = Request(
        data=data,
        target=target,
        public=public,
        out=out,
        epsilon=epsilon,
        delta=delta,
        schema=schema,
        classes=None if classes is None else tuple(c.strip() for c in classes.split(",")),
        ledger=ledger,
        dataset=dataset,
        strict=strict,
    )
    entry = registry.get("pate")
    model = entry.load().from_settings(teachers=teachers)
    released = classify_table(
        request,
        teachers=teachers,
        aggregator=cast(Any, aggregator),
        queries=queries,
        student=student,
        random_state=seed,
        stop=lambda sizes: look_ahead(entry, model, sizes, dry_run, as_json),
    )
    if released is None:
        return
    write_report_for(report, [out], ledger=ledger, dataset=dataset)
    model = released.model
    certificate = model.certificate_
    release = certificate.body["release"]
    result = {
        "out": str(out),
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "teachers": release["teachers"],
        "queries": release["queries"],
        "labels": release["labels"],
        "classes": model.classes_.tolist(),
        "private_to_the_data_holder": {
            "teacher_agreement": model.private_agreement_,
            "epsilon_data_dependent": model.private_epsilon_data_dependent_,
            "mended": released.private_mended.to_dict(),
        },
    }
    if as_json:
        print_json(result)
        return
    print_table(
        f"Released to {out}: (epsilon, delta) = ({certificate.epsilon:.4g}, {certificate.delta:g})",
        ["teachers", "rows asked", "labels", "classes"],
        [[release["teachers"], release["queries"], release["labels"], ", ".join(map(str, result["classes"]))]],
    )
    tell_owner(
        f"the teachers agree by {model.private_agreement_:.0%} of their votes",
        f"data-dependent epsilon {model.private_epsilon_data_dependent_:.3g}",
        *released.private_mended.sentences(),
    )
    typer.echo(f"Next: understudy verify {out}    understudy predict {out} NEW.csv --out predictions.csv")


@app.command()
def predict(
    release: Annotated[Path, typer.Argument(help="Folder of a released classifier.")],
    data: Annotated[Path, typer.Argument(help="Rows to label.", parser=source)],
    out: Annotated[Path | None, typer.Option(help="Table to write; printed if left out.")] = None,
    as_json: Json = False,
) -> None:
    """Label new rows with a released classifier. Costs nothing: the release is already private."""
    from understudy.methods.classify_table import predict_table

    frame = predict_table(release, data, out)
    if as_json:
        print_json({"rows": len(frame), "out": None if out is None else str(out), "predictions": frame.to_dict("list")})
    elif out is None:
        typer.echo(frame.to_csv(index=False), nl=False)
    else:
        counts = frame.iloc[:, 0].value_counts()
        print_table(
            f"Wrote {len(frame)} predictions to {out}", ["label", "rows"], [[k, int(v)] for k, v in counts.items()]
        )
