"""A made-up table of hospital stays, in which everything that rules can say is true."""

from __future__ import annotations

import numpy as np
import pandas as pd

from understudy.tables import Column, Schema
from understudy.tables.rules import parse_rules

CITIES = ("Basel", "Bern", "Chur")
WARDS = ("maternity", "medicine", "surgery")
RULES = parse_rules(
    [
        "discharge >= admission",
        "length == discharge - admission",
        "month == month(admission)",
        "tests == labs + scans",
        "cost >= 100 + 20 * length",
        'if sex == "male" then pregnant == "no"',
        '(ward, sex) in (("maternity", "female"), ("medicine", "female"), ("medicine", "male"), ("surgery", "female"), '
        '("surgery", "male"))',
        "zip determines city",
    ]
)
SCHEMA = Schema(
    (
        Column("admission", "datetime", bounds=("2019-01-01", "2021-12-31")),  # pyright: ignore[reportArgumentType]
        Column("discharge", "datetime", bounds=("2019-01-01", "2022-03-31")),  # pyright: ignore[reportArgumentType]
        Column("length", "integer", bounds=(0, 60)),
        Column("month", "integer", bounds=(1, 12)),
        Column("ward", "categorical", categories=WARDS),
        Column("sex", "categorical", categories=("female", "male")),
        Column("pregnant", "categorical", categories=("no", "yes")),
        Column("zip", "categorical", categories=tuple(f"{n:04}" for n in range(9))),
        Column("city", "categorical", categories=CITIES),
        Column("labs", "integer", bounds=(0, 20)),
        Column("scans", "integer", bounds=(0, 20)),
        Column("tests", "integer", bounds=(0, 40)),
        Column("cost", "continuous", bounds=(0, 3000)),
        Column("died", "boolean"),
    ),
    "died",
)


def stays(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ward = rng.choice(WARDS, rows, p=[0.2, 0.4, 0.4])
    length = np.minimum(rng.poisson(np.select([ward == "medicine", ward == "surgery"], [9, 6], 3)), 60)
    admission = np.datetime64("2019-01-01", "s") + rng.integers(0, 1090, rows) * np.timedelta64(86400, "s")
    sex = np.where(ward == "maternity", "female", rng.choice(["female", "male"], rows))
    place = rng.integers(0, 9, rows)
    labs, scans = rng.poisson(3, rows), rng.poisson(2, rows)
    return pd.DataFrame(
        {
            "admission": admission,
            "discharge": admission + length * np.timedelta64(86400, "s"),
            "length": length,
            "month": pd.Series(admission).dt.month.to_numpy(),
            "ward": ward,
            "sex": sex,
            "pregnant": np.where(ward == "maternity", "yes", "no"),
            "zip": [f"{n:04}" for n in place],
            "city": np.array(CITIES)[place // 3],
            "labs": labs,
            "scans": scans,
            "tests": labs + scans,
            "cost": np.minimum((100 + 20 * length + rng.gamma(2, 50, rows)).round(1), 3000),
            "died": rng.random(rows) < 0.02 + 0.02 * length,
        }
    )


def broken(frame: pd.DataFrame) -> dict[str, int]:
    """How many rows break what the rules say, counted by pandas and not by the rules' own code."""
    admission, discharge = (pd.to_datetime(frame[name]) for name in ("admission", "discharge"))
    checks = {
        "order": discharge < admission,
        "length": (discharge - admission).dt.total_seconds() != frame["length"] * 86400,
        "month": admission.dt.month != frame["month"],
        "tests": frame["tests"] != frame["labs"] + frame["scans"],
        "cost": frame["cost"] < 100 + 20 * frame["length"],
        "pregnant": (frame["sex"] == "male") & (frame["pregnant"] == "yes"),
        "maternity": (frame["ward"] == "maternity") & (frame["sex"] == "male"),
    }
    found = {name: int(np.asarray(wrong, dtype=bool).sum()) for name, wrong in checks.items()}
    found["city"] = len(frame[["zip", "city"]].dropna().drop_duplicates()) - len(
        frame["zip"].dropna().drop_duplicates()
    )
    return {name: count for name, count in found.items() if count}
