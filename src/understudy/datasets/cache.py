"""The folders that datasets are looked for in, and the one that downloads go to."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

from understudy.errors import InputError

DATA_VARIABLE = "UNDERSTUDY_DATA"
CACHE_VARIABLE = "UNDERSTUDY_CACHE"
_ABANDONED_S = 24 * 3600


def data_folder() -> Path | None:
    """The user's own folder of datasets, if the environment names one."""
    if not (named := os.environ.get(DATA_VARIABLE)):
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise InputError(f"${DATA_VARIABLE} (={named}) is not a folder. Create it, or unset the variable.")
    return folder


def cache_folder() -> Path:
    """The folder that downloads are kept in; it need not exist yet."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named).expanduser() / "datasets"
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("understudy")) / "datasets"


def made_cache_folder() -> Path:
    """The cache folder, made if it is not there. What killed processes left half written in it is removed."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {folder}: {error.strerror}. Name another with ${CACHE_VARIABLE}."
        ) from None
    # Files in the making are hidden. After a day nobody can still be at work on one.
    for hidden in folder.glob(".*"):
        with contextlib.suppress(OSError):
            if time.time() - hidden.stat().st_mtime > _ABANDONED_S:
                shutil.rmtree(hidden) if hidden.is_dir() else hidden.unlink()
    return folder
