"""Made-up patients of a hospital with every kind of column: patients.csv (2,000 rows) and small.csv (three columns of them).

Drawn at random, so nobody is in them.
"""

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n = 2000
age = rng.integers(18, 95, n)
pain = rng.choice(["none", "mild", "strong"], n, p=[0.5, 0.3, 0.2])
patients = pd.DataFrame(
    {
        "age": age,
        "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(10, 0.6, n).round(2)),
        "ward": rng.choice(["north", "south", "west"], n, p=[0.5, 0.45, 0.05]),
        "pain": pain,
        "admitted": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3600, n), unit="D"),
        "sick": rng.random(n) < 0.1 + 0.4 * (pain == "strong") + 0.002 * (age - 18),
    }
)
patients.to_csv("patients.csv", index=False)
patients[["age", "ward", "sick"]].to_csv("small.csv", index=False)
print("wrote patients.csv and small.csv")
