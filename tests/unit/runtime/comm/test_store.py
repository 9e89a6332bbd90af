import contextlib
import logging
import os
import select
import socket
import threading
import time
from datetime import timedelta

import pytest
import torch.distributed as dist

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import bind_listener, endpoint_of
from argosy.foundation.errors import CollectiveTimeout, CommError, UsageError
from argosy.runtime.comm import frames, store_server, store_values
from argosy.runtime.comm import store as store_module
from argosy.runtime.comm.frames import Frame
from argosy.runtime.comm.rendezvous import ServedStore
from argosy.runtime.comm.store import StoreClient, StoreFailed, StoreServer

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
    """Whether the other side closes the connection within a few seconds, whatever it says
    before.
    """
    sock.settimeout(5)
    try:
        while sock.recv(4096):
            pass
    except ConnectionResetError:
        return True
    return True


# -- operations
# -------------------------------------------------------------------------------------------------


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
            CollectiveTimeout,
            match=rf"127.0.0.1:{server.port}: waited 0.05 s for key 'never', which nobody",
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
        waits = [
            in_thread(lambda s: [s.add("n", 1) for _ in range(50)], s)
            for s in (store, other)
            for _ in range(2)
        ]
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
    for arguments in (
        ("k", "x", "1"),
        ("k", "", "1"),
        ("k", "x", "2"),
        ("k", "1", "2"),
        ("k", "", "3"),
    ):
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


# -- as a torch store
# -------------------------------------------------------------------------------------------


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


# -- strangers and torn frames
# ----------------------------------------------------------------------------------


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


# -- beginning and end
# ------------------------------------------------------------------------------------------


@pytest.fixture
def silent():
    """A socket that has a port but does not listen yet: connections are refused, and nobody else
    can take the port.
    """
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
    with pytest.raises(
        CollectiveTimeout, match=rf"no store answers at 127.0.0.1:{port} after 0.1 s"
    ):
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
            with pytest.raises(
                CommError, match=rf"the store at 127.0.0.1:{server.port} has gone away"
            ):
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


# -- what must not end it
# ---------------------------------------------------------------------------------------


def trusted_connection(server: StoreServer) -> socket.socket:
    """A connection of a member, to say on it what ``StoreClient`` would not."""
    store = connect(server)
    with store._lock:
        sock = store._idle.pop()
        store._all.discard(sock)
    store.close()
    sock.settimeout(5)
    return sock


def pause(server: StoreServer) -> tuple[threading.Event, threading.Event]:
    """Have the thread stop before its next look at the sockets: it sets the first event and waits
    for the second.
    """
    is_paused, go_on = threading.Event(), threading.Event()
    usual = server._nap_s

    def nap_s():
        if not is_paused.is_set():
            is_paused.set()
            go_on.wait(10)
        return usual()

    server._nap_s = nap_s
    server._wake_write.send(b"x")
    assert is_paused.wait(5)
    return is_paused, go_on


@pytest.mark.attack("a wait of 30 days")
def test_a_wait_of_30_days(server, store):
    with trusted_connection(server) as sock:
        sock.sendall(frames.pack(Frame(frames.WAIT, 30 * 86400 * 1000, (b"late",))))
        done = in_thread(store.wait, ["late"], timedelta(days=30))
        forever = in_thread(store.wait, ["late"], timedelta.max)
        while sum(peer.request is not None for peer in list(server._peers.values())) < 3:
            pass
        with connect(server) as other:
            other.set("late", "1")
        assert sock.recv(4096) == frames.pack(Frame(frames.OK))
        done()
        forever()


@pytest.mark.attack("a reset in the same instant as the answer")
def test_a_reset_in_the_same_round_as_a_grant(server, store):
    sock = trusted_connection(server)
    sock.sendall(frames.pack(Frame(frames.GET, 10000, (b"late",))))
    while not any(peer.request for peer in list(server._peers.values())):
        pass
    _, go_on = pause(server)
    done = in_thread(store.set, "late", "1")
    # the thread must find the set first, and the reset in the same round
    peer = next(peer for peer in server._peers.values() if peer.request is None)
    while not socket_has_data(peer.sock):
        pass
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    sock.close()
    go_on.set()
    done()
    assert store.get("late") == b"1"


