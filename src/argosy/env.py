"""``python -m argosy.env``: what this process would take part in, and why.

Prints versions and cores, every launcher that has left its variables, which of them is believed,
and what a script and a launcher that were started here would do. It joins nothing and changes
nothing.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping

import torch
import torch.distributed as dist

from argosy._release import VERSION
from argosy.foundation import env
from argosy.foundation.endpoints import is_loopback, parse
from argosy.foundation.errors import ConfigError
from argosy.runtime.comm import token
from argosy.runtime.comm.meeting import MEETING
from argosy.runtime.launch import environments
from argosy.runtime.launch.environments import Placement, paddle

_WRONG = 2


def report(environment: Mapping[str, str]) -> Iterator[str]:
    """The lines about launchers. Pure."""
    yield "launchers that have left variables here:"
    try:
        found = environments.find(environment)
    except ConfigError as error:
        yield f"  {error}"
        found = {}
    for name, placement in found.items():
        yield f"  {name}: {placement.launcher}: {_place(placement)}"
        yield f"      {placement.shown(environment)}"
    if not found:
        yield "  none"
    chooser = environment.get(environments.CHOOSER)
    if chooser:
        yield f"  {environments.CHOOSER}={chooser}"
    yield f"python train.py: {_said(_rank, environment)}"
    yield f"fleetrun train.py: {_said(_host, environment)}"


def _said(view: Callable[[Mapping[str, str]], str], environment: Mapping[str, str]) -> str:
    try:
        return view(environment)
    except ConfigError as error:
        return f"an error:\n  {error}"


def _rank(environment: Mapping[str, str]) -> str:
    placement = environments.as_rank(environment)
    if placement is None:
        told = paddle.detect(environment)
        if told is None or not told.is_several or environments.look(environment) is None:
            return "one process by itself"
        _check_token(told.master, environment)
        number = "a server" if told.role == "server" else f"rank {told.rank}"
        return f"{number} of {told.world_size}, by Paddle's own variables"
    variables = environments.variables_of(placement)
    meeting = variables[MEETING]
    if not placement.is_one_host:
        _check_token(placement.agent or placement.master, environment)
    return (
        f"rank {placement.rank} of {placement.world_size}, by {placement.launcher}; "
        f"the ranks meet {_ways(meeting)}"
    )


def _ways(meeting: str) -> str:
    kind, *words = meeting.split()
    if kind == "agent":
        return f"through the store of torchrun's agent at {words[1]}"
    if kind == "at":
        return f"at {words[0]}, where rank 0 listens"
    named = f"the job {words[0]}" if kind == "job" else "the process that started them"
    return f"by a file of this user, named after {named}"


def _host(environment: Mapping[str, str]) -> str:
    is_rank = environments.is_of_paddle(environment)
    placement = None if is_rank else environments.as_host(environment)
    if placement is None or not placement.is_several:
        count = None if placement is None else placement.processes_per_host
        return "this host by itself" + ("" if count is None else f", with {count} processes")
    most = "" if placement.most_hosts is None else f" to {placement.most_hosts}"
    which = "" if placement.this_host is None else f"host {placement.this_host} "
    is_open = not _has_token(environment) and not is_loopback(parse(placement.master).host)
    secret = f"; {token.TOKEN} is not set: the first one makes it, the others need it"
    return (
        f"{which}of {placement.num_hosts}{most}, by {placement.launcher}; the hosts meet at "
        f"{placement.master}{secret if is_open else ''}"
    )


def _check_token(where: str, environment: Mapping[str, str]) -> None:
    """ConfigError if ranks cannot meet at ``where`` without a secret that they do not have."""
    if where:
        token.check(parse(where), _has_token(environment))


def _has_token(environment: Mapping[str, str]) -> bool:
    return any(environment.get(name) for name in (token.TOKEN, token.TOKEN_FILE))


def _place(placement: Placement) -> str:
    parts = []
    if placement.rank is not None:
        parts.append(f"rank {placement.rank} of {placement.world_size}")
    if placement.local_rank is not None:
        here = placement.processes_per_host
        parts.append(f"local rank {placement.local_rank}" + ("" if here is None else f" of {here}"))
    if placement.num_hosts is not None:
        which = "" if placement.this_host is None else f"{placement.this_host} "
        parts.append(f"host {which}of {placement.num_hosts}")
    if placement.role:
        parts.append(placement.role)
    return ", ".join(parts)


def _machine() -> Iterator[str]:
    yield (
        f"argosy {VERSION}, Python {platform.python_version()}, PyTorch {torch.__version__}, "
        f"{platform.system()} {platform.machine()}"
    )
    threads = env.get("OMP_NUM_THREADS") or "not set"
    yield (
        f"cores: {len(os.sched_getaffinity(0))} of {os.cpu_count()}; OMP_NUM_THREADS: {threads}; "
        f"GPUs: {torch.cuda.device_count()}"
    )
    known = {
        "gloo": dist.is_gloo_available(),
        "nccl": dist.is_nccl_available(),
        "mpi": dist.is_mpi_available(),
        "ucc": dist.is_ucc_available(),
    }
    names = ["shm", *(name for name, is_there in known.items() if is_there)]
    asked = env.get("PADDLE_DISTRI_BACKEND")
    yield f"backends: {', '.join(names)}" + (f"; asked for: {asked}" if asked else "")


def main() -> int:
    """Print the report; 2 if a script that was started here would be refused."""
    environment = env.everything()
    print("\n".join([*_machine(), *report(environment)]))
    try:
        _rank(environment)
    except ConfigError:
        return _WRONG
    return 0


if __name__ == "__main__":
    sys.exit(main())
