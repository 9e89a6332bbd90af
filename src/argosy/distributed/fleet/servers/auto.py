"""What ``DistributedStrategy.auto`` chooses in a job with servers: geo mode where each worker has
room for the whole model and the updates are those of SGD, else asynchronous training.
"""

from __future__ import annotations

import copy
import math
import os
from typing import Any

from argosy.distributed.fleet.base.distributed_strategy import DistributedStrategy
from argosy.optimizer import SGD
from argosy.static.ir.program import Program

__all__ = ["chosen"]

_GEO_STEPS = 800
_COPIES = 5  # of the parameters, in a worker that trains by itself
_BATCH = 1024  # samples, where a size depends on them


def chosen(strategy: DistributedStrategy, optimizer: Any, program: Program) -> DistributedStrategy:
    """The strategy with its mode; as it is if the script has set one, or asks for no choice."""
    if not strategy.auto or strategy.a_sync_configs["k_steps"] >= 0:
        return strategy
    made = copy.deepcopy(strategy)
    made.a_sync = True
    is_geo = isinstance(optimizer, SGD) and _worker_bytes(program) < _free_bytes()
    made.a_sync_configs = {**made.a_sync_configs, "k_steps": _GEO_STEPS if is_geo else 0}
    return made


def _worker_bytes(program: Program) -> int:
    """What a worker needs that has all parameters."""
    needed = 0
    for variable in program.global_block().vars.values():
        size = math.prod(_BATCH if n < 0 else n for n in variable.shape)
        needed += size * variable.raw.element_size() * (_COPIES if variable.persistable else 1)
    return needed


def _free_bytes() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
