"""The gate. Every number that leaves the private side passes through here, charged before it is drawn."""

from typing import TYPE_CHECKING

from understudy._lazy import attach

if TYPE_CHECKING:
    from understudy.errors import BudgetExceeded
    from understudy.privacy.accountant import Epsilon, Observed, compose, data_dependent_epsilon
    from understudy.privacy.budget import Budget
    from understudy.privacy.certificate import Certificate
    from understudy.privacy.clipped_moments import ClippedMoments, Moments
    from understudy.privacy.events import (
        ConfidentGNMaxEvent,
        DeltaEvent,
        Event,
        GaussianEvent,
        GNMaxEvent,
        LaplaceEvent,
        LNMaxEvent,
        NonPrivateEvent,
        SmoothReleaseEvent,
        SubsampledGaussianEvent,
        ZCDPEvent,
    )
    from understudy.privacy.ledger import Ledger
    from understudy.privacy.mechanisms import (
        NOT_ANSWERED,
        ClippedSum,
        ConfidentGNMax,
        GaussianCounts,
        GNMax,
        LNMax,
        NoisyCounts,
        PoissonGaussianStep,
    )
    from understudy.privacy.pair_tables import ABSENT, PairTables
    from understudy.privacy.parities import Parities
    from understudy.privacy.prepaid import PrepaidAnswers, PrepaidCounts, PrepaidSteps
    from understudy.privacy.sanitise import Sanitised, SmoothRelease
    from understudy.privacy.vectors import PrepaidVectors, VectorSum
    from understudy.privacy.zcdp import PrepaidRho

_HOMES = {
    "ABSENT": "understudy.privacy.pair_tables",
    "Budget": "understudy.privacy.budget",
    "BudgetExceeded": "understudy.errors",
    "Certificate": "understudy.privacy.certificate",
    "ClippedMoments": "understudy.privacy.clipped_moments",
    "ClippedSum": "understudy.privacy.mechanisms",
    "ConfidentGNMax": "understudy.privacy.mechanisms",
    "ConfidentGNMaxEvent": "understudy.privacy.events",
    "DeltaEvent": "understudy.privacy.events",
    "Epsilon": "understudy.privacy.accountant",
    "Event": "understudy.privacy.events",
    "GNMax": "understudy.privacy.mechanisms",
    "GNMaxEvent": "understudy.privacy.events",
    "GaussianCounts": "understudy.privacy.mechanisms",
    "GaussianEvent": "understudy.privacy.events",
    "LNMax": "understudy.privacy.mechanisms",
    "LNMaxEvent": "understudy.privacy.events",
    "LaplaceEvent": "understudy.privacy.events",
    "Ledger": "understudy.privacy.ledger",
    "Moments": "understudy.privacy.clipped_moments",
    "NOT_ANSWERED": "understudy.privacy.mechanisms",
    "NoisyCounts": "understudy.privacy.mechanisms",
    "NonPrivateEvent": "understudy.privacy.events",
    "Observed": "understudy.privacy.accountant",
    "PairTables": "understudy.privacy.pair_tables",
    "Parities": "understudy.privacy.parities",
    "PoissonGaussianStep": "understudy.privacy.mechanisms",
    "PrepaidAnswers": "understudy.privacy.prepaid",
    "PrepaidCounts": "understudy.privacy.prepaid",
    "PrepaidRho": "understudy.privacy.zcdp",
    "PrepaidSteps": "understudy.privacy.prepaid",
    "PrepaidVectors": "understudy.privacy.vectors",
    "Sanitised": "understudy.privacy.sanitise",
    "SmoothRelease": "understudy.privacy.sanitise",
    "SmoothReleaseEvent": "understudy.privacy.events",
    "SubsampledGaussianEvent": "understudy.privacy.events",
    "VectorSum": "understudy.privacy.vectors",
    "ZCDPEvent": "understudy.privacy.events",
    "compose": "understudy.privacy.accountant",
    "data_dependent_epsilon": "understudy.privacy.accountant",
}

__getattr__, __dir__ = attach(__name__, _HOMES)

__all__ = [
    "ABSENT",
    "NOT_ANSWERED",
    "Budget",
    "BudgetExceeded",
    "Certificate",
    "ClippedMoments",
    "ClippedSum",
    "ConfidentGNMax",
    "ConfidentGNMaxEvent",
    "DeltaEvent",
    "Epsilon",
    "Event",
    "GNMax",
    "GNMaxEvent",
    "GaussianCounts",
    "GaussianEvent",
    "LNMax",
    "LNMaxEvent",
    "LaplaceEvent",
    "Ledger",
    "Moments",
    "NoisyCounts",
    "NonPrivateEvent",
    "Observed",
    "PairTables",
    "Parities",
    "PoissonGaussianStep",
    "PrepaidAnswers",
    "PrepaidCounts",
    "PrepaidRho",
    "PrepaidSteps",
    "PrepaidVectors",
    "Sanitised",
    "SmoothRelease",
    "SmoothReleaseEvent",
    "SubsampledGaussianEvent",
    "VectorSum",
    "ZCDPEvent",
    "compose",
    "data_dependent_epsilon",
]
