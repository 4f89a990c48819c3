"""`understudy classify` and `understudy predict`: a private classifier, made and used."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.app import Json, app, print_json, print_table
from understudy.cli.classify_images import METHODS, classify_images, predict_images, refuse_for_images
from understudy.cli.hosts import CoordinatorOption, HostNumberOption, HostsOption, Meeting, read_meeting
from understudy.cli.images import AboutImages, is_images, read_images, refuse_about_images
from understudy.cli.options import (
    DATA_HELP,
    DatasetOption,
    DeltaOption,
    DryRunOption,
    GreyOption,
    LedgerOption,
    PersonOption,
    RowsPerPersonOption,
    SettingsOption,
    SizeOption,
    StrictOption,
    YesOption,
    ask_about_numbers,
    look_ahead,
    read_rows,
    source,
    tell_owner,
    tell_verdict,
)
from understudy.cli.report import ReportOption, check_report, write_report_for
from understudy.errors import InputError

TEACHERS = ("logistic", "network", "experts")

if TYPE_CHECKING:
    import pandas as pd

    from understudy.methods.request import Request


@app.command()
def classify(
    data: Annotated[
        Path,
        typer.Argument(
            help=f"{DATA_HELP} Or an image set: .npz, a folder of pictures by class, or a name.", parser=source
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the release.")],
    target: Annotated[str | None, typer.Option(help="The column to predict (tables).")] = None,
    public: Annotated[
        Path | None,
        typer.Option(
            help="Public rows with the same features, or images, no labels needed; if left out, synthetic rows teach the classifier.",
            parser=source,
        ),
    ] = None,
    epsilon: Annotated[float, typer.Option(help="The privacy budget.")] = 2.0,
    delta: DeltaOption = None,
    teachers: Annotated[int | None, typer.Option(help="How many teachers; 50 if left out.")] = None,
    aggregator: Annotated[
        str | None, typer.Option(help="confident-gnmax, gnmax or lnmax; the first if left out.")
    ] = None,
    queries: Annotated[
        int | None, typer.Option(help="How many labels to ask for; chosen from the budget if left out.")
    ] = None,
    teacher: Annotated[
        str | None,
        typer.Option(
            help="What a teacher is: logistic (if left out), network (all of them one array of JAX) or experts."
        ),
    ] = None,
    student: Annotated[
        str | None, typer.Option(help="logistic (with --public, if left out), forest (without), boosting or mlp.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="Public schema; made from the public rows, or bought, if left out.")
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help="The labels, with commas; looked at for 10 % of epsilon if neither this nor a schema says them."
        ),
    ] = None,
    method: Annotated[str | None, typer.Option(help=f"For image sets: {', '.join(METHODS)}.")] = None,
    size: SizeOption = None,
    grey: GreyOption = False,
    settings: SettingsOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a killed run (image sets), unpaid.")] = False,
    person: PersonOption = None,
    rows_per_person: RowsPerPersonOption = None,
    strict: StrictOption = False,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    seed: Annotated[int | None, typer.Option(help="For shards and student; never for the noise.")] = None,
    dry_run: DryRunOption = False,
    report: ReportOption = None,
    coordinator: CoordinatorOption = None,
    hosts: HostsOption = None,
    host_number: HostNumberOption = None,
    yes: YesOption = False,
    as_json: Json = False,
) -> None:
    """Learn a classifier from sensitive rows; release a student that saw public or synthetic rows and no private one.

    Of an image set: release a network, whose every lesson was clipped for each image and blurred with noise; with --public images,
    one that learnt from those, by the noisy votes of the private images near them.
    """
    from understudy.methods.request import Request
    from understudy.release.spending import check_ledger_options

    check_report(report)
    meeting = read_meeting(coordinator, hosts, host_number)
    if is_images(data):
        refuse_for_images({"coordinator": coordinator, "hosts": hosts, "host_number": host_number})
        check_ledger_options(ledger, dataset)
        if public is not None and public.exists() and data.exists() and public.samefile(data):
            raise InputError(f"{public} is the private set itself: --public names images that are public.")
        refuse_for_images({"teachers": teachers, "aggregator": aggregator, "queries": queries, "teacher": teacher})
        refuse_for_images({"student": student, "person": person, "rows_per_person": rows_per_person, "strict": strict})
        images = read_images(data, AboutImages(classes, size, grey), (target, schema), as_json)
        booked = {"ledger": ledger, "dataset": dataset}
        budget, more = (epsilon, delta), settings or []
        if classify_images(images, public, method, out, budget, seed, more, resume, dry_run, booked, as_json):
            write_report_for(report, [out], **booked)
        return
    refuse_about_images(AboutImages(None, size, grey), data)
    if target is None:
        raise InputError("--target is missing: name the column to predict.")
    if method is not None or settings or resume:
        raise InputError("--method, --set and --resume are for image sets; a table is learnt from by PATE.")
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
        person=person,
        rows_per_person=read_rows(rows_per_person),
    )
    if teacher is not None and teacher not in TEACHERS:
        raise InputError(f"--teacher {teacher!r} must be one of {', '.join(TEACHERS)}.")
    if public is None:
        labelling = {"teachers": teachers, "aggregator": aggregator, "queries": queries, "teacher": teacher}
        for option, given in (labelling | {"hosts": meeting}).items():
            if given is not None:
                raise InputError(f"--{option}: teachers label public rows. Name those with --public, or leave it out.")
        done = _taught_by_rows(request, student, seed, dry_run, yes or as_json, as_json)
    else:
        done = _taught_by_labels(
            request,
            {
                "teachers": 50 if teachers is None else teachers,
                "aggregator": aggregator or "confident-gnmax",
                "queries": queries,
                "student": student or "logistic",
                "estimator": None if teacher in (None, "logistic") else teacher,
                "random_state": seed,
            },
            dry_run,
            yes or as_json,
            as_json,
            meeting,
        )
    if done:
        write_report_for(report, [out], ledger=ledger, dataset=dataset)


def _taught_by_rows(
    request: Request, student: str | None, seed: int | None, dry_run: bool, yes: bool, as_json: bool
) -> bool:
    """No public rows: a release that draws rows, which teach a student whenever it is asked. False where nothing was done."""
    from understudy import registry
    from understudy.methods.taught import Taught, check_student, classify_by_rows

    check_student(student)
    done = classify_by_rows(
        request,
        random_state=seed,
        ask=lambda frame: ask_about_numbers(frame, request.target, yes),
        stop=lambda generator, sizes: look_ahead(registry.get("moments"), generator, sizes, dry_run, as_json),
        tell=lambda generator: tell_verdict(generator, as_json),
    )
    if done is None:
        return False
    generator, unfit = done
    certificate = generator.certificate_
    epsilon, delta = certificate.total()
    labels = [str(label) for label in Taught(generator, student).classes_.tolist()]
    if as_json:
        result = {
            "out": str(request.out),
            "method": generator.method,
            "epsilon": epsilon,
            "delta": delta,
            "classes": labels,
        }
        result |= {"verdict": {"sentence": generator.verdict_.sentence(), **generator.verdict_.to_dict()}}
        print_json({**result, "private_to_the_data_holder": {"mended": unfit.to_dict()}})
        return True
    typer.echo(
        f"Released to {request.out}: (epsilon, delta) = ({epsilon:.4g}, {delta:g}). Synthetic rows teach the classifier, for the "
        f"classes {', '.join(labels)}."
    )
    if len(labels) < 2:
        typer.echo(
            "No two classes stood out of the noise: no classifier can be taught. Say them with --classes.", err=True
        )
    tell_owner(*unfit.sentences())
    more = "" if student is None else f" --student {student}"
    typer.echo(
        f"Next: understudy verify {request.out}    understudy predict {request.out} NEW.csv --out predictions.csv{more}"
    )
    return True


def _taught_by_labels(
    request: Request, settings: dict[str, Any], dry_run: bool, yes: bool, as_json: bool, meeting: Meeting | None
) -> bool:
    """Public rows, labelled by a vote of teachers. False where nothing was done, or another process makes the release."""
    from understudy import registry
    from understudy.methods.classify_table import classify_table

    entry = registry.get("pate")
    sized = entry.load().from_settings(teachers=settings["teachers"])
    if not yes and sys.stdin.isatty():
        settings["doubt"] = _doubt
    if meeting is not None:
        settings["together"] = lambda: meeting.together(request.out)
    released = classify_table(
        request,
        **settings,
        ask=lambda frame: ask_about_numbers(frame, request.target, yes),
        stop=lambda sizes: look_ahead(entry, sized, sizes, dry_run, as_json),
    )
    if released is None:
        if meeting is not None and meeting.number and not dry_run:
            _tell_voted(meeting, as_json)
        return False
    model = released.model
    certificate = model.certificate_
    epsilon, delta = certificate.total()
    release = certificate.body["release"]
    result = {
        "out": str(request.out),
        "epsilon": epsilon,
        "delta": delta,
        "unit": certificate.body["unit"],
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
        return True
    print_table(
        f"Released to {request.out}: (epsilon, delta) = ({epsilon:.4g}, {delta:g})",
        ["teachers", "rows asked", "labels", "classes"],
        [[release["teachers"], release["queries"], release["labels"], ", ".join(map(str, result["classes"]))]],
    )
    tell_owner(
        f"the teachers agree by {model.private_agreement_:.0%} of their votes",
        f"data-dependent epsilon {model.private_epsilon_data_dependent_:.3g}",
        *released.private_mended.sentences(),
    )
    out = request.out
    typer.echo(f"Next: understudy verify {out}    understudy predict {out} NEW.csv --out predictions.csv")
    return True


def _tell_voted(meeting: Meeting, as_json: bool) -> None:
    if as_json:
        print_json({"host_number": meeting.number, "hosts": meeting.hosts, "released_by": 0})
    else:
        typer.echo(f"Process {meeting.number} of {meeting.hosts} has voted. Process 0 wrote the release.")


def _doubt(said: str) -> None:
    """Ask a person before the labels are paid for."""
    typer.echo(f"Before the labels are paid for: {said}", err=True)
    typer.confirm("Go on all the same?", abort=True, err=True)


@app.command()
def predict(
    release: Annotated[Path, typer.Argument(help="Folder of a released classifier.")],
    data: Annotated[
        Path, typer.Argument(help="Rows to label; or pictures: one, a folder, .npz or Parquet.", parser=source)
    ],
    out: Annotated[Path | None, typer.Option(help="Table to write; printed if left out.")] = None,
    student: Annotated[
        str | None, typer.Option(help="Who learns from a release's synthetic rows: forest, logistic, boosting or mlp.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Label new rows with a released classifier, or by the rows of a generator. Costs nothing: the release is already private."""
    from understudy import registry
    from understudy.methods.taught import Taught, check_student, predict_table

    check_student(student)
    model = registry.load(release)
    of_images = model.method in METHODS
    draws = hasattr(model, "sample_to") and getattr(model, "schema_", None) is not None
    of_tables = model.method in registry.names("classifier", "table") and model.schema is not None
    if not (of_images or draws or of_tables):
        raise InputError(f"{release} is not a classifier of tables: name a folder that `understudy classify` made.")
    if student is not None and not draws:
        raise InputError("--student: this release has its own. The option is for releases that draw rows.")
    if of_images:
        _show(predict_images(model, data, out), "prediction", out, as_json)
        return
    frame = predict_table(Taught(model, student) if draws else model, data, out)
    _show(frame, str(frame.columns[0]), out, as_json)


def _show(frame: pd.DataFrame, predicted: str, out: Path | None, as_json: bool) -> None:
    if as_json:
        print_json({"rows": len(frame), "out": None if out is None else str(out), "predictions": frame.to_dict("list")})
    elif out is None:
        typer.echo(frame.to_csv(index=False), nl=False)
    else:
        counts = frame[predicted].value_counts()
        print_table(
            f"Wrote {len(frame)} predictions to {out}", ["label", "rows"], [[k, int(v)] for k, v in counts.items()]
        )
