import logging
import os
import socket
import threading
from datetime import timedelta

import pytest
import torch.distributed as dist

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import bind_listener, endpoint_of
from argosy.foundation.errors import CollectiveTimeout, CommError, UsageError
from argosy.runtime.comm import frames, store_server
from argosy.runtime.comm.frames import Frame
from argosy.runtime.comm.store import StoreClient, StoreServer

TOKEN = "the token of this job"


def connect(server: StoreServer, token: str = TOKEN, timeout_s: float = 10.0) -> StoreClient:
    return StoreClient("127.0.0.1", server.port, token, Deadline.after(5), timeout_s=timeout_s)


@pytest.fixture
def server():
    with StoreServer(bind_listener(), TOKEN) as server:
        yield server


@pytest.fixture
def store(server):
    with connect(server) as store:
        yield store


def in_thread(call, *args):
    """Start ``call`` in a thread; returns a function that waits for its result or error."""
    outcome = []

    def run():
        try:
            outcome.append((call(*args), None))
        except Exception as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join(10)
        assert not thread.is_alive()
        result, error = outcome[0]
        if error is not None:
            raise error
        return result

    return wait


def raw_connection(server: StoreServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), 5)


def is_hung_up(sock: socket.socket) -> bool:
    """Whether the other side closes the connection within a few seconds, whatever it says before."""
    sock.settimeout(5)
    try:
        while sock.recv(4096):
            pass
    except ConnectionResetError:
        return True
    return True


# -- operations -------------------------------------------------------------------------------------------------


def test_set_and_get(store):
    store.set("a", "text")
    store.set("b", b"\x00\xff")
    assert store.get("a") == b"text"
    assert store.get("b") == b"\x00\xff"
    store.set("a", "")
    assert store.get("a") == b""


def test_values_are_shared_between_clients(server, store):
    with connect(server) as other:
        store.set("a", "1")
        assert other.get("a") == b"1"


def test_get_waits_until_the_key_is_there(server, store):
    with connect(server) as other:
        value = in_thread(other.get, "late")
        store.set("late", "1")
        assert value() == b"1"


def test_a_blocked_get_blocks_nobody_else(store):
    value = in_thread(store.get, "late")
    for i in range(20):
        assert store.add("counter", 1) == i + 1
    store.set("late", "1")
    assert value() == b"1"


def test_get_times_out_and_names_the_key(server):
    with connect(server, timeout_s=0.05) as store:
        with pytest.raises(
            CollectiveTimeout, match=rf"127.0.0.1:{server.port}: waited 0.05 s for key 'never', which nobody"
        ):
            store.get("never")
        store.set("never", "now")
        assert store.get("never") == b"now"


def test_wait_for_several_keys(store):
    done = in_thread(store.wait, ["a", "b"])
    store.set("a", "")
    assert not store.check(["a", "b"])
    store.set("b", "")
    done()
    with pytest.raises(CollectiveTimeout, match="key 'c'"):
        store.wait(["a", "c"], timedelta(milliseconds=30))


def test_add_counts_over_all_clients(server, store):
    with connect(server) as other:
        waits = [in_thread(lambda s: [s.add("n", 1) for _ in range(50)], s) for s in (store, other) for _ in range(2)]
        seen = sorted(value for wait in waits for value in wait())
    assert seen == list(range(1, 201))
    assert store.add("n", -300) == -100
    assert store.get("n") == b"-100"


def test_add_to_something_else(store):
    store.set("a", "text")
    with pytest.raises(UsageError, match="key 'a' holds b'text', which is not a counter"):
        store.add("a", 1)
    assert store.get("a") == b"text"


def test_a_counter_that_would_overflow(store):
    store.add("n", 2**63 - 1)
    with pytest.raises(UsageError, match="does not fit into 64 bits"):
        store.add("n", 1)
    assert store.add("n", -1) == 2**63 - 2


def test_values_that_are_too_large_together(store, monkeypatch):
    monkeypatch.setattr(frames, "MAX_FRAME_BYTES", 1000)
    store.set("a", "x" * 600)
    store.set("b", "x" * 600)
    with pytest.raises(UsageError, match="too large for the store"):
        store.multi_get(["a", "b"])
    assert len(store.get("a")) == 600


