"""What the trainer of a job tells its controller. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from argosy.ray.request import Servers
from argosy.runtime.launch.spec import LaunchSpec


@dataclass(frozen=True, kw_only=True)
class JobConfig:
    """What the trainer tells the controller; no secret is in it."""

    spec: LaunchSpec
    wanted: Servers = field(default_factory=Servers)
    servers: tuple[Any, ...] = ()  # actors
    function: bytes = field(default=b"", repr=False)
    folder: str = ""  # where the job was begun
    run_folder: str = ""  # in the storage; empty if that has no paths
    progress: str = ""  # in the run's folder
    uses_tls: bool | None = None  # None: where servers can be reached from other hosts
