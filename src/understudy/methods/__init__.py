"""One paper, one file: private learning that joins `learn` and `privacy`, and what it releases."""

from typing import TYPE_CHECKING

from understudy._lazy import attach

if TYPE_CHECKING:
    from understudy.methods.distillation import DPKIP, KIP, OneLook, OneLookConvNet
    from understudy.methods.dpgan import DPGAN
    from understudy.methods.gan import GAN
    from understudy.methods.gpate import GPATE
    from understudy.methods.image_moments import ImageMoments
    from understudy.methods.loading import load
    from understudy.methods.moments import MomentsGenerator
    from understudy.methods.pate import PATEClassifier
    from understudy.methods.pategan import PATEGAN

_HOMES = {
    "DPGAN": "understudy.methods.dpgan",
    "DPKIP": "understudy.methods.distillation",
    "GAN": "understudy.methods.gan",
    "GPATE": "understudy.methods.gpate",
    "ImageMoments": "understudy.methods.image_moments",
    "KIP": "understudy.methods.distillation",
    "MomentsGenerator": "understudy.methods.moments",
    "OneLook": "understudy.methods.distillation",
    "OneLookConvNet": "understudy.methods.distillation",
    "PATEClassifier": "understudy.methods.pate",
    "PATEGAN": "understudy.methods.pategan",
    "load": "understudy.methods.loading",
}

__getattr__, __dir__ = attach(__name__, _HOMES)

__all__ = [
    "DPGAN",
    "DPKIP",
    "GAN",
    "GPATE",
    "KIP",
    "PATEGAN",
    "ImageMoments",
    "MomentsGenerator",
    "OneLook",
    "OneLookConvNet",
    "PATEClassifier",
    "load",
]
