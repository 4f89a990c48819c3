"""Certificates outlive versions: every one that was ever stored here still loads, means the same and verifies."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from understudy.errors import InputError
from understudy.privacy import Certificate
from understudy.privacy.certificate import strict_json
from understudy.privacy.events import EVENTS, to_json

FOLDER = Path(__file__).parent / "certificates"
STORED = sorted(FOLDER.glob("*/*.json"))


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", STORED, ids=_name)
def test_a_stored_certificate_verifies_for_ever(path: Path) -> None:
    certificate = Certificate.load(path)
    if certificate.body["epsilon"] is None:
        with pytest.raises(InputError, match="this release is not private: "):
            certificate.verify()
    else:
        assert certificate.verify() == pytest.approx(certificate.epsilon, rel=1e-3)


@pytest.mark.parametrize("path", STORED, ids=_name)
def test_a_stored_event_keeps_every_field_and_its_value(path: Path) -> None:
    stored = strict_json(path.read_text("utf-8"), where=path.name)["events"]
    for before, now in zip(stored, Certificate.load(path).events, strict=True):
        assert to_json(now).items() >= before.items()


@pytest.mark.parametrize("mechanism", EVENTS)
def test_every_kind_of_event_has_a_stored_certificate(mechanism: str) -> None:
    path = FOLDER / "events" / f"{mechanism}.json"
    assert path.is_file(), f"a new event needs a stored certificate: see {FOLDER.name}/README.md"
    stored = [event for event in Certificate.load(path).body["events"] if event["mechanism"] == mechanism]
    required = {f.name for f in fields(EVENTS[mechanism]) if f.default is MISSING and f.default_factory is MISSING}
    assert stored
    assert all(required <= set(event) for event in stored), "a field that was added to an event needs a default"


def test_no_kind_of_event_was_ever_removed() -> None:
    kinds = {event["mechanism"] for path in STORED for event in Certificate.load(path).body["events"]}
    assert kinds <= set(EVENTS)
    assert len(STORED) >= 26, "a stored certificate is never deleted"


def test_a_changed_meaning_does_not_go_unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted mistake: an accountant that reads `noise_multiplier` as a variance fails the stored certificate."""
    from understudy.privacy import accountant
    from understudy.privacy.events import GaussianEvent

    honest = accountant.total_rdp

    def changed(events, orders):  # type: ignore[no-untyped-def]
        softer = [GaussianEvent(e.noise_multiplier**0.5) if isinstance(e, GaussianEvent) else e for e in events]
        return honest(softer, orders)

    monkeypatch.setattr(accountant, "total_rdp", changed)
    with pytest.raises(InputError, match="the events give epsilon"):
        Certificate.load(FOLDER / "releases" / "moments.json").verify()
