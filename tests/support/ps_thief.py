"""Who has taken the port of a server: Flight services that write down all they are told, and try to
get more.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import threading

import pyarrow.flight as flight


class _Ears(flight.ServerMiddlewareFactory):
    def __init__(self, heard):
        self._heard = heard

    def start_call(self, info, headers):
        self._heard.append(repr(headers).encode())
        return _Call(headers)


class _Call(flight.ServerMiddleware):
    def __init__(self, headers):
        self.headers = headers


class Thief(flight.FlightServerBase):
    """Plays the server's part of the handshake as ``manner`` says; ``heard`` is all it was sent."""

    def __init__(self, manner):
        self.heard = []
        self._manner = manner
        self._has_ended = threading.Event()
        super().__init__("grpc://127.0.0.1:0", middleware={"ears": _Ears(self.heard)})

    @property
    def endpoint(self):
        return f"127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self._has_ended.set()
        self.shutdown()

    def do_exchange(self, context, descriptor, reader, writer):
        self.heard.append(descriptor.command)
        if self._manner == "says nothing":
            self._has_ended.wait(60)
        elif self._manner == "talks nonsense":
            writer.write_metadata(b"\xff[")
        elif self._manner == "has no proof":
            writer.write_metadata(json.dumps({"challenge": "00"}).encode())
        else:
            writer.write_metadata(json.dumps({"challenge": secrets.token_hex(32)}).encode())
            self._hear(reader)
            writer.write_metadata(json.dumps({"proof": secrets.token_hex(32)}).encode())
        with contextlib.suppress(StopIteration):
            while True:
                self._hear(reader)

    def _hear(self, reader):
        chunk = reader.read_chunk()
        self.heard.append(bytes(chunk.app_metadata or b""))
        if chunk.data is not None:
            self.heard.append(repr(chunk.data.to_pydict()).encode())

    def do_action(self, context, action):
        self.heard.append(action.body.to_pybytes())
        return iter([b"{}"])


class Relay(Thief):
    """Passes everything on to the server at ``port`` and back, with the headers that ``rewrite``
    makes of those it got.
    """

    def __init__(self, port, rewrite=lambda headers: headers):
        super().__init__("relays")
        self._behind = f"grpc://127.0.0.1:{port}"
        self._rewrite = rewrite
        self.answers = []

    def do_exchange(self, context, descriptor, reader, writer):
        headers = {
            k: v[0]
            for k, v in context.get_middleware("ears").headers.items()
            if k.startswith("argosy-")
        }
        named = [(k.encode(), v.encode()) for k, v in self._rewrite(headers).items()]
        with flight.connect(self._behind) as behind:
            options = flight.FlightCallOptions(timeout=20.0, headers=named)
            there, back = behind.do_exchange(descriptor, options)
            with contextlib.suppress(StopIteration):
                while True:
                    self.answers.append(bytes(back.read_chunk().app_metadata or b""))
                    writer.write_metadata(self.answers[-1])
                    self._hear(reader)
                    there.write_metadata(self.heard[-1])
