"""``fleet.base.fleet_base``: where Paddle 2.0 to 2.2 keep ``Fleet``."""

from argosy.distributed.fleet.fleet import Fleet

__all__ = ["Fleet"]
