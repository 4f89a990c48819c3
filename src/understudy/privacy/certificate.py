"""The certificate: what was promised, in a form that anybody can recompute without the data.

It stores the events, not the data and no hash of it (a hash of guessable records would tell who is among them). Its
own checksum is over the public text and catches slips; the promise itself is checked by recomputing it from the
events (`verification.py`). The format only grows: fields are never removed, new ones are optional.
"""

from __future__ import annotations

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
import hashlib
import json
import math
import os
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from understudy._version import __version__
from understudy.errors import InputError
from understudy.privacy.accountant import compose
from understudy.privacy.budget import Budget
from understudy.privacy.events import DeltaEvent, Event, LaplaceEvent, NonPrivateEvent, from_json, to_json
from understudy.privacy.sanitise import Sanitised
from understudy.privacy.tradeoff import GaussianDP, TradeOff, trade_off
from understudy.privacy.units import UNITS, always_public, neighbours_of, require_same_unit
from understudy.untrusted import read_text, strict_json

FORMAT = 1
SYSTEM_NOISE, SEEDED_NOISE = "operating system", "fixed seed"
LARGEST_FILE = 8 * 2**20
# Equal events are one with a count: what is written here has some ten.
_MOST_ENTRIES = 1000
_LISTS = ("events", "assumed_public", "unsafe", "software", "release", "accounting", "sanitised")


def json_schema() -> dict[str, Any]:
    """The published JSON Schema of the format."""
    return json.loads(files("understudy.privacy").joinpath("certificate.schema.json").read_text("utf-8"))


@lru_cache(maxsize=1)
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json_schema())


