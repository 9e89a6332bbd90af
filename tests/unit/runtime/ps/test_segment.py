"""Memory that a worker and a server of one host share: what is taken, what is refused, and when
messages go through it.
"""

import fcntl
import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from argosy.foundation.errors import UsageError
from argosy.runtime.ps.tables.dense_table import DenseSpec, Piece
from argosy.runtime.ps.wire import messages, segment
from argosy.runtime.ps.wire.segment import OfClient, Offered, OfServer, accepted
from argosy.runtime.ps.worker.steps import Push
from support.ps_service import SPEC, job

ROWS = messages.rows_schema(2)


def batch(count=3):
    values = np.arange(2 * count, dtype=np.float32).reshape(count, 2)
    return pa.record_batch([pa.array(np.arange(count)), messages.rows_array(values)], schema=ROWS)


def listing():
    columns = [*batch().columns, pa.array(np.arange(5, dtype=np.float32))]
    return messages.in_one_row(columns, messages.listing([ROWS, messages.FLAT]))


@pytest.fixture
def made():
    offered = Offered(1 << 12)
    yield offered
    offered.close()


def test_it_is_gone_when_it_is_closed(made):
    peer = accepted(made.offer)
    gone = made.offer
    made.close()
    peer.close()
    assert accepted(gone) is None
    assert not any("argosy-ps" in os.readlink(f"/proc/self/fd/{fd}") for fd in descriptors())


