"""The controller's eye on the nodes of its workers. Imports Ray.

Without it a job would stand still until Ray believes that a node is dead, and workers would be
placed there once more. A node whose host says that its raylet is gone will not come back under its
number, so there is nothing to wait for.
"""

from __future__ import annotations

import logging
from typing import Any

import ray

from argosy.foundation.endpoints import Endpoint
from argosy.ray import nodes
from argosy.ray.private import ControllerCallback, WorkerGroupCallback

log = logging.getLogger("argosy.ray")


class NodeWatch(WorkerGroupCallback, ControllerCallback):  # type: ignore[misc]
    """Gives up workers on nodes that are lost, each time that the controller looks at its workers,
    and keeps new ones away from nodes that do not answer.
    """

    def __init__(self) -> None:
        self._watched: list[Any] = []
        self._raylets: dict[str, Endpoint] = {}  # of the nodes of the workers

    def after_worker_group_start(self, worker_group: Any) -> None:
        self._watched = list(worker_group.get_workers())
        here = {worker.metadata.node_id for worker in self._watched}
        self._raylets = {n: where for n, where in nodes.raylets().items() if n in here}

    def after_worker_group_poll_status(self, worker_group_status: Any) -> None:
        self._give_up_lost()

    def before_worker_group_shutdown(self, worker_group: Any) -> None:
        # a worker that Ray believes in is asked to end, and waited for
        self._give_up_lost()
        self._watched, self._raylets = [], {}

    def on_controller_start_worker_group(
        self, *, scaling_config: Any, num_workers: int
    ) -> dict[str, str] | None:
        wanted = scaling_config.label_selector or {}
        if isinstance(wanted, list):  # one for each worker; a callback has one for all
            return None
        away = nodes.elsewhere(nodes.silent(nodes.raylets()))
        return {**away, **wanted} if away else None

    def _give_up_lost(self) -> None:
        lost = nodes.lost(self._raylets)
        for worker in [w for w in self._watched if w.metadata.node_id in lost]:
            log.warning(
                "argosy: the raylet of node %s is gone, and with it a worker (pid %d)",
                worker.metadata.node_id,
                worker.metadata.pid,
            )
            ray.kill(worker.actor)
            self._watched.remove(worker)
        for node in lost:
            del self._raylets[node]
