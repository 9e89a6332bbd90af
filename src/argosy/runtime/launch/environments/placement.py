"""What the environment of a process says about its place in a job. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from argosy.foundation.endpoints import Endpoint
from argosy.foundation.errors import ConfigError

# below the ports that kernels hand out by themselves, above those of services
_FIRST_PORT, _NUM_PORTS = 10000, 20000


@dataclass(frozen=True, kw_only=True)
class Placement:
    """A process's place in a job, as far as its launcher tells; None is what it does not tell.

    ``rank`` and ``world_size`` belong to one task per rank. A launcher that starts one task per
    host leaves them out and says how many processes each host is to have.
    """

    launcher: str  # its name for people
    variables: tuple[str, ...]  # those that this was read from
    num_hosts: int | None = None
    this_host: int | None = None
    processes_per_host: int | None = None  # on this host, where hosts differ
    rank: int | None = None
    local_rank: int | None = None
    world_size: int | None = None
    most_hosts: int | None = None  # of an elastic job, whose ``num_hosts`` is the least
    endpoint: str = ""  # host:port of this process
    master: str = ""  # host:port where the first of them can listen and the others find it
    agent: str = ""  # host:port of a store of torchrun's agent, which can carry an address
    attempt: str = ""  # which start of the same job this is
    job_id: str = ""
    role: str = ""  # 'server' or 'worker' of a parameter-server job
    # its hosts are the tasks of a launcher around it, numbered as it likes
    is_in_tasks: bool = False
    is_order_ours: bool = False  # the launcher does not number its hosts, ``this_host`` does

    @property
    def num_tasks(self) -> int:
        """How many processes of this kind the launcher has started, one where that is unknown."""
        return self.world_size or self.num_hosts or 1

    @property
    def is_several(self) -> bool:
        return self.num_tasks > 1 or (self.most_hosts or 1) > 1

    @property
    def is_one_host(self) -> bool:
        """Whether all tasks are known to be on this host."""
        if self.num_hosts is not None:
            return self.num_hosts == 1 and self.most_hosts is None
        return self.world_size is not None and self.world_size == self.processes_per_host

    def shown(self, environment: Mapping[str, str]) -> str:
        """The variables behind this, with their values."""
        return " ".join(f"{name}={environment.get(name, '')}" for name in self.variables)


def number(environment: Mapping[str, str], name: str) -> int | None:
    """A variable as a number from 0 on; None if it is not set, or -1 as some write for that."""
    text = environment.get(name, "").strip()
    if text in ("", "-1"):
        return None
    if not (text.isascii() and text.isdigit()):
        raise ConfigError(
            f"the environment variable {name} must be a number from 0 on, but is {text!r}"
        )
    return int(text)


def named(environment: Mapping[str, str], *names: str) -> tuple[str, ...]:
    """Those of ``names`` that are set to something."""
    return tuple(name for name in names if environment.get(name))


def master_of(environment: Mapping[str, str], first_host: str, job_id: str) -> str:
    """Where the tasks of several hosts meet: PADDLE_MASTER, else MASTER_ADDR, else ``first_host``,
    with MASTER_PORT or a port that follows from ``job_id``; empty if no host is known.
    """
    given = environment.get("PADDLE_MASTER", "")
    if given:
        return given
    host = environment.get("MASTER_ADDR", "") or first_host
    port = number(environment, "MASTER_PORT")
    if not host or (port is None and not job_id):
        return ""
    return str(Endpoint(host.strip("[]"), port_of(job_id) if port is None else port))


def port_of(job_id: str) -> int:
    """The port of the job ``job_id``, the same on all its hosts."""
    return _FIRST_PORT + zlib.crc32(job_id.encode()) % _NUM_PORTS


MASTER_VARIABLES = ("PADDLE_MASTER", "MASTER_ADDR", "MASTER_PORT")
