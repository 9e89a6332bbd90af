"""Breaking operators into primitive ones, which needs Paddle's second IR."""

from __future__ import annotations

from typing import Any, NoReturn

from argosy.foundation.errors import NotSupported

__all__ = ["decompose"]


def decompose(
    program: Any,
    src_vars: Any,
    blacklist: Any = frozenset(),
    whitelist: Any = frozenset(),
    start_index: int = 0,
    end_index: int = -1,
) -> NoReturn:
    """Not supported: operators are computed as they were recorded."""
    raise NotSupported(
        "paddle.decomposition.decompose: operators are not broken into primitive ones; run the "
        "program as it is, the values are the same"
    )
