"""A client of a server made with nothing but Arrow Flight, which can also do it wrong."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import secrets

import pyarrow.flight as flight


def connect(port):
    return flight.connect(
        f"grpc://127.0.0.1:{port}", generic_options=[("grpc.max_send_message_length", -1)]
    )


def prove(token, role, *parts):
    return hmac.new(
        token.encode(), b"|".join([b"argosy-store", role, *parts]), hashlib.sha256
    ).hexdigest()


def knocking(endpoint, token, challenge, timeout_s=30.0):
    """Options of a call that knocks, or with no token one that does not."""
    headers = {}
    if token is not None:
        knock = prove(token, b"ps-knock", challenge, hashlib.sha256(endpoint.encode()).digest())
        headers = {
            "argosy-endpoint": endpoint,
            "argosy-challenge": challenge.hex(),
            "argosy-knock": knock,
        }
    return flight.FlightCallOptions(
        timeout=timeout_s, headers=[(k.encode(), v.encode()) for k, v in headers.items()]
    )


def command_of(op, table="", worker=0):
    subject = {"tables": [table]} if op == "step" else {"table": table}
    return json.dumps({"op": op, **subject, "worker": worker}).encode()


def told(reader):
    return json.loads(reader.read_chunk().app_metadata.to_pybytes())


@contextlib.contextmanager
def opened(port, token, command, endpoint=None):
    """Writer and reader of a stream that has been through its handshake."""
    endpoint = endpoint or f"127.0.0.1:{port}"
    mine = secrets.token_bytes(32)
    with connect(port) as client:
        descriptor = flight.FlightDescriptor.for_command(command)
        writer, reader = client.do_exchange(descriptor, knocking(endpoint, token, mine))
        try:
            theirs = bytes.fromhex(told(reader)["challenge"])
            parts = (mine, theirs, hashlib.sha256(endpoint.encode() + b"\n" + command).digest())
            writer.write_metadata(
                json.dumps({"proof": prove(token, b"ps-client", *parts)}).encode()
            )
            assert told(reader)["proof"] == prove(token, b"ps-server", *parts)
            yield writer, reader
        finally:
            reader.cancel()
            with contextlib.suppress(flight.FlightError):
                writer.close()
