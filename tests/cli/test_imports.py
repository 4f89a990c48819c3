"""`understudy --help` and `import understudy` load nothing heavy: the list of modules is held, not the clock."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("jax", "pandas", "numpy", "scipy", "opendp", "sklearn", "matplotlib", "pyarrow", "dp_accounting", "joblib")


@pytest.mark.parametrize(
    "code",
    [
        "import understudy, understudy.errors, understudy.privacy",
        "import sys; sys.argv = ['understudy', '--help']\n"
        "from understudy.cli import main\n"
        "try: main()\nexcept SystemExit: pass",
        "from understudy.privacy import Ledger",
    ],
)
def test_light_imports(code: str) -> None:
    code += f"\nimport sys\nloaded = [m for m in {HEAVY!r} if m in sys.modules]\nassert not loaded, loaded"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=1500)
    assert result.returncode == 0, result.stderr


def test_the_package_is_the_command_line_too() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "understudy", "--version"], capture_output=True, text=True, timeout=1500
    )
    assert (said.returncode, said.stdout.split()[0]) == (0, "understudy"), said.stderr


def test_every_public_name_exists() -> None:
    import understudy
    import understudy.privacy

    for package in (understudy, understudy.privacy):
        for name in package.__all__:
            assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = understudy.nothing  # type: ignore[attr-defined]
