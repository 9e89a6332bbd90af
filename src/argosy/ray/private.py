"""What ``argosy.ray`` needs of Ray Train beyond its documented interface. Imports Ray.

Ray has no public way to give a trainer another scaling policy, nor to say where a group of workers
must not be placed. A Ray that has changed there is refused with words, before a job begins.
"""

from __future__ import annotations

import ray

from argosy.foundation.errors import ConfigError


def _changed(what: str) -> ConfigError:
    return ConfigError(
        f"argosy.ray: Ray {ray.__version__} has no {what}, by which FleetTrainer places its "
        'workers.\n  Install a Ray that it was tested with: pip install "ray[train]==2.60.*"'
    )


try:
    from ray.train.v2._internal.execution.callback import ControllerCallback, WorkerGroupCallback
    from ray.train.v2._internal.execution.scaling_policy import (
        ElasticScalingPolicy,
        NoopDecision,
        ResizeDecision,
    )
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer
except ImportError as error:
    raise _changed(f"{error.name}: {error}") from error

# methods that are replaced here, or that Ray is to call
_NEEDED = (
    (DataParallelTrainer, "_initialize_and_run_controller"),
    (ElasticScalingPolicy, "make_decision_for_non_running_worker_group"),
    (ElasticScalingPolicy, "make_decision_for_running_worker_group"),
    (ControllerCallback, "on_controller_start_worker_group"),
    (WorkerGroupCallback, "after_worker_group_start"),
    (WorkerGroupCallback, "after_worker_group_poll_status"),
    (WorkerGroupCallback, "before_worker_group_shutdown"),
)


def check(needed: tuple[tuple[type, str], ...] = _NEEDED) -> None:
    """ConfigError if a class of Ray lacks a method."""
    for owner, name in needed:
        if not callable(getattr(owner, name, None)):
            raise _changed(f"{owner.__name__}.{name}")


check()

__all__ = [
    "ControllerCallback",
    "DataParallelTrainer",
    "ElasticScalingPolicy",
    "NoopDecision",
    "ResizeDecision",
    "WorkerGroupCallback",
    "check",
]
