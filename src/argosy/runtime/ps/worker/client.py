"""The worker's side of the wire: one client for all servers of the job.

Streams are kept open, one per server, operation and table, or tables of a step; a request is
written to all servers before the first answer is read. When a server breaks off, the client
connects again until ``timeout_s`` is over and repeats what was not answered: pulls may be repeated,
and pushes carry a number by which the server knows them. A server that stands but has answered
nothing for ``patience_s`` is an error. Not thread-safe: each thread that talks makes its own. Only
``interrupt`` may be called by others.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.flight as flight

from argosy.foundation.account import account
from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import Endpoint, parse
from argosy.foundation.errors import PsError, ServerUnavailable
from argosy.foundation.faultpoint import reach
from argosy.foundation.files import replace_folder
from argosy.foundation.progress import progress
from argosy.foundation.trace import trace
from argosy.runtime.ps.server import checkpoint
from argosy.runtime.ps.tables import hashing
from argosy.runtime.ps.tables import rows as loops
from argosy.runtime.ps.tables.dense_table import DenseSpec
from argosy.runtime.ps.tables.spec import SparseSpec
from argosy.runtime.ps.wire import messages, sockets, traced
from argosy.runtime.ps.wire.handshake import BROKEN, Stream
from argosy.runtime.ps.wire.pulse import PATIENCE_S, Pulse
from argosy.runtime.ps.worker.steps import Fresh, Push, Shape, fresh, requests

log = logging.getLogger("argosy.ps")

_AGAIN_S = 0.05
_GREET_S = 10.0  # what a server that has just been connected to may take to prove itself
_FILL_ROWS = 1 << 16
_CHANNEL = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # a server that was started again is found at once: gRPC would share a broken connection between
    # clients and wait a second and more
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 500),
]


Subject: TypeAlias = str | tuple[str, ...]  # the table of a stream, or the tables of its steps


class _Server:
    """The connection to one server: its client and its open streams."""

    def __init__(
        self,
        number: int,
        endpoint: str,
        worker: int,
        token: str,
        tls_root: bytes | None,
        pulse: Pulse,
        greet_s: float,
    ) -> None:
        self.name = f"server {number} ({endpoint})"  # for people
        self.endpoint = endpoint
        self._worker = worker
        self._token = token
        self._pulse = pulse
        self._greet_s = greet_s
        self._scheme = "grpc" if tls_root is None else "grpc+tls"
        self._options: dict[str, Any] = {"generic_options": _CHANNEL}
        if tls_root is not None:
            self._options["tls_root_certs"] = tls_root
        self._client: Any = None
        self.has_joined = False
        self._port = 0  # of this side of the connection
        self._is_here = False  # whether both sides have one address
        self._places: frozenset[Endpoint] = frozenset()
        self._streams: dict[tuple[str, Subject], Stream] = {}
        # the last ping's; cancelling one that has ended does nothing
        self._pings_in: Stream | None = None
        self._waits_in: Stream | None = None  # changes only before a wait, or from None during it

    @property
    def is_connected(self) -> bool:
        return self._client is not None

    def connection(self) -> Any:
        """The connection to a server that has proved itself in it."""
        if self._client is None:
            self._pulse.check(self)
            client = flight.connect(f"{self._scheme}://{self.endpoint}", **self._options)
            answer = Stream(
                client, self.endpoint, self._token, self._command("ping", ""), self._greet_s
            ).ask({})
            self._client = client
            here = parse(str(answer.get("peer")), "the server's answer to a ping")
            self._port = here.port
            self._places = sockets.addresses(self.endpoint)
            self._is_here = here.host in {place.host for place in self._places}
            self.tend()
        return self._client

    def stream(self, op: str, table: Subject, schema: pa.Schema | None) -> Stream:
        found = self._streams.get((op, table))
        if found is None:
            if self.has_joined and op != "present":
                self.present()  # the connection that showed it may have broken
            connection, self._waits_in = self.connection(), None
            with self._pulse.during(self, op, table):
                found = self._waits_in = Stream(
                    connection, self.endpoint, self._token, self._command(op, table)
                )
                found.greet()
            self._streams[op, table] = found
            if schema is not None:
                found.begin(schema)
                if self._is_here:
                    found.share_memory()
        return found

    def _command(self, op: str, table: Subject) -> dict[str, Any]:
        subject = {"table": table} if isinstance(table, str) else {"tables": table}
        return {"op": op, **subject, "worker": self._worker}

    def present(self) -> None:
        """Show the server that this worker is there, as long as the connection lasts; returns when
        it has taken note.
        """
        if ("present", "") not in self._streams:
            self.stream("present", "", None)
            messages.check(self.receive("present", "")[1], self.endpoint)
            self.has_joined = True

    def send(
        self, op: str, table: Subject, batch: pa.RecordBatch | None, data: dict[str, Any]
    ) -> None:
        stream = self._waits_in = self.stream(op, table, None if batch is None else batch.schema)
        with self._pulse.during(self, op, table):
            stream.send(batch, data)

    def receive(self, op: str, table: Subject) -> tuple[Any, dict[str, Any]]:
        stream = self._waits_in = self._streams[op, table]
        with self._pulse.during(self, op, table):
            return stream.receive()

    def give_up(self, op: str, table: Subject) -> None:
        """Forget a stream with an answer that nobody will read."""
        found = self._streams.pop((op, table), None)
        if found is not None:
            found.close()

    def act(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            self.send("act", "", None, {"action": name, "body": body})
            _, answer = self.receive("act", "")
        except BaseException:
            self.give_up("act", "")  # or the next request would get the answer to this one
            raise
        return messages.check(answer, self.endpoint)

    def drop(self) -> None:
        """Forget a connection that broke."""
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            stream.close()
        client, self._client = self._client, None
        if self._pings_in is not None:
            self._pings_in.cancel()
        if client is not None:
            client.close()

    # -- for the pulse, in its threads
    # ----------------------------------------------------------------------------

    def ping(self, timeout_s: float) -> None:
        client = self._client
        if client is not None:
            self._pings_in = Stream(
                client, self.endpoint, self._token, self._command("ping", ""), timeout_s
            )
            self._pings_in.ask({})

    def tend(self) -> None:
        sockets.tend(sockets.outgoing(self._port, self._places))

    def place(self, op: str, table: Subject) -> str:
        # saving and loading take as long as there are rows
        return "" if op == "act" else _place(op, table, self.name)

    def end(self) -> None:
        """Wake the call that waits for this server."""
        stream = self._waits_in
        if stream is not None:
            stream.cancel()
        # nothing else ends a stream that is being opened, or a write that the kernel does not take
        for connection in sockets.outgoing(self._port, self._places):
            connection.cut()


class Client:
    """Talks to the servers at ``endpoints`` as worker number ``worker``."""

    def __init__(
        self,
        endpoints: Sequence[str],
        worker: int,
        token: str,
        timeout_s: float = 60.0,
        tls_root: bytes | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.worker = worker
        self._timeout_s = timeout_s
        self._pulse = Pulse(patience_s)
        greet_s = min(_GREET_S, max(1.0, timeout_s))
        self._servers = [
            _Server(
                number,
                str(parse(endpoint, "Client: endpoints")),
                worker,
                token,
                tls_root,
                self._pulse,
                greet_s,
            )
            for number, endpoint in enumerate(endpoints)
        ]
        self._dim_by_table: dict[str, int] = {}
        self._sequence_by_table: dict[str, int] = {}
        self._counts: set[str] = set()  # tables that keep shows and clicks
        self._told: set[str] = set()  # tables that tell what other workers changed
        self._dense_sizes: dict[str, list[int]] = {}

    @property
    def num_servers(self) -> int:
        return len(self._servers)

    # -- life
    # ----------------------------------------------------------------------------------------------

    def join(self) -> None:
        """Wait for every server and tell it that this worker is there; it notices when the worker
        goes.
        """
        for server in self._servers:
            self._persist(server, lambda s: s.present(), "present")

    def leave(self) -> None:
        """Say goodbye: servers end when all workers have. One that does not answer is an error,
        after the others have heard it.
        """
        failed: list[ServerUnavailable] = []
        for server in self._servers:
            try:
                self._act(server, "stop", {"worker": self.worker})
            except ServerUnavailable as error:
                failed.append(error)
        if failed:
            raise failed[0]

    def interrupt(self) -> None:
        """End the call that waits in another thread, and all to come, with ServerUnavailable, until
        ``close``.
        """
        self._pulse.interrupt()

    def close(self) -> None:
        for server in self._servers:
            server.drop()
        self._pulse.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # -- tables
    # ----------------------------------------------------------------------------------------------

    def create_sparse(self, spec: SparseSpec, mode: str) -> None:
        """Make a sparse table on all servers, or find it there."""
        for server in self._servers:
            self._act(server, "create", {"kind": "sparse", "spec": spec.to_json(), "mode": mode})
        self._dim_by_table[spec.name] = spec.dim
        if spec.show_click is not None:
            self._counts.add(spec.name)
        if mode == "geo":
            self._told.add(spec.name)
        self._resume(spec.name)

    def create_dense(self, specs: Sequence[DenseSpec], mode: str) -> None:
        """Make a dense table, of which each server holds the part that its spec describes."""
        for server, spec in zip(self._servers, specs, strict=True):
            self._act(server, "create", {"kind": "dense", "spec": spec.to_json(), "mode": mode})
        self._dense_sizes[specs[0].name] = [sum(p.numel for p in spec.pieces) for spec in specs]
        self._resume(specs[0].name)

    def _resume(self, table: str) -> None:
        """Go on counting pushes where the servers are; after a worker's restart that is not 0."""
        self._sequence_by_table[table] = max(self.applied(table))

    def applied(self, table: str) -> list[int]:
        """The number of this worker's last push to ``table`` that was applied, by server: not all
        need have the last one.
        """
        return [
            answer["applied"]
            for answer in self.act("applied", {"table": table, "worker": self.worker})
        ]

    def go_on_from(self, sequences: Mapping[str, int]) -> None:
        """Give the next push to each table the number after this one; servers that have it already
        know it by that.
        """
        self._sequence_by_table.update(sequences)

    def sequences(self) -> dict[str, int]:
        """The number of the last push to each table."""
        return dict(self._sequence_by_table)

    def knowing(self, other: Client) -> Client:
        """Take over what another client knows of the tables. Only one of the two may push to a
        table.
        """
        self._dim_by_table.update(other._dim_by_table)
        self._sequence_by_table.update(other._sequence_by_table)
        self._counts |= other._counts
        self._told |= other._told
        self._dense_sizes.update(other._dense_sizes)
        return self

    def sequence(self, table: str) -> int:
        """How many pushes this worker has made to ``table``; steps in sync mode."""
        return self._sequence_by_table[table]

    # -- sparse
    # ----------------------------------------------------------------------------------------------

    def pull(
        self, table: str, ids: npt.NDArray[np.int64], creates: bool = True
    ) -> npt.NDArray[np.float32]:
        """The rows of ``ids``, best all different, in memory of their own."""
        ids = messages.as_ids(ids)
        out = np.empty((ids.shape[0], self._dim_by_table[table]), np.float32)
        if self.num_servers == 1:
            [(batch, _)] = self._exchange("pull", table, [_ids(ids)], [{"creates": creates}])
            out[:] = messages.rows_of(batch.column(0))
            return out
        order, starts = hashing.split_by_server(ids, self.num_servers)
        parts = [order[starts[s] : starts[s + 1]] for s in range(self.num_servers)]
        headers = [{"creates": creates}] * self.num_servers
        answers = self._exchange("pull", table, [_ids(ids[part]) for part in parts], headers)
        for part, (batch, _) in zip(parts, answers, strict=True):
            loops.scatter(out, part, messages.rows_of(batch.column(0)))
        return out

    def step(self, pushes: Sequence[Push]) -> Fresh:
        """Push to several tables in one exchange with every server; what comes back of them."""
        shape = Shape(self._dense_sizes, frozenset(self._counts), frozenset(self._told))
        batches = requests(pushes, shape, self.num_servers)
        headers = []
        for push in pushes:
            self._sequence_by_table[push.table] += 1
            number = self._sequence_by_table[push.table]
            headers.append({"sequence": number, "learning_rate": push.learning_rate})
        tables = tuple(push.table for push in pushes)
        data = [{"pushes": headers}] * self.num_servers
        answers = self._exchange("step", tables, batches, data)
        return fresh(pushes, shape, [batch for batch, _ in answers])

    def push(
        self,
        table: str,
        ids: npt.NDArray[np.int64],
        grads: npt.NDArray[np.float32],
        learning_rate: float | None = None,
        shows: npt.NDArray[np.float32] | None = None,
        clicks: npt.NDArray[np.float32] | None = None,
    ) -> None:
        """A step with one sparse table."""
        self.step([Push(table, grads, learning_rate, ids, shows, clicks)])

    def fill_rows(
        self, table: str, ids: npt.NDArray[np.int64], values: npt.NDArray[np.float32]
    ) -> None:
        """Replace the values of rows, made if they are missing, in parts; then mark the table as
        filled. Nothing happens if it is filled already.
        """
        if all(a["is_filled"] for a in self.act("rows_filled", {"table": table})):
            return
        ids = messages.as_ids(ids)
        order, starts = hashing.split_by_server(ids, self.num_servers)
        schema = messages.rows_schema(values.shape[1])
        parts = [order[starts[s] : starts[s + 1]] for s in range(self.num_servers)]
        for low in range(0, max(map(len, parts)), _FILL_ROWS):
            chosen = [part[low : low + _FILL_ROWS] for part in parts]
            batches = [
                pa.record_batch([pa.array(ids[c]), messages.rows_array(values[c])], schema=schema)
                for c in chosen
            ]
            self._exchange("fill", table, batches, [{}] * self.num_servers)
        self.act("rows_filled", {"table": table, "is_filled": True})

    def wait_rows(self, table: str, timeout_s: float = 600.0) -> None:
        """Wait until some worker has filled a sparse table."""
        self._wait_filled("rows_filled", table, timeout_s)

    def pull_changed(self, table: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Rows that other workers changed since this one asked last (geo)."""
        answers = self._exchange(
            "pull_changed",
            table,
            [_ids(np.empty(0, np.int64))] * self.num_servers,
            [{}] * self.num_servers,
        )
        ids = [messages.numbers(batch.column(0)) for batch, _ in answers]
        return np.concatenate(ids), np.concatenate(
            [messages.rows_of(batch.column(1)) for batch, _ in answers]
        )

    # -- dense
    # ----------------------------------------------------------------------------------------------

    def fill_dense(self, table: str, values: npt.NDArray[np.float32]) -> None:
        """Replace the values on the servers."""
        batches = [
            pa.record_batch([pa.array(part)], schema=messages.FLAT)
            for part in self._split(table, values)
        ]
        self._exchange("fill_dense", table, batches, [{}] * self.num_servers)

    def wait_filled(self, table: str, timeout_s: float) -> None:
        """Wait until some worker has given the values of a dense table."""
        self._wait_filled("is_filled", table, timeout_s)

    def _wait_filled(self, action: str, table: str, timeout_s: float) -> None:
        deadline = Deadline.after(timeout_s)
        while not all(answer["is_filled"] for answer in self.act(action, {"table": table})):
            if deadline.expired:
                raise PsError(
                    f"nobody filled table {table!r} for {timeout_s:g} s; worker 0 does in "
                    "init_worker()"
                )
            time.sleep(_AGAIN_S)

    def pull_dense(self, table: str) -> npt.NDArray[np.float32]:
        batches = [
            pa.record_batch([pa.array(np.empty(0, np.float32))], schema=messages.FLAT)
        ] * self.num_servers
        answers = self._exchange("pull_dense", table, batches, [{}] * self.num_servers)
        return np.concatenate([messages.numbers(batch.column(0)) for batch, _ in answers])

    def push_dense(
        self, table: str, grads: npt.NDArray[np.float32], learning_rate: float | None = None
    ) -> None:
        """A step with one dense table."""
        self.step([Push(table, grads, learning_rate)])

    def _split(self, table: str, values: npt.NDArray[np.float32]) -> list[npt.NDArray[np.float32]]:
        return np.split(values, np.cumsum(self._dense_sizes[table])[:-1])

    # -- all servers
    # --------------------------------------------------------------------------------------------

    def act(self, name: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        """Have every server do an action; their answers in order."""
        return [self._act(server, name, body) for server in self._servers]

    def _act(self, server: _Server, name: str, body: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self._persist(
            server, lambda s: s.act(name, body), name, str(body.get("table", ""))
        )
        return answer

    def save(self, folder: Path, mode: int = checkpoint.ALL) -> None:
        """Write a checkpoint of all tables; the servers must see ``folder``. What was there stays
        valid until the new one is complete.
        """
        folder = folder.absolute()  # servers may work elsewhere
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}.new")
        fresh.mkdir()
        try:
            files: list[dict[str, Any]] = []
            with progress(f"saving tables to {folder}", self.num_servers, "servers") as told:
                for number, server in enumerate(self._servers):
                    body = {"path": str(fresh), "server": number, "mode": mode}
                    files += self._act(server, "save", body)["files"]
                    told(1)
            checkpoint.write_manifest(fresh, files, mode)
            replace_folder(fresh, folder)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise

    def load(self, folder: Path) -> None:
        """Take all tables from a checkpoint, whatever number of servers wrote it; it is checked
        before anything is replaced.
        """
        folder = folder.absolute()
        checkpoint.verify(folder)
        with progress(f"loading tables from {folder}", self.num_servers, "servers") as told:
            for number, server in enumerate(self._servers):
                body = {"path": str(folder), "server": number, "num_servers": self.num_servers}
                self._act(server, "load", body)
                told(1)

    def _exchange(
        self,
        op: str,
        table: Subject,
        batches: Sequence[pa.RecordBatch],
        data: Sequence[dict[str, Any]],
    ) -> list[tuple[Any, dict[str, Any]]]:
        """Send each server its request, then collect the answers; a server that breaks off is asked
        again on its own.
        """
        answers: list[tuple[Any, dict[str, Any]]] = []
        began_ns = time.perf_counter_ns() if trace.recordings else 0
        try:
            asked = [
                self._ask(s, op, table, b, h)
                for s, b, h in zip(self._servers, batches, data, strict=True)
            ]
            reach("ps.client.sent")
            for server, batch, header, is_asked in zip(
                self._servers, batches, data, asked, strict=True
            ):
                answers.append(self._answer(server, op, table, batch, header, is_asked))
        except BaseException:
            for server in self._servers[len(answers) :]:
                server.give_up(op, table)  # or the next request would get the answer to this one
            raise
        reach("ps.client.answered")
        for server, (_, answer) in zip(self._servers, answers, strict=True):
            messages.check(answer, server.endpoint)
        if began_ns:
            traced.tell(op, table, batches, began_ns)
        return answers

    def _ask(
        self,
        server: _Server,
        op: str,
        table: Subject,
        batch: pa.RecordBatch,
        header: dict[str, Any],
    ) -> bool:
        try:
            server.send(op, table, batch, header)
        except BROKEN:
            return False
        return True

    def _answer(
        self,
        server: _Server,
        op: str,
        table: Subject,
        batch: pa.RecordBatch,
        header: dict[str, Any],
        is_asked: bool,
    ) -> tuple[Any, dict[str, Any]]:
        if is_asked:
            try:
                return server.receive(op, table)
            except BROKEN as error:
                self._lose(server, error)

        def again(s: _Server) -> tuple[Any, dict[str, Any]]:
            s.present()
            s.send(op, table, batch, header)
            return s.receive(op, table)

        return self._persist(server, again, op, table)

    def _persist(self, server: _Server, call: Any, op: str, table: Subject = "") -> Any:
        """Repeat ``call`` until the server answers or the time is over. Servers may take long to
        come, so only the wait for one that was there is shown.
        """
        deadline, began_ns = Deadline.after(self._timeout_s), time.perf_counter_ns()
        is_shown = not server.has_joined
        with contextlib.ExitStack() as stack:
            while True:
                try:
                    return call(server)
                except BROKEN as error:
                    self._lose(server, error)
                    if deadline.expired:
                        raise ServerUnavailable(
                            f"server {server.endpoint} did not answer for {self._timeout_s:g} s: "
                            f"{_first_line(error)}"
                        ) from error
                if not is_shown:
                    is_shown = True
                    place = f"{_place(op, table, server.name)}, whose connection broke"
                    stack.enter_context(account.long_wait(began_ns, place))
                time.sleep(_AGAIN_S)

    def _lose(self, server: _Server, error: BaseException) -> None:
        """Let go of a connection that broke."""
        if server.is_connected:
            log.warning(
                "worker %d: the connection to server %s broke (%s); connecting again for up to "
                "%g s",
                self.worker, server.endpoint, _first_line(error), self._timeout_s,
            )  # fmt: skip
        server.drop()


def _place(op: str, table: Subject, server: str) -> str:
    """Where a call waits, in words."""
    tables = [table] if isinstance(table, str) else table
    named = " of " + ", ".join(map(repr, tables)) if any(tables) else ""
    return f"{op}{named} at {server}"


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _ids(ids: npt.NDArray[np.int64]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(ids)], schema=messages.IDS)
