"""How many workers there is room for, where that may change. Imports Ray.

Ray's own policy counts all resources of the nodes that it believed alive up to 20 seconds ago. A
group of workers that is too large for what is left waits for a minute before it is tried smaller.
So nodes are asked here whether they are there, and what servers occupy does not count.
"""

from __future__ import annotations

from typing import Any

import ray
from ray.train.v2._internal.execution.scaling_policy import ElasticScalingPolicy
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer
from ray.util import placement_group_table

from argosy.foundation.endpoints import Endpoint, is_open
from argosy.ray.request import room


class FleetTraining(DataParallelTrainer):  # type: ignore[misc]
    """Ray's trainer, beside servers in the placement group ``servers``, None without."""

    def __init__(self, *args: Any, servers: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._servers = servers

    def _initialize_and_run_controller(self, **arguments: Any) -> Any:
        if self.scaling_config.elasticity_enabled:
            arguments["scaling_policy"] = _Room(self.scaling_config, self._servers)
        return super()._initialize_and_run_controller(**arguments)


class _Room(ElasticScalingPolicy):  # type: ignore[misc]
    def __init__(self, scaling_config: Any, servers: Any) -> None:
        super().__init__(scaling_config)
        self._servers = servers

    def _count_possible_workers(self, reserved_resources: Any) -> int:
        reserved: int = super()._count_possible_workers(reserved_resources)
        there: int = super()._count_possible_workers(self._nodes())
        return min(reserved, there)

    def _nodes(self) -> dict[str, dict[str, float]]:
        """What the nodes that answer have for workers."""
        resources = {
            node["NodeID"]: node["Resources"]
            for node in ray.nodes()
            if node["Alive"]
            and is_open(Endpoint(node["NodeManagerAddress"], node["NodeManagerPort"]))
        }
        if self._servers is None:
            return resources
        table = placement_group_table(self._servers)
        taken = [
            (table["bundles_to_node_id"].get(n), bundle) for n, bundle in table["bundles"].items()
        ]
        return room(resources, taken)
