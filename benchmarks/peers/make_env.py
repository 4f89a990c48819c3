"""Make the virtual environment of a peer: other people's packages never become dependencies of this one.

    python -m benchmarks.peers.make_env NAME

NAME.txt in `requirements/` lists what is installed; the environment is `.venvs/NAME`, which git ignores. Prints the
path of its interpreter, which benchmarks start as a process of its own. An environment made from the same list is kept.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
STAMP = "understudy-requirements.sha256"


def interpreter(name: str) -> Path:
    """Where the interpreter of an environment is, or will be."""
    return HERE / ".venvs" / name / "bin" / "python"


def known() -> list[str]:
    return sorted(path.stem for path in (HERE / "requirements").glob("*.txt"))


def make(name: str) -> Path:
    """The interpreter of the environment `name`, made first if it is not there or its list has changed."""
    listed = HERE / "requirements" / f"{name}.txt"
    if not listed.is_file():
        raise SystemExit(f"no environment {name!r}: requirements/ knows {', '.join(known()) or 'none'}.")
    digest = hashlib.sha256(listed.read_bytes()).hexdigest()
    folder = HERE / ".venvs" / name
    stamp = folder / STAMP
    if stamp.is_file() and stamp.read_text() == digest:
        return interpreter(name)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(interpreter(name)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(listed)], check=True)
    stamp.write_text(digest)
    return interpreter(name)


if __name__ == "__main__":
    print(make(sys.argv[1] if len(sys.argv) > 1 else ""))
