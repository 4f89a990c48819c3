"""The gate. Every number that leaves the private side passes through here, charged before it is drawn."""

from understudy.errors import BudgetExceeded
from understudy.privacy.accountant import Epsilon, Observed, compose, data_dependent_epsilon
from understudy.privacy.budget import Budget
from understudy.privacy.certificate import Certificate
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
from understudy.privacy.sanitise import Sanitised, SmoothRelease

__all__ = [
    "NOT_ANSWERED",
    "Budget",
    "BudgetExceeded",
    "Certificate",
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
    "NoisyCounts",
    "NonPrivateEvent",
    "Observed",
    "PoissonGaussianStep",
    "Sanitised",
    "SmoothRelease",
    "SmoothReleaseEvent",
    "SubsampledGaussianEvent",
    "compose",
    "data_dependent_epsilon",
]
