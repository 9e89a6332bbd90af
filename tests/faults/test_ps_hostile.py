"""Hostile bytes on a server's port: they are refused, and the server goes on."""

import contextlib
import hashlib
import json
import random
import socket
import ssl
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight
import pytest

from argosy.foundation.errors import ServerUnavailable
from argosy.runtime.ps.tables.dense_table import DenseSpec, Piece
from argosy.runtime.ps.worker.client import Client
from support.ps_service import SPEC, TOKEN, in_threads, job, until_true
from support.ps_thief import Relay, Thief
from support.ps_wire import command_of, connect, knocking, opened, prove, told
from support.seed import SEED

IDS = pa.array([1, 2])
ROWS = pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 6, pa.float32()), 3)
FLAT = pa.array([1.0] * 4, pa.float32())


def header(**push):
    """What goes with a step that pushes to one table."""
    return {"pushes": [{"sequence": 1, **push}]}


def in_lists(*columns):
    """Columns as a step has them."""
    return [pa.ListArray.from_arrays([0, len(column)], column) for column in columns]


STEP = in_lists(IDS, ROWS)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A port, and a worker that has a sparse and a dense table behind it."""
    with job(tmp_path_factory.mktemp("server"), num_workers=1) as ([service], [client]):
        client.create_sparse(SPEC, "async")
        client.create_dense([DenseSpec("dense", (Piece("w", (4,), 0, 4),))], "async")
        with connect(service.port) as stranger, pytest.raises(flight.FlightUnauthenticatedError):
            list(stranger.list_flights(b""))  # makes what Arrow keeps for the whole process
        yield service.port, client


@pytest.fixture
def port(served):
    """The port; afterwards the worker finds everything as it was."""
    found, client = served
    before = client.pull("emb", np.arange(4)).copy(), client.pull_dense("dense").copy()
    yield found
    for values, kept in zip(
        (client.pull("emb", np.arange(4)), client.pull_dense("dense")), before, strict=True
    ):
        np.testing.assert_array_equal(values, kept)


def send(port, payload):
    """Send bytes; nobody may have answered them with data."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        try:
            connection.sendall(payload)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while part := connection.recv(1 << 16):
                answer += part
        except OSError:
            return  # cut off while we were still writing
    assert b"table" not in answer


def random_bytes():
    rng = random.Random(7 + SEED)
    return [rng.randbytes(size) for size in (1, 17, 4096, 1 << 20)]


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAMES = {
    "settings, then a frame of 16 MB that never comes": b"\0\0\0\4\0\0\0\0\0"
    + b"\xff\xff\xff\0\0\0\0\0\1",
    "headers that no table of HPACK knows": b"\0\0\0\4\0\0\0\0\0"
    + b"\0\0\4\1\5\0\0\0\1\xff\xff\xff\x7f",
    "resets of streams that were never opened": b"\0\0\0\4\0\0\0\0\0"
    + b"\0\0\4\3\0\0\0\0\3\0\0\0\0" * 500,
}


@pytest.mark.attack("random bytes on a server's port")
@pytest.mark.parametrize("payload", random_bytes(), ids=lambda p: f"{len(p)} bytes")
def test_random_bytes_do_not_disturb_the_job(port, payload):
    send(port, payload)


@pytest.mark.attack("broken HTTP/2 frames on a server's port")
@pytest.mark.parametrize("frames", FRAMES.values(), ids=FRAMES.keys())
def test_broken_http2(port, frames):
    send(port, PREFACE + frames)


@pytest.mark.attack("HTTP/1 and TLS on a server's port")
def test_http1_and_tls(port):
    send(port, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    context = ssl.create_default_context()
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as connection,
        pytest.raises((ssl.SSLError, OSError)),
    ):
        context.wrap_socket(connection, server_hostname="localhost")


@pytest.mark.attack("calls to a server without the token")
@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x"])
def test_every_call_needs_the_token(port, token):
    client, options = connect(port), knocking(f"127.0.0.1:{port}", token, bytes(32))
    command = flight.FlightDescriptor.for_command(command_of("pull", "emb"))
    calls = [
        lambda: list(client.do_action(flight.Action("status", b"{}"), options)),
        lambda: list(client.list_flights(b"", options)),
        lambda: client.get_flight_info(command, options),
        lambda: client.do_exchange(command, options)[1].read_chunk(),
        lambda: client.do_get(flight.Ticket(b"x"), options),
    ]
    with client:
        for call in calls:
            with pytest.raises(flight.FlightUnauthenticatedError):
                call()


