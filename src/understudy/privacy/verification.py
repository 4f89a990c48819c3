"""What `understudy verify` proves about a certificate, and what nobody can prove from it.

Proven, from the certificate's own text and without the data:

- the stated (epsilon, delta) follows from the listed events: epsilon is computed again, from the events alone, by the
  code that is installed here, and no cache is read; so does the (mu, delta) of Gaussian differential privacy, where
  one is stated;
- for a run under a filter: the events stay within the stated limit at the stated order, the limit is the one that is
  promised, and, where the events allow to tell, the order is the one that this limit would have chosen;
- the neighbouring relation, the unit and the first thing that is always public are the ones this version promises;
- nothing is marked unsafe, and the noise is not said to come from a seed;
- for a release that builds on another (a schema that was paid for): all of this for that one too, and the stated total is
  what both cost together.

Not proven, by this or any other reading of the certificate:

- that the events are what happened and all that happened: only who ran it knows;
- free text: what `release` says, the lines of `assumed_public` after the first, the reasons of events, versions, date.
  A line that is left out, or worded otherwise, is not noticed;
- where the noise came from: the certificate says it, and whoever strikes out both that and the mark is not caught;
- how close the realised cost of a filter came to its limit: the limit is promised. Whoever writes a filter's run down
  as one that was fixed beforehand is not caught either;
- who wrote it. The checksum finds slips and damage; it is no signature, and anybody can make a fresh one.
"""

from __future__ import annotations

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
import math
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import InputError
from understudy.privacy.accountant import compose, delta_left, merge, total_rdp
from understudy.privacy.certificate import SEEDED_NOISE
from understudy.privacy.events import (
    ConfidentGNMaxEvent,
    GaussianEvent,
    GNMaxEvent,
    SmoothReleaseEvent,
    SubsampledGaussianEvent,
)
from understudy.privacy.rdp import DEFAULT_ORDERS, epsilon_to_rdp, rdp_to_epsilon
from understudy.privacy.units import UNITS, always_public, neighbours_of, require_same_unit
from understudy.untrusted import damaged

if TYPE_CHECKING:
    from understudy.privacy.certificate import Certificate

_TOLERANCE = 1e-6
_OTHER_VERSION = 1e-3
_MOST_SAMPLED = 32  # each takes about a tenth of a second


def verify(certificate: Certificate) -> float:
    """The recomputed epsilon, or an `InputError` that says what does not hold."""
    with damaged("the certificate"):
        _marked(certificate)
        _constants(certificate)
        _sanitised(certificate)
        _bounded(certificate)
        filtered = certificate.body["accounting"]["basis"] == "filter"
        epsilon = _filter(certificate) if filtered else _composition(certificate)
        _gaussian(certificate)
        _together(certificate)
        return epsilon


def slack(certificate: Certificate, *values: float) -> float:
    """How far a recomputed figure may be from the stated one: rounding, or another version of dp-accounting."""
    same = version("dp-accounting") == certificate.body["software"].get("dp-accounting")
    return (_TOLERANCE if same else _OTHER_VERSION) * max(values) + 1e-12


def _marked(certificate: Certificate) -> None:
    body = certificate.body
    if body["epsilon"] is None:
        raise InputError(f"this release is not private: {'; '.join(certificate.unsafe) or 'no guarantee is stated'}.")
    if certificate.unsafe:
        raise InputError(f"this release is marked unsafe: {'; '.join(certificate.unsafe)}.")
    if body.get("noise") == SEEDED_NOISE:
        raise InputError("the noise of this release was drawn from a fixed seed: whoever knows it can take it off.")


def _constants(certificate: Certificate) -> None:
    body = certificate.body
    unit = body["unit"]
    if unit not in UNITS:
        raise InputError(f"the unit is stated as {unit[:80]!r}; the events are for one of {', '.join(UNITS)}.")
    if body["neighbours"] != (promised := neighbours_of(unit)):
        raise InputError(
            f"the neighbours are stated as {body['neighbours'][:80]!r}; what is promised for one {unit} is: {promised}."
        )
    if body["assumed_public"][:1] != [public := always_public(unit)]:
        raise InputError(f"`assumed_public` must begin with {public!r}, which every promise for one {unit} assumes.")


def _sanitised(certificate: Certificate) -> None:
    stated = certificate.body["sanitised"]
    if stated is None:
        return
    if not any(isinstance(event, SmoothReleaseEvent) for event in certificate.events):
        raise InputError("a sanitised epsilon is stated, but none of the events paid for it.")
    if stated["epsilon"] > stated["epsilon_upper"] or stated["delta"] != certificate.delta:
        raise InputError("the sanitised epsilon is above its own upper value, or at another delta than the promise.")


