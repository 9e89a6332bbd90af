"""How many workers there is room for, where that may change. Imports Ray.

Ray's own policy counts all resources of the nodes that it believed alive up to 20 seconds ago. A
group of workers that is too large for what is left waits for a minute before it is tried smaller.
So nodes are asked here whether they are there, and what servers occupy does not count.
"""

from __future__ import annotations

import time
from typing import Any

import ray
from ray.util import placement_group_table

from argosy.ray import nodes
from argosy.ray.private import (
    DataParallelTrainer,
    ElasticScalingPolicy,
    NoopDecision,
    ResizeDecision,
)
from argosy.ray.request import num_fitting, room

_AGAIN_S = 0.5


class FleetTraining(DataParallelTrainer):  # type: ignore[misc]
    """Ray's trainer, beside servers in placement groups whose names begin with ``servers``, empty
    without.
    """

    def __init__(self, *args: Any, servers: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._servers = servers

    def _initialize_and_run_controller(self, **arguments: Any) -> Any:
        if self.scaling_config.elasticity_enabled:
            arguments["scaling_policy"] = _Room(self.scaling_config, self._servers)
        return super()._initialize_and_run_controller(**arguments)


class _Room(ElasticScalingPolicy):  # type: ignore[misc]
    def __init__(self, scaling_config: Any, servers: str) -> None:
        super().__init__(scaling_config)
        self._servers = servers

    def make_decision_for_non_running_worker_group(self) -> Any:
        decision = super().make_decision_for_non_running_worker_group()
        if isinstance(decision, ResizeDecision):
            decision = self._bounded(decision, 0)
        if isinstance(decision, NoopDecision):
            time.sleep(_AGAIN_S)  # the controller asks again at once
        return decision

    def make_decision_for_running_worker_group(
        self, worker_group_state: Any, worker_group_status: Any
    ) -> Any:
        decision = super().make_decision_for_running_worker_group(
            worker_group_state, worker_group_status
        )
        if isinstance(decision, ResizeDecision):
            decision = self._bounded(decision, worker_group_state.num_workers)
        return decision

    def _bounded(self, decision: Any, num_now: int) -> Any:
        """``decision``, for as many workers as there is room for; none if these are as many as
        there are, or too few.
        """
        count = min(
            decision.num_workers, num_fitting(self._resources(), decision.resources_per_worker)
        )
        if count == num_now or count < self.scaling_config.min_workers:
            return NoopDecision()
        return ResizeDecision(num_workers=count, resources_per_worker=decision.resources_per_worker)

    def _resources(self) -> dict[str, dict[str, float]]:
        """What the nodes that answer have for workers."""
        silent = nodes.silent(nodes.raylets())
        resources = {
            node["NodeID"]: node["Resources"]
            for node in ray.nodes()
            if node["Alive"] and node["NodeID"] not in silent
        }
        if not self._servers:
            return resources
        tables = [
            t for t in placement_group_table().values() if t["name"].startswith(self._servers)
        ]
        taken = [
            (table["bundles_to_node_id"].get(n), bundle)
            for table in tables
            if table["state"] != "REMOVED"
            for n, bundle in table["bundles"].items()
        ]
        return room(resources, taken)
