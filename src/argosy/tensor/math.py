"""Element-wise mathematics."""

from __future__ import annotations

from argosy.ops import elementwise as ops
from argosy.tensor._face import binary
from argosy.tensor._inplace import make_inplace

__all__ = ["add", "add_"]

add = binary(ops.add, "Add element-wise, with broadcasting.")
add_ = make_inplace(add)

TENSOR_METHODS = __all__