def socket_has_data(sock: socket.socket) -> bool:
    try:
        return bool(sock.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        (frames.SET, (b"a",)),
        (frames.SET, (b"a", b"1", b"b")),
        (frames.APPEND, (b"a",)),
        (frames.APPEND, ()),
        (frames.ADD, ()),
        (frames.ADD, (b"a", b"b")),
        (frames.DELETE, ()),
        (frames.DELETE, (b"a", b"b")),
        (frames.COMPARE_SET, (b"a",)),
        (frames.COMPARE_SET, (b"a", b"b", b"c", b"d")),
        (frames.NUM_KEYS, (b"a",)),
        (frames.ADD, (b"\xff",)),
        (frames.ADD, (b"long",)),
    ],
)
@pytest.mark.attack("a request with too many or too few fields")
def test_requests_that_make_no_sense_change_nothing(server, store, code, fields):
    store.multi_set([b"\xff", "long"], ["text", "9" * 5000])
    with trusted_connection(server) as sock:
        sock.sendall(frames.pack(Frame(code, 1, fields)))
        assert frames.unpack(sock.recv(4096)[4:]).code == frames.FAILED
        sock.sendall(frames.pack(Frame(frames.NUM_KEYS)))
        assert frames.unpack(sock.recv(4096)[4:]).number == 2


@pytest.mark.attack("half of a request, and then nothing")
def test_half_a_request_holds_up_nobody(server, store):
    with trusted_connection(server) as sock:
        sock.sendall(frames.pack(Frame(frames.SET, 0, (b"a", b"x" * 1000)))[:500])
        for i in range(20):
            assert store.add("n", 1) == i + 1
        assert not store.check(["a"])


@pytest.mark.attack("more strangers than there is room for")
def test_of_too_many_strangers_the_oldest_goes(monkeypatch, caplog):
    monkeypatch.setattr(store_server, "_MAX_STRANGERS", 4)
    with StoreServer(bind_listener(), TOKEN) as server:
        strangers = [raw_connection(server) for _ in range(8)]
        with connect(server) as store:
            store.set("a", "1")
        assert len(server._strangers) <= 4
        for sock in strangers[:4]:
            assert is_hung_up(sock)
            sock.close()
        for sock in strangers[4:]:
            sock.close()
    assert "4 strangers were there, and it was the first to come" in caplog.text


@pytest.mark.attack("a flood of strangers in the log")
def test_a_flood_of_strangers_is_not_one_of_lines(monkeypatch, caplog):
    monkeypatch.setattr(store_server, "_MAX_STRANGERS", 1)
    with StoreServer(bind_listener(), TOKEN) as server:
        for _ in range(50):
            with raw_connection(server) as sock:
                sock.sendall(b"\xff" * 64)
                assert is_hung_up(sock)
    lines = [line for line in caplog.text.splitlines() if "turned 127.0.0.1" in line]
    assert len(lines) == store_server._MAX_NOTES
    assert "30 more warnings like these were left out" in caplog.text


@pytest.mark.attack("more members than there is room for")
def test_members_are_bounded_too(server, store):
    server._max_members = 1
    with pytest.raises(
        CommError,
        match=rf"127.0.0.1:{server.port} has no room for another connection; raise `ulimit -n`",
    ):
        connect(server)
    store.set("a", "1")


