"""Image sets on the command line: named, in an .npz, a folder or Parquet; made by a generator; written for people and other tools."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from understudy import registry
from understudy.cli.app import Json, app, print_json, print_table
from understudy.cli.options import look_ahead, make, progress_bar, tell_owner, tell_verdict, with_safe_delta
from understudy.cli.report import write_report_for
from understudy.errors import InputError
from understudy.wording import did_you_mean

if TYPE_CHECKING:
    from understudy.images import ImageDataset

METHODS = registry.names("generator", "images")


class AboutImages(NamedTuple):
    """What is said of image sets alone: the names of classes, and what pictures are brought to."""

    classes: str | None = None
    size: str | None = None
    grey: bool = False


def is_images(data: Path) -> bool:
    """Whether what was named is a set of images: an .npz, a folder of folders of pictures, Parquet with pictures in it, a name."""
    if data.suffix == ".npz":
        return True
    if data.exists():
        from understudy.images.folders import is_folder_of_pictures
        from understudy.images.parquet import has_pictures

        return is_folder_of_pictures(data) if data.is_dir() else data.suffix == ".parquet" and has_pictures(data)
    if data.suffix or not isinstance(data, Path):
        return False
    from understudy import datasets

    return str(data) in datasets.names() and datasets.info(str(data)).kind == "image"


def read_images(data: Path, about: AboutImages, about_columns: Sequence[Any], as_json: bool) -> ImageDataset:
    """Reads private images. What is only said about tables is refused."""
    from understudy import datasets
    from understudy.images import BLANK, PictureSize, read_folder, read_npz, read_parquet

    if any(one is not None and one is not False for one in about_columns):
        raise InputError("an image set carries its labels: leave --target, --schema and all about columns out.")
    classes = None if about.classes is None else about.classes.split(",")
    if data.is_dir() or data.suffix == ".parquet":
        size = PictureSize.parse(about.size, about.grey)
        read = read_folder if data.is_dir() else read_parquet
        images = read(data, size, classes)
        typer.echo(
            f"Every picture is brought to {size}: what is too long is cut evenly at both ends, the rest is resized. "
            "Another size: --size 28x20, --grey.",
            err=True,
        )
        if (missing := int((images.labels == BLANK).sum())) and not as_json:
            tell_owner(f"{missing:,} of {len(images):,} files are no pictures of a class, and count as empty records")
        return images
    if about.size is not None or about.grey:
        raise InputError("--size and --grey are for pictures in folders or Parquet; these images have a size already.")
    return read_npz(data, classes) if data.suffix == ".npz" else datasets.load_images(str(data), "train")


def refuse_about_images(about: AboutImages, data: Path) -> None:
    if about == AboutImages():
        return
    if isinstance(data, Path) and not data.suffix and (data.is_dir() or not data.exists()):
        what = "holds no folder with pictures in it" if data.is_dir() else "does not exist"
        raise InputError(
            f"{data} {what}: a set of images is a folder with a folder of pictures for each class, as {data}/cat/1.png and "
            f"{data}/dog/1.png; an .npz; Parquet with pictures; or a name."
        )
    raise InputError("--classes, --size and --grey are for image sets; a table's classes belong in its schema.")


def write_images(images: ImageDataset, folder: Path) -> list[str]:
    """The images beside the bundle, for people and other tools, and a picture with a row for each class."""
    from understudy.images import write_grid, write_npz, write_parquet

    write_npz(images, folder / "records.npz")
    write_grid(images, folder / "records.png")
    write_parquet(images, folder / "records.parquet")
    return ["records.npz", "records.png", "records.parquet"]


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
    """Touches private data: learn from a set of images, and write a release with `rows` images in it.

    Meanwhile a picture beside it, OUT.progress.png, shows what a generator that learns step by step paints by now.
    """
    from understudy.images import write_grid
    from understudy.release.bundle import add_files, check_target
    from understudy.release.spending import spending_of

    folder = check_target(out)
    entry = generator_of(method)
    generator = make(entry, *budget, given | {"start.epsilon_share": warm}, settings)
    with_safe_delta(generator, budget[1], len(images))
    if look_ahead(entry, generator, sizes_of(images), dry_run, as_json):
        return
    private, meanwhile = (
        out.with_name(out.name + ".private") if workspace is None else workspace,
        out.with_name(f"{out.name}.progress.png"),
    )
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
                    shown=(lambda painted: write_grid(painted, meanwhile)) if generator.private else None,
                )  # fmt: skip
        tell_verdict(generator, as_json)
        run.still_ours()
        generator.save(folder)
        files = write_images(generator.sample(rows, random_state=given["random_state"]), folder)
        add_files(folder, files)
        run.certificate, run.interrupted = generator.certificate_, getattr(generator, "interrupted_", False)
    meanwhile.unlink(missing_ok=True)
    if kept is not None and ours and not run.interrupted:
        shutil.rmtree(private, ignore_errors=True)
    write_report_for(report, [folder], ledger=booked["ledger"], dataset=booked["dataset"])
    _tell(generator, folder, rows, files, run.interrupted, as_json)


def sample_images(
    generator: Any, out: Path, images: int, seed: int | None, about_rows: Sequence[Any], as_json: bool
) -> None:
    """More images of a release. Free."""
    if any(one is not None for one in about_rows):
        raise InputError("--condition and --balance are about rows of tables: leave them out.")
    write = _writer(out)
    write(generator.sample(images, seed), out)
    certificate = generator.certificate_
    if as_json:
        print_json({"out": str(out), "images": images, "epsilon": certificate.epsilon, "delta": certificate.delta})
    else:
        typer.echo(
            f"Wrote {images:,} images to {out}. Nothing was spent: the release holds at epsilon {certificate.epsilon:g}."
        )


def makes_images(generator: Any) -> bool:
    entry = registry.get(generator.method)
    return entry.kind == "generator" and "images" in entry.takes


@app.command()
def pictures(
    release: Annotated[
        Path, typer.Argument(help="A release of images (distilled or generated), or an image set as .npz.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="A new folder, for PNG files by class; or .npz, .parquet (as Hugging Face's datasets reads it), .png."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Write the images of a release in another form. Spends nothing."""
    from understudy.images import read_npz

    held = release / "records.npz" if release.is_dir() else release
    if release.is_dir() and not held.exists():
        raise InputError(f"{release} holds no images (records.npz): `understudy sample` draws some from a generator.")
    images, write = read_npz(held), _writer(out)
    write(images, out)
    if as_json:
        print_json({"out": str(out), "images": len(images)})
    else:
        typer.echo(f"Wrote {len(images):,} images to {out}.")


def _writer(out: Path) -> Callable[[ImageDataset, Path], None]:
    """What writes images under such a name."""
    from understudy.images import write_folder, write_grid, write_npz, write_parquet
    from understudy.release.bundle import check_target

    known = {".npz": write_npz, ".parquet": write_parquet, ".png": write_grid}
    if out.suffix in known:
        return known[out.suffix]
    if out.suffix in (".csv", ".gz", ".feather", ".tsv", ".xlsx"):
        raise InputError(f"{out} is a name for a table; images are written as .npz, .parquet, .png, or into a folder.")
    check_target(out)
    return write_folder


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
