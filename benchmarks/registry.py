"""The list of benchmarks, by the page of the results that shows them. A new one is a `Benchmark` in a module, named here."""

from __future__ import annotations

import importlib

from benchmarks.declare import Benchmark
from understudy.errors import InputError
from understudy.wording import did_you_mean

# Page -> id -> module and name.
PAGES: dict[str, dict[str, str]] = {
    "pate": {"pima": "pima:BENCHMARK", "pate-adult": "pate_adult:BENCHMARK"},
    "pategan": {
        **{f"pategan-{n}": f"pategan:TABLE_{n}" for n in (1, 2, 3)},
        **{f"pategan-{n}": f"pategan_more:TABLE_{n}" for n in (4, 5, 6)},
        "pategan-eps": "pategan:FIGURES",
    },
    "gpate": {
        "gpate-1": "gpate:TABLE_1",
        **{f"gpate-{n}": f"gpate_images:TABLE_{n}" for n in (2, 3)},
        **{f"gpate-{n}": f"gpate:TABLE_{n}" for n in (4, 6)},
    },
    "dpkip": {
        "dpkip-images": "dpkip_images:TABLE_1",
        "dpkip-2": "dpkip_images:TABLE_2",
        "dpkip-3": "dpkip_tables:BENCHMARK",
    },
    "field": {
        "field": "field:BENCHMARK",
        "field-2": "field_images:BENCHMARK",
        "field-3": "field_tables:BENCHMARK",
        "neighbours": "neighbours:BENCHMARK",
        "image-bench": "image_bench:BENCHMARK",
        "aim-mst": "peers.binned:BENCHMARK",
    },
    "other": {
        "moments": "moments:BENCHMARK",
        "moments-ablation": "moments_more:ABLATION",
        "moments-speed": "moments_more:SPEED",
        "out-of-core": "out_of_core:BENCHMARK",
        "wide-table": "wide_table:BENCHMARK",
        "images": "images:BENCHMARK",
        "one-look": "one_look:BENCHMARK",
        "train-recipes": "train_recipes:BENCHMARK",
        "distill-speed": "distill_speed:BENCHMARK",
        "dpkip-choices": "dpkip_choices:BENCHMARK",
        "field-2-choose": "field_images:CHOOSE",
        "adversarial-curves": "adversarial:BENCHMARK",
        "generators-choose": "generators:CHOOSE",
        "generators-report": "generators:REPORT",
        "generators-speed": "generators_speed:SPEED",
        "generators-stream": "generators_speed:STREAM",
        "generators-gpu": "generators_gpu:BENCHMARK",
        "gpate-images-speed": "gpate_images_speed:BENCHMARK",
        "generators-audit": "generators_audit:BENCHMARK",
        "likeness": "likeness:BENCHMARK",
        "peers": "peers.compare:BENCHMARK",
        "peers-speed": "peers.speed:BENCHMARK",
        "ensemble": "ensemble:BENCHMARK",
        "accounting": "accounting:BENCHMARK",
        "audit": "audit:BENCHMARK",
        "coordinates": "coordinates:BENCHMARK",
        "verdict": "verdict:BENCHMARK",
        "interactions": "interactions:BENCHMARK",
        "any-table": "any_table:BENCHMARK",
        "taught": "taught:BENCHMARK",
        "image-likeness": "image_likeness:BENCHMARK",
        "image-features": "image_features:BENCHMARK",
        "colour": "colour:BENCHMARK",
        "persons": "persons:BENCHMARK",
        "persons-audit": "persons_audit:BENCHMARK",
        "visits": "visits:BENCHMARK",
        "rules": "rules:BENCHMARK",
        "faults": "faults:BENCHMARK",
        "fuzz": "fuzz:BENCHMARK",
        "demo": "demo:BENCHMARK",
    },
}
HOMES = {name: home for page in PAGES.values() for name, home in page.items()}


def names() -> tuple[str, ...]:
    return tuple(HOMES)


def get(name: str) -> Benchmark:
    """The benchmark of that id."""
    if name not in HOMES:
        raise InputError(
            f"there is no benchmark {name!r}.{did_you_mean(name, HOMES)} `python -m benchmarks list` shows: {', '.join(HOMES)}."
        )
    module, _, attribute = HOMES[name].partition(":")
    return getattr(importlib.import_module(f"benchmarks.{module}"), attribute)
