"""An entry for the public registry of deployments of differential privacy (OpenDP, proposed to NIST).

The fields are those of the registry's schema as of July 2026: three tiers, from what the data product is to how it was
computed. What only the owner knows (names, purpose, region) is asked for; the rest is read from the certificate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from understudy.errors import InputError
from understudy.report.checklist import checklist
from understudy.report.facts import Release
from understudy.report.text import number
from understudy.report.words import event_words, release_words

SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
_PRODUCTS = {"classifier": "Machine learning model", "histogram": "Summary statistics", "metrics": "Summary statistics"}


@dataclass(frozen=True)
class Owner:
    """What the certificate cannot know about the data product."""

    name: str
    curators: Sequence[str]
    intended_use: str
    region: str
    authors: Sequence[str]
    sector: str | None = None
    sources: str | None = None

    def __post_init__(self) -> None:
        for field in ("name", "intended_use", "region"):
            if not str(getattr(self, field)).strip():
                raise InputError(f"`{field}` is empty: the registry needs it.")
        if not self.curators or not self.authors:
            raise InputError("name at least one curator, who publishes the product, and one author of the entry.")
        if self.sector is not None and self.sector not in SECTORS:
            raise InputError(f"`sector` (={self.sector!r}) must be one of {', '.join(SECTORS)}.")


def registry_entry(release: Release, owner: Owner) -> dict[str, Any]:
    """The entry as plain data, a draft of tier 3. A release whose promise does not hold is refused."""
    if release.problem:
        raise InputError(f"{release.path}: {release.problem} Only a promise that holds is registered.")
    certificate, body = release.certificate, release.certificate.body
    what, method, how = release_words(release.kind, release.method)
    year = body["created"][:4]
    basic: dict[str, Any] = {
        "name": owner.name,
        "data_curators": list(owner.curators),
        "intended_use": owner.intended_use,
        "data_product_type": _PRODUCTS.get(release.kind, "Synthetic data"),
        "data_product_region": owner.region,
        "description": f"{what.capitalize()}, made by {method}. {how}".strip(),
        "publication_date": body["created"][:10],
    }
    if owner.sector is not None:
        basic["data_product_sector"] = owner.sector
    return {
        "url_slug": _slug(owner.name, *owner.curators, year),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": basic,
            "dp_variant": {
                "variant_name": "Pure DP" if certificate.delta == 0 else "Approximate DP",
                "data_domain": f"Tables (or sets of images) with the public number of {body['unit']}s.",
                "unprotected_quantities": "; ".join(body["assumed_public"]),
            },
            "privacy_loss": {
                "privacy_unit": body["unit"].capitalize(),
                "privacy_unit_details": f"Adjacent: {body['neighbours']}.",
                "privacy_parameters": {"epsilon": certificate.epsilon, "delta": certificate.delta},
                "privacy_parameters_details": _parameters(release),
            },
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": "Everything after the listed mechanisms works on their outputs alone.",
                "composition": _point(release, "Composition"),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": (
                    "To be completed by the curator: whether settings were chosen without a look at the records. What the "
                    "certificate took to be public is listed under unprotected quantities."
                ),
                "mechanisms": _mechanisms(release),
                "justification": "To be completed by the curator: why these parameters.",
            },
            "administrative": {
                **({"sources": owner.sources} if owner.sources else {}),
                "registry_authors": list(owner.authors),
            },
        },
    }


def _parameters(release: Release) -> str:
    stated = release.certificate.body.get("gaussian_dp")
    if stated is None:
        return "Unconditional: the same for every dataset."
    return (
        f"Unconditional: the same for every dataset. In Gaussian differential privacy: mu = {number(stated['mu'])}, with a "
        f"delta of {number(stated['delta'])} aside."
    )


def _mechanisms(release: Release) -> str:
    certificate = release.certificate
    lines = [f"- {name}: {sentence}" for name, sentence in (event_words(event) for event in certificate.events)]
    software = ", ".join(f"{name} {version}" for name, version in certificate.body["software"].items())
    lines += [
        f"- Floating point: {_point(release, 'Correctness: finite arithmetic')}",
        f"- Randomness: {_point(release, 'Correctness: where the noise came from')}",
        f"- Software: {software}. The certificate lists all events; `understudy verify` recomputes epsilon from them.",
    ]
    return "\n".join(lines)


def _point(release: Release, name: str) -> str:
    return next(point.answer for point in checklist(release.certificate) if point.point == name)


def _slug(*parts: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
