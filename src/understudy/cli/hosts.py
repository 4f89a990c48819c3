"""One command on several machines: where the processes of a run meet, how many they are, and which of them this is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.methods.together import Together

CoordinatorOption = Annotated[
    str | None, typer.Option(help="HOST:PORT of the first of several processes, which share the teachers.")
]
HostsOption = Annotated[
    int | None, typer.Option(help="How many processes share the teachers; from SLURM, MPI or torchrun if left out.")
]
HostNumberOption = Annotated[
    int | None, typer.Option(help="Which of them this is, from 0; from SLURM, MPI or torchrun if left out.")
]
# How many processes a launcher says that it started, and which of them this is.
_LAUNCHERS = (
    ("SLURM_NTASKS", "SLURM_PROCID"),
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("WORLD_SIZE", "RANK"),
)


@dataclass(frozen=True)
class Meeting:
    """Where so many processes meet, and which of them this is. One alone meets nobody."""

    coordinator: str | None
    hosts: int
    number: int

    def together(self, out: Path) -> Together:
        from rich.console import Console

        from understudy.methods.together import Together

        console = Console(stderr=True)

        def tell(done: int, of: int) -> None:
            if not self.number:
                console.print(f"{done} of {of} blocks of teachers have voted", highlight=False)

        if self.hosts > 1 and not self.number:
            console.print(f"Waiting at {self.coordinator} for {self.hosts - 1} more.", highlight=False)
        return Together.meet(out.with_name(out.name + ".private"), self.coordinator, self.number, self.hosts, tell)


def read_meeting(coordinator: str | None, hosts: int | None, number: int | None) -> Meeting | None:
    """What the options and the launcher say. Nothing of it is looked at unless a coordinator or a number of hosts is named."""
    if coordinator is None:
        if hosts is None and number is None:
            return None
        if hosts != 1 or number:
            raise InputError("--hosts and --host-number need the --coordinator: HOST:PORT of process 0.")
        return Meeting(None, 1, 0)
    said_hosts, said_number = _launched()
    hosts, number = said_hosts if hosts is None else hosts, said_number if number is None else number
    if hosts is None or number is None:
        raise InputError(
            "--coordinator: how many processes are there, and which is this? Give --hosts and --host-number, or start them with "
            "srun, mpirun or torchrun, which say it."
        )
    if hosts < 1:
        raise InputError(f"--hosts {hosts} must be at least 1: that many processes share the teachers.")
    if not 0 <= number < hosts:
        raise InputError(f"--host-number {number} must lie between 0 and {hosts - 1}: there are {hosts} hosts.")
    name, _, port = coordinator.rpartition(":")
    if not name or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise InputError(
            f"--coordinator {coordinator!r} must be HOST:PORT, such as 10.0.0.1:1234, with a port up to 65535."
        )
    return Meeting(coordinator, hosts, number)


def _launched() -> tuple[int | None, int | None]:
    for count, rank in _LAUNCHERS:
        if os.environ.get(count, "").isdecimal() and os.environ.get(rank, "").isdecimal():
            return int(os.environ[count]), int(os.environ[rank])
    return None, None