def ask(port, op, columns, header, table="emb", worker=0, names=None):
    """The answer to one request of an exchange, made with nothing but Arrow Flight."""
    with opened(port, TOKEN, command_of(op, table, worker)) as (writer, reader):
        if columns is None:
            writer.write_metadata(header)
        else:
            batch = pa.record_batch(columns, names=names or [f"c{i}" for i in range(len(columns))])
            writer.begin(batch.schema)
            writer.write_with_metadata(batch, header)
        return told(reader)


BAD_REQUESTS = {
    "no columns": ("pull", None, {}),
    "ids are floats": ("pull", [pa.array([1.0, 2.0])], {}),
    "ids are 32 bits": ("pull", [pa.array([1, 2], pa.int32())], {}),
    "ids are words": ("pull", [pa.array(["a", "b"])], {}),
    "ids with a null": ("pull", [pa.array([1, None], pa.int64())], {}),
    "a step without columns": ("step", None, header()),
    "a step of two rows": ("step", [IDS, ROWS], header()),
    "a step without lists": ("step", [IDS[:1], ROWS[:1]], header()),
    "a step whose lists are null": ("step",
    [pa.array([None], pa.list_(pa.int64())), in_lists(ROWS)[0]], header()),
    "gradients are missing": ("step", in_lists(IDS), header()),
    "fewer gradients than ids": ("step", in_lists(IDS, ROWS[:1]), header()),
    "gradients of another dimension": ("step", in_lists(IDS,
    pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 4, pa.float32()), 2)), header()),
    "gradients of 64 bits": ("step",
    in_lists(IDS, pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 6), 3)), header()),
    "gradients in lists of any length": ("step", in_lists(IDS,
    pa.array([[1.0, 2.0, 3.0], [1.0]], pa.list_(pa.float32()))), header()),
    "a gradient is null": ("step", in_lists(IDS,
    pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 5 + [None], pa.float32()), 3)), header()),
    "shows for a table without": ("step",
    in_lists(IDS, ROWS, pa.array(["a", "b"]), pa.array(["a", "b"])), header()),
    "no pushes": ("step", STEP, {}),
    "pushes for two tables": ("step", STEP, {"pushes": [{"sequence": 1}, {"sequence": 1}]}),
    "a push that is no object": ("step", STEP, {"pushes": [1]}),
    "no sequence": ("step", STEP, {"pushes": [{}]}),
    "a sequence of -1": ("step", STEP, header(sequence=-1)),
    "a sequence beyond 64 bits": ("step", STEP, header(sequence=2**70)),
    "a learning rate that is a word": ("step", STEP, header(learning_rate="fast")),
    "a learning rate that is no number": ("step", STEP, header(learning_rate=float("nan"))),
    "fill of another dimension": ("fill",
    [IDS, pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 2, pa.float32()), 1)], {}),
    "too few dense values": ("step dense", in_lists(FLAT[:1]), header()),
    "dense values of 64 bits": ("step dense", in_lists(pa.array([1.0] * 4)), header()),
    "dense values to fill with are missing": ("fill_dense", None, {}),
}  # fmt: skip


@pytest.mark.attack("requests of a wrong form to a server")
@pytest.mark.parametrize("request_", BAD_REQUESTS.values(), ids=BAD_REQUESTS.keys())
def test_a_request_of_another_form_is_refused(port, request_):
    op, columns, told_with = request_
    table = "dense" if op.endswith("dense") else "emb"
    answer = ask(port, op.split()[0], columns, json.dumps(told_with).encode(), table)
    assert answer["error"] in ("UsageError", "TableError")
    assert "Traceback" not in answer["message"]


@pytest.mark.attack("a worker number that cannot be")
@pytest.mark.parametrize("worker", [-1, 1 << 16, 1 << 40])
def test_a_worker_that_cannot_be_is_refused(port, worker):
    for columns, table in ((STEP, "emb"), (in_lists(FLAT), "dense")):
        answer = ask(port, "step", columns, json.dumps(header()).encode(), table, worker)
        assert answer["error"] == "OutOfRange"


