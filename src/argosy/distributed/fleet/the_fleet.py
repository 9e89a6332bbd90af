"""The one Fleet of this process, and the module class that shows two of its attributes."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from argosy.distributed.fleet.base.util_factory import UtilBase
from argosy.distributed.fleet.fleet import Fleet
from argosy.foundation.process_state import register

__all__ = ["FleetModule", "the_fleet"]

the_fleet = Fleet()
register("fleet", the_fleet, attributes=("_known_role",), reset=lambda: Fleet.__init__(the_fleet))


class FleetModule(ModuleType):
    """The class of the module ``paddle.distributed.fleet``. Its attributes ``fleet``, which
    importing the module ``fleet.fleet`` must not hide, and ``util`` belong to the one Fleet.
    """

    @property
    def fleet(self) -> Fleet:
        return the_fleet

    @fleet.setter
    def fleet(self, value: Any) -> None:
        if not isinstance(value, ModuleType):
            raise AttributeError("paddle.distributed.fleet.fleet cannot be replaced")

    @property
    def util(self) -> UtilBase:
        return the_fleet.util

    @util.setter
    def util(self, value: UtilBase) -> None:
        the_fleet.util = value