def test_check_delete_and_num_keys(store):
    assert store.num_keys() == 0
    store.set("a", "1")
    assert store.check(["a"])
    assert store.num_keys() == 1
    assert store.delete_key("a")
    assert not store.delete_key("a")
    assert not store.check(["a"])


def test_compare_set_is_torchs(store):
    reference = dist.HashStore()
    for arguments in (("k", "x", "1"), ("k", "", "1"), ("k", "x", "2"), ("k", "1", "2"), ("k", "", "3")):
        assert store.compare_set(*arguments) == reference.compare_set(*arguments), arguments
        assert store.check(["k"]) == reference.check(["k"])


def test_many_at_once(store):
    store.multi_set(["a", "b"], ["1", b"2"])
    assert store.multi_get(["b", "a"]) == [b"2", b"1"]
    store.append("a", "x")
    store.append("new", "y")
    assert store.multi_get(["a", "new"]) == [b"1x", b"y"]
    with pytest.raises(UsageError, match="2 keys, but 1 values"):
        store.multi_set(["a", "b"], ["1"])


def test_a_large_value_arrives_whole(store):
    value = bytes(range(256)) * 20000
    store.set("big", value)
    assert store.get("big") == value


# -- as a torch store -------------------------------------------------------------------------------------------


def test_torch_calls_it_through_its_own_interface(store):
    prefixed = dist.PrefixStore("p", store)
    prefixed.set("a", "1")
    assert store.get("p/a") == b"1"
    assert prefixed.get("a") == b"1"
    assert prefixed.add("n", 2) == 2
    assert prefixed.check(["a"])
    prefixed.wait(["a"])
    prefixed.wait(["a"], timedelta(seconds=1))
    assert prefixed.compare_set("a", "1", "2") == b"2"
    assert prefixed.num_keys() == 2
    assert prefixed.delete_key("a")
    prefixed.append("b", "xy")
    assert prefixed.multi_get(["b"]) == [b"xy"]
    assert prefixed.has_extended_api()


def test_the_timeout_is_the_one_torch_sees(store):
    store.set_timeout(timedelta(seconds=0.05))
    assert store.timeout == timedelta(seconds=0.05)
    with pytest.raises(CollectiveTimeout, match=r"waited 0\.05 s"):
        store.get("never")


# -- strangers and torn frames ----------------------------------------------------------------------------------


def test_a_wrong_token_is_turned_away_and_logged(server, store, caplog):
    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(CommError, match="refused this process: its token is that of another job"),
    ):
        connect(server, "another token")
    assert "turned 127.0.0.1:" in caplog.text
    assert "it does not know the token" in caplog.text
    assert TOKEN not in caplog.text
    assert "another token" not in caplog.text
    store.set("a", "1")


def test_a_server_that_does_not_know_the_token_is_not_believed():
    with bind_listener() as listener:

        def pretend():
            sock, _ = listener.accept()
            with sock:
                sock.sendall(frames.pack(Frame(frames.HELLO, 0, (b"c" * 32,))))
                sock.recv(4096)
                sock.sendall(frames.pack(Frame(frames.WELCOME, 0, (b"p" * 32,))))
                assert sock.recv(4096) == b""

        done = in_thread(pretend)
        with pytest.raises(CommError, match="does not know the token of this job"):
            StoreClient("127.0.0.1", endpoint_of(listener).port, TOKEN, Deadline.after(5))
        done()


@pytest.mark.parametrize(
    "message",
    [
        frames.pack(Frame(frames.GET, 1000, (b"secret",))),
        frames.pack(Frame(frames.PROOF, 0, ())),
        frames.pack(Frame(frames.PROOF, 0, (b"c" * 32, b"p" * 32))),
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff" * 64,
        b"\x00" * 64,
    ],
)
def test_strangers_are_hung_up_on_whatever_they_say(server, store, message):
    store.set("secret", "1")
    with raw_connection(server) as sock:
        sock.sendall(message)
        assert is_hung_up(sock)
    assert store.get("secret") == b"1"


