"""A certificate says what was spent, anybody can recompute it, and no edit goes unnoticed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from understudy.errors import InputError
from understudy.privacy import (
    Budget,
    Certificate,
    ConfidentGNMax,
    DeltaEvent,
    GaussianCounts,
    GNMax,
    LNMax,
    NoisyCounts,
    SmoothRelease,
    SubsampledGaussianEvent,
    compose,
)
from understudy.privacy.accountant import total_rdp
from understudy.privacy.certificate import SEEDED_NOISE, SYSTEM_NOISE, _checksum, json_schema
from understudy.privacy.rdp import rdp_to_epsilon
from understudy.privacy.units import ALWAYS_PUBLIC, NEIGHBOURS, PERSON_NEIGHBOURS, PERSONS_PUBLIC, UNITS

VOTES = np.array([[90, 10]] * 10 + [[52, 48]] * 10)
RELEASE = {"kind": "labels", "method": "test"}


def _budget() -> Budget:
    budget = Budget(5.0, 1e-5)
    GNMax(40.0).answer(VOTES, budget)
    NoisyCounts(0.1).release([1, 2], budget)
    budget.charge(SubsampledGaussianEvent(2.0, 0.01, 100), DeltaEvent(1e-7, "padding"))
    return budget


def _certificate(**kwargs: Any) -> Certificate:
    return Certificate.from_budget(_budget(), release=RELEASE, **kwargs)


def test_round_trip_and_verify(tmp_path: Path) -> None:
    certificate = _certificate(assumed_public=["the columns"])
    certificate.save(tmp_path / "c.json")
    again = Certificate.load(tmp_path / "c.json")
    assert again == certificate
    assert again.verify() == pytest.approx(certificate.epsilon)
    assert again.epsilon < 5
    assert again.body["assumed_public"] == ["the number of rows", "the columns"]
    jsonschema.validate(certificate.to_json(), json_schema())


def test_two_looks_with_the_same_settings_are_told_apart() -> None:
    first, second = _certificate(), _certificate()
    assert first.events == second.events
    assert first.body["run"] != second.body["run"], "a page that adds up releases must not count them as one"


def test_filter_certificate_states_the_limit() -> None:
    budget = Budget(3.0, 1e-5)
    ConfidentGNMax(75, 40.0, 25.0).answer(VOTES, budget)
    certificate = Certificate.from_budget(budget, release=RELEASE)
    assert certificate.epsilon == 3.0
    assert certificate.body["accounting"]["basis"] == "filter"
    assert certificate.verify() == 3.0


def test_a_gaussian_promise_stands_beside_epsilon_and_delta() -> None:
    certificate = _certificate()
    stated = certificate.body["gaussian_dp"]
    assert stated["delta"] == pytest.approx(1e-7, rel=1e-4), "what is paid from delta outright, no mu covers"
    curve = certificate.curve()
    for alarms in (1e-4, 0.01, 0.1, 0.5):
        gaussian = norm.cdf(norm.ppf(alarms) + stated["mu"]) + stated["delta"]
        assert curve.found(alarms) <= gaussian + 1e-12
        assert curve.found(alarms) < certificate.delta + np.exp(certificate.epsilon) * alarms


def test_a_filter_promises_its_limit_and_no_more() -> None:
    """What it realised says less than its events would."""
    certificate = Certificate(_filtered())
    assert certificate.curve().found(0.01) == pytest.approx(1e-5 + np.exp(3) * 0.01, rel=1e-6)
    assert certificate.body["gaussian_dp"]["delta"] >= 1e-5
    certificate.verify()


def test_an_unsafe_release_states_no_mu() -> None:
    assert _seeded()["gaussian_dp"] is None
    refused = Certificate.not_private(release=RELEASE, reason="a GAN")
    assert refused.body["gaussian_dp"] is None
    assert refused.curve().found(0.01) == 1


def test_pure_certificate_needs_no_delta() -> None:
    budget = Budget(2.0)
    LNMax(0.02).answer(VOTES, budget)
    certificate = Certificate.from_budget(budget, release=RELEASE)
    assert certificate.epsilon == pytest.approx(0.8)
    assert certificate.delta == 0
    certificate.verify()


def test_seeded_noise_is_marked_and_refused() -> None:
    budget = Budget(2.0, unsafe_noise_seed=1)
    NoisyCounts(0.5).release([3], budget)
    with pytest.raises(InputError, match="fixed seed"):
        Certificate.from_budget(budget, release=RELEASE).verify()


def test_not_private_is_never_verified() -> None:
    certificate = Certificate.not_private(release=RELEASE, reason="a GAN, the ceiling of the comparison")
    assert Certificate.parse(json.dumps(certificate.to_json())).epsilon == float("inf")
    with pytest.raises(InputError, match="not private"):
        certificate.verify()


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [p for k, v in value.items() for p in _paths(v, (*path, k))] or [path]
    if isinstance(value, list):
        return [p for i, v in enumerate(value) for p in _paths(v, (*path, i))] or [path]
    return [path]


ORIGINAL = _certificate(assumed_public=["the columns"]).to_json()
SANITISED = {"epsilon": 0.1, "epsilon_upper": 0.2, "delta": 1e-5, "order": 8.0, "confidence": 0.99}


@pytest.mark.parametrize("path", _paths(ORIGINAL), ids=lambda p: "/".join(map(str, p)))
def test_every_edited_field_is_noticed(path: tuple[Any, ...]) -> None:
    edited = copy.deepcopy(ORIGINAL)
    parent = edited
    for step in path[:-1]:
        parent = parent[step]
    old = parent[path[-1]]
    parent[path[-1]] = old / 2 if isinstance(old, float) else f"{old}x" if isinstance(old, str) else [1]
    with pytest.raises(InputError):
        Certificate.parse(json.dumps(edited)).verify()


@pytest.mark.parametrize("field", ["epsilon", "delta", ("events", 0, "count"), ("events", 0, "sigma")])
def test_an_edit_with_a_fresh_checksum_still_fails(field: Any) -> None:
    """Whoever also recomputes the checksum is caught by the arithmetic."""
    edited = copy.deepcopy(ORIGINAL)
    del edited["checksum"]
    *parents, last = (field,) if isinstance(field, str) else field
    target = edited
    for step in parents:
        target = target[step]
    target[last] = target[last] * 2 if isinstance(target[last], int) else target[last] * 0.9
    edited["checksum"] = _checksum(edited)
    with pytest.raises(InputError, match=r"states|more than"):
        Certificate.parse(json.dumps(edited)).verify()


def _seeded() -> dict[str, Any]:
    budget = Budget(2.0, unsafe_noise_seed=1)
    NoisyCounts(0.5).release([3], budget)
    return Certificate.from_budget(budget, release=RELEASE).to_json()


def _filtered() -> dict[str, Any]:
    budget = Budget(3.0, 1e-5)
    ConfidentGNMax(75, 40.0, 25.0).answer(VOTES, budget)
    return Certificate.from_budget(budget, release=RELEASE).to_json()


def _lowered(c: dict[str, Any]) -> None:
    order = c["accounting"]["order"]
    events = Certificate(c).events
    c["epsilon"] = rdp_to_epsilon([order], total_rdp(events, [order]), c["delta"])[0]


def _lowered_twice(c: dict[str, Any]) -> None:
    _lowered(c)
    c["accounting"]["limit"]["epsilon"] = c["epsilon"]


@pytest.mark.parametrize(
    ("original", "change", "message"),
    [
        (lambda: ORIGINAL, lambda c: c.update(neighbours="two tables that share no row"), "neighbours"),
        (lambda: ORIGINAL, lambda c: c.update(neighbours=c["neighbours"] + " "), "neighbours"),
        (lambda: ORIGINAL, lambda c: c.update(unit="person with all their rows"), "unit"),
        (lambda: ORIGINAL, lambda c: c.update(assumed_public=[]), "assumed_public"),
        (lambda: ORIGINAL, lambda c: c["assumed_public"].pop(0), "assumed_public"),
        (_seeded, lambda c: c.update(unsafe=[]), "fixed seed"),
        (_filtered, _lowered, "filter ran with a limit of"),
        (_filtered, _lowered_twice, "with another limit than is stated"),
        (_filtered, lambda c: c.update(delta=1e-6), "filter ran with a limit of"),
        (_filtered, lambda c: c["accounting"].update(basis="composition"), "this was a filter"),
        (lambda: ORIGINAL, lambda c: c.update(sanitised=SANITISED), "none of the events paid"),
        (lambda: ORIGINAL, lambda c: c["gaussian_dp"].update(mu=0.9 * c["gaussian_dp"]["mu"]), "the events give mu"),
        (lambda: ORIGINAL, lambda c: c["gaussian_dp"].update(delta=1e-30), "leaves delta"),
    ],
)
@pytest.mark.parametrize("parsed", [True, False])
def test_a_promise_that_is_reworded_is_noticed(original: Any, change: Any, message: str, parsed: bool) -> None:
    """With a fresh checksum: by the published schema where it can say so, by `verify` always."""
    edited = copy.deepcopy(original())
    del edited["checksum"]
    change(edited)
    text = json.dumps({**edited, "checksum": _checksum(edited)})
    with pytest.raises(InputError, match=message):
        (Certificate.parse(text) if parsed else Certificate(edited)).verify()


def test_what_verification_cannot_notice() -> None:
    """Free text. The page that says so is `verification.py`; this keeps it honest."""
    edited = copy.deepcopy(ORIGINAL)
    del edited["checksum"]
    edited["release"]["kind"] = "something else"
    edited["assumed_public"] = edited["assumed_public"][:1]
    edited["created"] = "yesterday"
    assert Certificate(edited).verify() == pytest.approx(ORIGINAL["epsilon"])


@pytest.mark.parametrize("name", ["composition", "filter"])
def test_certificates_written_before_new_fields_came_still_verify(name: str) -> None:
    """Two that were written when the format had neither `noise`, nor `gaussian_dp`, nor a filter's `limit`."""
    certificate = Certificate.load(Path(__file__).parent / "certificates" / f"{name}.json")
    assert not {"noise", "gaussian_dp"} & set(certificate.body)
    assert certificate.verify() == pytest.approx(certificate.epsilon)


