"""A run that is killed at any moment goes on to the same answer and pays nothing twice; its workspace is private."""

# ruff: noqa: E402 (the small generators are found by their folder)
from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TESTS = str(Path(__file__).parents[1] / "methods")
sys.path.insert(0, TESTS)

from small_generators import SCHEMA, small, table  # pyright: ignore[reportMissingImports]

from understudy import load
from understudy.errors import BudgetExceeded, InputError
from understudy.learn.checkpoints import Log, Workspace

_FIT = """
import sys, time
sys.path.insert(0, {tests!r})
from small_generators import SCHEMA, small, table  # pyright: ignore[reportMissingImports]

generator = small({method!r}, iterations=12, epsilon=8.0, **{changes!r})
slow = lambda progress: time.sleep({pause} if progress.iteration < 10 else {wait})
generator.fit(table(), schema=SCHEMA, workspace={workspace!r}, resume=True, progress=slow, checkpoint_seconds=0.3)
generator.save({release!r})
"""

_FIT_IMAGES = """
import time
from understudy import registry
from understudy.audit import worlds

entry = registry.get({method!r})
settings = dict(entry.quick) | dict(iterations=12, epsilon=8.0, random_state=0) | {changes!r}
slow = lambda progress: time.sleep({pause} if progress.iteration < 10 else {wait})
generator = entry.load().from_settings(**settings)
generator.fit(worlds.pictures(), workspace={workspace!r}, resume=True, progress=slow, checkpoint_seconds=0.3)
generator.save({release!r})
"""


def _start(
    tmp_path: Path, method: str, workspace: str, release: str, pause: float = 0.0, wait: float = 0.0, **changes: Any
) -> Any:
    """A fit in a process of its own: `pause` seconds after each iteration, `wait` after each of the last."""
    code = (_FIT_IMAGES if method.startswith("image-") else _FIT).format(
        tests=TESTS,
        method=method,
        changes=changes,
        pause=pause,
        wait=wait,
        workspace=str(tmp_path / workspace),
        release=str(tmp_path / release),
    )
    # The processes run the same programs: what one has compiled serves the others.
    cache = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, env=os.environ | cache)


def _finish(process: Any) -> None:
    _, errors = process.communicate(timeout=1500)
    assert process.returncode == 0, errors


def _weights(release: Path) -> list[np.ndarray]:
    return list(load(release).model_.arrays().values())


_SLOW = [pytest.param(method, marks=pytest.mark.slow) for method in ("gpate", "dpgan", "image-gpate")]


@pytest.mark.parametrize("method", ["pategan", *_SLOW])
def test_sigkill_and_resume_give_the_same_generator(method: str, tmp_path: Path) -> None:
    """With noise fixed by place, the killed and resumed run must equal one that was never killed, bit for bit."""
    changes: dict[str, Any] = {"unsafe_noise_seed": 5}
    whole = _start(tmp_path, method, "whole.private", "whole", **changes)
    killed = _start(tmp_path, method, "killed.private", "killed", pause=0.1, wait=1500, **changes)
    _wait_for(tmp_path / "killed.private", killed)
    time.sleep(random.uniform(0, 1.0))
    killed.send_signal(signal.SIGKILL)
    killed.wait(timeout=1500)
    assert not (tmp_path / "killed").exists()
    _finish(_start(tmp_path, method, "killed.private", "killed", **changes))
    _finish(whole)
    for a, b in zip(_weights(tmp_path / "whole"), _weights(tmp_path / "killed"), strict=True):
        assert np.array_equal(a, b)
    first, second = (load(tmp_path / name) for name in ("whole", "killed"))
    assert first.certificate_.events == second.certificate_.events
    assert first.history_ == second.history_


def _wait_for(workspace: Path, process: Any) -> None:
    """Until the first step was drawn."""
    until = time.monotonic() + 1500
    while not any(log.stat().st_size for log in workspace.glob("steps-*.log")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.02)


def test_with_real_noise_what_was_drawn_is_kept(tmp_path: Path) -> None:
    """Answers that the log holds are the answers of the resumed run, in this process and in one that repeats it."""

    def fit(stop_after: int | None) -> Any:
        def stop(progress: Any) -> None:
            if progress.iteration == stop_after:
                raise RuntimeError("power cut")

        generator = small("gpate", iterations=6, epsilon=6.0)
        return generator.fit(
            table(),
            schema=SCHEMA,
            workspace=tmp_path / "run.private",
            resume=True,
            progress=stop,
            checkpoint_seconds=1e9,
        )

    with pytest.raises(RuntimeError):
        fit(4)
    drawn = Log(tmp_path / "run.private" / "steps-000000.log")._entries
    assert len(drawn) == 4
    resumed = fit(None)
    kept = [float(np.linalg.norm((noisy / 10).astype(np.float32))) for _, noisy in drawn]
    assert [h["step_length"] for h in resumed.history_[:4]] == pytest.approx(kept)
    assert resumed.private_["game"].paid.paid.used == 6
    again = fit(None)
    for a, b in zip(resumed.model_.arrays().values(), again.model_.arrays().values(), strict=True):
        assert np.array_equal(a, b)


