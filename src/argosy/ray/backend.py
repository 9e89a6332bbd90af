"""The backend of Ray Train for jobs of Fleet: gives its workers the variables by which they find
each other and the servers. Imports Ray.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ray
from ray.train.backend import Backend, BackendConfig

from argosy.ray.generation import FleetJob
from argosy.ray.job import JobConfig
from argosy.ray.worker import Attendance, describe, take


class FleetBackend(Backend):  # type: ignore[misc]
    """Lives in the controller, over all its groups of workers."""

    def __init__(self) -> None:
        self._job: FleetJob | None = None

    def on_start(self, worker_group: Any, backend_config: FleetConfig) -> None:
        if self._job is None:
            self._job = FleetJob(backend_config.job)
        found = worker_group.execute(describe)
        start = self._job.begin(found)
        raylets = tuple(place.raylet for place in start.places)
        # the token is in here: as an argument of a call it is neither logged nor shown
        ray.get(
            [
                worker_group.execute_single_async(
                    rank,
                    take,
                    variables,
                    start.certificates,
                    Attendance(start.generation, start.servers, raylets),
                )
                for rank, variables in enumerate(start.variables)
            ]
        )

    def on_shutdown(self, worker_group: Any, backend_config: FleetConfig) -> None:
        if self._job is not None:
            self._job.replace_lost()


@dataclass
class FleetConfig(BackendConfig):  # type: ignore[misc]
    """What ``FleetTrainer`` asks for, on its way to the controller."""

    job: JobConfig

    @property
    def backend_cls(self) -> type[Backend]:
        return FleetBackend
