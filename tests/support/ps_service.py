"""A parameter-server job inside one process: its token, a table, servers and their clients."""

from __future__ import annotations

import contextlib
import threading
import time

from argosy.runtime.ps.server.service import Service
from argosy.runtime.ps.server.tables import Tables
from argosy.runtime.ps.tables.initial import Initial
from argosy.runtime.ps.tables.rules import Rule
from argosy.runtime.ps.tables.spec import SparseSpec
from argosy.runtime.ps.worker.client import Client

TOKEN = "the token of this test"
SPEC = SparseSpec("emb", 3, Rule("sgd", 1.0), Initial("uniform", -1.0, 1.0), max_rows=1 << 14)


def plain_sgd(spec, values, make_state):
    """What updates dense values: no state, the learning rate 1 unless the push brings one."""

    def update(grads, learning_rate):
        for value, grad in zip(values, grads, strict=True):
            value.sub_(grad, alpha=learning_rate or 1.0)

    return update


@contextlib.contextmanager
def job(folder, num_servers=1, num_workers=1, bound=None, timeout_s=20.0, joins=True):
    """Servers in this process, and a client for each worker."""
    with contextlib.ExitStack() as stack:
        services = []
        for s in range(num_servers):
            tables = Tables(folder / str(s), num_workers, plain_sgd, bound)
            service = Service("grpc://127.0.0.1:0", tables, TOKEN, num_workers, timeout_s)
            stack.callback(service.end)
            stack.callback(tables.close)
            services.append(service)
        endpoints = [f"127.0.0.1:{service.port}" for service in services]
        clients = [
            stack.enter_context(Client(endpoints, w, TOKEN, timeout_s)) for w in range(num_workers)
        ]
        for client in clients if joins else ():
            client.join()
        yield services, clients


def in_threads(calls):
    """Run calls side by side; their results, or the first error."""
    results = [None] * len(calls)

    def run(i):
        try:
            results[i] = calls[i]()
        except Exception as error:
            results[i] = error

    threads = [
        threading.Thread(target=run, args=(i,), name=f"worker-{i}") for i in range(len(calls))
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    return results


def until_true(condition, seconds=10.0):
    """Wait for ``condition()``; fails after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