def descriptors():
    """Those that are still open when they are looked at."""
    return [fd for fd in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{fd}")]


@pytest.mark.parametrize("given", [batch(), batch(0), listing()])
def test_what_one_side_places_the_other_finds(made, given):
    peer = accepted(made.offer)
    places = [list(place) for place in made.place(given)]
    assert peer.batch(places, given.schema, copies_ids=True).equals(given)


def test_what_does_not_fit_is_not_placed(made):
    assert made.place(batch(1 << 10)) is None


def test_ids_are_copied_and_numbers_are_not(made):
    """A peer may write at any time; ids are read more than once."""
    peer = accepted(made.offer)
    places = [list(place) for place in made.place(batch())]
    found = peer.batch(places, ROWS, copies_ids=True)
    made.place(batch().slice(1))
    assert found.column(0).to_pylist() == [0, 1, 2]
    assert messages.rows_of(found.column(1))[0].tolist() == [2, 3]


@pytest.mark.parametrize(
    "places",
    [
        None, [], [[64, 1]], [[64, 1], [64]], [[64, 1], [64, 1.0]], [[64, 1], [-64, 1]],
        [[64, 1], [65, 1]], [[64, 1], [64, -1]], [[64, 1], [64, 1 << 60]], [[64, 1], [4096, 1]],
        [[64, 1], ["64", 1]], [[64, 1], [0, 1]],
    ],
)  # fmt: skip
def test_columns_that_cannot_be_there_are_refused(made, places):
    with pytest.raises(UsageError, match="segment"):
        made.batch(places, ROWS, copies_ids=True)


def test_columns_of_other_types_are_refused(made):
    with pytest.raises(UsageError, match="string"):
        made.batch([[64, 1]], pa.schema([("id", pa.string())]), copies_ids=True)


@pytest.mark.parametrize(
    "change",
    [
        {"nonce": "00" * 32}, {"nonce": None}, {"bytes": 1 << 13}, {"bytes": 0}, {"fd": 1 << 20},
        {"pid": 1 << 30}, {"pid": "self"}, {"fd": "../../../etc/passwd"},
    ],
)  # fmt: skip
def test_an_offer_that_is_not_the_peers_is_refused(made, change):
    assert accepted({**made.offer, **change}) is None
    assert accepted([made.offer]) is None


def test_memory_that_could_shrink_is_refused(made):
    """A server that reads past the end of a file is killed."""
    fd = os.memfd_create("loose", os.MFD_ALLOW_SEALING)
    try:
        os.write(fd, bytes.fromhex(made.offer["nonce"]).ljust(made.num_bytes, b"\0"))
        assert accepted({**made.offer, "fd": fd}) is None
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        assert accepted({**made.offer, "fd": fd}) is not None
    finally:
        os.close(fd)


def test_files_and_pipes_are_refused(made, tmp_path):
    nonce = bytes.fromhex(made.offer["nonce"])
    (tmp_path / "file").write_bytes(nonce.ljust(made.num_bytes, b"\0"))
    with open(tmp_path / "file", "r+b") as file:
        assert accepted({**made.offer, "fd": file.fileno()}) is None
    read, write = os.pipe()
    try:
        assert accepted({**made.offer, "fd": read}) is None
    finally:
        os.close(read)
        os.close(write)


# -- conversations
# --------------------------------------------------------------------------------------------------


class Conversation:
    """Requests and answers of one stream, and which of them passed as batches."""

    def __init__(self):
        self.client, self.server = OfClient(), OfServer()

    def ask(self, request, answer):
        sent, data = self.client.request(request, {"creates": True})
        data = messages.decode(messages.encode(data))
        assert self.server.request(sent, data).equals(request)
        replied, told = self.server.answer(answer, {}, data)
        told = messages.decode(messages.encode(told))
        assert self.client.answer(replied, told).equals(answer)
        return sent is not None, replied is not None


def test_messages_go_through_memory_once_it_is_shared():
    talk, large = Conversation(), batch(10_000)
    assert talk.ask(batch(), batch()) == (True, True)  # too small to be worth it
    assert talk.ask(large, batch()) == (True, True)  # with the offer
    assert talk.ask(large, large) == (False, False)
    assert talk.ask(batch(), large) == (False, False)
    talk.client.close()


def test_a_larger_message_brings_a_larger_segment():
    talk, large, larger = Conversation(), batch(10_000), batch(30_000)
    talk.ask(large, large)
    assert talk.ask(larger, large) == (True, True)
    assert talk.ask(larger, large) == (False, False)
    assert talk.ask(large, batch(90_000)) == (False, True)  # an answer that has no room
    assert talk.ask(large, batch(90_000)) == (True, True)
    assert talk.ask(large, batch(90_000)) == (False, False)
    talk.client.close()


def test_a_server_that_cannot_map_it_is_asked_once(monkeypatch):
    offers = []
    monkeypatch.setattr(segment, "accepted", lambda offer: offers.append(offer))
    talk = Conversation()
    assert [talk.ask(batch(10_000), batch(10_000)) for _ in range(3)] == [(True, True)] * 3
    assert len(offers) == 1
    talk.client.close()


def test_without_memory_to_share_messages_are_batches(monkeypatch):
    def fails(*args):
        raise OSError("too many open files")

    monkeypatch.setattr(os, "memfd_create", fails)
    talk = Conversation()
    assert [talk.ask(batch(10_000), batch(10_000)) for _ in range(2)] == [(True, True)] * 2


def test_columns_in_memory_that_was_never_shared_are_refused():
    with pytest.raises(UsageError, match="does not have"):
        OfServer().request(None, {"columns": [[64, 1]]})
    with pytest.raises(UsageError, match="not offered"):
        OfClient().answer(None, {"columns": [[64, 1]]})


@pytest.mark.parametrize("num_servers", [1, 2])
def test_a_worker_and_servers_of_one_host_share_memory(tmp_path, monkeypatch, num_servers):
    mapped = []

    def watched(offer):
        mapped.append(accepted(offer))
        return mapped[-1]

    monkeypatch.setattr(segment, "accepted", watched)
    ids, size = np.arange(20_000), 40_000
    before = len(os.listdir("/proc/self/fd"))
    with job(tmp_path, num_servers) as (_, [client]):
        client.create_sparse(replace(SPEC, max_rows=1 << 16), "async")
        parts = [size // num_servers] * num_servers
        specs = [DenseSpec("dense", (Piece(f"w{i}", (n,), 0, n),)) for i, n in enumerate(parts)]
        client.create_dense(specs, "async")
        client.fill_dense("dense", np.zeros(size, np.float32))
        first = client.pull("emb", ids)
        for _ in range(3):
            client.push("emb", ids, np.ones((20_000, 3), np.float32), learning_rate=0.5)
            found = client.pull("emb", ids)
            client.push_dense("dense", np.arange(size, dtype=np.float32), 1.0)
        np.testing.assert_allclose(found, first - 1.5, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(
            client.pull_dense("dense"), np.arange(size, dtype=np.float32) * -3
        )
        assert len(mapped) >= 2 * num_servers
        assert None not in mapped
    mapped.clear()
    assert len(os.listdir("/proc/self/fd")) <= before + 8  # descriptors of gRPC may stay a while


def test_dense_values_outlive_the_next_step(tmp_path):
    """They lie in shared memory when they arrive, and the next request overwrites it."""
    size = 40_000
    with job(tmp_path) as (_, [client]):
        client.create_dense([DenseSpec("dense", (Piece("w", (size,), 0, size),))], "async")
        client.fill_dense("dense", np.zeros(size, np.float32))
        push = Push("dense", np.ones(size, np.float32), 1.0)
        client.step([push])
        second = client.step([push]).dense["dense"]
        kept = second.copy()
        client.step([push])
        np.testing.assert_array_equal(second, kept)
