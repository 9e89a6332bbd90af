"""Parameter-server jobs whose processes are forked from one that has torch loaded: every role calls
the same function, as it would run the same script.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import sys
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from support import launcher

DEADLINE_S = 90.0
# what every role would otherwise load by itself; the last is loaded by torch when it first joins
# tensors without memory
_LOADED = [
    "argosy.distributed.fleet.servers.program",
    "argosy.runtime.ps.server.service",
    "multiprocess.ps_model_workers",
    "torch._dynamo",
]
launcher._context.set_forkserver_preload([*launcher.PRELOADED, *_LOADED])


def _play(
    conn: Connection,
    function: Callable[..., Any],
    kwargs: dict[str, Any],
    variables: dict[str, str],
) -> None:
    for name in [name for name in os.environ if name.startswith(("PADDLE_", "FLAGS_"))]:
        del os.environ[name]
    os.environ.update(variables)
    import torch

    torch.set_num_threads(1)
    try:
        conn.send((True, function(**kwargs)))
    except BaseException:
        conn.send((False, traceback.format_exc()))
    sys.stderr.flush()
    os._exit(0)


@contextlib.contextmanager
def _endpoints(count: int) -> Iterator[list[str]]:
    """Addresses that nobody else takes: their ports are held, as a launcher does."""
    with contextlib.ExitStack() as stack:
        found = []
        for _ in range(count):
            holder = stack.enter_context(socket.socket())
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind(("127.0.0.1", 0))
            found.append(f"127.0.0.1:{holder.getsockname()[1]}")
        yield found


def run(
    function: Callable[..., Any], *, num_servers: int = 2, num_workers: int = 2, **kwargs: Any
) -> list[Any]:
    """What ``function`` returns in each worker. Without servers: in one process, which has no part
    in a job.
    """
    with _endpoints(num_servers + num_workers) as found:
        servers, workers = found[:num_servers], found[num_servers:]
        common = {
            "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(servers),
            "PADDLE_TRAINER_ENDPOINTS": ",".join(workers), "PADDLE_TRAINERS_NUM": str(num_workers),
            "POD_IP": "127.0.0.1", "ARGOSY_TOKEN": secrets.token_hex(8),
        }  # fmt: skip
        roles = [("PSERVER", 0, e) for e in servers] + [
            ("TRAINER", n, e) for n, e in enumerate(workers)
        ]
        plans = [
            {
                **common,
                "TRAINING_ROLE": role,
                "PADDLE_TRAINER_ID": str(number),
                "PADDLE_PORT": endpoint.split(":")[1],
            }
            for role, number, endpoint in roles
        ]
        return _run(function, kwargs, plans if num_servers else [{}], num_servers)


def _run(
    function: Callable[..., Any], kwargs: dict[str, Any], plans: list[dict[str, str]], skipped: int
) -> list[Any]:
    started = []
    try:
        for variables in plans:
            ours, theirs = launcher._context.Pipe(duplex=False)
            process = launcher._context.Process(
                target=_play, args=(theirs, function, kwargs, variables), daemon=True
            )
            process.start()
            theirs.close()
            started.append((process, ours))
        results = [_result(number, conn) for number, (_, conn) in enumerate(started)][skipped:]
        for process, _ in started:
            process.join(DEADLINE_S)
        return results
    finally:
        for process, conn in started:
            process.kill()
            process.join()
            conn.close()


def _result(number: int, conn: Connection) -> Any:
    assert wait([conn], DEADLINE_S), f"process {number} of the job did not end in {DEADLINE_S:g} s"
    is_done, value = conn.recv()
    assert is_done, value
    return value
