"""Image sets on the command line: read from a name or an .npz, made by a generator, written for people and other tools."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from understudy import registry
from understudy.cli.app import print_json, print_table
from understudy.cli.options import look_ahead, make, progress_bar, tell_verdict, with_safe_delta
from understudy.cli.report import write_report_for
from understudy.errors import InputError
from understudy.wording import did_you_mean

if TYPE_CHECKING:
    from understudy.images import ImageDataset

METHODS = registry.names("generator", "images")


def is_images(data: Path) -> bool:
    """Whether what was named is a set of images: an .npz, or a named one."""
    if data.suffix == ".npz":
        return True
    if data.suffix or data.exists() or not isinstance(data, Path):
        return False
    from understudy import datasets

    return str(data) in datasets.names() and datasets.info(str(data)).kind == "image"


def read_images(data: Path, classes: str | None, about_columns: Sequence[Any]) -> ImageDataset:
    """Reads private images. What is only said about tables is refused."""
    from understudy import datasets
    from understudy.images import read_npz

    if any(one is not None and one is not False for one in about_columns):
        raise InputError("an image set carries its labels: leave --target, --schema and all about columns out.")
    if data.suffix == ".npz":
        return read_npz(data, None if classes is None else classes.split(","))
    return datasets.load_images(str(data), "train")


def refuse_classes(classes: str | None) -> None:
    if classes is not None:
        raise InputError("--classes is for image sets; a table's classes belong in its schema.")


def write_images(images: ImageDataset, folder: Path) -> list[str]:
    """The images beside the bundle, and a picture with a row for each class."""
    from understudy.images import write_grid, write_npz

    write_npz(images, folder / "records.npz")
    write_grid(images, folder / "records.png")
    return ["records.npz", "records.png"]


def sizes_of(images: ImageDataset) -> Any:
    from understudy.release.preflight import PublicSizes

    return PublicSizes(len(images), images.images[0].size, len(images.classes))


def generator_of(method: str) -> registry.Entry:
    """The entry of a method for images, which may be named as the one for tables is."""
    for name in (method, f"image-{method}"):
        if name in METHODS:
            return registry.get(name, "generator", "images")
    known = [name.removeprefix("image-") for name in METHODS]
    raise InputError(f"no method {method!r} makes images; known are {', '.join(known)}.{did_you_mean(method, known)}")


def synthesize_images(
    images: ImageDataset, method: str, out: Path, rows: int, budget: tuple[float, float | None], given: dict[str, Any],
    warm: float | None, settings: Sequence[str], workspace: Path | None, resume: bool, dry_run: bool, booked: dict[str, Any],
    report: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Touches private data: learn from a set of images, and write a release with `rows` images in it."""
    from understudy.release.bundle import add_files, check_target
    from understudy.release.spending import spending_of

    folder = check_target(out)
    entry = generator_of(method)
    generator = make(entry, *budget, given | {"start.epsilon_share": warm}, settings)
    with_safe_delta(generator, budget[1], len(images))
    if look_ahead(entry, generator, sizes_of(images), dry_run, as_json):
        return
    private = out.with_name(out.name + ".private") if workspace is None else workspace
    ours = resume or not private.exists() or not any(private.iterdir())
    kept = private if generator.resumable else None
    if resume and kept is None:
        raise InputError(f"method {entry.name!r} keeps no checkpoints: run it again without --resume.")
    with spending_of(generator, purpose=f"{entry.name} {out.name}", workspace=kept, resume=resume, **booked) as run:
        with progress_bar(entry.name, not as_json) as tell:
            paying = run.budget if generator.keeps_a_budget else None
            if kept is None:
                generator.fit(images, budget=paying, progress=lambda done, total: tell(done, total, ""))
            else:
                generator.fit(
                    images, budget=paying, workspace=kept, resume=resume,
                    progress=lambda at: tell(at.iteration, at.iterations, ""),
                )  # fmt: skip
        tell_verdict(generator, as_json)
        run.still_ours()
        generator.save(folder)
        files = write_images(generator.sample(rows, random_state=given["random_state"]), folder)
        add_files(folder, files)
        run.certificate, run.interrupted = generator.certificate_, getattr(generator, "interrupted_", False)
    if kept is not None and ours and not run.interrupted:
        shutil.rmtree(private, ignore_errors=True)
    write_report_for(report, [folder], ledger=booked["ledger"], dataset=booked["dataset"])
    _tell(generator, folder, rows, files, run.interrupted, as_json)


def sample_images(
    release: Path, out: Path, images: int, seed: int | None, about_rows: Sequence[Any], as_json: bool
) -> None:
    """More images of a release. Free."""
    from understudy.images import write_npz

    generator = registry.load(release)
    if registry.get(generator.method).kind != "generator" or "images" not in registry.get(generator.method).takes:
        raise InputError(
            f"{release} holds a {generator.__class__.__name__}, which makes no images: .npz is for images."
        )
    if any(one is not None for one in about_rows):
        raise InputError("--condition and --balance are about rows of tables: leave them out.")
    write_npz(generator.sample(images, seed), out)
    certificate = generator.certificate_
    if as_json:
        print_json({"out": str(out), "images": images, "epsilon": certificate.epsilon, "delta": certificate.delta})
    else:
        typer.echo(
            f"Wrote {images:,} images to {out}. Nothing was spent: the release holds at epsilon {certificate.epsilon:g}."
        )


def _tell(generator: Any, folder: Path, rows: int, files: list[str], interrupted: bool, as_json: bool) -> None:
    certificate = generator.certificate_
    summary = {
        "method": generator.method,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "unit": certificate.body["unit"],
        "images": rows,
        "release": str(folder),
        "files": files if as_json else ", ".join(files),
        "certificate": str(folder / "certificate.json"),
        "interrupted": interrupted,
        "unsafe": list(certificate.unsafe),
    }
    if as_json:
        print_json(summary | {"verdict": {"sentence": generator.verdict_.sentence(), **generator.verdict_.to_dict()}})
        return
    print_table(
        f"{generator.method}: {rows:,} synthetic images", ["what", "value"], [[k, v] for k, v in summary.items()]
    )
    if interrupted:
        typer.echo(
            f"Stopped by you. What was made so far is released and paid for; `--resume` with another --out and "
            f"--workspace {folder}.private would finish it at no further cost."
        )
    for reason in certificate.unsafe:
        typer.echo(f"Not safe to publish: {reason}.", err=True)
