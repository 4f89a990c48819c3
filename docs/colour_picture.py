"""The picture of colour: made-up shapes, and what a release of ten thousand of them at epsilon 10 draws, a column for each class.

    python docs/colour_picture.py

Fits `ImageMoments` (about two minutes on two cores) and writes docs/images/colour.png.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.colour import CLASSES, shapes  # noqa: E402
from understudy import ImageMoments  # noqa: E402
from understudy.images import ImageDataset  # noqa: E402

OUT = ROOT / "docs" / "images" / "colour.png"
_ROWS = 3


def sheet(images: ImageDataset) -> np.ndarray:
    """A column for each class."""
    columns = [np.concatenate(images.images[images.labels == c][:_ROWS]) for c in range(len(CLASSES))]
    return np.concatenate(columns, axis=1)


def main() -> None:
    mpl.rcParams["font.family"] = "DejaVu Sans"
    real = shapes(10_000, 1)
    made = ImageMoments(10.0, 1e-5, random_state=0).fit(real).sample(10 * len(CLASSES), 0)
    figure, axes = plt.subplots(1, 2, figsize=(10.6, 2.9))
    for axis, said, images in zip(axes, ("made-up pictures", "a release, ε = 10"), (real, made), strict=True):
        axis.imshow(sheet(images))
        axis.set_title(said, loc="left", fontsize=11)
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(OUT, dpi=80)
    Image.open(OUT).convert("RGB").quantize(64).save(OUT, optimize=True)


if __name__ == "__main__":
    main()