@pytest.mark.attack("a step whose tables are no list, are none, or are twice the same")
@pytest.mark.parametrize("tables", ["emb", None, [], ["emb", "emb"], ["nobody"], [["emb"]]])
def test_a_step_of_tables_that_cannot_be_is_refused(port, tables):
    command = json.dumps({"op": "step", "tables": tables, "worker": 0}).encode()
    with opened(port, TOKEN, command) as (writer, reader):
        writer.write_metadata(json.dumps(header()).encode())
        assert told(reader)["error"] in ("UsageError", "TableError")


@pytest.mark.attack("a step that is wrong in its last table")
def test_a_step_that_is_refused_changes_none_of_its_tables(port):
    command = json.dumps({"op": "step", "tables": ["emb", "dense"], "worker": 0}).encode()
    batch = pa.record_batch(in_lists(IDS, ROWS, FLAT[:1]), names=["id", "value", "dense"])
    with opened(port, TOKEN, command) as (writer, reader):
        writer.begin(batch.schema)
        pushes = {"pushes": [{"sequence": 1}, {"sequence": 1}]}
        writer.write_with_metadata(batch, json.dumps(pushes).encode())
        assert told(reader)["error"] == "TableError"


@pytest.mark.attack("request metadata that is no object")
@pytest.mark.parametrize("header", [b"", b"\xff\xfe", b"[1]", b"{", b'"x"' * 100000])
def test_metadata_that_is_no_object_is_refused(port, header):
    assert ask(port, "step", STEP, header)["error"] == "UsageError"


@pytest.mark.attack("streams for tables and operations that do not exist")
@pytest.mark.parametrize(
    ("op", "table", "worker", "error"),
    [("pull", "nobody", 0, "TableError"), ("destroy", "emb", 0, "UsageError"),
    ("pull", "dense", 0, "TableError"), ("pull", "emb", "x", "ValueError"),
    (None, None, None, "TableError")],
)  # fmt: skip
def test_a_stream_of_nothing_is_refused(port, op, table, worker, error):
    assert ask(port, op, [IDS], b"{}", table, worker)["error"] == error


@pytest.mark.attack("a stranger who claims to be a worker")
@pytest.mark.parametrize("worker", [1, -1, "x", None])
def test_a_stranger_is_not_present(port, worker):
    assert ask(port, "present", None, b"{}", "", worker)["error"] in (
        "OutOfRange",
        "ValueError",
        "TypeError",
    )


@pytest.mark.attack("a stream without a command")
@pytest.mark.parametrize("command", [b"", b"[1]"])
def test_a_stream_that_cannot_be_opened_ends(port, command):
    with pytest.raises(pa.ArrowException), opened(port, TOKEN, command) as (_, reader):
        reader.read_chunk()


@pytest.mark.attack("actions that make no sense")
@pytest.mark.parametrize(
    ("action", "body"),
    [("format_disk", b"{}"), ("create", b"{}"), ("applied", b'{"table": "nobody"}'),
    ("shrink", b'{"table": "dense"}'), ("status", b"\xff"),
    ("row", b'{"table": "emb", "id": "x"}'),
    ("load", b'{"path": "/nowhere", "server": 0, "num_servers": 1}')],
)  # fmt: skip
def test_an_action_that_makes_no_sense_is_refused(port, action, body):
    request = b'{"action": ' + json.dumps(action).encode() + b', "body": ' + body + b"}"
    assert "error" in ask(port, "act", None, request)


@pytest.mark.parametrize(
    "request_", [b"{}", b'{"action": 7}', b'{"action": "status", "body": [1]}']
)
def test_a_request_to_act_of_another_form_is_refused(port, request_):
    assert ask(port, "act", None, request_)["error"] == "UsageError"


@pytest.mark.attack("256 MB without the token")
def test_a_huge_message_without_the_token_is_not_taken_in(port):
    client, options = connect(port), knocking(f"127.0.0.1:{port}", "wrong", bytes(32))
    command = flight.FlightDescriptor.for_command(command_of("step", "emb"))
    batch = pa.record_batch([pa.array(np.zeros(1 << 23))], names=["id"])  # 64 MB

    def flood():
        writer, reader = client.do_exchange(command, options)
        writer.begin(batch.schema)
        for _ in range(4):
            writer.write_batch(batch)
        reader.read_chunk()

    with client, pytest.raises(flight.FlightUnauthenticatedError):  # after a part of it, or all
        flood()


