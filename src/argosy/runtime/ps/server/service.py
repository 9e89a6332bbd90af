"""The server's side of the wire: an Arrow Flight service over its tables."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight

from argosy.foundation.account import account
from argosy.foundation.endpoints import Endpoint, bind_listener, parse
from argosy.foundation.errors import OutOfRange, UsageError, nearest
from argosy.foundation.faultpoint import reach
from argosy.foundation.trace import trace
from argosy.runtime.ps.server import checkpoint
from argosy.runtime.ps.server.door import Door, address_of, allow_many_files
from argosy.runtime.ps.server.port import given_way
from argosy.runtime.ps.server.steps import Steps
from argosy.runtime.ps.server.tables import Entry, Tables
from argosy.runtime.ps.wire import handshake, messages, traced
from argosy.runtime.ps.wire.segment import OfServer

log = logging.getLogger("argosy.ps")

Action = Callable[[dict[str, Any]], dict[str, Any]]
_LAST_ANSWERS_S = 2.0
_LOG_S = 1.0
_ID, _NUMBER = pa.int64(), pa.float32()
# errors that are an answer
_TOLD = (ValueError, TypeError, LookupError, RuntimeError, OSError, MemoryError)


class _Gate(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Lets those in who knock with the job's token and mean this server, before anything else of a
    call is read.
    """

    def __init__(self, token: str) -> None:
        self._token = token
        # what clients may call this server; set before it is known to any
        self.endpoints: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._num_refused = 0  # since the last line in the log; guarded by _lock
        self._told_at = -_LOG_S  # guarded by _lock

    def start_call(self, info: Any, headers: dict[str, list[Any]]) -> handshake.Knock:
        knock = handshake.knocked(headers, self._token)
        if knock is None:
            self._tell(info.method)
            raise flight.FlightUnauthenticatedError(
                "this call does not prove to know the job's token"
            )
        if knock.endpoint.decode(errors="replace") not in self.endpoints:
            log.warning(
                "refused a call that means %r, but this server is %s", knock.endpoint, self._name()
            )
            raise flight.FlightUnauthenticatedError(
                f"this call was not meant for this server, which is {self._name()}"
            )
        return knock

    def _name(self) -> str:
        return " or ".join(sorted(self.endpoints))

    def _tell(self, method: Any) -> None:
        """Log a refusal, with those that came soon after the last line."""
        now = time.monotonic()
        with self._lock:
            self._num_refused += 1
            if now - self._told_at < _LOG_S:
                return
            count, self._num_refused, self._told_at = self._num_refused, 0, now
        log.warning("refused %d call(s) without the job's token, the last of %s", count, method)


