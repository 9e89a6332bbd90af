"""``DGCMomentumOptimizer``: momentum with compressed gradients, which a switch of the strategy asks
for here.
"""

from __future__ import annotations

from typing import Any

from argosy.distributed.fleet.meta_optimizers.planned import DGCOptimizer
from argosy.foundation.errors import NotSupported
from argosy.framework.mode import in_dygraph_mode

__all__ = ["DGCMomentumOptimizer", "DGCOptimizer"]


class DGCMomentumOptimizer:
    """Refuses every call: Paddle has it for programs only, and here programs get it from
    ``DistributedStrategy.dgc`` with a ``Momentum``.
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: float,
        rampup_begin_step: int,
        rampup_step: int = 1,
        sparsity: Any = (0.999,),
        parameter_list: Any = None,
        use_nesterov: bool = False,
        num_trainers: int | None = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        if in_dygraph_mode():
            raise NotSupported("In dygraph, don't support DGCMomentumOptimizer.")
        raise NotSupported(
            "DGCMomentumOptimizer: set DistributedStrategy.dgc, and call "
            "fleet.distributed_optimizer with paddle.optimizer.Momentum"
        )
