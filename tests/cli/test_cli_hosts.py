"""One `understudy classify` on several machines: what the options and the launcher say."""

from __future__ import annotations

import pytest
from command import run  # pyright: ignore[reportMissingImports]

from understudy.cli.hosts import Meeting, read_meeting


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--hosts", "2"], "need the --coordinator"),
        (["--coordinator", "here:1"], "how many processes are there"),
        (["--coordinator", "here", "--hosts", "2", "--host-number", "0"], "must be HOST:PORT"),
        (["--coordinator", "here:99999", "--hosts", "2", "--host-number", "0"], "a port up to 65535"),
        (["--coordinator", "here:1", "--hosts", "2", "--host-number", "2"], "between 0 and 1"),
        (["--coordinator", "here:1", "--hosts", "0", "--host-number", "0"], "--hosts 0 must be at least 1"),
    ],
)
def test_several_hosts_are_said_wholly_or_refused(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    usual = ("--target", "ill", "--public", "public.csv", "--out", "release")
    code, _, err = run(capsys, "classify", "rows.csv", *usual, *options)
    assert code
    assert said in " ".join(err.split())


def test_a_launcher_says_which_process_this_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_NTASKS", "4")
    monkeypatch.setenv("SLURM_PROCID", "3")
    assert read_meeting(None, None, None) is None  # a job of SLURM's is not several hosts unless somebody says so
    assert read_meeting("node0:1234", None, None) == Meeting("node0:1234", 4, 3)
