"""`understudy classify` and `predict` for image sets: a network that tells their classes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from understudy import registry
from understudy.cli.app import print_json, print_table
from understudy.cli.images import sizes_of
from understudy.cli.options import look_ahead, make, progress_bar, with_safe_delta
from understudy.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from understudy.images import ImageDataset

METHODS = registry.names("classifier", "images")
# Those that learn from public images beside the private ones.
_TAUGHT = [name for name in METHODS if "public rows" in registry.get(name).takes]


def classify_images(
    images: ImageDataset, public: Path | None, method: str | None, out: Path, budget: tuple[float, float | None],
    seed: int | None, settings: Sequence[str], resume: bool, dry_run: bool, booked: dict[str, Any], as_json: bool,
) -> bool:  # fmt: skip
    """Touches private data: learn a classifier of images, and write its release. False where nothing was done.

    With `public` images the first method that learns from such is taken.
    """
    from understudy.release.bundle import check_target
    from understudy.release.spending import spending_of

    folder = check_target(out)
    entry = registry.get(method or (METHODS[0] if public is None else _TAUGHT[0]), "classifier", "images")
    shown = _public_images(entry.name, public, images)
    model = make(entry, *budget, {"random_state": 0 if seed is None else seed}, settings)
    with_safe_delta(model, budget[1], len(images))
    if look_ahead(entry, model, sizes_of(images), dry_run, as_json):
        return False
    kept = out.with_name(out.name + ".private") if model.resumable else None
    if resume and kept is None:
        raise InputError(f"method {entry.name!r} keeps no checkpoints: run it again without --resume.")
    with spending_of(model, purpose=f"{entry.name} {out.name}", workspace=kept, resume=resume, **booked) as run:
        with progress_bar(entry.name, not as_json) as tell:
            if shown is not None:
                model.fit(images, shown, budget=run.budget, progress=lambda done, steps: tell(done, steps, ""))
            else:
                model.fit(
                    images,
                    budget=run.budget,
                    workspace=kept,
                    resume=resume,
                    progress=lambda at: tell(at.iteration, at.iterations, ""),
                )
        run.still_ours()
        model.save(folder)
        run.certificate, run.interrupted = model.certificate_, getattr(model, "interrupted_", False)
    if kept is not None and not run.interrupted:
        shutil.rmtree(kept, ignore_errors=True)
    _tell(model, out, run.interrupted, as_json)
    return True


def predict_images(model: Any, data: Path, out: Path | None) -> pd.DataFrame:
    """The class of each image. A file that is no picture has none."""
    import numpy as np
    import pandas as pd

    from understudy.images import BLANK
    from understudy.tables import write_table

    called, images = _unlabelled(data, model.shape_, model.classes_)
    labels = np.where(images.labels == BLANK, None, model.predict(images))  # pyright: ignore[reportArgumentType]
    frame = pd.DataFrame({"image": called, "prediction": labels})
    if out is not None:
        write_table(frame, out)
    return frame


def _unlabelled(data: Path, shape: tuple[int, ...], classes: Sequence[str]) -> tuple[list[str], ImageDataset]:
    """What each image is called, and the images; of a named set its test images."""
    from understudy import datasets
    from understudy.images import read_unlabelled

    if data.exists() or str(data) not in datasets.names():
        return read_unlabelled(data, shape, classes)
    images = datasets.load_images(str(data), "test")
    return [str(number) for number in range(len(images))], images


def _public_images(method: str, public: Path | None, images: ImageDataset) -> ImageDataset | None:
    """Public: the images that a method learns from beside the private ones, if it does."""
    if method not in _TAUGHT:
        if public is not None:
            raise InputError(f"--public: method {method!r} learns from the private images themselves. Leave it out.")
        return None
    if public is None:
        raise InputError(f"method {method!r} learns from public images: name them with --public, no labels needed.")
    import numpy as np

    from understudy.images import BLANK, ImageDataset

    found = _unlabelled(public, images.shape, images.classes)[1]
    # Its classes may be others, and more: nobody looks at them.
    labels = np.where(found.labels == BLANK, BLANK, 0)
    return ImageDataset(found.images, labels, images.classes, images.value_range)


def _tell(model: Any, out: Path, interrupted: bool, as_json: bool) -> None:
    certificate = model.certificate_
    epsilon, delta = certificate.total()
    summary = {"out": str(out), "method": model.method, "epsilon": epsilon, "delta": delta}
    summary |= {"unit": certificate.body["unit"], "classes": list(model.classes_), "interrupted": interrupted}
    if as_json:
        print_json(summary)
        return
    print_table(
        f"Released to {out}: (epsilon, delta) = ({epsilon:.4g}, {delta:g})",
        ["method", "images look like", "classes"],
        [[model.method, " x ".join(map(str, model.shape_)), ", ".join(model.classes_)]],
    )
    if interrupted:
        typer.echo(
            "Stopped by you. What was learnt so far is released and paid for; --resume with another --out goes on."
        )
    typer.echo(f"Next: understudy verify {out}    understudy predict {out} NEW/ --out predictions.csv")


def refuse_for_images(given: dict[str, Any]) -> None:
    """Options that are about tables."""
    for option, value in given.items():
        if value is not None and value is not False:
            raise InputError(f"--{option.replace('_', '-')} is about tables: an image set is learnt from as it is.")