def _bounded(certificate: Certificate) -> None:
    """What is recomputed is bounded: whoever checks a stranger's certificate should not wait for minutes."""
    sampled = sum(isinstance(event, SubsampledGaussianEvent) for event in merge(certificate.events))
    if sampled > _MOST_SAMPLED:
        raise InputError(
            f"there are {sampled} kinds of sampled steps, each with a noise or rate of its own; at most {_MOST_SAMPLED} "
            "are recomputed. No method here makes so many."
        )


def _filter(certificate: Certificate) -> float:
    accounting, epsilon, delta = certificate.body["accounting"], certificate.epsilon, certificate.delta
    order, events = [float(accounting["order"])], certificate.events
    realised = rdp_to_epsilon(order, total_rdp(events, order), delta_left(events, delta))[0]
    if realised > epsilon * (1 + _TOLERANCE):
        raise InputError(
            f"the events cost epsilon {realised:.6g} at the filter's order, more than the stated {epsilon:.6g}."
        )
    limit = accounting.get("limit", {"epsilon": epsilon, "delta": delta})
    if (limit["epsilon"], limit["delta"]) != (epsilon, delta):
        raise InputError(
            f"the filter ran with a limit of ({limit['epsilon']:.6g}, {limit['delta']:.6g}), and that is what it "
            f"promises; the certificate states ({epsilon:.6g}, {delta:.6g})."
        )
    if all(isinstance(event, GaussianEvent | GNMaxEvent | ConfidentGNMaxEvent) for event in events):
        # All costs grow in step with the order, so the order was chosen from the limit alone.
        room = epsilon_to_rdp(epsilon, delta, DEFAULT_ORDERS) / np.asarray(DEFAULT_ORDERS)
        here = float(epsilon_to_rdp(epsilon, delta, order)[0]) / order[0]
        if here < float(room.max()) - _TOLERANCE * abs(float(room.max())):
            best = DEFAULT_ORDERS[int(np.argmax(room))]
            raise InputError(
                f"a filter of epsilon {epsilon:.6g} works at order {best:g}, this one is stated at {order[0]:g}: "
                "it ran with another limit than is stated."
            )
    return epsilon


def _composition(certificate: Certificate) -> float:
    if "limit" in certificate.body["accounting"]:
        raise InputError("a limit is stated, so this was a filter; its accounting cannot be `composition`.")
    found = compose(certificate.events, certificate.delta, cache=False).epsilon
    if not math.isfinite(found) or abs(found - certificate.epsilon) > slack(certificate, found, certificate.epsilon):
        raise InputError(f"the events give epsilon {found:.6g}, the certificate states {certificate.epsilon:.6g}.")
    return found


def _together(certificate: Certificate) -> None:
    earlier, stated = certificate.earlier(), certificate.body.get("total")
    if bool(earlier) != (stated is not None):
        raise InputError("`builds_on` and `total` belong together: one of them was struck out.")
    if stated is None:
        return
    for other in earlier:
        require_same_unit(str(certificate.body["unit"]), str(other.body["unit"]), "what it builds on was bought")
        try:
            verify(other.alone())
        except InputError as error:
            raise InputError(f"what it builds on does not hold: {error}") from None
    epsilon, delta = certificate.total()
    said = math.inf if stated["epsilon"] is None else float(stated["epsilon"])
    if not math.isfinite(epsilon) or abs(epsilon - said) > slack(certificate, epsilon) or delta != stated["delta"]:
        raise InputError(
            f"with what it builds on it costs ({epsilon:.6g}, {delta:.6g}); the certificate states a total of "
            f"({said:.6g}, {stated['delta']:.6g})."
        )


def _gaussian(certificate: Certificate) -> None:
    stated = certificate.body.get("gaussian_dp")
    if stated is None:
        return
    found = certificate.curve().gaussian_dp()
    if found is None or abs(found.mu - stated["mu"]) > _OTHER_VERSION * found.mu + 1e-9:
        raise InputError(
            f"the events give mu {found.mu if found else math.inf:.6g}, the certificate {stated['mu']:.6g}."
        )
    if abs(found.delta - stated["delta"]) > _TOLERANCE * found.delta:
        raise InputError(f"mu leaves delta {found.delta:.6g} uncovered, the certificate states {stated['delta']:.6g}.")
