"""``fluid.incubate.fleet.parameter_server.pslib``: the Fleet of Baidu's own servers. Not
supported.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import NotSupported

__all__ = ["PSLib", "fleet"]


class NoPslib(NotSupported, ImportError):
    """Paddle, too, fails to import what this needs where pslib is not built in."""


class PSLib:
    """Refuses what scripts ask of it: tables of pslib have layouts and update rules of their
    own.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NoPslib(
            f"pslib.fleet.{name} is not supported; use "
            "fluid.incubate.fleet.parameter_server.distribute_transpiler, or "
            "paddle.distributed.fleet, "
            "whose sparse_table_configs have the settings of pslib's tables"
        )


fleet = PSLib()
