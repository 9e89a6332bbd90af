"""Whether this process is one of several that train together."""

from __future__ import annotations

from argosy.distributed.communication.group import is_initialized

__all__: list[str] = []


def _is_parallel_ctx_initialized() -> bool:
    """Whether ``init_parallel_env`` was called."""
    return is_initialized()
