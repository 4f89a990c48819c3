"""The README's picture of images: real ones, and what releases at epsilon 10 and 1 draw, a column for each class.

    python docs/images_picture.py RELEASES

Fits `ImageMoments` on MNIST and Fashion-MNIST into the folder RELEASES (about five minutes on two cores; releases that are
there are used again) and writes docs/images/images.png.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from understudy import ImageMoments, datasets, load
from understudy.images import ImageDataset

OUT = Path(__file__).resolve().parent / "images" / "images.png"
SETS = {"mnist": "MNIST", "fashion": "Fashion-MNIST"}
_ROWS = 4


def sheet(images: ImageDataset) -> np.ndarray:
    """A column for each class, white on black turned round: pictures on paper."""
    columns = [np.concatenate(images.images[images.labels == c][:_ROWS]) for c in range(len(images.classes))]
    return 255 - np.concatenate(columns, axis=1)


def main(folder: str) -> None:
    mpl.rcParams["font.family"] = "DejaVu Sans"
    figure, axes = plt.subplots(3, 2, figsize=(10.6, 6.6))
    for column, (name, title) in zip(axes.T, SETS.items(), strict=True):
        real = datasets.load_images(name, "train")
        shown = {"real": real}
        for epsilon in (10, 1):
            release = Path(folder) / f"{name}-{epsilon}"
            if not release.exists():
                ImageMoments(epsilon, 1e-5, straight=name == "mnist", random_state=0).fit(real).save(release)
            shown[f"ε = {epsilon}"] = load(release).sample(100, 0)
        for axis, (said, images) in zip(column, shown.items(), strict=True):
            axis.imshow(sheet(images), cmap="gray", vmin=0, vmax=255)
            axis.set_title(f"{title}, {said}", loc="left", fontsize=11)
            axis.axis("off")
    figure.tight_layout()
    figure.savefig(OUT, dpi=110)
    Image.open(OUT).convert("L").quantize(24).save(OUT, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
