"""What happened, as plain frozen data. Accountants interpret it; nothing here computes a cost.

An event says which mechanism ran, with which noise, how often. It never holds votes, data or anything else
that is private, so a list of events may be published, and anybody can recompute epsilon from it.

The contract. A certificate stores events, and it must verify for as long as somebody holds the release. So:

- An event is never removed and its `mechanism` name is never reused, even when no method makes it any longer.
- A field is never removed, renamed or given another type. A field may be added if it has a default, and the default
  must mean what the event meant before: certificates that lack the field were written without it.
- What an event or a field means never changes. A mechanism that means something else is a new event.
- When an accountant learns a tighter epsilon, `Certificate.verify` must go on accepting the looser one that old
  certificates state.
- An event or a field that is not known is refused, never skipped: it could stand for something that cost epsilon.

`tests/privacy/certificates` holds a certificate for each kind of event and of release, and a test verifies them all.
"""

from __future__ import annotations

# pyright: reportUnnecessaryIsInstance=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (events are made from JSON, where a declared type is a hope)
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, TypeAlias

from understudy.errors import InputError

Noise: TypeAlias = Literal["discrete", "continuous"]
NOISES: tuple[Noise, ...] = ("discrete", "continuous")


_TINIEST, _HUGEST = 1e-150, 1e150


def check_positive(name: str, value: float) -> None:
    if not (isinstance(value, int | float) and not isinstance(value, bool)):
        raise InputError(f"`{name}` (={value!r}) must be a number.")
    if not 0 < value < math.inf:
        raise InputError(f"`{name}` (={value}) must be a finite number above 0.")
    if not _TINIEST <= value <= _HUGEST:
        raise InputError(
            f"`{name}` (={str(value)[:40]}) is a size that no run has; its square would not even be a float."
        )


def check_count(name: str, value: int, *, least: int = 1) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"`{name}` (={value!r}) must be a whole number.")
    if value < least:
        raise InputError(f"`{name}` (={value}) must be at least {least}.")
    if value > 2**53:
        raise InputError(f"`{name}` (={str(value)[:40]}) is larger than any run could be; give the real number.")


def check_delta(delta: float, *, zero_allowed: bool = False) -> None:
    if not isinstance(delta, int | float) or isinstance(delta, bool):
        raise InputError(f"`delta` (={delta!r}) must be a number.")
    if zero_allowed and delta == 0:
        return
    if not 0 < delta < 1:
        raise InputError(f"`delta` (={delta}) must lie strictly between 0 and 1; 1e-5 is a usual choice.")


def _check_noise(noise: str) -> None:
    if noise not in NOISES:
        raise InputError(f'`noise` (={noise!r}) must be "discrete" (exact, ours) or "continuous".')


@dataclass(frozen=True)
class LaplaceEvent:
    """`count` releases, each epsilon-DP with delta = 0 (Laplace, discrete Laplace, or any other pure mechanism)."""

    mechanism: ClassVar[str] = "laplace"
    epsilon: float
    count: int = 1

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_count("count", self.count)


@dataclass(frozen=True)
class GaussianEvent:
    """`count` Gaussian releases; `noise_multiplier` is the noise's standard deviation over the L2 sensitivity.

    `integer_unit` says that one record moves a single integer cell by one and the noise is discrete: then the
    privacy loss distribution of the discrete Gaussian is known exactly and gives a tighter epsilon.
    """

    mechanism: ClassVar[str] = "gaussian"
    noise_multiplier: float
    count: int = 1
    noise: Noise = "continuous"
    integer_unit: bool = False

    def __post_init__(self) -> None:
        check_positive("noise_multiplier", self.noise_multiplier)
        check_count("count", self.count)
        _check_noise(self.noise)
        if not isinstance(self.integer_unit, bool):
            raise InputError(f"`integer_unit` (={self.integer_unit!r}) must be true or false.")


@dataclass(frozen=True)
class LNMaxEvent:
    """`count` noisy-argmax answers with Lap(1/gamma) on every vote count (PATE 2017)."""

    mechanism: ClassVar[str] = "lnmax"
    gamma: float
    count: int = 1

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)
        check_count("count", self.count)


@dataclass(frozen=True)
class GNMaxEvent:
    """`count` noisy-argmax answers with N(0, sigma^2) on every vote count (PATE 2018)."""

    mechanism: ClassVar[str] = "gnmax"
    sigma: float
    count: int = 1
    noise: Noise = "continuous"

    def __post_init__(self) -> None:
        check_positive("sigma", self.sigma)
        check_count("count", self.count)
        _check_noise(self.noise)


