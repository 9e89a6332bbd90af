"""A server of a job as an actor of Ray: it keeps the server's port and looks after the process that
serves, which is started again at the same endpoint and with its tables when it is killed.

Tables lie in files of the node. They outlive the process, not the node and not this actor.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import socket
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from argosy.foundation import env
from argosy.foundation.endpoints import endpoint_of
from argosy.ray import folder as run_folder
from argosy.ray.members import served
from argosy.ray.orphan import end_with_parent
from argosy.runtime.launch.hosts import Rendezvous
from argosy.runtime.launch.machine import this_machine
from argosy.runtime.launch.planners import servers as planner
from argosy.runtime.launch.process_spec import Job
from argosy.runtime.launch.report import end_of
from argosy.runtime.launch.servers import tls as ps_tls
from argosy.runtime.launch.spec import LaunchSpec
from argosy.runtime.launch.supervisor import Supervisor
from argosy.runtime.ps.server.port import keep

_LOOK_S = 0.2
_END_S = 20.0
_PATIENCE = "ARGOSY_PS_PATIENCE"


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a server is to do: its number, who else takes part, what it runs (a script of ``spec``,
    or ``function``, pickled), how long a step waits for workers that are started again.
    """

    generation: int
    number: int
    spec: LaunchSpec
    servers: tuple[str, ...]
    workers: tuple[str, ...]
    rendezvous: Rendezvous = field(repr=False)
    function: bytes = field(default=b"", repr=False)
    certificates: tuple[str, ...] = field(default=(), repr=False)  # of all servers; () without TLS
    patience_s: int = 0
    run_folder: str = ""
    folder: str = ""  # where relative paths of the script begin


@dataclass(frozen=True)
class Place:
    """Where a server is: its own endpoint, and that of the raylet of its node."""

    endpoint: str
    raylet: str


class Server:
    """The actor. ``place`` first, then ``start`` for each generation of the job."""

    def __init__(self) -> None:
        end_with_parent()
        self._lock = threading.Lock()
        self._keeper: socket.socket | None = None  # guarded by _lock
        self._certificate: ps_tls.Certificate | None = None  # guarded by _lock
        self._watch: _Watch | None = None  # guarded by _lock

    def place(self) -> Place:
        """Where this server is, for as long as it lives: it keeps its endpoint."""
        import ray

        from argosy.ray.nodes import raylets

        with self._lock:
            if self._keeper is None:
                self._keeper = keep(ray.util.get_node_ip_address())
            raylet = raylets()[ray.get_runtime_context().get_node_id()]
            return Place(str(endpoint_of(self._keeper)), str(raylet))

    def certificate(self) -> str:
        """The certificate of this server; its key stays here."""
        import ray

        with self._lock:
            if self._certificate is None:
                self._certificate = ps_tls.make([ray.util.get_node_ip_address()])
            return self._certificate.cert

    def start(self, part: Part) -> None:
        """Begin a generation, with empty tables; what served the one before is ended."""
        with self._lock:
            if self._watch is not None:
                if self._watch.part.generation == part.generation:
                    return
                self._watch.close()
            assert self._keeper is not None
            self._watch = _Watch(part, self._keeper.fileno(), self._certificate)

    def problem(self, generation: int) -> str:
        """Why ``generation`` is not served here; empty while it is, and when all its workers have
        said goodbye.
        """
        watch = self._watch
        if watch is None or watch.part.generation != generation:
            return "it was started anew on another node, and its tables are gone"
        return watch.problem

    def serves(self, generation: int) -> bool:
        """Whether the tables of ``generation`` are here, and workers can go on with them."""
        watch = self._watch
        return watch is not None and watch.part.generation == generation and watch.is_running

    def close(self) -> str:
        """End what runs and give everything back; returns what was wrong with it."""
        with self._lock:
            watch, self._watch = self._watch, None
            if watch is None:
                return ""
            watch.close()
            return watch.problem


class _Watch:
    """The process of one generation, and the thread that looks after it."""

    def __init__(self, part: Part, descriptor: int, certificate: ps_tls.Certificate | None) -> None:
        self.part = part
        self.problem = ""  # written by the thread only
        self._folder = tempfile.mkdtemp(prefix="argosy-ps-")
        self._is_ending = threading.Event()
        try:
            job = self._plan(descriptor, certificate)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        # the kernel ends the process with the thread that started it, so this thread lives as long
        self._thread = threading.Thread(
            target=self._run, args=(job,), name=f"argosy-ray-server-{part.number}", daemon=True
        )
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        self._is_ending.set()
        self._thread.join(_END_S)

    def _plan(self, descriptor: int, certificate: ps_tls.Certificate | None) -> Job:
        part = self.part
        machine = this_machine()
        given = {
            **machine.environment,
            **({run_folder.VARIABLE: part.run_folder} if part.run_folder else {}),
        }
        if part.patience_s and not env.get(_PATIENCE):
            given[_PATIENCE] = str(part.patience_s)
        roster = served(part.servers, part.workers, part.rendezvous, part.number)
        tls = None
        if part.certificates:
            tls = ps_tls.write(Path(self._folder) / "tls", certificate, part.certificates)
        files = planner.ServerFiles(self._folder, tls, {part.servers[part.number]: descriptor})
        job = planner.plan(
            part.spec, roster, dataclasses.replace(machine, environment=given), files
        )
        if part.function:
            path = Path(self._folder) / "function"
            path.touch(mode=0o600)
            path.write_bytes(part.function)
            argv = (sys.executable, "-u", "-m", "argosy.ray.server_process", str(path))
            job = dataclasses.replace(
                job, processes=tuple(dataclasses.replace(p, argv=argv) for p in job.processes)
            )
        elif os.path.isdir(part.folder):
            os.chdir(part.folder)
        return job

    def _run(self, job: Job) -> None:
        try:
            supervisor = Supervisor(job, _say, folder=self._folder)
            try:
                supervisor.start()
                self.problem = self._until_end(supervisor)
            finally:
                supervisor.end()
        except BaseException as error:
            self.problem = f"its process could not be looked after: {error!r}"
            raise
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _until_end(self, supervisor: Supervisor) -> str:
        """Wait until the process has ended for good, or is to end; what was wrong with it."""
        outcome = None
        while outcome is None and not self._is_ending.is_set():
            outcome = supervisor.look(_LOOK_S)
        if outcome is None or outcome.failed is None:
            return ""
        return end_of(outcome.failed.member.label, outcome.exit_code, "its log has the reason")


def _say(text: str) -> None:
    print(text, flush=True)
