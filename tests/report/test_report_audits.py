"""The page shows what `understudy audit` wrote, and still what older audits look like."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from html_page import Page

from understudy.audit.bounds import Bound
from understudy.audit.canaries import Attack
from understudy.audit.claims import Claim
from understudy.audit.examine import Audit, document
from understudy.audit.ratio import Ratio
from understudy.report import Sources
from understudy.report.page import render


def audit(**changes: object) -> Audit:
    claim = Claim(1.0, 1e-5, 0.27)
    attacks = (Attack("transcript", Bound(0.4, 0.2, 300), claim),)
    found = {"leaks": (), "ratio": Ratio(0.9, 1.0, 0.0, 0.0), "attacks": attacks}
    return Audit("moments", claim, 300, 0.95, **{**found, **changes})  # type: ignore[arg-type]


def text(tmp_path: Path, make_release: Callable[..., Path], *audits: Audit) -> str:
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(document(audits)))
    return Page(render(Sources([make_release()], audits=[path]))).text


def test_replay_and_ratio_stand_beside_the_bound(tmp_path: Path, make_release: Callable[..., Path]) -> None:
    shown = text(tmp_path, make_release, audit())
    for words in ("the same release", "0.9", "at least 0.4", "within the claim", "not covered by the promise"):
        assert words in shown


def test_a_leak_breaks_the_claim_although_the_bound_is_within(
    tmp_path: Path, make_release: Callable[..., Path]
) -> None:
    assert "claim broken" in text(tmp_path, make_release, audit(leaks=("release.arrays.weights differs",)))


def test_what_moved_for_free_breaks_the_claim_without_any_bound(
    tmp_path: Path, make_release: Callable[..., Path]
) -> None:
    moved_for_free = audit(ratio=Ratio(0.9, 0.0, 0.0, 0.0), attacks=())
    shown = text(tmp_path, make_release, moved_for_free)
    assert "claim broken" in shown
    assert "not tried" in shown


def test_an_older_audit_is_read_as_before(tmp_path: Path, make_release: Callable[..., Path]) -> None:
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"confidence": 0.95, "methods": {"gpate": {"claimed": 1.0, "measured_lower_bound": 0}}}))
    shown = Page(render(Sources([make_release()], audits=[path]))).text
    assert "within the claim" in shown
    assert "same noisy answers" not in shown
    assert "for whoever may see the records" not in shown