@pytest.mark.attack("more values than there is room for")
def test_values_are_bounded_together(store, monkeypatch):
    monkeypatch.setattr(store_values, "MAX_VALUES_BYTES", 2000)
    store.set("a", "x" * 1000)
    for call, *arguments in (
        (store.set, "b", "x" * 1000),
        (store.append, "a", "x" * 1000),
        (store.compare_set, "b", "", "x" * 1000),
    ):
        with pytest.raises(UsageError, match="at most 2000 are allowed"):
            call(*arguments)
    with pytest.raises(UsageError, match="at most 2000 are allowed"):
        store.multi_set(["b", "c"], ["x", "x" * 1000])
    assert store.num_keys() == 1
    store.set("a", "x")
    store.set("b", "x" * 1000)
    assert store.delete_key("b")
    store.set("c", "x" * 1000)


@pytest.mark.attack("requests, and nobody who reads the replies")
def test_a_member_that_does_not_read_is_dropped(server, store):
    store.set("big", b"x" * (8 << 20))
    message = frames.pack(Frame(frames.GET, 1000, (b"big",)))
    with trusted_connection(server) as sock:
        for _ in range(3):
            try:
                sock.sendall(message)
            except ConnectionError:
                break
        while len(server._peers) > 1:  # all but ``store``'s
            pass
    assert len(store.get("big")) == 8 << 20


@pytest.mark.attack("a reply that nobody reads")
def test_a_reply_that_nobody_takes(server, store, monkeypatch):
    monkeypatch.setattr(store_server, "_SEND_S", 0.05)
    store.set("big", b"x" * (32 << 20))
    with trusted_connection(server) as sock:
        sock.sendall(frames.pack(Frame(frames.GET, 1000, (b"big",))))
        while len(server._peers) > 1:
            pass
    assert store.check(["big"])


@pytest.mark.attack("replies that are too large together")
def test_replies_that_wait_are_bounded_together(server, store, monkeypatch):
    monkeypatch.setattr(store_server, "_MAX_UNSENT_BYTES", 4 << 20)
    store.set("big", b"x" * (3 << 20))
    with pytest.raises(UsageError, match="readers that are too slow"):
        store.multi_get(["big", "big"])
    assert len(store.get("big")) == 3 << 20


def test_a_frame_of_too_many_fields(server, store, monkeypatch):
    message = frames.pack(Frame(frames.GET, 1000, (b"",) * 100))
    monkeypatch.setattr(frames, "MAX_FIELDS", 50)
    with pytest.raises(CommError, match="in 51 parts is too large"):
        store.multi_get(["a"] * 51)
    with trusted_connection(server) as sock:
        sock.sendall(message)
        assert is_hung_up(sock)
    store.set("a", "1")


# -- a server that fails or does not answer
# ---------------------------------------------------------------------


@pytest.mark.attack("the thread that serves the store dies")
def test_a_thread_that_dies_says_why(record_property):
    server = StoreServer(bind_listener(), TOKEN)
    server.check()
    with connect(server) as store:
        value = in_thread(store.get, "never")
        while not any(peer.request for peer in list(server._peers.values())):
            pass

        def fail(*_):
            raise ZeroDivisionError("a bug")

        server._answer = fail
        began = time.monotonic()
        with pytest.raises(CommError, match="has gone away"):
            store.set("a", "1")
        with pytest.raises(CommError, match="has gone away"):
            value()
        ready, _, _ = select.select([server.sentinel], [], [], 5)
        assert ready
        with pytest.raises(
            StoreFailed, match=rf"127.0.0.1:{server.port} failed: ZeroDivisionError\('a bug'\)"
        ):
            server.check()
        record_property("named_s", time.monotonic() - began)
    server.close()  # does not say it again
    server.close()


def test_a_failure_that_nobody_looked_at_comes_out_at_the_end():
    server = StoreServer(bind_listener(), TOKEN)

    def fail():
        raise ZeroDivisionError("a bug")

    server._expire = fail
    raw_connection(server).close()
    server._thread.join(5)
    with pytest.raises(StoreFailed, match="a bug"):
        server.close()


def test_a_rank_that_serves_the_store_names_the_reason():
    server = StoreServer(bind_listener(), TOKEN)
    store = ServedStore(server, "127.0.0.1", server.port, TOKEN, Deadline.after(5))

    def fail(*_):
        raise ZeroDivisionError("a bug")

    server._answer = fail
    with pytest.raises(StoreFailed, match="a bug"):
        store.set("a", "1")
    store.close()