def test_a_sanitised_epsilon_is_drawn_once(tmp_path: Path) -> None:
    def fit() -> Any:
        generator = small("pategan votes", mode="data-dependent", epsilon=6.0)
        return generator.fit(table(), schema=SCHEMA, workspace=tmp_path / "run.private", resume=True)

    first, again = fit().certificate_, fit().certificate_
    assert first.body["sanitised"] is not None
    assert first.body["sanitised"] == again.body["sanitised"]


def test_what_was_paid_before_training_is_replayed(tmp_path: Path) -> None:
    def fit() -> Any:
        where = tmp_path / "run.private"
        return small("gpate", epsilon=8.0).fit(table(), schema=SCHEMA, workspace=where, resume=True)

    first, second = fit(), fit()
    assert first.coordinates_.to_dict() == second.coordinates_.to_dict()
    assert first.certificate_.events == second.certificate_.events
    assert first.sample(20, random_state=0).equals(second.sample(20, random_state=0))


def test_a_run_that_was_refused_leaves_no_workspace(tmp_path: Path) -> None:
    where = tmp_path / "run.private"
    with pytest.raises(BudgetExceeded):
        small("pategan", noise=0.5).fit(table(), schema=SCHEMA, workspace=where)
    assert not where.exists()
    with pytest.raises(InputError, match="needs a `random_state`"):
        small("pategan", random_state=None).fit(table(), schema=SCHEMA, workspace=where)


def test_a_workspace_is_private_and_says_so(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "run.private", {"a": 1}, np.ones(3), resume=False)
    workspace.load([np.zeros(2)])
    workspace.save(3, [np.ones(2)], [{"iteration": 3}])
    workspace.close()
    assert (tmp_path / "run.private").stat().st_mode & 0o777 == 0o700
    for file in (tmp_path / "run.private").iterdir():
        assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path / "run.private")) == [
        "lock",
        "prelude.log",
        "run.json",
        "state-000003.safetensors",
        "steps-000003.log",
    ]
    with pytest.raises(InputError, match=r"name it public\.private"):
        Workspace(tmp_path / "public", {}, np.ones(1), resume=False)


