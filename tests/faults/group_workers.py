"""What the workers do in the tests of broken groups; see ``test_groups.py``."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from typing import Any

import pytest
import torch

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import bind_listener
from argosy.foundation.errors import CollectiveMismatch, CollectiveTimeout, CommError, PeerLost
from argosy.runtime.comm.backend import Backend, ReduceOp
from argosy.runtime.comm.store import StoreClient, StoreServer
from support.join import joined, make_backend, open_store

LENGTH = 300_000  # several pieces


def _all_reduce(group: Backend) -> None:
    group.all_reduce(torch.ones(LENGTH), ReduceOp.SUM)


def _barriers(group: Backend) -> None:
    """Barriers until one fails; the first may still find the others' arrival."""
    for _ in range(3):
        group.barrier()


def killed(
    rank: int, world_size: int, *, kind: str, moment: str, name: str, rendezvous: Any
) -> tuple[str, float, int] | None:
    """The last rank is killed; each survivor returns its error, the seconds from death to error,
    and the victim's pid.
    """
    victim = world_size - 1
    gc.collect()  # what earlier tests left in cycles
    descriptors = len(os.listdir("/proc/self/fd"))
    with joined(kind, name, rank, world_size, rendezvous) as group, open_store(rendezvous) as store:
        _all_reduce(group)
        if rank == victim:
            store.set(f"{name}/pid", str(os.getpid()))
            group.barrier()
            _die(group, moment, store, name)
        pid = int(store.get(f"{name}/pid"))
        group.barrier()
        with pytest.raises(PeerLost) as caught:
            _live_on(group, moment, victim)
        late_s = time.monotonic() - float(store.get(f"{name}/died"))
        with pytest.raises(PeerLost, match="cannot be used any more"):
            group.barrier()
    message = str(caught.value)
    # the frames of its traceback still hold tensors and the group
    del caught, group
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == descriptors
    return message, late_s, pid


def _die(group: Backend, moment: str, store: StoreClient, name: str) -> None:
    def die() -> None:
        store.set(f"{name}/died", str(time.monotonic()))
        os.kill(os.getpid(), signal.SIGKILL)

    if moment == "inside":
        threading.Timer(0.1, die).start()
        while True:
            _all_reduce(group)
    die()


def _live_on(group: Backend, moment: str, victim: int) -> None:
    if moment == "recv":
        group.recv(torch.zeros(3), victim)
    while True:
        if moment == "send":
            group.send(torch.ones(LENGTH), victim)
        else:
            _all_reduce(group)


def late(rank: int, world_size: int, *, kind: str, name: str, rendezvous: Any) -> str:
    """Rank 1 stays away; rank 0 returns its error after a second, rank 1 what it gets when it comes
    in the end.
    """
    with joined(kind, f"{name}-first", rank, world_size, rendezvous) as group:
        # a new worker has loaded everything by now; what follows is about one second
        group.barrier()
    with (
        joined(kind, name, rank, world_size, rendezvous, timeout_s=1.0) as group,
        open_store(rendezvous) as store,
    ):
        group.barrier()
        if rank == 0:
            with pytest.raises(CollectiveTimeout) as caught:
                group.barrier()
            store.set(f"{name}/done", "")
            store.get(f"{name}/seen")
            return str(caught.value)
        store.get(f"{name}/done")
        with pytest.raises(CommError) as seen:
            _barriers(group)
        store.set(f"{name}/seen", "")
        return str(seen.value)


def left(rank: int, world_size: int, *, kind: str, name: str, rendezvous: Any) -> str:
    """Rank 1 closes the group; rank 0 returns what it gets."""
    with joined(kind, name, rank, world_size, rendezvous) as group:
        group.barrier()
        if rank == 1:
            return ""
        with pytest.raises(PeerLost) as caught:
            _all_reduce(group)
        return str(caught.value)


def arrives_and_leaves(rank: int, world_size: int, *, name: str, rendezvous: Any) -> None:
    """A rank that takes part and leaves at once is not lost to those that come later, however late
    they look.
    """
    for i in range(12):
        with joined("shm", f"{name}-{i}", rank, world_size, rendezvous) as group:
            if rank == 0 and i % 4 == 0:
                time.sleep(0.12)  # longer than the others sleep between two looks
            group.barrier()


def interrupted(rank: int, world_size: int, *, name: str, rendezvous: Any) -> str:
    """Ctrl-C on rank 0 while it waits; the other rank is told."""
    with (
        joined("shm", name, rank, world_size, rendezvous) as group,
        open_store(rendezvous) as store,
    ):
        group.barrier()
        if rank == 1:
            store.get(f"{name}/interrupted")
            with pytest.raises(PeerLost) as caught:
                _barriers(group)
            return str(caught.value)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            with pytest.raises(KeyboardInterrupt):
                group.barrier()
        finally:
            signal.signal(signal.SIGINT, before)
        store.set(f"{name}/interrupted", "")
        with pytest.raises(CommError) as refused:
            group.barrier()
        return str(refused.value)


def wrong_message(rank: int, world_size: int, *, name: str, rendezvous: Any) -> str:
    """What is received is not what was sent: the receiver is told what, the sender that the other
    gave up.
    """
    with (
        joined("shm", name, rank, world_size, rendezvous) as group,
        open_store(rendezvous) as store,
    ):
        if rank == 0:
            group.send(torch.zeros(3), 1)
            with pytest.raises(PeerLost) as lost:
                group.barrier()
            store.set(f"{name}/done", "")
            return str(lost.value)
        with pytest.raises(CollectiveMismatch) as caught:
            group.recv(torch.zeros(3, dtype=torch.int64), 0)
        store.get(f"{name}/done")
        return str(caught.value)


def absent(rank: int, world_size: int, *, name: str, rendezvous: Any) -> str:
    """Rank 1 never joins."""
    if rank == 1:
        return ""
    with open_store(rendezvous) as store:
        gc.collect()  # what earlier tests left in cycles
        descriptors = len(os.listdir("/proc/self/fd"))
        with pytest.raises(CollectiveTimeout) as caught:
            make_backend("shm", name, rank, world_size, store, timeout_s=0.3)
        message = str(caught.value)
        del caught
        gc.collect()
        assert len(os.listdir("/proc/self/fd")) == descriptors
    return message


def served_by_a_victim(
    rank: int, world_size: int, *, name: str, rendezvous: Any
) -> tuple[str, int] | None:
    """Rank 1 serves a store of its own and is killed while rank 0 waits for a key in it."""
    with open_store(rendezvous) as common:
        if rank == 1:
            server = StoreServer(bind_listener(), "token")
            common.set(f"{name}/port", str(server.port))
            common.get(f"{name}/waiting")
            os.kill(os.getpid(), signal.SIGKILL)
        port = int(common.get(f"{name}/port"))
        with StoreClient("127.0.0.1", port, "token", Deadline.after(10)) as store:
            common.set(f"{name}/waiting", "")
            with pytest.raises(CommError) as caught:
                store.get("never")
        return str(caught.value), port
