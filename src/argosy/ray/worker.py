"""What happens in the processes that Ray Train starts."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from argosy import alias
from argosy.foundation import env
from argosy.foundation.endpoints import endpoint_of, is_refused, parse
from argosy.foundation.errors import ServerUnavailable
from argosy.foundation.process_state import register
from argosy.ray.members import Found
from argosy.ray.orphan import end_with_parent
from argosy.runtime.launch.planners.environment import NOT_FOR_CHILDREN
from argosy.runtime.launch.servers import tls as ps_tls
from argosy.runtime.ps.server.port import keep

_LOOK_S = 0.5
_ANSWER_S = 0.25  # after which the raylet of a server is asked as well


@dataclass(frozen=True)
class Attendance:
    """What a worker looks after: the servers (actors) of its generation, and where the raylets of
    their nodes listen.
    """

    generation: int = 0
    servers: tuple[Any, ...] = ()
    raylets: tuple[str, ...] = ()


@dataclass
class _Place:
    """This process's part in the job: the port that it keeps, what it looks after."""

    keeper: socket.socket | None = None
    attendance: Attendance = field(default_factory=Attendance)
    folder: tempfile.TemporaryDirectory[str] | None = field(default=None, repr=False)


_here = register("place of a worker of Ray Train", _Place())


def describe() -> Found:
    """Say where this worker is, and take a port for it."""
    import ray
    import ray.train

    end_with_parent()
    context = ray.train.get_context()
    keeper = keep(ray.util.get_node_ip_address())
    # nothing of ours connects to it; the script may want to listen there by itself
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _here.keeper = keeper
    return Found(
        rank=context.get_world_rank(),
        host=context.get_node_rank(),
        local_rank=context.get_local_rank(),
        endpoint=str(endpoint_of(keeper)),
        num_cards=len(ray.get_gpu_ids()),
        num_threads=env.get("OMP_NUM_THREADS"),
    )


def take(variables: Mapping[str, str], certificates: Sequence[str], attendance: Attendance) -> None:
    """Become the worker that ``variables`` describe, which trusts servers with ``certificates``."""
    for name in NOT_FOR_CHILDREN:
        env.remove(name)
    env.update(variables)
    alias.install()
    _here.attendance = attendance
    if certificates:
        _here.folder = tempfile.TemporaryDirectory(prefix="argosy-tls-")
        files = ps_tls.write(Path(_here.folder.name), None, certificates)
        env.update({"ARGOSY_TLS_ROOT": files.root})


def attended(train: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``train`` for a worker of a job with servers: it ends with an error soon after one of them is
    lost, instead of waiting for it.
    """

    def run(config: Any) -> Any:
        end: dict[str, Any] = {}

        def target() -> None:
            try:
                end["value"] = train(config)
            except BaseException as error:
                end["error"] = error

        thread = threading.Thread(target=target, name="argosy-ray-train", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(_LOOK_S)
            if thread.is_alive():
                _check()
        if "error" in end:
            raise end["error"]
        return end["value"]

    return run


def _check() -> None:
    """ServerUnavailable if a server does not serve this worker's generation any more."""
    import ray

    # here, not in ``attended``: what that returns comes from the script, with all that it refers to
    given = _here.attendance
    asked = [server.problem.remote(given.generation) for server in given.servers]
    answered, _ = ray.wait(asked, num_returns=len(asked), timeout=_ANSWER_S)
    for number, answer in enumerate(asked):
        problem = ""
        try:
            if answer in answered:
                problem = ray.get(answer, timeout=_LOOK_S)
            elif is_refused(parse(given.raylets[number])):
                problem = "the raylet of its node is gone"
        except ray.exceptions.GetTimeoutError:
            continue
        except ray.exceptions.RayError as error:
            problem = f"its actor is gone ({type(error).__name__})"
        if problem:
            raise ServerUnavailable(f"server {number} of the job is lost: {problem}")
