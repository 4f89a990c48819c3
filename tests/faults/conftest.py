import pytest

from understudy.privacy import Ledger


@pytest.fixture
def book(ledger_url: str) -> Ledger:
    made = Ledger.create(ledger_url)
    made.add_dataset("d", epsilon=3.0, delta=1e-5)
    return made
