"""Messages along edges, under the name that ``paddle.geometric.send_u_recv`` had before."""

from __future__ import annotations

from typing import Any

from argosy.geometric import send_u_recv


def graph_send_recv(
    x: Any,
    src_index: Any,
    dst_index: Any,
    pool_type: str = "sum",
    out_size: Any = None,
    name: str | None = None,
) -> Any:
    """As ``paddle.geometric.send_u_recv``, with ``pool_type`` for its ``reduce_op``."""
    return send_u_recv(x, src_index, dst_index, pool_type, out_size)
