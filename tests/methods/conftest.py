"""Fixtures of a small table for the generators."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from small_generators import SCHEMA, table

from understudy.tables import Schema


@pytest.fixture
def frame() -> pd.DataFrame:
    return table()


@pytest.fixture
def schema() -> Schema:
    return SCHEMA
