"""`understudy report`: one self-contained HTML page from releases and what was measured about them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from understudy._version import __version__
from understudy.errors import InputError
from understudy.files import check_writable, write_text
from understudy.privacy.units import PERSON
from understudy.release.verdict import Verdict
from understudy.report import figures, words
from understudy.report.checklist import checklist
from understudy.report.facts import Release, free, read_release, shares, total
from understudy.report.odds import Odds
from understudy.report.text import at_most, number, one_in, percent, shown

MOST_FACTS = 100  # a page is for people


@dataclass(frozen=True)
class Sources:
    """What a page is made from. Only `releases` is needed.

    - `evaluations`: files that `understudy evaluate --out` wrote.
    - `test`: a real table for the comparison of distributions. Its shares are shown as they are: real test rows are a
      use of private data, and the page says so.
    - `ledger` and `dataset`: the history to show.
    - `audits`: JSON files with the results of attacks on the releases.
    - `name` and `rows`: what the table is called and how many rows it has, where people may know; else as far as the ledger
      and the releases say.
    """

    releases: Sequence[str | Path]
    evaluations: Sequence[str | Path] = ()
    test: str | Path | None = None
    ledger: str | None = None
    dataset: str | None = None
    audits: Sequence[str | Path] = ()
    title: str | None = None
    name: str | None = None
    rows: int | None = None


def write_report(sources: Sources, out: str | Path) -> Path:
    """Write the page, whole or not at all."""
    target = check_report_path(out)
    write_text(target, render(sources))
    return target


def check_report_path(out: str | Path) -> Path:
    """Refuse a page that cannot be written, before anything is spent."""
    target = Path(out)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"the report {target} must be named *.html, so that it opens in a browser.")
    return check_writable(target)


def render(sources: Sources) -> str:
    """The page as text."""
    from understudy.report.usefulness import usefulness

    if not sources.releases:
        raise InputError("name at least one release: the folder that `--out` made.")
    releases = [read_release(path) for path in sources.releases]
    ledger = _ledger(sources)
    useful = usefulness(releases, sources.evaluations, sources.test)
    from understudy.report.audits import read_audits

    values = {
        "title": shown(sources.title or _title(releases), 120),
        "breath": _breath(releases, useful),
        "promise": _promise(releases),
        "releases": [_release(r, nothing) for r, nothing in zip(releases, free(releases), strict=True)],
        "ledger": ledger,
        "useful": useful,
        "audits": _audits(read_audits(sources.audits)),
        "made": datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
        "version": __version__,
        "dataset": shown(sources.dataset) if sources.dataset else None,
        "table": _described_table(sources, releases),
        "verdicts": _verdicts(releases),
    }
    return _template().render(values)


def _described_table(sources: Sources, releases: Sequence[Release]) -> dict[str, Any]:
    """The name and the number of rows, or of persons, of the sensitive table, as far as anybody said them."""
    name = sources.name or sources.dataset
    what = "persons" if any(release.certificate.body["unit"] == PERSON for release in releases) else "rows"
    said = {release.facts.get(what) for release in releases}
    rows = said.pop() if len(said) == 1 else None
    rows = sources.rows if sources.rows is not None and what == "rows" else rows
    size = f"{rows:,} {what}" if type(rows) is int and rows > 0 else None
    return {"name": shown(name) if name else None, "size": size}


def _verdicts(releases: Sequence[Release]) -> list[dict[str, Any]]:
    """What the releases say of themselves, each sentence once."""
    found: dict[str, dict[str, Any]] = {}
    for release in releases:
        try:
            verdict = Verdict.from_dict(release.facts["verdict"])
        except (KeyError, InputError):  # none, or one that somebody wrote by hand
            continue
        what = words.release_words(release.kind, release.method)[0]
        said = {"grade": verdict.grade, "sentence": shown(verdict.sentence(), 1200), "of": [what]}
        known = found.setdefault(str(said["sentence"]), said)
        if known is not said:
            known["of"].append(what)
    return list(found.values())


def _audits(rows: list[dict[str, Any]]) -> dict[str, Any]:
    gate = any(row["replay"] is not None or row["ratio"] is not None for row in rows)
    return {"rows": rows, "shows_gate": gate, "private": any(row["private"] for row in rows)}


def _template() -> Any:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    folder = files("understudy.report") / "templates"
    environment = Environment(
        loader=FunctionLoader(lambda name: folder.joinpath(name).read_text("utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"at_most": at_most, "number": number, "percent": percent, "shown": shown}
    environment.globals["style"] = Markup(folder.joinpath("style.css").read_text("utf-8"))
    return environment.get_template("report.html")


def _title(releases: Sequence[Release]) -> str:
    if len(releases) == 1:
        kind = words.release_words(releases[0].kind, releases[0].method)[0]
        return kind[0].upper() + kind[1:]
    return f"{len(releases)} private releases"


def _breath(releases: Sequence[Release], useful: Mapping[str, Any]) -> dict[str, Any]:
    rows = []
    for release, nothing in zip(releases, free(releases), strict=True):
        what, name, sentence = words.release_words(release.kind, release.method)
        rows.append(
            {
                "what": what,
                "method": name,
                "how": sentence,
                "size": words.size_words(release.kind, release.facts),
                "epsilon": release.certificate.epsilon,
                "delta": release.certificate.delta,
                "holds": not release.problem,
                "problem": release.problem,
                "free": nothing,
                "check": _checked(release),
            }
        )
    return {"releases": rows, "headline": useful["headline"]}


def _checked(release: Release) -> str | None:
    """The noisy score on held-out rows, if one was paid for."""
    check = release.facts.get("check")
    return shown(check["sentence"], 400) if isinstance(check, Mapping) and "sentence" in check else None


def _promise(releases: Sequence[Release]) -> dict[str, Any]:
    """The odds for one row, for all releases on the page together."""
    together = total(releases)
    epsilon, delta, curve = together.epsilon, together.delta, together.curve
    broken = [r for r in releases if r.problem]
    odds = Odds(epsilon, delta)
    assumed = [text for r in releases for text in r.certificate.body["assumed_public"]]
    public = list(dict.fromkeys(shown(text, 300) for text in assumed))
    if len(public) > MOST_FACTS:
        public = [
            *public[: MOST_FACTS - 1],
            f"and {len(public) - MOST_FACTS + 1:,} further things, listed in the certificates",
        ]
    units = sorted({shown(r.certificate.body["unit"]) for r in releases})
    pairs = []
    for alarms in (0.01, 0.1):
        found = curve.found(alarms)
        accused, caught = round(100 * alarms), min(100, math.ceil(100 * found - 1e-9))
        pairs.append(
            {
                "alarms": alarms,
                "accused": accused,
                "found": found,
                "caught": caught,
                "bound": odds.found(alarms),
                "out": figures.people(accused, f"{accused} of 100 people who did not take part are marked.", False),
                "in": figures.people(caught, f"At most {caught} of 100 people who took part are marked.", True),
            }
        )
    return {
        "epsilon": epsilon,
        "delta": delta,
        "factor": math.exp(epsilon) if epsilon < 50 else math.inf,
        "odds": odds,
        "pairs": pairs,
        "curve": figures.curve(curve, odds),
        "added": together.added,
        "certainty": figures.certainty(odds),
        "posterior": odds.posterior(),
        "guess": curve.best_guess(),
        "gaussian": curve.gaussian_dp(),
        "failure": one_in(delta),
        "several": [(rows, odds.for_rows(rows)) for rows in (2, 5)],
        "public": public,
        "units": units,
        "yours": "rows, all of them," if PERSON in units else units[0],
        "persons": PERSON in units,
        "taken": _taken(releases),
        "ordered": [r.facts["visits"] for r in releases if isinstance(r.facts.get("visits"), Mapping)],
        "neighbours": sorted({r.certificate.body["neighbours"] for r in releases}),
        "void": [shown(r.problem, 300) for r in broken],
        "none": math.isinf(epsilon),
        "many": len(releases) > 1,
    }


def _taken(releases: Sequence[Release]) -> int | None:
    """The most rows of one person that any of the releases took."""
    said = [release.facts.get("rows_per_person") for release in releases]
    return max((most for most in said if type(most) is int), default=None)


def _release(release: Release, nothing: bool) -> dict[str, Any]:
    certificate = release.certificate
    record = PERSON if certificate.body["unit"] == PERSON else "row"
    rows = [
        {"name": name, "sentence": sentence, "share": share, "part": i % 6}
        for i, (name, sentence, share) in enumerate(words.spending_words(shares(certificate), record))
    ]
    label = "Shares of the cost: " + ", ".join(f"{r['name']} {percent(r['share'])}" for r in rows)
    body = certificate.body
    kind, method, _ = words.release_words(release.kind, release.method)
    return {
        "name": shown(release.path.name or str(release.path)),
        "kind": kind,
        "method": method,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "events": rows,
        "bar": figures.parts([r["share"] for r in rows], label) if rows else None,
        "accounting": body["accounting"],
        "sanitised": body["sanitised"],
        "created": shown(body["created"], 40),
        "software": {shown(k, 40): shown(v, 40) for k, v in body["software"].items()},
        "checksum": certificate.to_json()["checksum"],
        "recomputed": release.recomputed,
        "problem": shown(release.problem, 300),
        "facts": [
            (shown(k, 60), shown(v, 120))
            for k, v in list(release.facts.items())[:MOST_FACTS]
            if k not in ("verdict", "check")
        ],
        "checklist": [
            {"level": p.level, "point": p.point, "answer": shown(p.answer, 1200), "answered": p.answered}
            for p in checklist(certificate)
        ],
        "free": shown(release.facts["post_processing_of"]) if nothing else None,
    }


def _ledger(sources: Sources) -> dict[str, Any] | None:
    if (sources.ledger is None) != (sources.dataset is None):
        raise InputError("--ledger and --dataset belong together: the file, and the name of the dataset in it.")
    if sources.ledger is None or sources.dataset is None:
        return None
    from understudy.privacy import Ledger

    book = Ledger(sources.ledger)
    dataset, spent = book.dataset(sources.dataset), book.spent(sources.dataset)
    limit = float(dataset.limit.epsilon)
    entries = [
        {
            "started": shown(entry.started, 30).replace("T", " ")[:16],
            "purpose": shown(entry.purpose),
            "state": entry.state,
            "epsilon": float(entry.counted.epsilon),
            "delta": float(entry.counted.delta),
        }
        for entry in book.entries(sources.dataset)
    ]
    counted = [e["epsilon"] for e in entries if e["epsilon"] > 0]
    label = f"ε {number(float(spent.epsilon))} of {number(limit)} is spent."
    return {
        "limit": limit,
        "limit_delta": float(dataset.limit.delta),
        "spent": float(spent.epsilon),
        "spent_delta": float(spent.delta),
        "entries": entries,
        "bar": figures.parts(counted, label, max(limit - float(spent.epsilon), 0.0)),
    }