def test_a_silent_stranger_is_hung_up_on(monkeypatch, caplog):
    monkeypatch.setattr(store_server, "_HANDSHAKE_S", 0.05)
    with StoreServer(bind_listener(), TOKEN) as server, raw_connection(server) as sock:
        assert is_hung_up(sock)
    assert "in time" in caplog.text


def test_a_frame_may_arrive_in_pieces(store):
    sock = store._idle[-1]
    for byte in frames.pack(Frame(frames.SET, 0, (b"slow", b"1"))):
        sock.sendall(bytes([byte]))
    assert sock.recv(4096) == frames.pack(Frame(frames.OK))
    assert store.get("slow") == b"1"


@pytest.mark.parametrize("size", [1, 3, 4, 10, 20])
def test_a_connection_that_breaks_inside_a_frame_changes_nothing(server, store, size):
    message = frames.pack(Frame(frames.SET, 0, (b"torn", b"value")))
    with connect(server) as other:
        sock = other._idle[-1]
        sock.sendall(message[:size])
    assert not store.check(["torn"])
    assert store.num_keys() == 0


def test_a_trusted_peer_that_sends_rubbish_is_dropped(server, store, caplog):
    with connect(server) as other:
        sock = other._idle[-1]
        sock.sendall(b"\x00\x00\x00\x20" + b"\xff" * 32)
        assert is_hung_up(sock)
    assert "turned 127.0.0.1:" in caplog.text
    store.set("a", "1")


def test_an_unknown_operation_is_dropped(server, store):
    with connect(server) as other:
        sock = other._idle[-1]
        sock.sendall(frames.pack(Frame(99)))
        assert is_hung_up(sock)
    store.set("a", "1")


# -- beginning and end ------------------------------------------------------------------------------------------


@pytest.fixture
def silent():
    """A socket that has a port but does not listen yet: connections are refused, and nobody else can take the port."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock


def test_the_client_may_come_first(silent):
    port = endpoint_of(silent).port
    client = in_thread(lambda: StoreClient("127.0.0.1", port, TOKEN, Deadline.after(10)))
    silent.listen()
    with StoreServer(silent, TOKEN), client() as store:
        store.set("a", "1")


def test_nobody_listens(silent):
    port = endpoint_of(silent).port
    with pytest.raises(CollectiveTimeout, match=rf"no store answers at 127.0.0.1:{port} after 0.1 s"):
        StoreClient("127.0.0.1", port, TOKEN, Deadline.after(0.1))


def test_the_end_of_the_server_is_an_error_that_names_it():
    server = StoreServer(bind_listener(), TOKEN)
    with connect(server) as store:
        value = in_thread(store.get, "never")
        while not any(peer.request for peer in list(server._peers.values())):
            pass
        server.close()
        with pytest.raises(CommError, match=rf"the store at 127.0.0.1:{server.port} has gone away"):
            value()
        for _ in range(2):
            with pytest.raises(CommError, match=rf"the store at 127.0.0.1:{server.port} has gone away"):
                store.set("a", "1")


def test_close_ends_calls_under_way(server):
    store = connect(server)
    value = in_thread(store.get, "never")
    while not any(peer.request for peer in list(server._peers.values())):
        pass
    store.close()
    with pytest.raises(CommError, match="is closed"):
        value()
    with pytest.raises(CommError, match="is closed"):
        store.set("a", "1")
    store.close()


def test_nothing_is_left_behind():
    descriptors = set(os.listdir("/proc/self/fd"))
    threads = set(threading.enumerate())
    with StoreServer(bind_listener(), TOKEN) as server:
        with connect(server) as store, connect(server) as other:
            values = [in_thread(store.get, "a") for _ in range(3)]
            other.set("a", "1")
            assert [value() for value in values] == [b"1"] * 3
        assert f"argosy-store-{server.port}" in [thread.name for thread in threading.enumerate()]
        server.close()
    assert set(os.listdir("/proc/self/fd")) == descriptors
    assert set(threading.enumerate()) == threads


def test_an_empty_token_is_refused():
    with bind_listener() as listener, pytest.raises(UsageError, match="token"):
        StoreServer(listener, "")