@dataclass(frozen=True)
class ConfidentGNMaxEvent:
    """`count` threshold checks with `sigma_threshold`, of which `answered` went on to GNMax with `sigma`."""

    mechanism: ClassVar[str] = "confident-gnmax"
    threshold: float
    sigma_threshold: float
    sigma: float
    count: int
    answered: int
    noise: Noise = "continuous"

    def __post_init__(self) -> None:
        if not (isinstance(self.threshold, int | float) and abs(self.threshold) <= _HUGEST):
            raise InputError(f"`threshold` (={self.threshold!r}) must be a finite number of votes.")
        check_positive("sigma_threshold", self.sigma_threshold)
        check_positive("sigma", self.sigma)
        check_count("count", self.count)
        check_count("answered", self.answered, least=0)
        if self.answered > self.count:
            raise InputError(f"`answered` (={self.answered}) is more than the `count` (={self.count}) of queries.")
        _check_noise(self.noise)


@dataclass(frozen=True)
class SubsampledGaussianEvent:
    """`steps` steps of DP-SGD: a Poisson batch at `sampling_rate`, then Gaussian noise."""

    mechanism: ClassVar[str] = "subsampled-gaussian"
    noise_multiplier: float
    sampling_rate: float
    steps: int = 1
    noise: Noise = "continuous"

    def __post_init__(self) -> None:
        check_positive("noise_multiplier", self.noise_multiplier)
        check_positive("sampling_rate", self.sampling_rate)
        if self.sampling_rate > 1:
            raise InputError(f"`sampling_rate` (={self.sampling_rate}) is a probability: at most 1.")
        check_count("steps", self.steps)
        _check_noise(self.noise)


@dataclass(frozen=True)
class SmoothReleaseEvent:
    """One Gaussian release scaled by a `beta`-smooth sensitivity (Gaussian noise of `sigma` sensitivities)."""

    mechanism: ClassVar[str] = "smooth-release"
    beta: float
    sigma: float

    def __post_init__(self) -> None:
        check_positive("beta", self.beta)
        check_positive("sigma", self.sigma)


@dataclass(frozen=True)
class ZCDPEvent:
    """Releases that may be chosen one after the other, whose costs in zero-concentrated terms sum to `rho` at most."""

    mechanism: ClassVar[str] = "zcdp"
    rho: float

    def __post_init__(self) -> None:
        check_positive("rho", self.rho)


@dataclass(frozen=True)
class DeltaEvent:
    """A failure probability that is paid straight from delta, with the reason for it."""

    mechanism: ClassVar[str] = "delta"
    delta: float
    reason: str

    def __post_init__(self) -> None:
        check_delta(self.delta)
        if not isinstance(self.reason, str) or not self.reason:
            raise InputError("a delta event needs a `reason` in words.")


@dataclass(frozen=True)
class NonPrivateEvent:
    """Something left the private side without any protection: epsilon is infinite."""

    mechanism: ClassVar[str] = "not-private"
    reason: str

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str) or not self.reason:
            raise InputError("a not-private event needs a `reason` in words.")


Event: TypeAlias = (
    LaplaceEvent
    | GaussianEvent
    | LNMaxEvent
    | GNMaxEvent
    | ConfidentGNMaxEvent
    | SubsampledGaussianEvent
    | SmoothReleaseEvent
    | ZCDPEvent
    | DeltaEvent
    | NonPrivateEvent
)

EVENTS: dict[str, type[Event]] = {
    kind.mechanism: kind
    for kind in (
        LaplaceEvent,
        GaussianEvent,
        LNMaxEvent,
        GNMaxEvent,
        ConfidentGNMaxEvent,
        SubsampledGaussianEvent,
        SmoothReleaseEvent,
        ZCDPEvent,
        DeltaEvent,
        NonPrivateEvent,
    )
}


def to_json(event: Event) -> dict[str, Any]:
    """The event as plain JSON, `mechanism` first."""
    return {"mechanism": event.mechanism, **asdict(event)}


def from_json(value: object, *, where: str = "event") -> Event:
    """The event that `to_json` wrote; an unknown mechanism or field is refused, never skipped."""
    if not isinstance(value, Mapping):
        raise InputError(f"{where}: expected an object with a `mechanism`, got {type(value).__name__}.")
    given: dict[str, Any] = {str(k): v for k, v in value.items()}
    mechanism = given.pop("mechanism", None)
    if not isinstance(mechanism, str) or mechanism not in EVENTS:
        raise InputError(f"{where}: unknown mechanism {mechanism!r}; known are {', '.join(sorted(EVENTS))}.")
    kind = EVENTS[mechanism]
    known = {field.name for field in fields(kind)}
    if unknown := sorted(set(given) - known):
        raise InputError(f"{where} ({mechanism}): unknown field {unknown[0]!r}; known are {', '.join(sorted(known))}.")
    try:
        return kind(**given)
    except TypeError as error:
        raise InputError(f"{where} ({mechanism}): {error}.") from None
    except InputError as error:
        raise InputError(f"{where} ({mechanism}): {error}") from None
