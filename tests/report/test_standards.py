"""A release in the forms that registries, committees and catalogues ask for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml
from html_page import Page
from typer.testing import CliRunner

from understudy.cli.app import app, load_commands
from understudy.errors import InputError
from understudy.privacy import Budget, Certificate, ConfidentGNMax
from understudy.privacy.events import GaussianEvent, LaplaceEvent
from understudy.release.bundle import Bundle, write_bundle
from understudy.report import Sources, render
from understudy.report.checklist import checklist
from understudy.report.croissant import croissant
from understudy.report.facts import read_release
from understudy.report.registry_entry import SECTORS, Owner, registry_entry
from understudy.tables import Column, Schema

Make = Callable[..., Path]
OWNER = Owner("Ward survey", ["The hospital"], "Teaching", "France", ["A steward"], "Healthcare")
TEXT = {"type": "string"}


def _closed(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": properties}


# The fields of the registry's schema (opendp/deployments-registry-data, July 2026), in our own words: which there are,
# which are required, and what may stand in them.
SCHEMA = _closed(
    ("url_slug", "status", "tier", "deployment"),
    url_slug=TEXT,
    status={"enum": ["Draft", "Pending", "Approved"]},
    tier={"enum": [1, 2, 3]},
    deployment=_closed(
        ("basic",),
        basic=_closed(
            (
                "name",
                "data_curators",
                "description",
                "intended_use",
                "data_product_type",
                "data_product_region",
                "publication_date",
            ),
            name=TEXT,
            data_curators={"type": "array", "items": TEXT, "minItems": 1},
            intended_use=TEXT,
            data_product_type={"enum": ["Summary statistics", "Machine learning model", "Dataset", "Synthetic data"]},
            data_product_region=TEXT,
            description=TEXT,
            publication_date={"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
            data_product_sector={"enum": list(SECTORS)},
        ),
        dp_variant=_closed(
            variant_name={"enum": ["Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"]},
            data_domain=TEXT,
            unprotected_quantities=TEXT,
        ),
        privacy_loss=_closed(
            privacy_unit=TEXT,
            privacy_unit_details=TEXT,
            privacy_parameters=_closed(
                epsilon={"type": "number"}, delta={"type": ["number", "string"]}, rho={"type": "number"}
            ),
            privacy_parameters_details=TEXT,
        ),
        deployment_model=_closed(
            model_name={"enum": ["Local", "Central", "Shuffle", "Federated", "Varies"]},
            release_type={"enum": ["One release", "Many releases"]},
            data_source_type={"enum": ["Static", "Dynamic"]},
            access_type={"enum": ["Interactive", "Non-interactive"]},
        ),
        accounting=_closed(post_processing=TEXT, composition=TEXT),
        implementation=_closed(preprocessing_and_hyperparameter_tuning=TEXT, mechanisms=TEXT, justification=TEXT),
        administrative=_closed(
            ("registry_authors",),
            sources=TEXT,
            notes=TEXT,
            registry_authors={"type": "array", "items": TEXT, "minItems": 1},
        ),
    ),
)


@pytest.mark.parametrize(
    ("kind", "product"), [("classifier", "Machine learning model"), ("generator", "Synthetic data")]
)
def test_an_entry_is_of_the_registry_s_form(make_release: Make, kind: str, product: str) -> None:
    release = read_release(make_release(kind=kind, public=("the class labels",)))
    entry = registry_entry(release, OWNER)
    jsonschema.validate(entry, SCHEMA)
    assert yaml.safe_load(yaml.safe_dump(entry)) == entry
    deployment = entry["deployment"]
    assert deployment["basic"]["data_product_type"] == product
    assert deployment["privacy_loss"]["privacy_parameters"]["epsilon"] == release.certificate.epsilon
    assert "the class labels" in deployment["dp_variant"]["unprotected_quantities"]
    assert "floating point" in deployment["implementation"]["mechanisms"].lower()
    assert entry["url_slug"].startswith("ward-survey-the-hospital-20")


def test_pure_and_approximate_are_told_apart(make_release: Make) -> None:
    pure = read_release(make_release("pure", (LaplaceEvent(0.5),), delta=0.0))
    assert registry_entry(pure, OWNER)["deployment"]["dp_variant"]["variant_name"] == "Pure DP"
    both = read_release(make_release("both"))
    assert registry_entry(both, OWNER)["deployment"]["dp_variant"]["variant_name"] == "Approximate DP"


def test_a_promise_that_does_not_hold_is_not_registered(make_release: Make) -> None:
    release = read_release(make_release(unsafe=("the student saw real rows",)))
    with pytest.raises(InputError, match="Only a promise that holds"):
        registry_entry(release, OWNER)
    with pytest.raises(InputError, match="Only a promise that holds"):
        croissant(release, name="x")


@pytest.mark.parametrize(
    "wrong", [{"name": " "}, {"curators": []}, {"authors": []}, {"sector": "Magic"}, {"region": ""}]
)
def test_what_the_owner_left_out_is_asked_for(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"registry needs|at least one|must be one of"):
        Owner(**{**OWNER.__dict__, **wrong})


def test_the_checklist_is_filled_from_the_certificate(make_release: Make) -> None:
    release = make_release(events=(GaussianEvent(10.0, 1, "discrete"),), public=("the columns",))
    points = {p.point: p for p in checklist(read_release(release).certificate)}
    assert "μ = 0.1" in points["Privacy parameters"].answer
    assert points["Correctness: finite arithmetic"].answer == "All noise is drawn exactly, on whole numbers."
    assert "the columns" in points["Hazard: unprotected quantities"].answer
    assert not points["Access control"].answered, "a certificate cannot know"
    text = Page(render(Sources([release]))).text
    assert "Checklist after NIST SP 800-226" in text
    assert "Exposure at collection" in text


def test_the_checklist_says_what_weakens_a_promise(make_release: Make) -> None:
    floating = {p.point: p for p in checklist(read_release(make_release()).certificate)}
    assert "floating point" in floating["Correctness: finite arithmetic"].answer
    budget = Budget(3.0, 1e-5, unsafe_noise_seed=1)
    ConfidentGNMax(75, 40.0, 25.0).answer(np.array([[90, 10]] * 5), budget)
    seeded = {p.point: p for p in checklist(Certificate.from_budget(budget, release={"kind": "labels"}))}
    assert "taken off again" in seeded["Correctness: where the noise came from"].answer
    assert "filter" in seeded["Composition"].answer
    lost = Certificate.not_private(release={"kind": "generator"}, reason="a GAN")
    assert {p.point: p for p in checklist(lost)}["Composition"].answer == "None: nothing is promised."


def _table_release(folder: Path) -> tuple[Path, Path]:
    schema = Schema((Column("age", "integer", bounds=(0, 120)), Column("ward", "categorical", categories=("n", "s"))))
    budget = Budget(1.0, 1e-5)
    budget.charge(GaussianEvent(20.0))
    certificate = Certificate.from_budget(budget, release={"kind": "generator"})
    write_bundle(Bundle("generator", "moments", {}, {"w": np.zeros(2)}, certificate, schema), folder / "release")
    rows = folder / "rows.csv"
    pd.DataFrame({"age": [31, 62], "ward": ["n", "s"]}).to_csv(rows, index=False)
    return folder / "release", rows


def test_croissant_lists_files_with_checksums_and_columns(tmp_path: Path) -> None:
    release, rows = _table_release(tmp_path)
    described = croissant(read_release(release), name="wards", rows=rows, license="https://example.org/licence")
    names = [file["name"] for file in described["distribution"]]
    assert names == ["release/arrays.safetensors", "release/certificate.json", "release/manifest.json", "rows.csv"]
    assert [f["dataType"] for f in described["recordSet"][0]["field"]] == ["sc:Integer", "sc:Text"]
    assert "epsilon" in described["rai:personalSensitiveInformation"]
    with pytest.raises(InputError, match="lone certificate"):
        croissant(read_release(release / "certificate.json"), name="wards")
    with pytest.raises(InputError, match=r"must be the \.csv"):
        croissant(read_release(release), name="wards", rows=tmp_path / "none.csv")


def test_croissant_is_valid_and_reads_the_rows(tmp_path: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    release, rows = _table_release(tmp_path)
    described = croissant(
        read_release(release), name="wards", rows=rows, license="https://example.org/licence", url="https://example.org"
    )
    (tmp_path / "croissant.json").write_text(json.dumps(described))
    dataset = mlcroissant.Dataset(jsonld=str(tmp_path / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    assert [record["rows/age"] for record in dataset.records("rows")] == [31, 62]


def test_the_command_writes_both(tmp_path: Path) -> None:
    release, rows = _table_release(tmp_path)
    load_commands()
    told = ["--name", "Wards", "--curator", "The hospital", "--use", "Teaching", "--region", "France", "--author", "A"]
    files = ["--out", str(tmp_path / "e.yaml"), "--croissant", str(tmp_path / "c.json"), "--rows", str(rows)]
    done = CliRunner().invoke(app, ["registry", str(release), *told, *files])
    assert done.exit_code == 0, done.output
    jsonschema.validate(yaml.safe_load((tmp_path / "e.yaml").read_text("utf-8")), SCHEMA)
    assert json.loads((tmp_path / "c.json").read_text("utf-8"))["name"] == "Wards"
    printed = CliRunner().invoke(app, ["registry", str(release), *told, "--json"])
    assert json.loads(printed.output)["tier"] == 3
