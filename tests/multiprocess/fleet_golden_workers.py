"""The trainings of ``goldens/fleet_training.py`` in the workers of the pool."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle
import paddle.distributed.fleet as fleet
from goldens import fleet_training as trainings
from multiprocess.fleet_base_workers import in_job

Found = dict[str, np.ndarray]

# What a switch of fleet makes of a training whose script does the same by hand, or of a program, in
# Paddle: golden -> rule, switches, the script's part.
SWITCHED: dict[str, tuple[str, dict[str, Any], str]] = {
    "merged": ("momentum", trainings.MERGE, ""),
    "recomputed": (
        "adam",
        {"recompute": True, "recompute_configs": {"checkpoints": ["linear0", "linear1"]}},
        "",
    ),
    "lamb": ("plain_adam", trainings.LAMB, ""),
    "program_plain": ("adam", {}, ""),
    "program_decayed": ("decayed", {"sharding": True, "sharding_configs": {"stage": 2}}, ""),
    "program_scheduled": ("scheduled", {}, ""),
    "program_merged_sum": ("sgd", trainings.MERGE_SUM, ""),
    "program_lars": ("momentum", trainings.LARS, ""),
    "program_lamb": ("plain_adam", trainings.LAMB, ""),
    "program_localsgd": ("momentum", trainings.LOCAL, ""),
    "program_adaptive_localsgd": ("scheduled", trainings.ADAPTIVE, "gives the loss"),
}


@in_job
def layers(rank: int, world_size: int) -> dict[str, Found]:
    """The trainings as they stand."""
    return {
        name: trainings.train_layer(paddle, fleet, name, rank, world_size)
        for name in trainings.DYGRAPH
    }


@in_job
def switched_layers(rank: int, world_size: int) -> dict[str, Found]:
    """With fleet's switches in place of what the script, or the program, does."""
    return {
        name: trainings.train_layer(paddle, fleet, name, rank, world_size, switches, does, rule)
        for name, (rule, switches, does) in SWITCHED.items()
    }


@in_job
def programs(rank: int, world_size: int) -> dict[str, Found]:
    paddle.enable_static()
    fleet.init(is_collective=True)
    return {
        name: trainings.train_program(paddle, fleet, name, rank, world_size)
        for name in trainings.PROGRAMS
    }
