"""A made-up clinic in the folder you are in: patients.csv, appointments.csv (none to ten a patient), and both joined: clinic.csv."""

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
persons = 1500
patients = pd.DataFrame(
    {
        "patient": [f"P{number:04d}" for number in range(1, persons + 1)],
        "birth_year": rng.integers(1930, 2005, persons),
        "sex": rng.choice(["f", "m"], persons),
    }
)
old = patients["birth_year"].to_numpy() < 1960
each = rng.poisson(np.where(old, 4, 2)).clip(0, 10)
owner = np.repeat(np.arange(persons), each)
days = (
    rng.integers(0, 700, persons)[owner]
    + pd.Series(rng.integers(7, 120, len(owner))).groupby(owner).cumsum().to_numpy()
)
appointments = pd.DataFrame(
    {
        "patient": patients["patient"].to_numpy()[owner],
        "date": (pd.Timestamp("2022-01-01") + pd.to_timedelta(days, "D")).strftime("%Y-%m-%d"),
        "pressure": (rng.normal(125 + 15 * old, 14)[owner] + rng.normal(0, 6, len(owner))).round(),
        "ward": rng.choice(["north", "south"], len(owner)),
    }
)
patients.to_csv("patients.csv", index=False)
appointments.to_csv("appointments.csv", index=False)
appointments.merge(patients, on="patient").to_csv("clinic.csv", index=False)
print(
    f"wrote patients.csv ({persons:,}), appointments.csv ({len(appointments):,} rows) and clinic.csv, which joins them"
)