@pytest.mark.attack("a server that takes connections and says nothing")
def test_a_server_that_says_nothing():
    with bind_listener() as listener:
        port = endpoint_of(listener).port
        began = time.monotonic()
        with pytest.raises(
            CollectiveTimeout,
            match=rf"127.0.0.1:{port} took the connection, but did not answer within 0.2 s",
        ):
            StoreClient("127.0.0.1", port, TOKEN, Deadline.after(0.2))
        assert time.monotonic() - began < 5


@pytest.mark.attack("a server that speaks one byte at a time")
def test_a_server_that_drips():
    with bind_listener() as listener:

        def drip():
            sock, _ = listener.accept()
            with sock, contextlib.suppress(OSError):
                for byte in frames.pack(Frame(frames.HELLO, 0, (b"c" * 32,))):
                    sock.sendall(bytes([byte]))
                    time.sleep(0.05)

        done = in_thread(drip)
        with pytest.raises(CollectiveTimeout, match=r"did not answer within 0\.3 s"):
            StoreClient("127.0.0.1", endpoint_of(listener).port, TOKEN, Deadline.after(0.3))
        done()


@pytest.mark.attack("a server that stops in the middle of a job")
def test_a_server_that_freezes(server, store, monkeypatch):
    monkeypatch.setattr(store_module, "_GRACE_S", 0.2)
    _, go_on = pause(server)
    try:
        for call in (
            lambda: store.set("a", "1"),
            lambda: store.wait(["a"], timedelta(milliseconds=50)),
        ):
            with pytest.raises(
                CommError, match=rf"127.0.0.1:{server.port} .*(does not|did not) answer"
            ):
                call()
    finally:
        go_on.set()


def test_a_member_that_is_hung_up_on_while_it_comes_tries_again(server, store):
    """As under a flood of strangers, which pushes those out that have not yet proved themselves."""
    usual, num_calls = server._examine, []

    def examine(peer, frame):
        num_calls.append(1)
        if len(num_calls) < 3:
            server._drop(peer)
        else:
            usual(peer, frame)

    server._examine = examine
    value = in_thread(store.get, "late")  # keeps the only connection busy
    while not any(peer.request for peer in list(server._peers.values())):
        pass
    store.set("late", "1")
    assert value() == b"1"
    assert len(num_calls) == 3


def test_a_forked_child_leaves_the_server_and_its_port_alone(server, store):
    release, hold = os.pipe()
    ready, tell = os.pipe()
    child = os.fork()
    if not child:
        try:
            server.close()
            store.close()
            os.close(hold)
            os.write(tell, b"x")
            os.read(release, 1)  # lives on until its parent is done
        finally:
            os._exit(0)
    try:
        os.read(ready, 1)
        store.set("key", "value")
        assert store.get("key") == b"value"
        port = server.port
        store.close()
        server.close()
        bind_listener("127.0.0.1", port).close()  # which the child does not keep
    finally:
        for end in (hold, release, ready, tell):
            os.close(end)
        assert os.waitpid(child, 0)[1] == 0


def test_a_forked_child_cannot_talk_as_its_parent(store):
    child = os.fork()
    if not child:
        try:
            store.set("key", "child")
        except CommError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert not store.check(["key"])


def test_a_client_that_meets_itself_tries_again(server, monkeypatch):
    usual = socket.create_connection
    met = []

    def create_connection(*args, **kwargs):
        if met:
            return usual(*args, **kwargs)
        sock = socket.socket()
        sock.bind(("127.0.0.1", 0))
        # what the kernel does when it chooses our end at the port we knock at
        sock.connect(sock.getsockname())
        met.append(sock)
        return sock

    monkeypatch.setattr(socket, "create_connection", create_connection)
    with connect(server) as store:
        store.set("key", "value")
    assert met[0].fileno() == -1
