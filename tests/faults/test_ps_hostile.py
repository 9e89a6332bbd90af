"""Hostile bytes on a server's port: they are refused, and the server goes on."""

import json
import random
import socket
import ssl

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight
import pytest

from argosy.runtime.ps.dense_table import DenseSpec, Piece
from faults.seed import SEED
from unit.runtime.ps.test_service import SPEC, TOKEN, job

IDS = pa.array([1, 2])
ROWS = pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 6, pa.float32()), 3)
HEADER = {"sequence": 1}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A port, and a worker that has a sparse and a dense table behind it."""
    with job(tmp_path_factory.mktemp("server"), num_workers=1) as ([service], [client]):
        client.create_sparse(SPEC, "async")
        client.create_dense([DenseSpec("dense", (Piece("w", (4,), 0, 4),))], "async")
        stranger, options = connect(service.port)
        with stranger, pytest.raises(flight.FlightUnauthenticatedError):
            list(stranger.list_flights(b"", options))  # makes what Arrow keeps for the whole process
        yield service.port, client


@pytest.fixture
def port(served):
    """The port; afterwards the worker finds everything as it was."""
    found, client = served
    before = client.pull("emb", np.arange(4)).copy(), client.pull_dense("dense").copy()
    yield found
    for values, kept in zip((client.pull("emb", np.arange(4)), client.pull_dense("dense")), before, strict=True):
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
    "settings, then a frame of 16 MB that never comes": b"\0\0\0\4\0\0\0\0\0" + b"\xff\xff\xff\0\0\0\0\0\1",
    "headers that no table of HPACK knows": b"\0\0\0\4\0\0\0\0\0" + b"\0\0\4\1\5\0\0\0\1\xff\xff\xff\x7f",
    "resets of streams that were never opened": b"\0\0\0\4\0\0\0\0\0" + b"\0\0\4\3\0\0\0\0\3\0\0\0\0" * 500,
}


@pytest.mark.attack("random bytes on a server's port")
@pytest.mark.parametrize("payload", random_bytes(), ids=lambda p: f"{len(p)} bytes")
def test_noise(port, payload):
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


def connect(port, token=None):
    return flight.connect(f"grpc://127.0.0.1:{port}", generic_options=[("grpc.max_send_message_length", -1)]), (
        flight.FlightCallOptions(headers=[] if token is None else [(b"authorization", f"Bearer {token}".encode())])
    )


@pytest.mark.attack("calls to a server without the token")
@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x"])
def test_every_call_needs_the_token(port, token):
    client, options = connect(port, token)
    command = flight.FlightDescriptor.for_command(json.dumps({"op": "pull", "table": "emb", "worker": 0}).encode())
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
    client, options = connect(port, TOKEN)
    command = json.dumps({"op": op, "table": table, "worker": worker}).encode()
    with client:
        writer, reader = client.do_exchange(flight.FlightDescriptor.for_command(command), options)
        with writer:
            if columns is None:
                writer.write_metadata(header)
            else:
                batch = pa.record_batch(columns, names=names or [f"c{i}" for i in range(len(columns))])
                writer.begin(batch.schema)
                writer.write_with_metadata(batch, header)
            chunk = reader.read_chunk()
            return json.loads(chunk.app_metadata.to_pybytes())


BAD_REQUESTS = {
    "no columns": ("pull", None, {}),
    "ids are floats": ("pull", [pa.array([1.0, 2.0])], {}),
    "ids are 32 bits": ("pull", [pa.array([1, 2], pa.int32())], {}),
    "ids are words": ("pull", [pa.array(["a", "b"])], {}),
    "ids with a null": ("pull", [pa.array([1, None], pa.int64())], {}),
    "gradients are missing": ("push", [IDS], HEADER),
    "gradients of another dimension": ("push", [IDS, pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 4, pa.float32()), 2)], HEADER),
    "gradients of 64 bits": ("push", [IDS, pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 6), 3)], HEADER),
    "gradients in lists of any length": ("push", [IDS, pa.array([[1.0, 2.0, 3.0], [1.0]], pa.list_(pa.float32()))], HEADER),
    "a gradient is null": ("push", [IDS, pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 5 + [None], pa.float32()), 3)], HEADER),
    "shows are words": ("push", [IDS, ROWS, pa.array(["a", "b"]), pa.array(["a", "b"])], HEADER),
    "no sequence": ("push", [IDS, ROWS], {}),
    "a sequence of -1": ("push", [IDS, ROWS], {"sequence": -1}),
    "a sequence beyond 64 bits": ("push", [IDS, ROWS], {"sequence": 2**70}),
    "a learning rate that is a word": ("push", [IDS, ROWS], {**HEADER, "learning_rate": "fast"}),
    "a learning rate that is no number": ("push", [IDS, ROWS], {**HEADER, "learning_rate": float("nan")}),
    "fill of another dimension": ("fill", [IDS, pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 2, pa.float32()), 1)], {}),
    "too few dense values": ("push_dense", [pa.array([1.0], pa.float32())], HEADER),
    "dense values of 64 bits": ("push_dense", [pa.array([1.0] * 4)], HEADER),
    "dense values to fill with are missing": ("fill_dense", None, {}),
}  # fmt: skip


@pytest.mark.attack("requests of a wrong form to a server")
@pytest.mark.parametrize("request_", BAD_REQUESTS.values(), ids=BAD_REQUESTS.keys())
def test_a_request_of_another_form_is_refused(port, request_):
    op, columns, header = request_
    table = "dense" if op.endswith("dense") else "emb"
    answer = ask(port, op, columns, json.dumps(header).encode(), table)
    assert answer["error"] in ("UsageError", "TableError")
    assert "Traceback" not in answer["message"]


@pytest.mark.attack("a worker number that cannot be")
@pytest.mark.parametrize("worker", [-1, 1 << 16, 1 << 40])
def test_a_worker_that_cannot_be_is_refused(port, worker):
    for op, columns, table in (
        ("push", [IDS, ROWS], "emb"),
        ("push_dense", [pa.array([1.0] * 4, pa.float32())], "dense"),
    ):
        assert ask(port, op, columns, json.dumps(HEADER).encode(), table, worker)["error"] == "OutOfRange"


@pytest.mark.attack("request metadata that is no object")
@pytest.mark.parametrize("header", [b"", b"\xff\xfe", b"[1]", b"{", b'"x"' * 100000])
def test_metadata_that_is_no_object_is_refused(port, header):
    assert ask(port, "push", [IDS, ROWS], header)["error"] == "UsageError"


@pytest.mark.attack("streams for tables and operations that do not exist")
@pytest.mark.parametrize(
    ("op", "table", "worker", "error"),
    [("pull", "nobody", 0, "TableError"), ("destroy", "emb", 0, "UsageError"), ("pull", "dense", 0, "TableError"), ("pull", "emb", "x", "ValueError"), (None, None, None, "TableError")],
)  # fmt: skip
def test_a_stream_of_nothing_is_refused(port, op, table, worker, error):
    assert ask(port, op, [IDS], b"{}", table, worker)["error"] == error


@pytest.mark.attack("a stranger who claims to be a worker")
@pytest.mark.parametrize("worker", [1, -1, "x", None])
def test_a_stranger_is_not_present(port, worker):
    assert ask(port, "present", None, b"{}", "", worker)["error"] in ("OutOfRange", "ValueError", "TypeError")


@pytest.mark.attack("a stream without a command")
@pytest.mark.parametrize("command", [b"", b"[1]"])
def test_a_stream_that_cannot_be_opened_ends(port, command):
    client, options = connect(port, TOKEN)
    with client, pytest.raises(pa.ArrowException):
        client.do_exchange(flight.FlightDescriptor.for_command(command), options)[1].read_chunk()


@pytest.mark.attack("actions that make no sense")
@pytest.mark.parametrize(
    ("action", "body"),
    [("format_disk", b"{}"), ("create", b"{}"), ("applied", b'{"table": "nobody"}'), ("shrink", b'{"table": "dense"}'), ("status", b"\xff"), ("row", b'{"table": "emb", "id": "x"}'), ("load", b'{"path": "/nowhere", "server": 0, "num_servers": 1}')],
)  # fmt: skip
def test_an_action_that_makes_no_sense_is_refused(port, action, body):
    client, options = connect(port, TOKEN)
    with client:
        [answer] = client.do_action(flight.Action(action, body), options)
        assert "error" in json.loads(answer.body.to_pybytes())


@pytest.mark.attack("256 MB without the token")
def test_a_huge_message_without_the_token_is_not_taken_in(port):
    client, options = connect(port, "wrong")
    command = flight.FlightDescriptor.for_command(json.dumps({"op": "push", "table": "emb", "worker": 0}).encode())
    batch = pa.record_batch([pa.array(np.zeros(1 << 23))], names=["id"])  # 64 MB

    def flood():
        writer, reader = client.do_exchange(command, options)
        writer.begin(batch.schema)
        for _ in range(4):
            writer.write_batch(batch)
        reader.read_chunk()

    with client, pytest.raises(flight.FlightUnauthenticatedError):  # after a part of it, or all
        flood()
