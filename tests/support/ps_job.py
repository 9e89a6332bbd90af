"""A parameter-server job in one process: this thread is the worker, servers run in threads of their
own.
"""

from __future__ import annotations

import contextlib
import threading
import time

import paddle.distributed.fleet as fleet
from argosy.distributed.fleet.servers.runtime import PsRuntime
from argosy.foundation.endpoints import bind_listener


class Job:
    """The worker's Fleet is ``paddle.distributed.fleet``; ``serve`` starts the servers, once the
    model is known.
    """

    def __init__(self, num_servers: int = 1, strategy=None) -> None:
        listeners = [bind_listener() for _ in range(num_servers)]
        self._endpoints = [f"127.0.0.1:{listener.getsockname()[1]}" for listener in listeners]
        for listener in listeners:
            listener.close()
        self._threads: list[threading.Thread] = []
        fleet.init(self.role, strategy=strategy)

    def _role(self, number: int, role: int) -> fleet.UserDefinedRoleMaker:
        return fleet.UserDefinedRoleMaker(
            current_id=number, role=role, worker_num=1, server_endpoints=self._endpoints
        )

    @property
    def role(self) -> fleet.UserDefinedRoleMaker:
        """The worker's role, for another ``fleet.init``."""
        return self._role(0, fleet.Role.WORKER)

    def serve_when_known(self, dirname=None) -> None:
        """Start the servers as soon as this thread's next Fleet knows its model; it must connect by
        itself.
        """

        def wait() -> None:
            while fleet.fleet.servers is None or fleet.fleet.servers.runtime.model is None:
                time.sleep(0.01)
            self._start(dirname)

        self._threads.append(threading.Thread(target=wait, daemon=True))
        self._threads[-1].start()

    def serve(self, dirname=None) -> None:
        self._start(dirname)
        fleet.init_worker()

    def _start(self, dirname) -> None:
        worker = fleet.fleet.servers.runtime
        for number in range(len(self._endpoints)):
            server = PsRuntime(self._role(number, fleet.Role.SERVER), worker.strategy)
            server.model = worker.model
            server.init_server(dirname)
            self._threads.append(threading.Thread(target=server.run_server, daemon=True))
            self._threads[-1].start()

    def stop(self) -> None:
        with contextlib.suppress(Exception):
            fleet.stop_worker()
        for thread in self._threads:
            thread.join(20)
            assert not thread.is_alive(), "a server goes on serving"
        fleet.init(is_collective=True)
