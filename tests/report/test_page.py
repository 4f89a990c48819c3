"""What the page says, from releases whose figures are known; and what it refuses."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from html_page import Page

from understudy.errors import InputError
from understudy.privacy import Certificate, Ledger
from understudy.privacy.events import DeltaEvent, GaussianEvent, LaplaceEvent, LNMaxEvent, SubsampledGaussianEvent
from understudy.report import Odds, Sources, render, write_report
from understudy.report.facts import Release, read_release, shares, total
from understudy.report.text import at_most

Make = Callable[..., Path]


def spent(releases: list[Release]) -> tuple[float, float]:
    together = total(releases)
    return together.epsilon, together.delta


def test_everything_stands_on_the_page(make_release: Make, evaluation: Make, tmp_path: Path) -> None:
    release = make_release(facts={"teachers": 50, "labels": 35}, public=("the class labels",))
    ledger = tmp_path / "ledger.db"
    book = Ledger.create(str(ledger))
    book.add_dataset("patients", epsilon=3, delta=1e-4)
    book.reserve("patients", epsilon=1.25, delta=1e-5, purpose="a first look").commit()
    audit = tmp_path / "audit.json"
    audit.write_text(json.dumps({"methods": {"canary": {"claimed": 1.0, "measured_lower_bound": 0.4}}}))
    page = Page(
        render(Sources([release], [evaluation()], ledger=str(ledger), dataset="patients", audits=[audit], title="Ours"))
    )
    text = page.text
    for words in (
        "Ours",
        "In one breath",
        "The promise in plain words",
        "How the budget was spent",
        "How good it is",
        "How sure we are",
        "50 teachers, 35 labels answered",
        "the class labels",
        "Noisy counts",
        "Noisy statistics",
        "a first look",
        "AUROC 0.871",
        "0.912",
        "It could not be evaluated: the file is empty",
        "understudy verify release",
        "within the claim",
        "What is not promised",
        "the number of rows is public",
    ):
        assert words in text, words
    certificate = Certificate.load(release / "certificate.json")
    odds, curve = Odds(certificate.epsilon, certificate.delta), certificate.curve()
    bounds = (odds.found(0.01), odds.found(0.1), odds.posterior())
    for share in (curve.found(0.01), curve.found(0.1), curve.best_guess(), *bounds):
        assert at_most(share).replace("\N{NARROW NO-BREAK SPACE}", " ") in text


def test_the_page_is_whole_and_alone(make_release: Make, evaluation: Make) -> None:
    text = render(Sources([make_release()], [evaluation()]))
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert not re.search(r"https?://", text)
    for tag, values in page.elements:
        assert tag not in ("script", "iframe", "object", "embed", "form", "base")
        assert not any(name.startswith("on") for name in values)
        for name in ("src", "href"):
            if name in values:
                assert str(values[name]).startswith(("#", "data:")), values
    for target in (values["href"] for tag, values in page.elements if tag == "a"):
        assert str(target)[1:] in page.ids


def test_headings_go_down_one_at_a_time(make_release: Make) -> None:
    levels = [
        int(tag[1]) for tag, _ in Page(render(Sources([make_release()]))).elements if re.fullmatch(r"h[1-6]", tag)
    ]
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


def test_several_releases_add_up_and_free_ones_do_not(make_release: Make, tmp_path: Path) -> None:
    first = make_release("first", (LaplaceEvent(0.5),), delta=0.0)
    second = make_release("second", (LaplaceEvent(0.25),), delta=0.0)
    certificate = Certificate.load(first / "certificate.json")
    free = tmp_path / "free.json"
    release = {"kind": "distilled", "post_processing_of": "generator/moments"}
    Certificate({**certificate.body, "release": release}).save(free)
    assert spent([read_release(p) for p in (first, second, free)]) == (0.75, 0.0)
    text = Page(render(Sources([first, second, free]))).text
    assert "ε = 0.75" in text
    assert "cost nothing more" in text
    # alone on a page it is what it cost
    assert spent([read_release(free)]) == (0.5, 0.0)
    assert "cost nothing more" not in Page(render(Sources([free]))).text
    # another look with the same settings has the same events, and is paid for
    other = Certificate({**certificate.body, "release": release, "created": "2020-01-01T00:00:00+00:00"})
    other.save(tmp_path / "other.json")
    assert spent([read_release(p) for p in (first, tmp_path / "other.json")]) == (1.0, 0.0)
    # and so is what carries the same certificate but does not say why
    assert spent([read_release(p) for p in (first, first)]) == (1.0, 0.0)


def test_the_people_are_those_of_the_noise_that_was_drawn(make_release: Make) -> None:
    """Gaussian noise of epsilon 1: 16 of 100, where any mechanism of that epsilon could give away 28."""
    release = make_release("gaussian", (GaussianEvent(3.7304),))
    assert Certificate.load(release / "certificate.json").epsilon == pytest.approx(1, abs=1e-3)
    text = Page(render(Sources([release]))).text
    assert "at most 16 of 100" in text
    assert "at most 2 of 100" in text
    assert "at most 28 of 100" not in text
    assert "27.2 %" in text.replace("\N{NARROW NO-BREAK SPACE}", " "), "the bound by epsilon is the fine print"
    assert "μ = 0.268" in text


def test_several_releases_compose_their_events_not_their_epsilons(make_release: Make) -> None:
    paths = [make_release(f"look{i}", (GaussianEvent(3.7304),)) for i in range(3)]
    together = total([read_release(p) for p in paths])
    assert together.added == pytest.approx(3, abs=5e-3)
    assert together.delta == pytest.approx(3e-5)
    assert together.epsilon < 1.9
    found = NormalDist().cdf(NormalDist().inv_cdf(0.1) + math.sqrt(3) / 3.7304)
    assert together.curve.found(0.1) == pytest.approx(found, abs=1e-5)
    text = Page(render(Sources(paths))).text
    assert "counted as one, which is less than their ε added up (3" in text


def test_a_release_without_a_promise_gives_everybody_away(make_release: Make, tmp_path: Path) -> None:
    lost = Certificate.not_private(release={"kind": "generator"}, reason="a GAN")
    lost.save(tmp_path / "gan.json")
    together = total([read_release(p) for p in (make_release(), tmp_path / "gan.json")])
    assert math.isinf(together.epsilon)
    assert together.curve.found(0.01) == 1


def test_shares_of_the_cost(make_release: Make) -> None:
    pure = read_release(make_release("pure", (LaplaceEvent(0.1, 3), LNMaxEvent(0.05)), delta=0.0))
    assert [s.share for s in shares(pure.certificate)] == pytest.approx([0.75, 0.25])
    gaussian = read_release(make_release("gauss", (GaussianEvent(10), GaussianEvent(20, 4))))
    assert [s.share for s in shares(gaussian.certificate)] == pytest.approx([0.5, 0.5])
    events = (SubsampledGaussianEvent(2.0, 0.01, 50), LaplaceEvent(0.1), DeltaEvent(1e-9, "a batch too large"))
    mixed = shares(read_release(make_release("mixed", events)).certificate)
    assert sum(s.share for s in mixed) == pytest.approx(1)
    assert all(s.share > 0 for s in mixed[:2])
    assert mixed[2].share == 0


def test_a_lone_certificate(make_release: Make) -> None:
    page = Page(render(Sources([make_release(kind="histogram") / "certificate.json"])))
    assert "A histogram" in page.text


def test_pictures(make_release: Make) -> None:
    images = np.random.default_rng(0).random((12, 8, 8)).astype(np.float32)
    text = render(Sources([make_release(kind="images", method="moments", arrays={"images": images})]))
    assert "12 of 12 released pictures" in Page(text).text
    assert "A distilled set of images" in Page(text).text
    assert "data:image/png;base64," in text
    colour = (255 * np.random.default_rng(0).random((3, 8, 8, 3))).astype(np.uint8)
    assert "data:image/png" in render(Sources([make_release("colour", kind="distilled", arrays={"images": colour})]))


def test_a_release_without_a_promise_says_so_first(make_release: Make, tmp_path: Path) -> None:
    text = Page(render(Sources([make_release(unsafe=("the noise was drawn from a fixed seed",))]))).text
    assert text.count("no valid promise") >= 2
    assert "the noise was drawn from a fixed seed" in text
    assert "No attack on" not in text
    path = tmp_path / "ceiling.json"
    Certificate.not_private(release={"kind": "generator"}, reason="a ceiling for comparison").save(path)
    text = Page(render(Sources([path]))).text
    assert "a ceiling for comparison" in text
    assert "ε = ∞" in text


def test_a_broken_claim_is_shown_as_broken(make_release: Make, tmp_path: Path) -> None:
    audit = tmp_path / "audit.json"
    audit.write_text(json.dumps({"methods": {"canary": {"claimed": 1.0, "measured_lower_bound": 1.4}}}))
    assert "claim broken" in Page(render(Sources([make_release()], audits=[audit]))).text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"releases": []}, "at least one release"),
        ({"releases": ["nowhere"]}, "is no folder"),
        ({"evaluations": ["nowhere.json"]}, "cannot read the evaluation"),
        ({"audits": ["nowhere.json"]}, "cannot read the audit"),
        ({"ledger": "ledger.db"}, "belong together"),
    ],
)
def test_what_is_missing_is_named(make_release: Make, change: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        render(Sources(**{"releases": [make_release()], **change}))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["[]", "{}", '{"methods": {"a": {"claimed": "x"}}}', "{", '{"methods": [1]}'])
def test_files_that_are_something_else(make_release: Make, tmp_path: Path, text: str) -> None:
    other = tmp_path / "other.json"
    other.write_text(text)
    release = make_release()
    with pytest.raises(InputError, match=r"other\.json"):
        render(Sources([release], [other]))
    with pytest.raises(InputError, match=r"other\.json"):
        render(Sources([release], audits=[other]))


def test_the_page_is_written_whole_or_not_at_all(make_release: Make, tmp_path: Path) -> None:
    release = make_release()
    assert write_report(Sources([release]), tmp_path / "page.html").read_text("utf-8").endswith("</html>\n")
    with pytest.raises(InputError, match=r"\.html"):
        write_report(Sources([release]), tmp_path / "page.txt")
    with pytest.raises(InputError, match="no folder"):
        write_report(Sources([release]), tmp_path / "nowhere" / "page.html")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["page.html", "release"]


def test_infinite_epsilon_has_odds() -> None:
    assert Odds(math.inf, 0.0).for_rows(5).posterior() == 1


def test_many_statistics_are_told_as_one(make_release: Make) -> None:
    events = tuple(GaussianEvent(20.0 + i) for i in range(9))
    text = Page(render(Sources([make_release(events=events)]))).text
    assert "9 kinds of statistics" in text
    assert "Gaussian noise 20 to 28 times" in text
    assert "100 %" in text
    assert "99.999" not in text


def test_a_generator_of_images_draws_some(tmp_path: Path) -> None:
    from understudy import ImageMoments
    from understudy.images import ImageDataset

    pixels = np.random.default_rng(0).integers(0, 255, (60, 8, 8)).astype(np.uint8)
    data = ImageDataset(pixels, np.arange(60) % 3, ("a", "b", "c"))
    ImageMoments(4.0, 1e-5, edges=0.0, random_state=0).fit(data).save(tmp_path / "release")
    text = render(Sources([tmp_path / "release"]))
    assert "100 pictures drawn from the release" in Page(text).text
    assert "A generator of synthetic images" in Page(text).text
    assert "data:image/png;base64," in text


def test_a_page_stays_readable_however_much_there_is_to_say(make_release: Make) -> None:
    events = tuple(LaplaceEvent(0.001 + i * 1e-6) for i in range(300))
    release = make_release(
        events=events, facts={f"fact {i}": i for i in range(500)}, public=tuple(f"thing {i}" for i in range(500))
    )
    text = render(Sources([release]))
    page = Page(text)
    assert "261 others" in page.text
    assert "further things, listed in the certificates" in page.text
    assert sum(tag == "tr" for tag, _ in page.elements) < 60
    assert len(text) < 200_000


def test_a_promise_for_persons_says_so_to_a_committee(make_release: Make) -> None:
    facts = {"persons": 312, "rows_per_person": 6}
    text = Page(render(Sources([make_release(facts=facts, unit="person")]))).text
    assert "of 312 persons" in text
    assert "your rows, all of them, blanked out" in text
    assert "at most 6 of them were used, and the promise holds for all of them together" in text
    assert "Somebody with several" not in text
    assert "the most that one person can change" in text


def test_promises_for_rows_and_for_persons_are_not_added_up(make_release: Make) -> None:
    rows, persons = make_release("rows"), make_release("persons", unit="person")
    with pytest.raises(InputError, match="what the two cost together is neither"):
        render(Sources([rows, persons]))