# -- who has the port, and who listens in
# ---------------------------------------------------------------------------

GRADS = np.full((1, 3), 424242.0, np.float32)


def push_to(endpoint, token=TOKEN, timeout_s=2.0):
    """What a worker does that takes ``endpoint`` for its server; the error it ends with."""
    with Client([endpoint], 0, token, timeout_s) as worker:

        def train():
            worker.join()
            worker.create_sparse(SPEC, "async")
            worker.push("emb", np.array([171717]), GRADS)

        with pytest.raises(ServerUnavailable) as raised:
            train()
    return str(raised.value)


@pytest.mark.attack("Another process has a server's port and speaks its protocol")
@pytest.mark.parametrize(
    "manner", ["says nothing", "talks nonsense", "has no proof", "makes proofs up"]
)
def test_a_thief_of_the_port_is_told_nothing(manner, record_property):
    with Thief(manner) as thief:
        begin = time.monotonic()
        message = push_to(thief.endpoint)
        record_property("named_s", time.monotonic() - begin)
        assert thief.endpoint in message
        assert (
            "did not answer" if manner == "says nothing" else "is not a server of this job"
        ) in message
        heard = b"\n".join(thief.heard)
    assert heard
    for secret in (TOKEN.encode(), b"424242", b"171717", b"emb"):
        assert secret not in heard


@pytest.mark.attack("Another process has a server's port and does not even speak HTTP")
def test_a_listener_that_says_nothing_is_told_nothing(record_property):
    heard = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def listen():
            with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
                while True:
                    taken = stack.enter_context(listener.accept()[0])
                    taken.settimeout(0.5)
                    with contextlib.suppress(TimeoutError):
                        heard.extend(taken.recv(1 << 16))

        thread = threading.Thread(target=listen, name="thief")
        thread.start()
        begin = time.monotonic()
        message = push_to(f"127.0.0.1:{listener.getsockname()[1]}", timeout_s=1.0)
        record_property("named_s", time.monotonic() - begin)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)
    assert "did not answer for 1 s" in message
    assert heard
    assert TOKEN.encode() not in heard


@pytest.mark.attack("An address that swallows what is sent to it, as a host that is switched off")
def test_connecting_to_an_address_that_drops_packets_ends(record_property):
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        # the queue of a listener that takes nobody in: the kernel drops what comes after
        for _ in range(2):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(address)
        begin = time.monotonic()
        assert "did not answer for 1 s" in push_to(f"127.0.0.1:{address[1]}", timeout_s=1.0)
        record_property("named_s", time.monotonic() - begin)
        assert time.monotonic() - begin < 15.0


@pytest.mark.attack("A process between worker and server passes the handshake on")
@pytest.mark.parametrize("is_rewritten", [False, True])
def test_a_relay_is_refused(port, is_rewritten):
    real = f"127.0.0.1:{port}"
    with Relay(port, lambda h: {**h, "argosy-endpoint": real} if is_rewritten else h) as relay:
        message = push_to(relay.endpoint)
        assert f"server {relay.endpoint} refused this process" in message
        assert not any(b"proof" in answer for answer in relay.answers)
        assert not any(b"424242" in words for words in relay.heard)


@pytest.mark.attack("An overheard handshake is played again")
def test_a_handshake_that_is_played_again_is_refused(port):
    endpoint, command, mine = f"127.0.0.1:{port}", command_of("act"), bytes(range(32))
    descriptor = flight.FlightDescriptor.for_command(command)
    digest = hashlib.sha256(endpoint.encode() + b"\n" + command).digest()
    proof = None
    for is_first in (True, False):
        with connect(port) as client:
            writer, reader = client.do_exchange(descriptor, knocking(endpoint, TOKEN, mine))
            theirs = bytes.fromhex(told(reader)["challenge"])
            proof = (
                proof
                or json.dumps({"proof": prove(TOKEN, b"ps-client", mine, theirs, digest)}).encode()
            )
            writer.write_metadata(proof)
            if is_first:
                assert set(told(reader)) == {"proof"}
                reader.cancel()
            else:
                with pytest.raises(flight.FlightUnauthenticatedError, match="proof"):
                    reader.read_chunk()
            with contextlib.suppress(flight.FlightError):
                writer.close()


