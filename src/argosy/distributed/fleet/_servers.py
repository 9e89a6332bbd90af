"""The one place that knows that there is no parameter server yet.

What a parameter server adds to Fleet replaces the functions of this module: the life of servers and workers, and saving and loading of tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy.foundation.errors import NotSupported

__all__ = ["call", "not_there", "server_calls"]

# functions of ``fleet`` that exist for parameter servers only
_CALLS = (
    "check_save_pre_patch_done",
    "get_fl_client",
    "init_coordinator",
    "load_inference_model",
    "load_model",
    "load_one_table",
    "make_fl_strategy",
    "print_table_stat",
    "save_cache_model",
    "save_cache_table",
    "save_dense_params",
    "save_one_table",
    "set_date",
    "shrink",
)


def not_there(what: str) -> NotSupported:
    """The error for ``what``, which needs a parameter server."""
    return NotSupported(
        f"{what}: parameter servers are not there yet; collective training (fleet.init(is_collective=True)) is"
    )


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Do what ``fleet.<name>`` does in a parameter-server job."""
    raise not_there(f"fleet.{name}")


def server_calls() -> dict[str, Callable[..., Any]]:
    """The functions of ``fleet`` that exist for parameter servers only."""

    def make(name: str) -> Callable[..., Any]:
        def function(*args: Any, **kwargs: Any) -> Any:
            return call(name, *args, **kwargs)

        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"``{name}`` of a parameter-server job: not there yet."
        return function

    return {name: make(name) for name in _CALLS}