@dataclass(frozen=True)
class Certificate:
    """A certificate of (epsilon, delta)-differential privacy. `body` is its JSON without the checksum."""

    body: Mapping[str, Any]

    @classmethod
    def from_budget(
        cls,
        budget: Budget,
        *,
        release: Mapping[str, Any],
        assumed_public: Sequence[str] = (),
        sanitised: Sanitised | None = None,
        unsafe: Sequence[str] = (),
        unit: str = "row",
        builds_on: Sequence[Certificate] = (),
    ) -> Certificate:
        """Certify what was charged to `budget`. `release` describes what is published, in public words.

        `builds_on` are certificates of what was bought from the same rows before and is used here, a schema above all: the
        certificate holds them, and states what all of it costs together.
        """
        if unit not in UNITS:
            raise InputError(f"`unit` (={unit!r}) must be one of {', '.join(UNITS)}: what one record is.")
        events = budget.events
        reasons = list(unsafe)
        if budget.unsafe_noise_seed is not None:
            reasons.append("the noise was drawn from a fixed seed")
        if budget.filter_order is None:
            spent = compose(events, budget.delta, cache=False)
            basis: dict[str, Any] = {"basis": "composition", "method": spent.method, "order": spent.order}
            epsilon = spent.epsilon
        else:
            limit = {"epsilon": budget.epsilon, "delta": budget.delta}
            basis = {"basis": "filter", "method": "rdp", "order": budget.filter_order, "limit": limit}
            epsilon = budget.epsilon
        promise = None
        if not reasons:
            promise = _curve(basis["basis"], events, epsilon, budget.delta).gaussian_dp()
        return cls._new(
            events,
            epsilon,
            budget.delta,
            basis,
            release,
            assumed_public,
            sanitised.to_json() if sanitised else None,
            reasons,
            unit,
            SYSTEM_NOISE if budget.unsafe_noise_seed is None else SEEDED_NOISE,
            promise,
        ).after(builds_on)

    def after(self, earlier: Sequence[Certificate]) -> Certificate:
        """The same promise, with what it builds on and what both cost together."""
        if not earlier:
            return self
        for certificate in earlier:
            require_same_unit(str(self.body["unit"]), str(certificate.body["unit"]), "what it builds on was bought")
        together = Certificate({**self.body, "builds_on": [certificate.to_json() for certificate in earlier]})
        epsilon, delta = together.total()
        stated = {"epsilon": epsilon if math.isfinite(epsilon) else None, "delta": delta}
        return Certificate(json.loads(json.dumps({**together.body, "total": stated})))

    @classmethod
    def not_private(cls, *, release: Mapping[str, Any], reason: str) -> Certificate:
        """For a release without any guarantee (a ceiling in a comparison): says so, and never verifies."""
        basis = {"basis": "none", "method": "not-private", "order": None}
        return cls._new((), math.inf, 0.0, basis, release, (), None, [reason], "row", SYSTEM_NOISE, None)

    @classmethod
    def _new(
        cls,
        events: Sequence[Event],
        epsilon: float,
        delta: float,
        accounting: Mapping[str, Any],
        release: Mapping[str, Any],
        assumed_public: Sequence[str],
        sanitised: Mapping[str, Any] | None,
        unsafe: Sequence[str],
        unit: str,
        noise: str,
        gaussian: GaussianDP | None,
    ) -> Certificate:
        body = {
            "format": FORMAT,
            "run": secrets.token_hex(8),  # two looks in one second are two looks
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "software": {
                "understudy": __version__,
                "dp-accounting": version("dp-accounting"),
                "opendp": version("opendp"),
            },
            "release": dict(release),
            "neighbours": neighbours_of(unit),
            "unit": unit,
            "epsilon": epsilon if math.isfinite(epsilon) else None,
            "delta": delta,
            "gaussian_dp": None if gaussian is None else {"mu": _up(gaussian.mu), "delta": gaussian.delta},
            "accounting": dict(accounting),
            "events": [to_json(e) for e in events],
            "noise": noise,
            "sanitised": sanitised,
            "assumed_public": [always_public(unit), *assumed_public],
            "unsafe": list(unsafe),
        }
        return cls(json.loads(json.dumps(body)))

    @property
    def epsilon(self) -> float:
        """The unconditional epsilon; infinite for a release that is not private."""
        value = self.body["epsilon"]
        return math.inf if value is None else float(value)

    @property
    def delta(self) -> float:
        return float(self.body["delta"])

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(from_json(e, where=f"event {i}") for i, e in enumerate(self.body["events"]))

    def curve(self) -> TradeOff:
        """The trade-off curve of what is promised: how many members the best test finds, for each share of alarms."""
        return _curve(self.body["accounting"]["basis"], self.events, self.epsilon, self.delta)

    def promised(self) -> tuple[Event, ...]:
        """The events that the promise is made of, to be composed with those of other releases."""
        return _promised(self.body["accounting"]["basis"], self.events, self.epsilon, self.delta)

    def alone(self) -> Certificate:
        """Without what it builds on."""
        return Certificate({key: value for key, value in self.body.items() if key not in ("builds_on", "total")})

    def earlier(self) -> tuple[Certificate, ...]:
        """The certificates of what this one builds on, of what those do, and so on; each run once."""
        found: dict[str, Certificate] = {}
        for stated in self.body.get("builds_on", ()):
            certificate = Certificate.parse(json.dumps(stated), where="what the certificate builds on")
            for each in (certificate, *certificate.earlier()):
                found.setdefault(str(each.body.get("run", each.to_json()["checksum"])), each)
        return tuple(found.values())

    def total(self) -> tuple[float, float]:
        """The (epsilon, delta) of the release and of all that it builds on, their events composed."""
        every = (self, *self.earlier())
        delta = min(1.0, math.fsum(certificate.delta for certificate in every))
        if len(every) == 1 or delta >= 1:
            return (self.epsilon, delta) if len(every) == 1 else (math.inf, delta)
        added = math.fsum(certificate.epsilon for certificate in every)
        events = [event for certificate in every for event in certificate.promised()]
        if not math.isfinite(added):
            return math.inf, delta
        return min(added, compose(events, delta, cache=False).epsilon), delta

    @property
    def unsafe(self) -> tuple[str, ...]:
        return tuple(self.body["unsafe"])

    def __repr__(self) -> str:
        what = " ".join(str(self.body["release"].get(key, "")) for key in ("method", "kind")).strip()
        safe = f", not safe to publish: {'; '.join(self.unsafe)}" if self.unsafe else ""
        return (
            f"Certificate({what}: epsilon {self.epsilon:.6g}, delta {self.delta:g}, for one {self.body['unit']}{safe})"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the same, as a small table."""
        from html import escape

        public = "; ".join(self.body["assumed_public"])
        shown = {"release": repr(self)[12:-1], "assumed public": public, "events": f"{len(self.events):,}"}
        cells = "".join(f"<tr><th>{name}</th><td>{escape(said)}</td></tr>" for name, said in shown.items())
        return f"<table>{cells}</table>"

    def to_json(self) -> dict[str, Any]:
        return {**self.body, "checksum": _checksum(self.body)}

    def save(self, path: str | Path) -> None:
        """Write atomically: the whole file or none of it."""
        target = Path(path)
        text = json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n"
        name = None
        try:
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=".certificate")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)
            Path(name).replace(target)
        except OSError as error:
            raise InputError(f"cannot write the certificate to {target}: {error.strerror or error}.") from None
        finally:
            if name is not None:
                Path(name).unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate: its form and checksum are checked, its promise is not (`verify` does)."""
        return cls.parse(read_text(path, most=LARGEST_FILE, what="the certificate"), where=str(path))

    @classmethod
    def parse(cls, text: str, *, where: str = "certificate") -> Certificate:
        value = strict_json(text, where=where)
        if not isinstance(value, dict) or "format" not in value:
            raise InputError(f"{where} is JSON, but no certificate: it has no `format`.")
        stated: dict[str, Any] = value
        if isinstance(stated["format"], int) and stated["format"] > FORMAT:
            raise InputError(
                f"{where} has format {stated['format']}, newer than the {FORMAT} known here: update understudy."
            )
        for name in _LISTS:
            if isinstance(stated.get(name), list | dict) and len(stated[name]) > _MOST_ENTRIES:
                raise InputError(f"{where}: `{name}` has more than {_MOST_ENTRIES} entries; no certificate has that.")
        from jsonschema.exceptions import best_match

        error = cast(Any, best_match(_validator().iter_errors(stated)))
        if error is not None:
            place = "/".join(f"{part}"[:100] for part in error.absolute_path) or "the top"
            raise InputError(f"{where} is no valid certificate: at {place}: {error.message[:300]}.")
        checksum = stated.pop("checksum")
        if checksum != _checksum(stated):
            raise InputError(f"{where} was edited after it was written: its checksum does not fit its text.")
        certificate = cls(stated)
        _ = certificate.events  # an unknown event is refused here
        return certificate

    def verify(self) -> float:
        """Recompute the promise from the events; the recomputed epsilon, or an error that says what does not hold.

        What this proves, and what it cannot, is said at the top of `verification.py`.
        """
        from understudy.privacy.verification import verify

        return verify(self)


def _promised(basis: str, events: Sequence[Event], epsilon: float, delta: float) -> tuple[Event, ...]:
    """A filter promises its limit and no more: any (epsilon, delta) is a pure mechanism that fails with chance delta."""
    if basis == "none" or not math.isfinite(epsilon):
        return (NonPrivateEvent("no guarantee is stated"),)
    return (LaplaceEvent(epsilon), DeltaEvent(delta, "a filter's own")) if basis == "filter" else tuple(events)


def _curve(basis: str, events: Sequence[Event], epsilon: float, delta: float) -> TradeOff:
    return trade_off(_promised(basis, events, epsilon, delta), (epsilon, delta))


def _up(value: float) -> float:
    """Rounded up to six digits: short to read, and never less."""
    rounded = float(f"{value:.5e}")
    return rounded if rounded >= value else float(f"{value * (1 + 1e-5):.5e}")


def _checksum(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
