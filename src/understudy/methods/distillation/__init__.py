"""Distilled sets: a handful of records that train a model, with privacy (DP-KIP, NDPDC, PSG, one look) and without (KIP)."""

from typing import TYPE_CHECKING

from understudy._lazy import attach

if TYPE_CHECKING:
    from understudy.methods.distillation.convlook import OneLookConvNet
    from understudy.methods.distillation.dpkip import DPKIP
    from understudy.methods.distillation.kip import KIP
    from understudy.methods.distillation.ndpdc import NDPDC
    from understudy.methods.distillation.onelook import OneLook
    from understudy.methods.distillation.psg import PSG

_HOMES = {
    "DPKIP": "understudy.methods.distillation.dpkip",
    "KIP": "understudy.methods.distillation.kip",
    "NDPDC": "understudy.methods.distillation.ndpdc",
    "OneLook": "understudy.methods.distillation.onelook",
    "OneLookConvNet": "understudy.methods.distillation.convlook",
    "PSG": "understudy.methods.distillation.psg",
}

__getattr__, __dir__ = attach(__name__, _HOMES)

__all__ = ["DPKIP", "KIP", "NDPDC", "PSG", "OneLook", "OneLookConvNet"]
