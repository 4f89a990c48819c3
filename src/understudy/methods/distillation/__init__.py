"""Distilled sets: a handful of records that train a model, with privacy (DP-KIP, one look) and without (KIP)."""

from typing import TYPE_CHECKING

from understudy._lazy import attach

if TYPE_CHECKING:
    from understudy.methods.distillation.convlook import OneLookConvNet
    from understudy.methods.distillation.dpkip import DPKIP
    from understudy.methods.distillation.kip import KIP
    from understudy.methods.distillation.onelook import OneLook

_HOMES = {
    "DPKIP": "understudy.methods.distillation.dpkip",
    "KIP": "understudy.methods.distillation.kip",
    "OneLook": "understudy.methods.distillation.onelook",
    "OneLookConvNet": "understudy.methods.distillation.convlook",
}

__getattr__, __dir__ = attach(__name__, _HOMES)

__all__ = ["DPKIP", "KIP", "OneLook", "OneLookConvNet"]