@pytest.mark.attack("A proof of another operation, or of the other side")
@pytest.mark.parametrize(
    ("role", "op"), [(b"ps-client", "ping"), (b"ps-server", "act"), (b"ps-knock", "act")]
)
def test_a_proof_is_good_for_one_thing(port, role, op, caplog):
    endpoint, command, mine = f"127.0.0.1:{port}", command_of("act"), bytes(32)
    with connect(port) as client:
        descriptor = flight.FlightDescriptor.for_command(command)
        writer, reader = client.do_exchange(descriptor, knocking(endpoint, TOKEN, mine))
        digest = hashlib.sha256(endpoint.encode() + b"\n" + command_of(op)).digest()
        proof = prove(TOKEN, role, mine, bytes.fromhex(told(reader)["challenge"]), digest)
        writer.write_metadata(json.dumps({"proof": proof}).encode())
        with pytest.raises(flight.FlightUnauthenticatedError):
            reader.read_chunk()
        with contextlib.suppress(flight.FlightError):
            writer.close()
    assert "refused a stream of ipv4:127.0.0.1:" in caplog.text


def test_calls_that_are_no_stream_are_not_served_to_anybody(port):
    options = knocking(f"127.0.0.1:{port}", TOKEN, bytes(32))
    with connect(port) as client:
        for call in (
            lambda: list(client.do_action(flight.Action("status", b"{}"), options)),
            lambda: client.do_get(flight.Ticket(b"emb"), options).read_all(),
            lambda: list(client.list_flights(b"", options)),
            lambda: client.get_flight_info(flight.FlightDescriptor.for_path("emb"), options),
        ):
            with pytest.raises((flight.FlightError, NotImplementedError)):
                call()


# -- crowds
# --------------------------------------------------------------------------------------------------


def is_cut(connection):
    """Whether the other side has ended a connection; what it sent before is read."""
    try:
        while connection.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def open_without_proof(port, stack, num_streams):
    """Streams that have knocked, as one can who has overheard a knock, and then say nothing."""
    client = stack.enter_context(connect(port))
    descriptor = flight.FlightDescriptor.for_command(command_of("pull", "emb"))
    streams = []
    for _ in range(num_streams):
        try:
            streams.append(
                client.do_exchange(
                    descriptor, knocking(f"127.0.0.1:{port}", TOKEN, bytes(32), 60.0)
                )
            )
        except flight.FlightError:
            break  # cut already, for there are too many
    return streams


def ends_of(streams):
    """Wait until the server has ended the streams."""
    for writer, reader in streams:
        with pytest.raises(flight.FlightError):
            all(iter(reader.read_chunk, None))
        with contextlib.suppress(flight.FlightError):
            writer.close()


@pytest.mark.attack("1,000 silent connections to a server and 200 streams without a proof")
def test_a_crowd_of_strangers_does_not_stop_a_job(tmp_path, record_property):
    steps = 60
    with job(tmp_path, num_workers=2) as ([service], clients), contextlib.ExitStack() as crowd:
        for client in clients:
            client.create_sparse(SPEC, "sync")
        before = clients[0].pull("emb", np.arange(4)).copy()
        silent = [
            crowd.enter_context(socket.create_connection(("127.0.0.1", service.port), 10))
            for _ in range(1000)
        ]
        begin = time.monotonic()
        streams = [s for _ in range(4) for s in open_without_proof(service.port, crowd, 50)]

        def train(client):
            for _ in range(steps):
                client.push("emb", np.arange(4), np.full((4, 3), 1.0, np.float32), 0.5)

        late = crowd.enter_context(Client([f"127.0.0.1:{service.port}"], 0, TOKEN, 20.0))
        # who comes now gets in
        assert late.act("applied", {"table": "emb", "worker": 0}) == [{"applied": 0}]
        assert in_threads([lambda c=c: train(c) for c in clients]) == [None, None]
        after = clients[1].pull("emb", np.arange(4))
        np.testing.assert_allclose(after, before - 0.5 * steps, rtol=1e-4)
        for connection in silent:
            connection.setblocking(False)
        until_true(lambda: all(map(is_cut, silent)), 15.0)
        ends_of(streams)
        record_property("named_s", time.monotonic() - begin)
        assert clients[0].act("rows_filled", {"table": "emb"})
