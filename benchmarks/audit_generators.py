"""The attack of tests/audit/test_generator_audit.py at full length: 1000 fits a side for each method.

    python benchmarks/audit_generators.py [METHOD ...]

Writes benchmarks/results/generators_audit.json: the measured lower bound on epsilon (95 %) beside the claim of 1.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "audit"))

import test_generator_audit as audit  # pyright: ignore[reportMissingImports]

from understudy.methods.generator import TableGenerator

FITS = 1000
RESULT = Path(__file__).parent / "results" / "generators_audit.json"


def main(methods: list[str]) -> None:
    warnings.simplefilter("ignore")
    TableGenerator._certify = lambda *_: None  # type: ignore[method-assign, assignment]
    body: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {"methods": {}}
    for method in methods or list(audit.METHODS):
        began = time.perf_counter()
        found = audit.measured(method, FITS)
        seconds = round(time.perf_counter() - began, 1)
        body["methods"][method] = {"claimed": 1.0, "measured_lower_bound": found, "seconds": seconds}
        print(method, body["methods"][method], flush=True)
        body |= {
            "command": "python benchmarks/audit_generators.py",
            "machine": {"processor": platform.machine(), "cores": os.cpu_count(), "accelerator": None},
            "fits_a_side": FITS,
            "confidence": 0.95,
        }
        RESULT.write_text(json.dumps(body, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