class Service(flight.FlightServerBase):  # type: ignore[misc]
    """Serves ``tables`` at ``location`` (``grpc://127.0.0.1:0`` takes a free port, which ``port``
    tells) to ``num_workers`` workers.

    ``timeout_s`` is how long a push may wait for other workers; ``actions`` are answered beside
    those of the tables. ``stopped`` is set when every worker has said goodbye. ``names`` are
    endpoints (host:port) under which clients know this server, beside that of ``location``.
    """

    def __init__(
        self,
        location: str,
        tables: Tables,
        token: str,
        num_workers: int,
        timeout_s: float = 1800.0,
        tls_certificates: list[tuple[bytes, bytes]] | None = None,
        actions: Mapping[str, Action] | None = None,
        names: Sequence[str] = (),
    ) -> None:
        self.tables = tables
        self.stopped = threading.Event()
        self._num_workers = num_workers
        self._timeout_s = timeout_s
        # held while the tables hear who comes and goes, so that they hear it in order
        self._lock = threading.Lock()
        # by which each worker shows that it is there; guarded by _lock
        self._num_streams: Counter[int] = Counter()
        self._actions: dict[str, Action] = {
            "create": self._create,
            "applied": self._applied,
            "status": lambda _: {"tables": tables.status()},
            "is_filled": lambda body: {"is_filled": tables[body["table"]].dense.is_filled},
            "rows_filled": self._rows_filled,
            "row": self._row,
            "shrink": lambda body: {"dropped": tables[body["table"]].sparse.shrink()},
            "end_day": self._end_day,
            "save": self._save,
            "load": self._load,
            "stop": self._stop,
            **(actions or {}),
        }
        self._stop_if_all_have_finished()
        self._token = token
        self._door = Door(num_workers)
        gate = _Gate(token)
        where = parse(location.partition("://")[2], "Service: location")
        gate.endpoints = _names(where, names)
        allow_many_files()
        with given_way(where):
            try:
                super().__init__(
                    location, middleware={"gate": gate}, tls_certificates=tls_certificates
                )
            except pa.ArrowException:
                bind_listener(where.host, where.port).close()  # says why, if it is the port
                raise
        gate.endpoints = _names(Endpoint(where.host, self.port), names)
        self._door.watch(self.port)

    def serve_to_the_end(self) -> None:
        """Return when every worker has said goodbye and has its answer. Others that still hold a
        stream are not waited for longer than a moment.
        """
        self.stopped.wait()
        # shutdown() returns when the last stream has ended, which is in the hands of whoever opened
        # it
        ending = threading.Thread(target=self.shutdown, name="argosy-ps-end", daemon=True)
        ending.start()
        ending.join(_LAST_ANSWERS_S)
        if ending.is_alive():
            log.warning("the job has ended, but a client keeps its stream: its connection is cut")
        while ending.is_alive():
            self._door.cut_all()
            ending.join(_LAST_ANSWERS_S)
        self.tables.end_job()

    def shutdown(self) -> None:
        """Take no more calls; returns when the last stream has ended."""
        super().shutdown()
        self._door.close()

    def end(self) -> None:
        """End now, whoever is there. Close the tables before where workers may wait for each other:
        that ends their pushes.
        """
        self.stopped.set()
        self.serve_to_the_end()

    # -- streams
    # ----------------------------------------------------------------------------------------------

    def do_exchange(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        if not self._admit(context, descriptor, reader, writer):
            raise flight.FlightUnauthenticatedError("the proof of the job's token was wrong")
        command = messages.decode(descriptor.command)
        op = str(command.get("op"))
        if op == "present":
            self._watch(command, reader, writer)
        elif op == "act":
            self._converse(reader, writer, self._act)
        elif op == "ping":
            peer = address_of(context.peer())
            self._converse(reader, writer, lambda chunk: {"peer": peer})
        else:
            self._serve(op, command, reader, writer)

    def _admit(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> bool:
        """Whether the peer and this server have proved to each other that they know the token."""
        peer = context.peer()
        with self._door.entering(peer):
            knock = context.get_middleware("gate")
            try:
                is_known = handshake.admit(knock, self._token, descriptor.command, reader, writer)
            except StopIteration:
                is_known = False  # it has gone
        if is_known:
            self._door.has_proved(peer)
        else:
            log.warning("refused a stream of %s, which did not prove to know the job's token", peer)
        return is_known

    def _converse(self, reader: Any, writer: Any, answer: Callable[[Any], dict[str, Any]]) -> None:
        """Answer messages of metadata until the stream ends."""
        while True:
            try:
                chunk = reader.read_chunk()
            except StopIteration:
                return
            writer.write_metadata(messages.encode(answer(chunk)))

    def _serve(self, op: str, command: dict[str, Any], reader: Any, writer: Any) -> None:
        """Answer requests to a table until the stream ends."""
        at_request, done = f"ps.{op}.asked", f"ps.{op}.done"
        # found at the first request, so that what is wrong with the command is told as an answer
        answer: Callable[..., Any] | None = None
        memory = OfServer()
        while True:
            try:
                chunk = reader.read_chunk()
            except StopIteration:
                return
            reach(at_request)
            if account.listener is not None:
                account.listener.look()
            began_ns = time.perf_counter_ns() if trace.recordings else 0
            asked: dict[str, Any] = {}
            try:
                if answer is None:
                    answer, schema = self._handler(op, command, memory)
                    writer.begin(schema)
                asked = messages.decode(chunk.app_metadata or b"{}")
                request = memory.request(chunk.data, asked)
                batch, data = answer(request, asked)
            except _TOLD as error:
                batch, data = None, messages.refusal(error)
            else:
                if began_ns:
                    named = command.get("tables", command.get("table", ""))
                    traced.tell(op, named, [request], began_ns)
            reach(done)
            batch, data = memory.answer(batch, data, asked)
            if batch is None:
                writer.write_metadata(messages.encode(data))
            else:
                writer.write_with_metadata(batch, messages.encode(data))

    def _handler(
        self, op: str, command: dict[str, Any], memory: OfServer
    ) -> tuple[Callable[..., Any], pa.Schema]:
        """What answers a request of ``op``, and what its answers look like; ``memory`` may have
        room for them.
        """
        if op == "step":
            worker = int(command.get("worker", 0))
            self._check_member(worker)
            named = command.get("tables")
            if not isinstance(named, list):
                raise UsageError(f"the tables of a step must be a list, but are {named!r:.80}")
            steps = Steps([self.tables[str(name)] for name in named], worker, self._timeout_s)
            return steps.answer, steps.schema
        entry = self.tables[str(command.get("table"))]
        worker = int(command.get("worker", 0))
        if op in ("pull_dense", "fill_dense"):
            return self._dense_handler(op, entry), messages.FLAT
        dim = entry.sparse.spec.dim
        if op == "pull":
            schema = messages.values_schema(dim)

            def pull(batch: Any, data: dict[str, Any]) -> Any:
                ids = messages.asked(_columns(batch), 0, _ID)
                room = memory.room(ids.shape[0], dim)
                values = entry.pull(ids, bool(data.get("creates", True)), room)
                return pa.record_batch([messages.rows_array(values)], schema=schema), {}

            return pull, schema
        schema = messages.rows_schema(dim)
        if op == "fill":

            def fill(batch: Any, data: dict[str, Any]) -> Any:
                columns = _columns(batch)
                ids, values = messages.asked(columns, 0, _ID), messages.asked_rows(columns, 1)
                entry.sparse.check_push(ids, values, worker)
                entry.sparse.make(ids)
                entry.sparse.set_values(ids, values)
                return None, {}

            return fill, schema
        if op == "pull_changed":

            def changed(batch: Any, data: dict[str, Any]) -> Any:
                ids = entry.changed_by_others(worker)
                return pa.record_batch(
                    [pa.array(ids), messages.rows_array(entry.pull(ids, True))], schema=schema
                ), {}

            return changed, schema
        raise UsageError(f"there is no operation {op!r}.{nearest(op, messages.OPERATIONS)}")

    def _dense_handler(self, op: str, entry: Entry) -> Callable[..., Any]:
        table = entry.dense
        if op == "pull_dense":
            return lambda batch, data: (
                pa.record_batch([pa.array(table.pull())], schema=messages.FLAT),
                {},
            )

        def fill(batch: Any, data: dict[str, Any]) -> Any:
            # a copy, for torch: the memory of a message is read-only
            table.fill(np.array(messages.asked(_columns(batch), 0, _NUMBER)))
            return None, {}

        return fill

    def _watch(self, command: dict[str, Any], reader: Any, writer: Any) -> None:
        """Hold a worker's stream until it ends; when the last one ends without a goodbye, the
        worker is lost.

        A worker that was started again may be here before the end of its old stream is noticed.
        """
        try:
            worker = int(command["worker"])
            self._check_member(worker)
        except _TOLD as error:
            writer.write_metadata(messages.encode(messages.refusal(error)))
            _hold(reader)  # the client may miss the answer if the stream ends with it
            return
        with self._lock:
            self._num_streams[worker] += 1
            self.tables.welcome(worker)
        try:
            writer.write_metadata(messages.encode({}))
            _hold(reader)
        finally:
            with self._lock:
                self._num_streams[worker] -= 1
                if not self._num_streams[worker] and worker not in self.tables.finished:
                    log.warning("worker %d has gone without a goodbye", worker)
                    self.tables.lose(worker)

    def _check_member(self, worker: int) -> None:
        if not 0 <= worker < self._num_workers:
            raise OutOfRange(
                f"worker {worker} is not one of this job's {self._num_workers}; "
                "PADDLE_TRAINERS_NUM must be the same for all its processes"
            )

    # -- actions
    # ----------------------------------------------------------------------------------------------

    def _act(self, chunk: Any) -> dict[str, Any]:
        """The answer to one request of an ``act`` stream."""
        name = ""
        try:
            request = messages.decode(chunk.app_metadata or b"{}")
            name, body = messages.action(request)
            reach(f"ps.{name}.asked")
            answer = self._actions.get(name)
            if answer is None:
                raise UsageError(f"there is no action {name!r}.{nearest(name, self._actions)}")
            reply = answer(body)
        except _TOLD as error:
            reply = messages.refusal(error)
        reach(f"ps.{name}.done")
        return reply

    def _create(self, body: dict[str, Any]) -> dict[str, Any]:
        self.tables.create(body["kind"], body["spec"], body["mode"])
        return {}

    def _applied(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"applied": self.tables[body["table"]].applied(int(body["worker"]))}

    def _rows_filled(self, body: dict[str, Any]) -> dict[str, Any]:
        table = self.tables[body["table"]].sparse
        if body.get("is_filled"):
            table.mark_filled()
        return {"is_filled": table.is_filled}

    def _row(self, body: dict[str, Any]) -> dict[str, Any]:
        table, ids = self.tables[body["table"]].sparse, np.array([body["id"]], np.int64)
        return {"row": table.pull(ids, creates=False)[0].tolist() if table.has(ids)[0] else None}

    def _end_day(self, body: dict[str, Any]) -> dict[str, Any]:
        day = body.get("day")
        self.tables[body["table"]].sparse.end_day(None if day is None else int(day))
        return {}

    def _save(self, body: dict[str, Any]) -> dict[str, Any]:
        path, mode = Path(body["path"]), int(body.get("mode", checkpoint.ALL))
        return {"files": checkpoint.save_part(self.tables, path, int(body["server"]), mode)}

    def _load(self, body: dict[str, Any]) -> dict[str, Any]:
        checkpoint.load_part(
            self.tables, Path(body["path"]), int(body["server"]), int(body["num_servers"])
        )
        return {}

    def _stop(self, body: dict[str, Any]) -> dict[str, Any]:
        worker = int(body["worker"])
        self._check_member(worker)
        with self._lock:
            self.tables.retire(worker)
        self._stop_if_all_have_finished()
        return {}

    def _stop_if_all_have_finished(self) -> None:
        if len(self.tables.finished) >= self._num_workers:
            self.stopped.set()


def _columns(batch: pa.RecordBatch | None) -> list[pa.Array]:
    return [] if batch is None else batch.columns


def _hold(reader: Any) -> None:
    """Return when the client has ended its stream, or its connection broke."""
    try:
        while True:
            reader.read_chunk()
    except StopIteration:
        return
    except (pa.ArrowException, OSError):
        log.info("a connection broke")


def _names(where: Endpoint, others: Sequence[str]) -> frozenset[str]:
    return frozenset((str(where), *(str(parse(name, "Service: names")) for name in others)))
