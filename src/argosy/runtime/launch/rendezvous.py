"""Which hosts take part in a round: torch's dynamic rendezvous, with its state as JSON in our
store.

torch decides (``DynamicRendezvousHandler``) and shares what it has decided as a pickle, which runs
what it likes in whoever reads it. Here the state is JSON under one key; what does not look like a
state to the last field is refused, whoever stored it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from torch.distributed.elastic.rendezvous import RendezvousConnectionError, RendezvousStateError
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import (
    DynamicRendezvousHandler,
    RendezvousSettings,
    RendezvousTimeout,
)

from argosy.foundation import env
from argosy.foundation.errors import ArgosyError, CommError
from argosy.runtime.comm.store import StoreClient
from argosy.runtime.launch.hosts import is_count, is_word, read_json, wrong
from argosy.runtime.launch.torch_elastic import BackendStateHolder, NodeDesc, RendezvousState

_CACHE_S = 1.0  # torch asks for the state several times in a row
_KEEP_ALIVE_S = 5
_KEEP_ALIVE_ATTEMPTS = 3
_MAX_HOSTS = 1 << 16
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
_LAST_TICK = 1 << 52  # in the year 2112
_FIELDS = (
    "round",
    "complete",
    "deadline",
    "closed",
    "participants",
    "wait_list",
    "redundancy_list",
    "last_heartbeats",
)


def make_handler(
    store: StoreClient,
    job_id: str,
    address: str,
    num_hosts: tuple[int, int],
    join_s: float,
    last_call_s: float,
) -> DynamicRendezvousHandler:
    """The handler of this host, at ``address``, of a job of ``num_hosts`` (at least, at most)
    hosts.
    """
    # torch would otherwise serve a store of its own, open to anybody
    env.update({"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"})
    settings = RendezvousSettings(
        job_id,
        *num_hosts,
        RendezvousTimeout(timedelta(seconds=join_s), timedelta(seconds=last_call_s)),
        timedelta(seconds=_KEEP_ALIVE_S),
        _KEEP_ALIVE_ATTEMPTS,
    )
    holder = _StateHolder(store, settings)
    return DynamicRendezvousHandler(
        NodeDesc(address, os.getpid(), 0), settings, "argosy", store, holder
    )


class _StateHolder(BackendStateHolder):
    """Keeps this host's copy of the state and the shared one alike; a copy that was changed is
    written if nobody else was faster.
    """

    def __init__(self, store: StoreClient, settings: RendezvousSettings) -> None:
        no_backend: Any = None  # only sync(), which is not the inherited one, would ask it
        super().__init__(no_backend, settings)
        self._python_store = store
        self._key = state_key(settings.run_id)
        self._seen = b""  # what the store holds as far as we know; nothing at first

    def sync(self) -> bool | None:
        """Write the state if it was changed, else read it. True if it was written, False if another
        host was faster.
        """
        has_set: bool | None = None
        if self._dirty:
            mine = encode(self._state)
            found = self._exchange(mine)
            has_set = found == mine
        else:
            if self._last_sync_time >= max(time.monotonic() - _CACHE_S, 0):
                return None
            # a state that is not there yet becomes the one that all begin with
            found = self._exchange(encode(RendezvousState())) if not self._seen else self._read()
        try:
            self._state = decode(found, self._key)
        except CommError as error:
            raise RendezvousStateError(str(error)) from error
        self._seen = found
        self._dirty = False
        self._last_sync_time = time.monotonic()
        self._sanitize()
        return has_set

    def _exchange(self, mine: bytes) -> bytes:
        """Write ``mine`` if the store holds what we have seen last; what it holds then."""
        try:
            return self._python_store.compare_set(self._key, self._seen, mine)
        except ArgosyError as error:
            raise RendezvousConnectionError(str(error)) from error

    def _read(self) -> bytes:
        try:
            return self._python_store.get(self._key)
        except ArgosyError as error:
            raise RendezvousConnectionError(str(error)) from error


def state_key(job_id: str) -> str:
    """Where the state of a job lies in the store."""
    return f"argosy/rendezvous/{job_id}"


def encode(state: RendezvousState) -> bytes:
    """The state as JSON; equal states give equal bytes."""
    fields = {
        "round": state.round,
        "complete": state.complete,
        "deadline": None if state.deadline is None else _ticks(state.deadline),
        "closed": state.closed,
        "participants": [
            [*_of_node(node), rank] for node, rank in sorted(state.participants.items())
        ],
        "wait_list": [_of_node(node) for node in sorted(state.wait_list)],
        "redundancy_list": [_of_node(node) for node in sorted(state.redundancy_list)],
        "last_heartbeats": [
            [*_of_node(node), _ticks(beat)] for node, beat in sorted(state.last_heartbeats.items())
        ],
    }
    return json.dumps(fields).encode()


def decode(value: bytes, key: str) -> RendezvousState:
    """Read a state that another launcher has stored under ``key``; CommError if it is anything but
    one.
    """
    fields = read_json(value, key)
    if not isinstance(fields, dict) or sorted(fields) != sorted(_FIELDS):
        raise wrong(key, f"something that is not a state of the hosts ({', '.join(_FIELDS)})")
    for name in _FIELDS[4:]:
        if not isinstance(fields[name], list) or len(fields[name]) > _MAX_HOSTS:
            raise wrong(key, f"a state whose {name} is not a list of hosts")
    if not is_count(fields["round"], 1 << 31):
        raise wrong(key, "a state whose round is not a number")
    if type(fields["complete"]) is not bool or type(fields["closed"]) is not bool:
        raise wrong(key, "a state that is complete or closed neither true nor false")
    deadline = fields["deadline"]
    if deadline is not None and not is_count(deadline, _LAST_TICK):
        raise wrong(key, "a state whose deadline is not a time")
    state = RendezvousState()
    state.round = fields["round"]
    state.complete, state.closed = fields["complete"], fields["closed"]
    state.deadline = None if deadline is None else _moment(deadline)
    state.participants = dict(_numbered(fields["participants"], _MAX_HOSTS, "participants", key))
    state.wait_list = {_node(entry, "wait_list", key) for entry in fields["wait_list"]}
    state.redundancy_list = {
        _node(entry, "redundancy_list", key) for entry in fields["redundancy_list"]
    }
    beats = _numbered(fields["last_heartbeats"], _LAST_TICK, "last_heartbeats", key)
    state.last_heartbeats = {node: _moment(ticks) for node, ticks in beats}
    _check_whole(state, key)
    return state


def _check_whole(state: RendezvousState, key: str) -> None:
    """What torch relies on: a host that takes part has been heard of, and two have not one rank."""
    silent = {
        *state.participants,
        *state.wait_list,
        *state.redundancy_list,
    } - state.last_heartbeats.keys()
    if silent:
        raise wrong(key, f"a state with hosts that were never heard of: {min(silent)!r}")
    if state.complete and len(set(state.participants.values())) != len(state.participants):
        raise wrong(key, "a state in which two hosts have one rank")


def _of_node(node: NodeDesc) -> list[Any]:
    return [node.addr, node.pid, node.local_id]


def _node(entry: Any, name: str, key: str) -> NodeDesc:
    if not isinstance(entry, list) or len(entry) != 3 or not is_word(entry[0]):
        raise wrong(key, f"a state whose {name} has an entry that is not [address, pid, number]")
    if not is_count(entry[1], 1 << 31) or not is_count(entry[2], 1 << 31):
        raise wrong(key, f"a state whose {name} has an entry that is not [address, pid, number]")
    return NodeDesc(*entry)


def _numbered(
    entries: Iterable[Any], limit: int, name: str, key: str
) -> list[tuple[NodeDesc, int]]:
    """Hosts, each with a number below ``limit``."""
    found = []
    for entry in entries:
        if not isinstance(entry, list) or len(entry) != 4 or not is_count(entry[3], limit):
            raise wrong(
                key, f"a state whose {name} has an entry that is not [address, pid, number, value]"
            )
        found.append((_node(entry[:3], name, key), entry[3]))
    return found


def _ticks(moment: datetime) -> int:
    return (moment - _EPOCH) // _TICK


def _moment(ticks: int) -> datetime:
    return _EPOCH + ticks * _TICK
