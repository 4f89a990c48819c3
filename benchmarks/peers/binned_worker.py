"""Runs inside an environment of its own: MST or AIM learns a table of codes and writes synthetic codes. Knows no test row.

    python binned_worker.py LIBRARY METHOD FOLDER

FOLDER holds codes.csv (whole numbers, each column from 0 to its size) and meta.json; this writes made.csv and facts.json. So both
programs work on the same bins, and all of epsilon goes to the method itself. PEER_SECONDS is the most of a processor that it may have.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd


def dpmm(method: str, rows: pd.DataFrame, meta: dict[str, Any]) -> tuple[pd.DataFrame, float]:
    """The models by themselves, without the pipeline that would bin: codes are its input."""
    from dpmm.models.aim import AIMGM  # pyright: ignore[reportMissingImports]
    from dpmm.models.mst import MSTGM  # pyright: ignore[reportMissingImports]
    from numpy.random import RandomState

    kind = {"mst": MSTGM, "aim": AIMGM}[method]
    began = time.process_time()
    model = kind(epsilon=meta["epsilon"], delta=meta["delta"], max_model_size=meta["megabytes"], n_jobs=1)
    model.set_random_state(RandomState(meta["seed"]))
    model.set_domain(domain=meta["sizes"])
    model.fit(rows)
    fitted = time.process_time() - began
    return model.generate(n_records=meta["rows"]), fitted


def dpsynth(method: str, rows: pd.DataFrame, meta: dict[str, Any]) -> tuple[pd.DataFrame, float]:
    """Google's, as its guide has it: every column a category; a tenth of the budget goes to single columns, its default."""
    from dpsynth import TabularSynthesizer, discrete_mechanisms  # pyright: ignore[reportMissingImports]
    from dpsynth.domain import CategoricalAttribute  # pyright: ignore[reportMissingImports]
    from numpy.random import default_rng

    kinds = {
        "mst": discrete_mechanisms.MSTConfig,
        "aim": lambda: discrete_mechanisms.AIMGDPConfig(max_model_size=meta["megabytes"]),
        "swift": discrete_mechanisms.SWIFTConfig,
    }
    began = time.process_time()
    domains = {name: CategoricalAttribute(tuple(map(str, range(size)))) for name, size in meta["sizes"].items()}
    synthesiser = TabularSynthesizer(domains=domains, discrete_mechanism=kinds[method]())
    fitted = synthesiser.configure(zcdp_rho=_rho(synthesiser, meta), delta=meta["delta"])
    made = fitted(default_rng(meta["seed"]), rows.astype(str)).synthetic_data
    seconds = time.process_time() - began
    return made.sample(meta["rows"], replace=len(made) < meta["rows"], random_state=meta["seed"]).astype(int), seconds


def _rho(synthesiser: Any, meta: dict[str, Any]) -> float:
    """What its `calibrate` finds; that begins at zero, which the released accounting library cannot divide by."""
    import dp_accounting as accounting

    def found(accountant: Any) -> float:
        return accounting.calibrate_dp_mechanism(
            accountant,
            lambda rho: synthesiser.configure(zcdp_rho=rho, delta=meta["delta"]).dp_event,
            meta["epsilon"],
            meta["delta"],
            bracket_interval=accounting.ExplicitBracketInterval(1e-4, 10.0),
        )

    try:
        return found(accounting.pld.PLDAccountant)
    except (accounting.UnsupportedEventError, NotImplementedError):
        return found(accounting.rdp.RdpAccountant)


def understudy(method: str, rows: pd.DataFrame, meta: dict[str, Any]) -> tuple[pd.DataFrame, float]:
    """Ours: every column a declared category, so that no coordinates are bought."""
    from understudy.registry import get
    from understudy.tables import Column, Schema

    columns = (Column(n, "categorical", categories=tuple(map(str, range(s)))) for n, s in meta["sizes"].items())
    more = {"megabytes": float(meta["megabytes"])} if method == "aim" else {}
    began = time.process_time()
    generator = get(method).load()(meta["epsilon"], meta["delta"], random_state=meta["seed"], **more)
    generator.fit(rows.astype(str), schema=Schema(tuple(columns)))
    fitted = time.process_time() - began
    return generator.sample(meta["rows"], random_state=meta["seed"]).astype(int), fitted


def main(library: str, method: str, folder: Path) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    rows = pd.read_csv(folder / "codes.csv")
    made, seconds = {"understudy": understudy, "dpmm": dpmm, "dpsynth": dpsynth}[library](method, rows, meta)
    made[list(meta["sizes"])].to_csv(folder / "made.csv", index=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (folder / "facts.json").write_text(json.dumps({"fit_seconds": seconds, "peak_memory_mb": round(peak)}))


if __name__ == "__main__":
    if "PEER_SECONDS" in os.environ:
        most = int(os.environ["PEER_SECONDS"])
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
