"""A made-up table of visits, one to eight a patient, in the folder you are in: visits.csv, with the column `patient`."""

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
visits = rng.integers(1, 9, 800)
patient = np.repeat(np.arange(1, 801), visits)
ill = np.repeat(rng.random(800) < visits / 12, visits)
table = pd.DataFrame(
    {
        "patient": patient,
        "age": np.repeat(rng.integers(18, 90, 800), visits),
        "pressure": np.clip(rng.normal(120 + 20 * ill, 12), 60, 220).round(),
        "ward": rng.choice(["north", "south", "west"], len(patient)),
        "admitted": rng.random(len(patient)) < np.where(ill, 0.6, 0.1),
    }
)
table.to_csv("visits.csv", index=False)
print(f"wrote visits.csv ({len(table):,} rows of 800 patients, target: admitted)")
