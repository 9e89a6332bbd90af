"""What a launcher knows of the host it runs on."""

from __future__ import annotations

import os
import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass

from argosy.alias import first
from argosy.foundation import env
from argosy.foundation.endpoints import bind_listener
from argosy.foundation.errors import ConfigError


@dataclass(frozen=True)
class Machine:
    """This host as planners are told of it."""

    environment: Mapping[str, str]  # what children may inherit
    num_cores: int
    folder: str  # where relative paths of the command line begin
    pod_name: str = ""  # Paddle's name for a host's share of a job


def this_machine() -> Machine:
    """Look around; the name is a new one each time. What a launcher starts finds argosy at ``import
    paddle``, beside a real one too.
    """
    pod_name = "".join(secrets.choice(string.ascii_lowercase) for _ in range(6))
    return Machine(first(env.everything()), len(os.sched_getaffinity(0)), os.getcwd(), pod_name)


def is_own_address(host: str) -> bool:
    """Whether this host can listen on ``host``."""
    try:
        bind_listener(host).close()
    except ConfigError:
        return False
    return True
