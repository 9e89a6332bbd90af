"""Ray's trainer, told how many workers there is room for, where that may change. Imports Ray.

Ray's own policy counts all resources of the nodes that it believed alive up to 20 seconds ago. A
group of workers that is too large for what is left waits for a minute before it is tried smaller.
So nodes are asked here whether they are there, and what servers occupy does not count.
"""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass, field
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
_CARRIED_BYTES = 10_000_000  # it goes to each worker by itself


class FleetTraining(DataParallelTrainer):  # type: ignore[misc]
    """Ray's trainer, beside servers in placement groups whose names begin with ``servers``, empty
    without.
    """

    def __init__(self, *args: Any, servers: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._servers = servers

    def _initialize_and_run_controller(self, **arguments: Any) -> Any:
        carried = Carried(ray.cloudpickle.dumps(arguments["train_fn_ref"].get()))
        if len(carried.function) <= _CARRIED_BYTES:
            arguments["train_fn_ref"] = carried
        if self.scaling_config.elasticity_enabled:
            arguments["scaling_policy"] = _Room(self.scaling_config, self._servers)
        return super()._initialize_and_run_controller(**arguments)


@dataclass(frozen=True)
class Carried:
    """The function that workers run, in place of Ray's reference to it in the object store. A node
    that has read it there is asked for it by the next workers, also while Ray does not know that it
    is dead; each time that takes Ray ten seconds.
    """

    function: bytes = field(repr=False)

    def get(self) -> Any:
        return pickle.loads(self.function)  # of the trainer's own, as Ray's would be


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
