"""Derivatives of functions, of Tensors and in programs: products with vectors, and matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argosy.autograd import grad
from argosy.foundation.errors import AutogradError, DtypeError, OutOfRange
from argosy.framework.mode import in_dynamic_mode
from argosy.incubate.autograd.utils import as_tensors
from argosy.static import gradients
from argosy.tensor.creation import assign, zeros_like
from argosy.tensor.engine import Tensor
from argosy.tensor.manipulation import concat, reshape, stack

__all__ = ["vjp", "jvp", "Jacobian", "Hessian"]


def vjp(func: Callable[..., Any], xs: Any, v: Any = None) -> tuple[Any, Any]:
    """``func(*xs)``, and the product of ``v`` (ones, if None) with its Jacobian matrix.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> ys, product = paddle.incubate.autograd.vjp(lambda x: x * x, x)
        >>> product.tolist()
        [2.0, 4.0]
    """
    _check("vjp", func, xs, v)
    xs, v = _apart(xs), _apart(v)
    ys = func(*as_tensors(xs))
    _check_shapes("vjp", v, ys, "what func returns")
    return ys, _gradient(ys, xs, v)


def jvp(func: Callable[..., Any], xs: Any, v: Any = None) -> tuple[Any, Any]:
    """``func(*xs)``, and the product of its Jacobian matrix with ``v`` (ones, if None).

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> ys, product = paddle.incubate.autograd.jvp(lambda x: (x * x).sum(), x)
        >>> product.item()
        6.0
    """
    _check("jvp", func, xs, v)
    xs, v = _apart(xs), _apart(v)
    ys = func(*as_tensors(xs))
    _check_shapes("jvp", v, xs, "xs")
    # A product of w with the matrix is linear in w, and its derivative by w is the matrix's other
    # product: what w is does not matter.
    w = _apart(_mapped(_zeros, ys))
    return ys, _gradient(_gradient(ys, xs, w), w, v)


class Jacobian:
    """The derivatives of ``func(*xs)`` by ``xs``, as one matrix: both are flattened and joined, but
    for the first axis if ``is_batched``. Indexing computes the rows that it needs.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> paddle.incubate.autograd.Jacobian(lambda x: x * x, x)[:].tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """

    def __init__(self, func: Callable[..., Any], xs: Any, is_batched: bool = False) -> None:
        self._row_axis = 1 if is_batched else 0
        self._xs = _apart(xs)
        self._ys = self._joined(func(*as_tensors(self._xs)))
        columns = self._joined(self._xs).shape
        self._shape = (*columns[:-1], self._ys.shape[-1], columns[-1])
        self._rows: dict[int, Any] = {}

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns, behind the size of the batch if there is one."""
        return self._shape

    def __getitem__(self, indexes: Any) -> Any:
        axis = self._row_axis
        index = _whole_index(indexes, self._shape)
        wanted, others = index[axis], (*index[:axis], *index[axis + 1 :])
        if isinstance(wanted, int):
            return self._row(wanted)[others]
        rows = [self._row(i) for i in range(self._shape[axis])[wanted]]
        return stack(rows, axis)[(*index[:axis], slice(None), *index[axis + 1 :])]

    def _row(self, i: int) -> Any:
        if i not in self._rows:
            component = self._ys[:, i] if self._row_axis else self._ys[i]
            self._rows[i] = self._joined(_gradient(component, self._xs, None))
        return self._rows[i]

    def _joined(self, tensors: Any) -> Any:
        kept = self._row_axis
        return concat([reshape(x, [*x.shape[:kept], -1]) for x in as_tensors(tensors)], kept)


class Hessian:
    """The second derivatives of ``func(*xs)``, one number (or one per row of a batch), by ``xs``:
    as ``Jacobian``.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> paddle.incubate.autograd.Hessian(lambda x: (x * x * x).sum(), x)[:].tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """

    def __init__(self, func: Callable[..., Any], xs: Any, is_batched: bool = False) -> None:
        row = (slice(None), 0) if is_batched else (0,)

        def first(*xs: Any) -> Any:
            found = Jacobian(func, xs, is_batched)
            if found.shape[-2] != 1:
                raise AutogradError(
                    "Hessian: func must return one number, or one for each row of a batch with "
                    f"is_batched=True, but {found.shape[-2]} came back"
                )
            return found[row]

        self.symbolic = Jacobian(first, xs, is_batched)

    @property
    def shape(self) -> tuple[int, ...]:
        """As that of ``Jacobian``."""
        return self.symbolic.shape

    def __getitem__(self, indexes: Any) -> Any:
        return self.symbolic[indexes]


def _mapped(fn: Callable[[Any], Any], tensors: Any) -> Any:
    if isinstance(tensors, Sequence):
        return tuple(fn(x) for x in tensors)
    return None if tensors is None else fn(tensors)


def _zeros(like: Any) -> Any:
    zeros = zeros_like(like)
    zeros.stop_gradient = True
    return zeros


def _apart(tensors: Any) -> Any:
    """Copies that are differentiated by, so that what the script made of the tensors does not
    count.
    """

    def copied(x: Any) -> Any:
        y = assign(x)
        if x.stop_gradient:
            y.stop_gradient = False
        return y

    return _mapped(copied, tensors)


def _gradient(ys: Any, xs: Any, v: Any) -> Any:
    """The gradients by ``xs``, zeros where nothing depends on them."""
    given = None if v is None else list(as_tensors(v))
    inputs = list(as_tensors(xs))
    found: Sequence[Any]
    if in_dynamic_mode():
        found = grad(list(as_tensors(ys)), inputs, given, create_graph=True, allow_unused=True)
    else:
        found = gradients(list(as_tensors(ys)), inputs, given)
    found = [zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]
    return tuple(found) if isinstance(xs, Sequence) else found[0]


def _check(call: str, func: Any, xs: Any, v: Any) -> None:
    if not callable(func):
        raise DtypeError(f"{call}: func must be callable, but received {type(func).__name__}")
    for name, value in (("xs", xs), ("v", v)):
        parts = as_tensors(value) if isinstance(value, Sequence) else (value,)
        if not all(isinstance(x, Tensor) for x in parts) and (name == "xs" or v is not None):
            raise DtypeError(
                f"{call}: {name} must be a Tensor or a sequence of Tensors, but received {value!r}"
            )


def _check_shapes(call: str, v: Any, like: Any, name: str) -> None:
    if v is None:
        return
    found = [list(x.shape) for x in as_tensors(v)]
    expected = [list(x.shape) for x in as_tensors(like)]
    if found != expected:
        raise AutogradError(
            f"{call}: v must have the shapes of {name}, {expected}, but has {found}"
        )


def _whole_index(indexes: Any, shape: Sequence[int]) -> tuple[Any, ...]:
    """An index for every axis, integers from 0 on."""
    index = indexes if isinstance(indexes, tuple) else (indexes,)
    if any(part is Ellipsis for part in index):
        raise OutOfRange("a Jacobian can not be indexed with an ellipsis")
    if len(index) > len(shape):
        raise OutOfRange(f"{len(index)} indices for a Jacobian of {len(shape)} axes")
    whole: list[Any] = []
    for part, size in zip((*index, *[slice(None)] * (len(shape) - len(index))), shape, strict=True):
        if isinstance(part, int) and not -size <= part < size:
            raise OutOfRange(f"index {part} is out of range for a Jacobian of shape {list(shape)}")
        if not isinstance(part, (int, slice)):
            raise DtypeError(
                f"a Jacobian is indexed with integers and slices, but received {part!r}"
            )
        whole.append(part % size if isinstance(part, int) else part)
    return tuple(whole)
