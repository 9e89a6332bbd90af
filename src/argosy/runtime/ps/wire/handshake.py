"""How a client and a server show each other that both know the job's token, which never travels.

Before a server reads anything, the headers of a call must *knock*: a fresh challenge of the client,
the endpoint as the client knows it, and their keyed hash. A stranger gets no further. A knock that
was overheard opens nothing either, for then comes, in every stream, after its command::

    server -> client   {"challenge": hex}     fresh
    client -> server   {"proof": hex}         of "ps-client"
    server -> client   {"proof": hex}         of "ps-server"

A proof is the keyed hash of both challenges, the endpoint and the command (``wire`` has the bytes).
The endpoint is part of it, and the server checks that it is its own: who listens elsewhere cannot
pass the words on to it. Requests follow when the client has checked the server's proof, so whoever
has taken a server's port learns nothing.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

from argosy.foundation.errors import ServerUnavailable, UsageError
from argosy.runtime.comm.frames import CHALLENGE_BYTES, is_proof, prove
from argosy.runtime.ps.wire import messages
from argosy.runtime.ps.wire.segment import OfClient

KNOCK, ENDPOINT, CHALLENGE = "argosy-knock", "argosy-endpoint", "argosy-challenge"
BROKEN = (flight.FlightError, pa.ArrowException, OSError, StopIteration)
_PROOF_BYTES = hashlib.sha256().digest_size


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"\n".join(parts)).digest()


# -- client
# --------------------------------------------------------------------------------------------------


class Stream:
    """A stream to the server at ``endpoint``, of which nothing is sent before ``greet`` but its
    command.

    With ``timeout_s`` all of it, from the connection to its end, must be over by then.
    """

    def __init__(
        self,
        connection: Any,
        endpoint: str,
        token: str,
        command: dict[str, Any],
        timeout_s: float | None = None,
    ) -> None:
        self._endpoint, self._token = endpoint, token
        self._command = messages.encode(command)
        self._memory: OfClient | None = None
        self._challenge = secrets.token_bytes(CHALLENGE_BYTES)
        name = endpoint.encode()
        headers = {
            ENDPOINT: name,
            CHALLENGE: self._challenge.hex().encode(),
            KNOCK: prove(token, "ps-knock", (self._challenge, _digest(name))).hex().encode(),
        }
        options = flight.FlightCallOptions(
            timeout=timeout_s, headers=[(k.encode(), v) for k, v in headers.items()]
        )
        descriptor = flight.FlightDescriptor.for_command(self._command)
        try:
            self._writer, self._reader = connection.do_exchange(descriptor, options)
        except flight.FlightUnauthenticatedError as error:
            raise self._refused(error) from error

    def greet(self) -> None:
        """Prove to the server that this side knows the token, and have it prove the same; else the
        stream is closed.
        """
        try:
            is_known = self._exchange_proofs()
        except flight.FlightUnauthenticatedError as error:
            self.close()
            raise self._refused(error) from error
        except UsageError:  # words that are none of this protocol
            is_known = False
        except BROKEN:
            self.close()
            raise
        if not is_known:
            self.close()
            raise ServerUnavailable(
                f"what listens at {self._endpoint} does not know the job's token, so it is not a "
                "server of this job; it "
                "was sent nothing. See which process has the port (ss -ltnp), and whether "
                "ARGOSY_TOKEN is the same "
                "everywhere"
            )

    def _exchange_proofs(self) -> bool:
        """Whether the server's proof is right."""
        challenge = _bytes(self.receive()[1].get("challenge"), CHALLENGE_BYTES)
        both = (self._challenge, challenge, _digest(self._endpoint.encode(), self._command))
        self._writer.write_metadata(
            messages.encode({"proof": prove(self._token, "ps-client", both).hex()})
        )
        return is_proof(
            _bytes(self.receive()[1].get("proof"), _PROOF_BYTES), self._token, "ps-server", both
        )

    def _refused(self, error: Exception) -> ServerUnavailable:
        return ServerUnavailable(
            f"server {self._endpoint} refused this process: {_told(error)}. ARGOSY_TOKEN "
            "(inspect: --token_file) and the "
            "server's address must be the same in all processes of a job"
        )

    def begin(self, schema: pa.Schema) -> None:
        self._writer.begin(schema)

    def share_memory(self) -> None:
        """The server is on this host: offer it a segment for batches."""
        self._memory = OfClient()

    def send(self, batch: pa.RecordBatch | None, data: dict[str, Any]) -> None:
        if batch is not None and self._memory is not None:
            batch, data = self._memory.request(batch, data)
        if batch is None:
            self._writer.write_metadata(messages.encode(data))
        else:
            self._writer.write_with_metadata(batch, messages.encode(data))

    def receive(self) -> tuple[Any, dict[str, Any]]:
        """The next answer; its batch may be overwritten when the next request is sent."""
        chunk = self._reader.read_chunk()
        batch, data = chunk.data, messages.decode(chunk.app_metadata or b"{}")
        if self._memory is not None:
            batch = self._memory.answer(batch, data)
        return batch, data

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Greet, have one request answered, and close."""
        self.greet()
        try:
            self.send(None, request)
            return self.receive()[1]
        finally:
            self.close()

    def cancel(self) -> None:
        """End whatever waits in this stream; may be called by another thread."""
        self._reader.cancel()

    def close(self) -> None:
        """Let go of the stream at once, in whatever state it is."""
        if self._memory is not None:
            self._memory.close()
        self._reader.cancel()
        try:
            self._writer.close()
        except BROKEN:
            return  # it was cancelled: closing only keeps Arrow from complaining


def _bytes(text: Any, size: int) -> bytes:
    """The bytes that a hexadecimal text stands for; UsageError for anything else."""
    try:
        found = bytes.fromhex(text)
    except (TypeError, ValueError):
        found = b""
    if len(found) != size:
        raise UsageError(
            f"expected {size} bytes in hexadecimal digits, but received {str(text)[:80]!r}"
        )
    return found


def _told(error: Exception) -> str:
    """What the server said, without what gRPC adds."""
    text = str(error)
    text = text.partition("message: ")[2] or text
    return text.partition(". gRPC client")[0].partition(". Detail")[0]


# -- server
# --------------------------------------------------------------------------------------------------


class Knock(flight.ServerMiddleware):  # type: ignore[misc]
    """What the headers of a call said, after they were checked."""

    def __init__(self, endpoint: bytes, challenge: bytes) -> None:
        self.endpoint = endpoint
        self.challenge = challenge


def knocked(headers: dict[str, list[Any]], token: str) -> Knock | None:
    """Who knocks with these headers; None for a stranger."""
    endpoint, challenge, knock = (_header(headers, name) for name in (ENDPOINT, CHALLENGE, KNOCK))
    try:
        given, proof = _bytes(challenge, CHALLENGE_BYTES), _bytes(knock, _PROOF_BYTES)
    except UsageError:
        return None
    name = endpoint.encode()
    return (
        Knock(name, given) if is_proof(proof, token, "ps-knock", (given, _digest(name))) else None
    )


def _header(headers: dict[str, list[Any]], name: str) -> str:
    found = (headers.get(name) or [""])[0]
    return found.decode(errors="replace") if isinstance(found, bytes) else str(found)


def admit(knock: Knock, token: str, command: bytes, reader: Any, writer: Any) -> bool:
    """The server's part of the handshake; False for a peer that does not know the token."""
    challenge = secrets.token_bytes(CHALLENGE_BYTES)
    both = (knock.challenge, challenge, _digest(knock.endpoint, command))
    writer.write_metadata(messages.encode({"challenge": challenge.hex()}))
    try:
        told = messages.decode(reader.read_chunk().app_metadata or b"{}").get("proof")
        if not is_proof(_bytes(told, _PROOF_BYTES), token, "ps-client", both):
            return False
    except UsageError:
        return False
    writer.write_metadata(messages.encode({"proof": prove(token, "ps-server", both).hex()}))
    return True
