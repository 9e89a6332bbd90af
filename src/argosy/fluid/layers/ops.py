"""``fluid.layers.ops``: functions of one tensor, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argosy.fluid.table import define, name_results
from argosy.nn import functional as F
from argosy.ops.fluid import reduction as ops
from argosy.tensor.engine import apply

if TYPE_CHECKING:  # the names of the table

    def __getattr__(name: str) -> Any: ...


define(
    globals(),
    """
gelu(x, approximate=False) -> nn.functional.gelu(x, approximate)
round(x, name=None) -> tensor.round(x)
softplus(x, name=None) -> nn.functional.softplus(x)
tanh_shrink(x, name=None) -> nn.functional.tanhshrink(x)
""",
)


def cumsum(
    x: Any, axis: int | None = None, exclusive: bool | None = None, reverse: bool | None = None
) -> Any:
    """Sums of all elements up to each one along ``axis``, the last by default; without itself if
    ``exclusive``, from the end if ``reverse``.
    """
    along = -1 if axis is None else axis
    return apply(ops.cumsum, x, along, bool(exclusive), bool(reverse))


def hard_shrink(x: Any, threshold: float | None = None) -> Any:
    """``x``, and 0 between the threshold (0.5 by default) and its negative."""
    return F.hardshrink(x, 0.5 if threshold is None else threshold)


def softshrink(x: Any, alpha: float | None = None) -> Any:
    """``x`` moved towards 0 by ``alpha``, 0.5 by default."""
    return F.softshrink(x, 0.5 if alpha is None else alpha)


def thresholded_relu(x: Any, threshold: float | None = None) -> Any:
    """``x``, and 0 up to the threshold, 1 by default."""
    return F.thresholded_relu(x, 1.0 if threshold is None else threshold)


name_results(globals(), "")