def test_a_lowered_filter_is_noticed_without_a_limit_too() -> None:
    """The order tells which limit chose it."""
    body = dict(Certificate.load(Path(__file__).parent / "certificates" / "filter.json").body)
    _lowered(body)
    with pytest.raises(InputError, match="with another limit than is stated"):
        Certificate(body).verify()


def test_the_schema_and_the_constants_are_one() -> None:
    properties = json_schema()["properties"]
    assert properties["neighbours"]["enum"] == [NEIGHBOURS, PERSON_NEIGHBOURS]
    assert properties["unit"]["enum"] == list(UNITS)
    assert properties["assumed_public"]["prefixItems"] == [{"enum": [ALWAYS_PUBLIC, PERSONS_PUBLIC]}]
    assert properties["noise"]["enum"] == [SYSTEM_NOISE, SEEDED_NOISE]
    with pytest.raises(InputError, match="`unit`"):
        _certificate(unit="household")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(format=2), "newer than"),
        (lambda c: c.update(events=[{"mechanism": "magic"}]), "unknown mechanism 'magic'"),
        (lambda c: c.update(events=[{"mechanism": "gnmax", "sigma": 1.0, "extra": 1}]), "unknown field 'extra'"),
        (lambda c: c.update(events=[{"mechanism": "gnmax"}]), "sigma"),
        (lambda c: c.update(events=[{"mechanism": "gnmax", "sigma": -1.0}]), "above 0"),
        (lambda c: c.pop("delta"), "delta"),
        (lambda c: c.update(surprise=1), "surprise"),
    ],
)
def test_malformed_certificates(change: Any, message: str) -> None:
    edited = copy.deepcopy(ORIGINAL)
    del edited["checksum"]
    change(edited)
    edited["checksum"] = _checksum(edited)
    with pytest.raises(InputError, match=message):
        Certificate.parse(json.dumps(edited)).verify()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"), ("{", "not valid JSON"), ("[]", "no certificate"), ("{}", "no `format`"),
        ('{"a": NaN}', "NaN"), ('{"a": 1, "a": 2}', "twice"), ("[" * 100_000, "nested|JSON"), ("1" * 5000, "no certificate|digits"),
    ],
)  # fmt: skip
def test_other_texts(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Certificate.parse(text)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        Certificate.load(tmp_path / "none.json")
    (tmp_path / "bin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="UTF-8"):
        Certificate.load(tmp_path / "bin")
    with pytest.raises(InputError, match="cannot write"):
        _certificate().save(tmp_path / "no" / "folder" / "c.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150)
@given(st.sampled_from(_paths(ORIGINAL)), json_values)
def test_fuzzed_certificates_never_crash_and_never_lie(path: tuple[Any, ...], value: Any) -> None:
    edited = copy.deepcopy(ORIGINAL)
    parent = edited
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = value
    unchanged = json.dumps(edited) == json.dumps(ORIGINAL)
    try:
        Certificate.parse(json.dumps(edited)).verify()
        assert unchanged
    except InputError:
        assert not unchanged


def test_sanitised_epsilon_is_in_the_certificate() -> None:
    votes = np.array([[480, 20]] * 50)
    budget = Budget(20.0, 1e-5)
    GNMax(60.0).answer(votes, budget)
    release = SmoothRelease(order=12.0, beta=0.02, sigma=20.0, sigma_log=20.0)
    sanitised = release.release(votes, GNMax(60.0).event(len(votes)), budget)
    certificate = Certificate.from_budget(budget, release=RELEASE, sanitised=sanitised)
    assert certificate.body["sanitised"]["epsilon"] <= certificate.body["sanitised"]["epsilon_upper"]
    certificate.verify()


def _built() -> dict[str, Any]:
    """A certificate that builds on another."""
    first = Budget(1.0, 1e-6)
    GaussianCounts(6.0, 1).release([3, 4], first)
    schema = Certificate.from_budget(first, release={"kind": "schema"})
    second = Budget(2.0, 1e-5)
    GaussianCounts(3.0, 1).release([3, 4], second)
    return dict(Certificate.from_budget(second, release={"kind": "generator"}, builds_on=[schema]).body)


def test_what_a_release_builds_on_is_verified_and_counted_once() -> None:
    made = Certificate(_built())
    assert made.verify() == made.epsilon < made.total()[0]
    events = [event for part in (made, *made.earlier()) for event in part.events]
    assert made.total() == (compose(events, 1.1e-5, cache=False).epsilon, pytest.approx(1.1e-5))
    # Built upon again, the first look still counts once.
    third = Budget(1.0, 1e-6)
    GaussianCounts(6.0, 1).release([3, 4], third)
    last = Certificate.from_budget(third, release={}, builds_on=[made, *made.earlier()])
    assert len(last.earlier()) == 2
    last.verify()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["total"].update(epsilon=c["epsilon"]), "states a total"),
        (lambda c: c["total"].update(delta=c["delta"]), "states a total"),
        (lambda c: c.pop("total"), "belong together"),
        (lambda c: c.pop("builds_on"), "belong together"),
        (lambda c: c["builds_on"][0].update(epsilon=0.1), "was edited"),
        (lambda c: c["builds_on"][0]["events"].clear(), "was edited"),
        (lambda c: _refresh(c["builds_on"][0], epsilon=0.1), "what it builds on does not hold"),
    ],
)
def test_an_edit_of_what_a_release_builds_on_is_noticed(change: Any, message: str) -> None:
    body = json.loads(json.dumps(_built()))
    change(body)
    with pytest.raises(InputError, match=message):
        Certificate(body).verify()


def _refresh(stated: dict[str, Any], **changes: Any) -> None:
    """Edit a certificate and give it a fresh checksum."""
    stated.pop("checksum")
    stated.update(Certificate({**stated, **changes}).to_json())
