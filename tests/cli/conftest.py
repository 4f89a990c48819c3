from pathlib import Path

import pandas as pd
import pytest
from patients import table  # pyright: ignore[reportMissingImports]

from understudy.privacy import Ledger


@pytest.fixture(scope="session")
def private() -> pd.DataFrame:
    return table().head(250)


@pytest.fixture(scope="session")
def public() -> pd.DataFrame:
    return table().drop(columns="diagnosis").iloc[250:400].reset_index(drop=True)


@pytest.fixture
def folder(tmp_path: Path, private: pd.DataFrame, public: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Here commands run: both tables, a ledger, and nothing else."""
    private.to_csv(tmp_path / "data.csv", index=False)
    public.to_csv(tmp_path / "public.csv", index=False)
    Ledger.create(tmp_path / "ledger.db").add_dataset("patients", epsilon=10.0, delta=1e-4)
    monkeypatch.chdir(tmp_path)
    return tmp_path
