"""``fluid.transpiler.geo_sgd_transpiler``: trainers that train by themselves and exchange
differences now and then.
"""

from __future__ import annotations

from typing import Any

from argosy.fluid.transpiler.distribute_transpiler import DistributeTranspiler


class GeoSgdTranspiler(DistributeTranspiler):
    """A DistributeTranspiler whose trainers exchange differences every
    ``config.geo_sgd_need_push_nums`` steps, whatever the modes of the config say.
    """

    def _mode(self, sync_mode: bool) -> Any:
        from argosy.runtime.ps.worker.worker import Mode  # loads what servers need

        return Mode("geo", k_steps=int(self.config.geo_sgd_need_push_nums))
