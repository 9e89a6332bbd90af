"""How ranks meet that torch has given a store: what torch calls for each group."""

from __future__ import annotations

import contextlib
from typing import Any

import torch.distributed as dist

from argosy.foundation.endpoints import Endpoint
from argosy.foundation.errors import ConfigError
from argosy.foundation.trace import trace
from argosy.runtime.comm.addresses import own_address
from argosy.runtime.comm.session import Session
from argosy.runtime.torch_backend import compilers
from argosy.runtime.torch_backend.devices import OtherDevices
from argosy.runtime.torch_backend.process_group import ArgosyProcessGroup
from argosy.runtime.torch_backend.store import JobStore


def create(options: Any, backend_options: Any = None) -> ArgosyProcessGroup:
    """Open this rank's end of a group; torch calls it on every member."""
    store, rank, size = options.store, options.group_rank, options.group_size
    timeout_s = options.timeout.total_seconds()
    world = dist.group.WORLD
    ranks = list(options.global_ranks_in_group)
    address = _address(store)
    others = OtherDevices(store, rank, size, timeout_s, address)
    if isinstance(world, ArgosyProcessGroup) and ranks:
        group = world.join(str(options.group_id), ranks, timeout_s)
        return ArgosyProcessGroup(store, rank, size, world.session, group, False, others)
    kept = JobStore(store)
    session = Session(
        rank=rank,
        world_size=size,
        store=kept,
        timeout_s=timeout_s,
        address=address,
        for_cpu=True,
    )
    trace.join_job(rank)  # torch's stores have no clock
    compilers.keep_out()  # the transport's modules are imported now
    return ArgosyProcessGroup(store, rank, size, session, session.world, True, others)


def _address(store: Any) -> str:
    """The address by which the other ranks reach this host, as far as their store tells."""
    while (inner := getattr(store, "underlying_store", None)) is not None:
        store = inner
    host, port = getattr(store, "host", None), getattr(store, "port", None)
    if not host or not port:  # a file, or memory: no host but this one
        host, port = "127.0.0.1", 9
    with contextlib.suppress(ConfigError):
        return own_address(Endpoint(host, int(port)))
    return "127.0.0.1"
