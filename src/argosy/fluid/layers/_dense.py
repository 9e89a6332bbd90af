"""Fully connected layers and lookup of rows."""

from __future__ import annotations

from typing import Any

from argosy import tensor as T
from argosy.foundation.errors import UsageError
from argosy.static.nn import common
from argosy.static.nn.layer import anywhere

__all__ = ["bilinear_tensor_product", "embedding", "fc"]

bilinear_tensor_product = anywhere(common.bilinear_tensor_product)


def fc(
    input: Any,
    size: int,
    num_flatten_dims: int = 1,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Any:
    """``act(input @ w + b)``, with the dimensions from ``num_flatten_dims`` on flattened into one.

    A list of inputs gets a weight each; their products are added.

    Example:
        >>> import paddle.fluid as fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     x = fluid.layers.data("x", [3, 4])
        ...     list(fluid.layers.fc(x, size=10, act="relu").shape)
        [-1, 10]
        >>> paddle.disable_static()
    """
    return anywhere(common.fc)(input, size, num_flatten_dims, param_attr, bias_attr, act, name)


def embedding(
    input: Any,
    size: Any,
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Any:
    """Rows of a new [rows, width] parameter: the last axis of ``input``, of length 1, becomes one
    of length ``width``.

    The row ``padding_idx`` reads as zeros. ``is_sparse`` and ``is_distributed`` are those of
    ``static.nn.embedding``.
    """
    if input.shape[-1] != 1:
        raise UsageError(
            "fluid.layers.embedding: the last dimension of the ids must be 1, but their shape "
            f"is {list(input.shape)}; "
            "fluid.embedding takes ids of any shape"
        )
    ids = T.squeeze(input, [-1]) if input.ndim > 1 else input
    return anywhere(common.embedding)(
        ids, size, is_sparse, is_distributed, padding_idx, param_attr, dtype
    )
