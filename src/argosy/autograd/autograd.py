"""Jacobian and Hessian matrices, evaluated row by row as they are asked for."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from argosy.autograd.backward_mode import grad
from argosy.foundation.errors import DtypeError, OutOfRange, UsageError
from argosy.tensor.creation import zeros_like
from argosy.tensor.manipulation import reshape, stack

__all__ = ["Jacobian", "Hessian", "jacobian", "hessian"]


def _operation(fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Jacobian, other: Any) -> Any:
        return fn(
            self._evaluate_all(), other._evaluate_all() if isinstance(other, Jacobian) else other
        )

    return method


class Jacobian:
    """The derivatives of ``ys`` by ``xs``; indexing gives Tensors, and only the rows needed are
    computed.

    Its shape is that of ``ys`` followed by that of ``xs``, with a batch dimension in common in
    front if ``is_batched``. Used like a Tensor otherwise, it evaluates all rows.
    """

    def __init__(self, ys: Any, xs: Any, is_batched: bool = False) -> None:
        first = 1 if is_batched else 0
        for name, value in (("xs", xs), ("ys", ys)):
            if not first <= value.ndim <= first + 1:
                raise UsageError(
                    f"jacobian: {name}.ndim should be {first} or {first + 1} when "
                    f"is_batched={is_batched}, "
                    f"but its shape is {list(value.shape)}"
                )
        self._xs = xs
        self._has_rows = ys.ndim == first + 1
        self._row_axis = first
        columns = list(ys.shape) if self._has_rows else [*ys.shape, 1]
        self._ys = reshape(ys, columns)
        self.shape = [*ys.shape, *xs.shape[first:]]
        self._rows: dict[int, Any] = {}

    def _row(self, i: int) -> Any:
        """The gradient of component ``i`` of ys, in the shape of xs."""
        if i not in self._rows:
            component = self._ys[:, i] if self._row_axis else self._ys[i]
            (found,) = grad(component, self._xs, create_graph=True, allow_unused=True)
            self._rows[i] = zeros_like(self._xs) if found is None else found
        return self._rows[i]

    def _evaluate_all(self) -> Any:
        return self._select(range(self._ys.shape[-1])) if self._has_rows else self._row(0)

    def _select(self, rows: Sequence[int]) -> Any:
        return stack([self._row(i) for i in rows], axis=self._row_axis)

    def __getitem__(self, indexes: Any) -> Any:
        if not self.shape:
            raise OutOfRange("a 0-D Jacobian can not be indexed")
        index = indexes if isinstance(indexes, tuple) else (indexes,)
        for part in index:
            if part is Ellipsis:
                raise OutOfRange("a Jacobian can not be indexed with an ellipsis")
            if not isinstance(part, (int, slice)):
                raise DtypeError(
                    f"a Jacobian is indexed with integers and slices, but received {part!r}"
                )
        axis = self._row_axis
        if not self._has_rows:
            return self._row(0)[index]
        size = self._ys.shape[-1]
        wanted = index[axis] if len(index) > axis else slice(None)
        if isinstance(wanted, slice):
            return self._select(range(size)[wanted])[
                (*index[:axis], slice(None), *index[axis + 1 :])
            ]
        if not -size <= wanted < size:
            raise OutOfRange(f"row {wanted} is out of range for a Jacobian of shape {self.shape}")
        return self._row(wanted % size)[(*index[:axis], *index[axis + 1 :]) or slice(None)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._evaluate_all(), name)

    __add__ = _operation(operator.add)
    __sub__ = _operation(operator.sub)
    __mul__ = _operation(operator.mul)
    __truediv__ = _operation(operator.truediv)
    __pow__ = _operation(operator.pow)
    __mod__ = _operation(operator.mod)
    __floordiv__ = _operation(operator.floordiv)
    __matmul__ = _operation(operator.matmul)
    __eq__ = _operation(operator.eq)
    __ne__ = _operation(operator.ne)
    __lt__ = _operation(operator.lt)
    __le__ = _operation(operator.le)
    __gt__ = _operation(operator.gt)
    __ge__ = _operation(operator.ge)
    __hash__ = object.__hash__


class Hessian(Jacobian):
    """The second derivatives of one number (or one per row of a batch)."""


def jacobian(ys: Any, xs: Any, batch_axis: int | None = None) -> Any:
    """The derivatives of ``ys`` by ``xs``, each with at most one dimension besides the batch's.

    Sequences give a tuple of Jacobians, one per member; both as sequences give tuples of tuples.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> paddle.autograd.jacobian(x * x, x)[:].tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """
    if batch_axis is not None and batch_axis != 0:
        raise UsageError(f"jacobian: batch_axis should be None or 0, but received {batch_axis}")
    is_batched = batch_axis is not None
    if isinstance(ys, (list, tuple)):
        return tuple(jacobian(y, xs, batch_axis) for y in ys)
    if isinstance(xs, (list, tuple)):
        return tuple(Jacobian(ys, x, is_batched) for x in xs)
    return Jacobian(ys, xs, is_batched)


def hessian(ys: Any, xs: Any, batch_axis: int | None = None) -> Any:
    """The second derivatives of ``ys``, one number or one per row of the batch, by ``xs``.

    A sequence of inputs gives a tuple of tuples of Hessians.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> paddle.autograd.hessian((x * x * x).sum(), x)[:].tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """
    if batch_axis not in (None, 0) or isinstance(batch_axis, bool):
        raise UsageError(f"hessian: batch_axis should be None or 0, but received {batch_axis!r}")
    is_batched = batch_axis is not None
    if ys.size != (ys.shape[0] if is_batched else 1):
        raise UsageError(
            f"hessian: ys must be one number{' per row' if is_batched else ''}, but its shape is "
            f"{list(ys.shape)}"
        )
    ys = reshape(ys, [-1] if is_batched else [])
    if not isinstance(xs, (list, tuple)):
        return Hessian(Jacobian(ys, xs, is_batched)._evaluate_all(), xs, is_batched)
    first = [Jacobian(ys, x, is_batched)._evaluate_all() for x in xs]
    return tuple(tuple(Hessian(row, x, is_batched) for x in xs) for row in first)
