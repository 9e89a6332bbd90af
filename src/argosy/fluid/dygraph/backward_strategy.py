"""``BackwardStrategy``: how 1.x adds gradients of one tensor."""

from __future__ import annotations

from argosy.tensor.engine import SumOrder


class BackwardStrategy(SumOrder):
    """What ``backward`` and ``grad`` of 1.x take: with ``sort_sum_gradient`` the gradients of a
    tensor are added in the order of its uses, backwards.

    They always are here, so that results do not depend on threads; the switch changes nothing.

    Example:
        >>> import paddle.fluid as fluid
        >>> strategy = fluid.dygraph.BackwardStrategy()
        >>> strategy.sort_sum_gradient = True
    """
