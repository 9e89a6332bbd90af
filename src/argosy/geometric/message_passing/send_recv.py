"""Messages along the edges of a graph: edge e goes from ``src_index[e]`` to ``dst_index[e]``."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import BadArgument
from argosy.geometric.message_passing.utils import reshape_lhs_rhs
from argosy.ops.array import messages as ops
from argosy.tensor.engine import apply

__all__: list[str] = []


def send_u_recv(
    x: Any,
    src_index: Any,
    dst_index: Any,
    reduce_op: str = "sum",
    out_size: Any = None,
    name: str | None = None,
) -> Any:
    """Let every node combine the rows of ``x`` of those nodes from which it has edges.

    The result has ``out_size`` rows, by default as many as ``x``; a node without edges has zeros.

    Example:
        >>> x = paddle.to_tensor([[0.0, 2.0], [1.0, 4.0]])
        >>> source, end = paddle.to_tensor([0, 1]), paddle.to_tensor([1, 1])
        >>> paddle.geometric.send_u_recv(x, source, end).tolist()
        [[0.0, 0.0], [1.0, 6.0]]
    """
    how = _known("send_u_recv", "reduce_op", reduce_op, _REDUCTIONS)
    return apply(ops.send_u_recv, x, src_index, dst_index, how, _rows(out_size))


def send_ue_recv(
    x: Any,
    y: Any,
    src_index: Any,
    dst_index: Any,
    message_op: str = "add",
    reduce_op: str = "sum",
    out_size: Any = None,
    name: str | None = None,
) -> Any:
    """As ``send_u_recv``; what an edge carries is first combined with its own row of ``y``."""
    how = _known("send_ue_recv", "reduce_op", reduce_op, _REDUCTIONS)
    x, y, message = _joining("send_ue_recv", x, y, message_op)
    return apply(ops.send_ue_recv, x, y, src_index, dst_index, message, how, _rows(out_size))


def send_uv(
    x: Any,
    y: Any,
    src_index: Any,
    dst_index: Any,
    message_op: str = "add",
    name: str | None = None,
) -> Any:
    """A row for each edge, of the row of its source in ``x`` and that of its end in ``y``."""
    x, y, message = _joining("send_uv", x, y, message_op)
    return apply(ops.send_uv, x, y, src_index, dst_index, message)


_REDUCTIONS = ("sum", "mean", "max", "min")


def _known(call: str, argument: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise BadArgument(f"{call}: {argument} is {value!r}; expected one of {', '.join(known)}")
    return value.upper()


def _joining(call: str, x: Any, y: Any, message_op: str) -> tuple[Any, Any, str]:
    """The two in one number of dimensions, and the operation on them: a difference is a sum, and a
    quotient a product, as Paddle computes them.
    """
    _known(call, "message_op", message_op, ("add", "sub", "mul", "div"))
    x, y = reshape_lhs_rhs(x, y)
    if message_op == "sub":
        return x, -y, "ADD"
    if message_op == "div":
        return x, 1.0 / (y + 1e-12), "MUL"
    return x, y, message_op.upper()


def _rows(out_size: Any) -> Any:
    """How many rows are wanted, 0 for as many as there are nodes; a variable stays one."""
    if out_size is None:
        return 0
    return out_size if hasattr(out_size, "stop_gradient") else int(out_size)
