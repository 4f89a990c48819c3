"""A made-up table of hospital stays, stays.csv, and stays.yaml: the kinds of its dates, and rules that hold in every row."""

import numpy as np
import pandas as pd

from understudy.tables import Schema

rng = np.random.default_rng(0)
rows = 4000
ward = rng.choice(["maternity", "medicine", "surgery"], rows, p=[0.2, 0.4, 0.4])
length = rng.poisson(np.select([ward == "medicine", ward == "surgery"], [9, 6], 3))
admission = pd.Series(np.datetime64("2019-01-01") + rng.integers(0, 1090, rows))
place = rng.integers(0, 9, rows)
labs, scans = rng.poisson(3, rows), rng.poisson(2, rows)
frame = pd.DataFrame(
    {
        "admission": admission,
        "discharge": admission + pd.to_timedelta(length, unit="D"),
        "month": admission.dt.month,
        "ward": ward,
        "sex": np.where(ward == "maternity", "female", rng.choice(["female", "male"], rows)),
        "pregnant": np.where(ward == "maternity", "yes", "no"),
        "zip": [f"CH-{4001 + 7 * n}" for n in place],
        "city": np.array(["Basel", "Bern", "Chur"])[place // 3],
        "labs": labs,
        "scans": scans,
        "tests": labs + scans,
        "readmitted": np.where(rng.random(rows) < 0.05 + 0.02 * length, "yes", "no"),
    }
)
frame.to_csv("stays.csv", index=False)
kinds = {
    "admission": "datetime",
    "discharge": "datetime",
    "labs": "integer",
    "scans": "integer",
    "readmitted": "categorical",
}
schema = Schema.from_dict(
    {
        "version": 1,
        "target": "readmitted",
        "columns": [{"name": name, "kind": kind} for name, kind in kinds.items()],
        "rules": [
            "discharge >= admission",
            "month == month(admission)",
            "tests == labs + scans",
            'if sex == "male" then pregnant == "no"',
            "zip determines city",
        ],
    }
)
schema.write("stays.yaml")
print(f"wrote stays.csv ({rows} rows, target: readmitted) and stays.yaml")
