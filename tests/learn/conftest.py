"""The array shapes and types in this room's signatures are checked while its tests run."""

from __future__ import annotations

from collections.abc import Iterator

import jaxtyping
import pytest

jaxtyping.install_import_hook("understudy.learn", "beartype.beartype")


@pytest.fixture
def unchecked() -> Iterator[None]:
    """What users have: wrong types reach the code, whose own message is then the one to see."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