def test_another_run_is_refused(tmp_path: Path) -> None:
    Workspace(tmp_path / "run.private", {"epsilon": 1.0}, np.ones(3), resume=False).close()
    with pytest.raises(InputError, match="holds a run already"):
        Workspace(tmp_path / "run.private", {"epsilon": 1.0}, np.ones(3), resume=False)
    with pytest.raises(InputError, match=r"of another run: `epsilon` was 1\.0 there and is 2\.0 now"):
        Workspace(tmp_path / "run.private", {"epsilon": 2.0}, np.ones(3), resume=True)
    with pytest.raises(InputError, match="rows of the table are not the same"):
        Workspace(tmp_path / "run.private", {"epsilon": 1.0}, np.zeros(3), resume=True)
    (tmp_path / "run.private" / "run.json").write_text('{"format": 99, "identity": {}, "key": "00", "digest": ""}')
    with pytest.raises(InputError, match="newer understudy"):
        Workspace(tmp_path / "run.private", {}, np.ones(3), resume=True)
    (tmp_path / "run.private" / "run.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        Workspace(tmp_path / "run.private", {}, np.ones(3), resume=True)
    (tmp_path / "run.private" / "run.json").unlink()
    with pytest.raises(InputError, match="no run to resume"):
        Workspace(tmp_path / "run.private", {}, np.ones(3), resume=True)


def test_damaged_checkpoints_are_refused(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "run.private", {}, np.ones(3), resume=False)
    workspace.load([np.zeros(2)])
    workspace.save(1, [np.ones(2)], [])
    iteration, state, _ = workspace.load([np.zeros(2)])
    assert iteration == 1
    assert np.array_equal(state[0], np.ones(2))
    with pytest.raises(InputError, match="other shapes"):
        workspace.load([np.zeros(3)])
    path = tmp_path / "run.private" / "state-000001.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InputError, match="damaged"):
        workspace.load([np.zeros(2)])


def test_a_torn_log_entry_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "steps.log"
    log = Log(path)
    for value in range(3):
        log.draw("x", lambda value=value: ({}, np.array([value])))
    log.close()
    path.write_bytes(path.read_bytes()[:-3])
    log = Log(path)
    replayed = [log.draw("x", lambda: ({}, np.array([9]))) for _ in range(4)]
    assert [int(array[0]) for _, array, _ in replayed] == [0, 1, 9, 9]
    assert [flag for *_, flag in replayed] == [True, True, False, False]
    log.close()
    with pytest.raises(InputError, match="holds 'x' where 'y'"):
        Log(path).draw("y", lambda: ({}, np.array([1])))


def test_damaged_and_newer_releases_are_refused(tmp_path: Path) -> None:
    small("pategan").fit(table(), schema=SCHEMA).save(tmp_path / "release")
    manifest = tmp_path / "release" / "manifest.json"
    good = manifest.read_text()
    manifest.write_text(good.replace('"format": 1', '"format": 9', 1))
    with pytest.raises(InputError, match="newer"):
        load(tmp_path / "release")
    manifest.write_text(good.replace('"method": "pategan"', '"method": "magic"', 1))
    with pytest.raises(InputError, match="not known here"):
        load(tmp_path / "release")
    manifest.write_text(good.replace('"teacher_steps"', '"new_setting"', 1))
    with pytest.raises(InputError, match="settings unknown here"):
        load(tmp_path / "release")
    manifest.write_text(good)
    arrays = tmp_path / "release" / "arrays.safetensors"
    arrays.write_bytes(arrays.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match="damaged"):
        load(tmp_path / "release")


# Disks that are full, writes that are short


def test_a_short_write_is_finished_and_a_refused_one_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `draw` gives back is on the disk, whole; what is not was never given to anybody."""
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: real(file, bytes(data)[:7], at))
    log = Log(tmp_path / "steps.log")
    log.draw("votes", lambda: ({"at": 1}, np.arange(50)))
    size = (tmp_path / "steps.log").stat().st_size

    def full(file: int, data: bytes, at: int) -> int:
        if at > size + 20:
            raise OSError(28, "No space left on device")
        return real(file, bytes(data)[:7], at)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(InputError, match=r"No space left on device\. The draw was not used"):
        log.draw("votes", lambda: ({"at": 2}, np.arange(50)))
    assert (tmp_path / "steps.log").stat().st_size == size
    monkeypatch.setattr(os, "pwrite", real)
    log.draw("votes", lambda: ({"at": 3}, np.arange(5)))
    log.close()
    again = Log(tmp_path / "steps.log")
    for at in (1, 3):
        header, array, replayed = again.draw("votes", lambda: ({}, np.zeros(1)))
        assert (header["at"], len(array), replayed) == (at, 50 if at == 1 else 5, True)
    again.close()


def test_a_really_full_disk_stops_the_run_and_it_goes_on_afterwards(tmp_path: Path) -> None:
    """The kernel refuses to let the log grow; nothing that it does not hold was used."""
    code = """
import resource, signal, sys
import numpy as np
from understudy.errors import InputError
from understudy.learn.checkpoints import Log
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = Log(__import__("pathlib").Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
used = 0
try:
    for at in range(100):
        log.draw("votes", lambda: ({}, np.full(40, at)))
        used += 1
except InputError as error:
    print(used, error)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "steps.log")], capture_output=True, text=True)
    used, message = done.stdout.split(" ", 1)
    assert "File too large. The draw was not used" in message
    log = Log(tmp_path / "steps.log")
    for at in range(int(used)):
        assert log.draw("votes", lambda: ({}, np.zeros(1)))[1].tolist() == [at] * 40
    assert log.draw("votes", lambda: ({}, np.zeros(1)))[2] is False, "there is no entry that nobody has used"
    log.close()


def test_two_do_not_work_in_one_workspace_and_drafts_are_removed(tmp_path: Path) -> None:
    where = tmp_path / "run.private"
    code = f"""
import sys
import numpy as np
from understudy.learn.checkpoints import Workspace
Workspace({str(where)!r}, {{}}, np.ones(3), resume=False)
print("open", flush=True)
sys.stdin.readline()
"""
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "open\n"
    with pytest.raises(InputError, match="another process is at work"):
        Workspace(where, {}, np.ones(3), resume=True)
    other.kill()
    other.communicate()
    (where / ".0123456789ab-state-000001.safetensors").write_bytes(b"half")
    Workspace(where, {}, np.ones(3), resume=True).close()
    assert not list(where.glob(".*"))


def test_files_that_a_killed_process_left_half_written_are_removed(tmp_path: Path) -> None:
    from understudy.files import whole_file, write_text

    dead, others = tmp_path / ".0123456789ab-rows.csv", tmp_path / ".0123456789ab-other.csv"
    dead.write_text("half")
    others.write_text("half")
    with whole_file(tmp_path / "rows.csv") as mine:
        mine.write_text("first")
        assert not dead.exists()
        write_text(tmp_path / "rows.csv", "second")
        assert mine.exists(), "another process is still at it"
    assert sorted(path.name for path in tmp_path.iterdir()) == [others.name, "rows.csv"]
    assert (tmp_path / "rows.csv").read_text() == "first"
