"""The state of torch's rendezvous as JSON: nothing is lost, and nothing else is taken for one."""

from __future__ import annotations

import base64
import json
import pickle
import secrets
import types
from datetime import UTC, datetime, timedelta

import pytest
from torch.distributed.elastic.rendezvous import RendezvousStateError
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import _NodeDesc, _RendezvousState

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import bind_listener
from argosy.foundation.errors import CommError
from argosy.runtime.comm.store import StoreClient, StoreServer
from argosy.runtime.launch.elastic import _Agent
from argosy.runtime.launch.rendezvous import decode, encode, make_handler, state_key

KEY = state_key("job")


@pytest.fixture(autouse=True)
def own_stores(monkeypatch):
    """Handlers say to torch, for the whole process, that it serves no store; a launcher ends so."""
    monkeypatch.setenv("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")


def example() -> _RendezvousState:
    state = _RendezvousState()
    now = datetime.now(UTC)
    hosts = [_NodeDesc(f"10.0.0.{i}", 100 + i, i) for i in range(4)]
    state.round, state.complete, state.deadline = (
        3,
        True,
        now + timedelta(seconds=7, microseconds=1),
    )
    state.participants = {hosts[1]: 1, hosts[0]: 0}
    state.wait_list, state.redundancy_list = {hosts[2]}, {hosts[3]}
    state.last_heartbeats = {host: now - timedelta(microseconds=i) for i, host in enumerate(hosts)}
    return state


@pytest.mark.parametrize("state", [example(), _RendezvousState()])
def test_a_state_survives_the_store(state):
    assert vars(decode(encode(state), KEY)) == vars(state)


def test_equal_states_are_equal_bytes():
    state = example()
    again = decode(encode(state), KEY)
    again.participants = dict(reversed(again.participants.items()))
    assert encode(again) == encode(state)


def altered(**fields):
    return json.dumps(json.loads(encode(example())) | fields).encode()


HEARD = [["a", 1, 0, 5]]
HOSTILE = {
    "a pickle": pickle.dumps(example()),
    "a pickle in base 64": base64.b64encode(pickle.dumps(example())),
    "nothing": b"",
    "no JSON": b"{",
    "no text": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
    "a list": b"[]",
    "a number": b"7",
    "no fields": b"{}",
    "one field more": altered(more=1),
    "a round of text": altered(round="1"),
    "a round that is true": altered(round=True),
    "a negative round": altered(round=-1),
    "a huge round": altered(round=10**30),
    "complete by number": altered(complete=1),
    "closed by text": altered(closed="false"),
    "a deadline of text": altered(deadline="now"),
    "a deadline after all time": altered(deadline=10**20),
    "participants as a mapping": altered(participants={"a": 1}),
    "participants without rank": altered(participants=[["a", 1, 0]]),
    "participants with ranks of text": altered(
        participants=[["a", 1, 0, "0"]], last_heartbeats=HEARD
    ),
    "participants never heard of": altered(participants=[["b", 1, 0, 0]]),
    "one rank for two": altered(
        participants=[["a", 1, 0, 0], ["b", 1, 0, 0]],
        wait_list=[],
        redundancy_list=[],
        last_heartbeats=[["a", 1, 0, 5], ["b", 1, 0, 5]],
    ),
    "a host that is a number": altered(wait_list=[7]),
    "a host with a strange address": altered(wait_list=[["\x1b[2J", 1, 0]]),
    "a host with a pid of text": altered(wait_list=[["a", "1", 0]]),
    "heartbeats of text": altered(last_heartbeats=[["a", 1, 0, "now"]]),
}


@pytest.mark.attack("a state of the hosts that is none, by somebody with the token")
@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_state_is_refused(value):
    with pytest.raises(
        CommError, match=r"holds .* under the key 'argosy/rendezvous/job'; it is refused"
    ):
        decode(value, KEY)


@pytest.fixture
def store():
    token = secrets.token_hex(16)
    with (
        StoreServer(bind_listener(), token) as server,
        StoreClient("127.0.0.1", server.port, token, Deadline.after(10), timeout_s=10) as client,
    ):
        yield client


def test_a_host_alone_meets_itself_and_others_see_it(store):
    handler = make_handler(store, "job", "10.0.0.1", (1, 1), 20, 1)
    info = handler.next_rendezvous()
    assert (info.rank, info.world_size) == (0, 1)
    state = decode(store.get(KEY), KEY)
    assert state.complete
    assert [node.addr for node in state.participants] == ["10.0.0.1"]
    assert handler.shutdown()
    assert decode(store.get(KEY), KEY).closed


def test_a_host_that_was_not_heard_of_is_taken_out(store):
    gone = _NodeDesc("10.0.0.9", 1, 0)
    state = _RendezvousState()
    state.participants, state.last_heartbeats = (
        {gone: 0},
        {gone: datetime.now(UTC) - timedelta(hours=1)},
    )
    store.set(KEY, encode(state))
    handler = make_handler(store, "job", "10.0.0.1", (1, 2), 20, 1)
    assert handler.next_rendezvous().world_size == 1
    handler.shutdown()


def test_a_hostile_state_is_an_error_of_ours(store):
    handler = make_handler(store, "job", "10.0.0.1", (1, 1), 20, 1)
    store.set(KEY, pickle.dumps(example()))
    with pytest.raises(RendezvousStateError, match="something that is not JSON under the key"):
        handler.next_rendezvous()


@pytest.mark.attack("a port of torch's that is no number")
def test_what_torch_reads_on_the_side_is_an_error_of_ours_too(store):
    """torch's handler shares an address and a port that nobody here needs."""
    handler = make_handler(store, "job", "10.0.0.1", (1, 1), 20, 1)
    usual = store.get
    store.get = lambda key: b"no port" if key.endswith("MASTER_PORT") else usual(key)
    group = types.SimpleNamespace(spec=types.SimpleNamespace(rdzv_handler=handler))
    with pytest.raises(CommError, match="MASTER_PORT is refused"):
        _Agent._rendezvous(None, group)
    handler.shutdown()
