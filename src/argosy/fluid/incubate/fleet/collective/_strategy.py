"""The strategy of the collective Fleet of 1.x."""

from __future__ import annotations

from typing import Any, ClassVar

from argosy.foundation.errors import BadArgument, DtypeError
from argosy.static import BuildStrategy, ExecutionStrategy

__all__ = ["DistributedStrategy"]

_OWN: dict[str, Any] = {
    "use_local_sgd": False,
    "use_dist_fc": False,
    "mode": "nccl2",
    "nccl_comm_num": 1,
    "forward_recompute": False,
    "recompute_checkpoints": [],
    "use_amp": False,
    "amp_loss_scaling": 2**15,
    "_ut4grad_allreduce": False,
}
_FREE = ("dist_fc_config", "collective_mode", "exec_strategy")  # without a type of their own


class DistributedStrategy(BuildStrategy):
    """A BuildStrategy that also says how processes train together.

    ``use_local_sgd`` (average parameters instead of gradients), ``forward_recompute`` with
    ``recompute_checkpoints``, ``use_amp`` with ``amp_loss_scaling``, ``mode`` 'nccl2' or
    'collective' with ``collective_mode`` 'grad_allreduce' or 'local_sgd'. ``use_dist_fc`` is not
    supported.
    """

    _defaults: ClassVar[dict[str, Any]] = {**BuildStrategy._defaults, **_OWN}

    def __init__(self) -> None:
        super().__init__()
        self.dist_fc_config: Any = None
        self.collective_mode: str | None = None
        self.exec_strategy = ExecutionStrategy()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "exec_strategy" and not isinstance(value, ExecutionStrategy):
            raise DtypeError(
                f"DistributedStrategy.exec_strategy must be an ExecutionStrategy, but is {value!r}"
            )
        if name == "recompute_checkpoints" and not isinstance(value, list):
            raise BadArgument(
                f"DistributedStrategy.recompute_checkpoints must be a list, but is {value!r}"
            )
        if name in _FREE:
            object.__setattr__(self, name, value)
        elif name == "amp_loss_scaling":
            object.__setattr__(self, name, float(value))
        else:
            super().__setattr__(name, value)

    @property
    def averages_parameters(self) -> bool:
        """Whether workers average parameters instead of gradients."""
        return self.use_local_sgd or self.collective_mode == "local_sgd"
