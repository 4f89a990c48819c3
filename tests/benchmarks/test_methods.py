"""The methods of the benchmarks are those of the registry, and nobody repeats their names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pytest

from benchmarks import generators, methods
from understudy import registry
from understudy.errors import InputError
from understudy.release.generator import TableGenerator
from understudy.release.settings import positive, setting


@dataclass(eq=False, repr=False)
class Newcomer(TableGenerator):
    method: ClassVar[str] = "newcomer"

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, positive())
    random_state: int | None = None
    unsafe_noise_seed: int | None = None


@pytest.fixture
def newcomer() -> Iterator[None]:
    registry.register(registry.Entry("newcomer", "generator", Newcomer, "New-Comer", "It is new."))
    yield
    registry.unregister("newcomer")


@pytest.mark.usefixtures("newcomer")
def test_a_generator_that_is_registered_is_benchmarked_without_an_edit() -> None:
    assert "newcomer" in methods.names()
    assert methods.label("newcomer") == "New-Comer"
    assert methods.is_private("newcomer")
    made = methods.make("newcomer", 2.5, 7, quick=True)
    assert (type(made), made.epsilon, made.delta, made.random_state) == (Newcomer, 2.5, methods.DELTA, 7)
    assert isinstance(generators.generator("newcomer", 1), Newcomer)
    reported = {part.settings["setting"] for part in generators.report_parts("full", 1)}
    assert "newcomer" in reported


def test_what_is_not_registered_is_refused() -> None:
    with pytest.raises(InputError, match="unknown method 'newcomer'"):
        methods.make("newcomer", 1.0, 0)


@pytest.mark.parametrize("name", [name for name in methods.names() if name != methods.REAL])
def test_every_method_and_variant_can_be_made_at_both_sizes(name: str) -> None:
    for quick in (False, True):
        made = methods.make(name, 1.0, 3, quick=quick)
        made._check_settings()
        assert registry.get(methods.get(name).method).load() is type(made)


def test_no_title_is_written_twice() -> None:
    """A label begins with the registry's title, whatever is said behind it."""
    for name in methods.names():
        if name != methods.REAL:
            assert methods.label(name).startswith(registry.get(methods.get(name).method).title)
    assert methods.label("moments") == "moments (ours)"
    assert methods.DISTILLERS["one-look"] == "one look (ours)"


def test_who_has_no_epsilon_says_so() -> None:
    without = [name for name in methods.names() if not methods.is_private(name)]
    assert without == ["real", "gan", "kip", "gpate without noise"]
