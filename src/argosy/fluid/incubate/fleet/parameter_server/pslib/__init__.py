"""``fluid.incubate.fleet.parameter_server.pslib``: the Fleet of Baidu's own servers. Not
supported.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import NotSupported

__all__ = ["FleetWrapper", "PSLib", "fleet"]


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


class FleetWrapper:
    """``core.Fleet``, the client of pslib's servers, as builds without pslib have it: settings are
    kept, and no table has a cache.
    """

    def __init__(self) -> None:
        self.client2client_config = (0, 0, 0)

    def set_client2client_config(
        self, request_timeout_ms: int, connect_timeout_ms: int, max_retry: int
    ) -> None:
        """Keep how clients would talk to each other."""
        self.client2client_config = (request_timeout_ms, connect_timeout_ms, max_retry)

    def get_cache_threshold(self, table_id: int) -> float:
        """How much a row must be worth to be in the cache of a table: there is none."""
        return 0.0
