"""``recompute_hybrid``: recomputation beside model parallelism."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy.distributed.fleet.recompute.recompute import recompute
from argosy.foundation.errors import BadArgument, NotSupported

__all__: list[str] = []


def recompute_hybrid(
    ctx: dict[str, Any], function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """``recompute`` with Paddle's context dict: ``mp_group`` (required), ``offload``,
    ``partition``, ``preserve_rng_state``.

    Offloading activations and partitioning them over a model-parallel group are not supported.
    """
    if "mp_group" not in ctx:
        raise BadArgument("ctx must contain mp_group and mp_group can not be None.")
    for option in ("offload", "partition"):
        if ctx.get(option, False):
            raise NotSupported(f"recompute_hybrid: ctx[{option!r}]=True")
    return recompute(
        function, *args, preserve_rng_state=ctx.get("preserve_rng_state", True), **kwargs
    )
