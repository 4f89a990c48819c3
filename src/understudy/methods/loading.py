"""`understudy.load`: a release from its folder."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from understudy.errors import InputError
from understudy.methods.bundle import read_bundle

# Where the class of each method lives; it has a `from_bundle`.
METHODS: dict[str, tuple[str, str]] = {
    "dpgan": ("understudy.methods.dpgan", "DPGAN"),
    "gan": ("understudy.methods.gan", "GAN"),
    "dpkip": ("understudy.methods.distillation", "DPKIP"),
    "gpate": ("understudy.methods.gpate", "GPATE"),
    "image-moments": ("understudy.methods.image_moments", "ImageMoments"),
    "kip": ("understudy.methods.distillation", "KIP"),
    "moments": ("understudy.methods.moments", "MomentsGenerator"),
    "one-look": ("understudy.methods.distillation", "OneLook"),
    "one-look-convnet": ("understudy.methods.distillation", "OneLookConvNet"),
    "pate": ("understudy.methods.pate", "PATEClassifier"),
    "pategan": ("understudy.methods.pategan", "PATEGAN"),
}


def load(path: str | Path) -> Any:
    """The classifier, generator or distilled set of a release folder."""
    bundle = read_bundle(path)
    if bundle.method not in METHODS:
        raise InputError(f"{path} was made by method {bundle.method!r}, which is not known here: update understudy.")
    module, name = METHODS[bundle.method]
    try:
        return getattr(importlib.import_module(module), name).from_bundle(bundle)
    except KeyError as error:
        raise InputError(f"{path} lacks {error}: the release is damaged. Copy it again.") from None
