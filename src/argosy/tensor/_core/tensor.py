"""Tensor, Parameter and ``apply``, the one door from the face to the op table.

``Tensor`` is a thin wrapper: one slot, ``raw``, holds the torch tensor; everything else (name,
persistable, free attributes) goes to ``__dict__``, which costs nothing until it is used. Operators
between two Tensors of one dtype call torch directly; everything else goes through ``apply``.

``apply(op, *args)`` is where recording (static programs) and automatic mixed precision hook in:
while a *mode* is installed, it receives every call instead. The stack of modes is process-wide, as
Paddle's is.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import (
    AutogradError,
    BadArgument,
    DtypeError,
    OutOfRange,
    RankError,
    UsageError,
    raise_as,
)
from argosy.foundation.places import Place, to_place
from argosy.foundation.process_state import register
from argosy.ops.math import elementwise as _elementwise
from argosy.ops.math import logic as _logic
from argosy.ops.table import Op
from argosy.tensor._core.explain import explain, explain_backward
from argosy.tensor._core.naming import unique_name
from argosy.tensor._core.scalar import number_of, to_kind
from argosy.tensor.final_hooks import run_final_hooks

_new = object.__new__
_raw_tensor = torch.Tensor
_engine = torch  # inside the class, `torch` is a method

Mode = Callable[[Op, tuple[Any, ...], dict[str, Any]], Any]

active_mode: Mode | None = None
_mode_stack: list[Mode | None] = []
register("mode of ops", sys.modules[__name__], attributes=("active_mode", "_mode_stack"))


def push_mode(mode: Mode | None) -> None:
    """Send every op through ``mode`` until ``pop_mode``; None is plain eager execution."""
    global active_mode
    _mode_stack.append(active_mode)
    active_mode = mode


def pop_mode() -> None:
    global active_mode
    active_mode = _mode_stack.pop()


def current_mode() -> Mode | None:
    return active_mode


class Shape(list[int]):
    """``Tensor.shape``: a list that also answers ``numel()``."""

    __slots__ = ()

    def numel(self) -> int:
        total = 1
        for n in self:
            total *= n
        return total


def _binary(
    symbol: str, op: Op, fast: Callable[[Any, Any], Any], reflected: bool = False
) -> Callable[..., Any]:
    """Build an operator method.

    Two Tensors of one dtype, and a floating Tensor with a Python number, go straight to torch;
    everything else through the op.
    """

    if reflected:

        def method(self: Tensor, other: Any) -> Any:
            kind = type(other)
            if (kind is float or kind is int) and active_mode is None:
                a = self.raw
                if a.is_floating_point():
                    try:
                        out = _new(Tensor)
                        out.raw = fast(other, a)
                        return out
                    except (RuntimeError, TypeError, ValueError) as error:
                        raise_as(explain(op, (other, self), {}, error), error)
            value = _operand(self, other, symbol)
            return NotImplemented if value is None else apply(op, value, self)

    else:

        def method(self: Tensor, other: Any) -> Any:
            if type(other) is Tensor and active_mode is None:
                a = self.raw
                b = other.raw
                dtype = a.dtype
                if dtype is b.dtype and dtype is not _bool:
                    try:
                        out = _new(Tensor)
                        out.raw = fast(a, b)
                        return out
                    except (RuntimeError, TypeError, ValueError) as error:
                        raise_as(explain(op, (self, other), {}, error), error)
            elif (type(other) is float or type(other) is int) and active_mode is None:
                a = self.raw
                if a.is_floating_point():
                    try:
                        out = _new(Tensor)
                        out.raw = fast(a, other)
                        return out
                    except (RuntimeError, TypeError, ValueError) as error:
                        raise_as(explain(op, (self, other), {}, error), error)
            value = _operand(self, other, symbol)
            return NotImplemented if value is None else apply(op, self, value)

    method.__name__ = symbol
    return method


_bool = torch.bool
_SCALARS = (int, float, bool, complex)
_PRODUCTS = ("__matmul__", "__rmatmul__")  # convert an array to the dtype of the Tensor
_TEXTLESS = tuple(
    f"__{r}{name}__" for r in ("", "r") for name in ("mul", "and", "or", "xor", "lshift", "rshift")
)


def _operand(self: Tensor, other: Any, symbol: str) -> Any:
    """The right-hand side of an operator as a Tensor or Python number; None where Python should try
    the other side.

    Numbers of NumPy that are no Python floats, and texts, take the kind of the Tensor.
    """
    if isinstance(other, (Tensor, *_SCALARS)):
        return other
    if isinstance(other, (np.number, np.bool_)):
        return to_kind(other.item(), self.raw.dtype)
    if isinstance(other, np.ndarray):
        return Tensor(other, self.dtype if symbol in _PRODUCTS else None)
    if isinstance(other, str) and symbol not in _TEXTLESS:
        return to_kind(number_of(other), self.raw.dtype)
    if isinstance(other, _raw_tensor):
        return wrap(other)
    if hasattr(other, "__array_ufunc__") or isinstance(other, (str, list, tuple, dict, set, bytes)):
        raise DtypeError(
            f"{symbol}(): argument (position 1) must be int, float, bool or Tensor, but got "
            f"{type(other).__name__}"
        )
    return None


def _reflected_bits(symbol: str, op: Op, fast: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Build ``number & x`` and the like: the number takes the kind of the Tensor."""
    combine = _binary(symbol, op, fast, reflected=True)

    def method(self: Tensor, other: Any) -> Any:
        return combine(self, to_kind(other, self.raw.dtype) if type(other) is int else other)

    method.__name__ = symbol
    return method


def _comparison(symbol: str, op: Op, fast: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    compare = _binary(symbol, op, fast)
    if symbol not in ("__eq__", "__ne__"):
        return compare

    def method(self: Tensor, other: Any) -> Any:
        # Against what is no number, text or array, equality is a plain bool, as for any Python
        # object.
        if other is None or not isinstance(
            other, (Tensor, *_SCALARS, np.ndarray, np.generic, _raw_tensor, str)
        ):
            return symbol == "__ne__"
        return compare(self, other)

    method.__name__ = symbol
    return method


class SumOrder:
    """Whether gradients of one tensor are added in a fixed order. torch always does, so nothing
    reads it.
    """

    def __init__(self) -> None:
        self.sort_sum_gradient = False


class Tensor:
    """A multi-dimensional array with Paddle's methods on torch's engine.

    ``Tensor(data)`` copies array-like data as ``paddle.to_tensor`` does; it also takes the
    arguments of Paddle's C++ object (see ``construct``). ``wrap`` wraps without a copy.
    """

    __slots__ = ("__dict__", "__weakref__", "raw")

    raw: torch.Tensor

    # bound by _methods.install(), with the other methods that have a function beside them
    if TYPE_CHECKING:
        main_grad: Any
        optimize_attr: dict[str, Any]

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...

    # Defaults of attributes that few tensors set; instances keep their own in __dict__.
    _name: str | None = None
    # stop_gradient=False was asked of an integer tensor, which never gets a gradient
    _nominal_grad = False
    is_grad_cleared = False  # clear_grad() ran: a missing gradient reads as zeros
    _num_changes = 0  # in-place changes that ``raw`` does not count
    _retained: Retained | None = None  # what retain_grads() keeps of an intermediate result
    persistable = False
    is_distributed = False
    stem = "generated_tensor"  # of the names that are made up
    before_backward: Callable[[torch.Tensor], None] | None = None  # prepares a graph
    rebind: Any = None  # for a variable of a program: records that an in-place function changed it

    __array_priority__ = 100  # numpy arrays leave operators to us

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        from argosy.tensor._core.construct import construct, is_inner

        if is_inner(args, kwargs):
            construct(self, args, kwargs)
        else:
            self._hold(*args, **kwargs)

    def _hold(
        self, data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True
    ) -> None:
        from argosy.tensor._core.convert import to_raw

        self.raw = to_raw(data, dtype, place)
        if not stop_gradient:
            self.stop_gradient = False

    # -- what it is
    # ---------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """Extent of each dimension, as a list."""
        return Shape(self.raw.shape)

    @property
    def ndim(self) -> int:
        return self.raw.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.raw.numel()

    @property
    def dtype(self) -> dtypes.DType:
        return dtypes.BY_TORCH[self.raw.dtype]

    @property
    def place(self) -> Place:
        return to_place(self.raw.device)

    @property
    def type(self) -> str:
        """The kind of variable, one of ``core.VarDesc.VarType``."""
        return "dense_tensor" if self.raw.layout is torch.strided else "selected_rows"

    @property
    def itemsize(self) -> int:
        return self.raw.itemsize

    @property
    def strides(self) -> list[int]:
        return list(self.raw.stride())

    @property
    def offset(self) -> int:
        return int(self.raw.storage_offset()) * self.raw.itemsize

    @property
    def inplace_version(self) -> int:
        """How often the values were changed in place."""
        return self.raw._version + self._num_changes

    @property
    def is_leaf(self) -> bool:
        return self.raw.is_leaf

    @property
    def name(self) -> str:
        """A unique name, made up on first use unless one was set."""
        if self._name is None:
            self._name = unique_name.generate(self.stem)
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = value

    @property
    def given_name(self) -> str | None:
        """The name, if it has one; asking for ``name`` gives it one."""
        return self._name

    def dim(self) -> int:
        return self.raw.ndim

    ndimension = dim

    def element_size(self) -> int:
        return self.raw.element_size()

    def data_ptr(self) -> int:
        return self.raw.data_ptr()

    def is_contiguous(self) -> bool:
        return self.raw.is_contiguous()

    def contiguous(self) -> Tensor:
        return wrap(self.raw.contiguous())

    def is_tensor(self) -> bool:
        return True

    def is_dense(self) -> bool:
        return self.raw.layout is torch.strided

    def is_sparse(self) -> bool:
        return self.raw.layout is torch.sparse_coo

    def is_selected_rows(self) -> bool:
        """Whether this is a row-sparse gradient."""
        return self.raw.layout is torch.sparse_coo

    def is_dist(self) -> bool:
        return False

    def _inplace_version(self) -> int:
        return self.inplace_version

    def take_over(self, new: torch.Tensor, changes: int = 1) -> None:
        """Hold another tensor from now on, as the result of in-place changes that ``raw`` did not
        count.
        """
        self._num_changes = self.inplace_version + changes - new._version
        self.raw = new

    def supersede(self, new: torch.Tensor) -> None:
        """Hold another tensor, as ``take_over``; backward refuses to use the old one, if what it
        saved is that.
        """
        changes = self.inplace_version + 1
        _engine.autograd.graph.increment_version(self.raw)
        self._num_changes = changes - new._version  # which a view shares with what it views
        self.raw = new

    def _grad_ivar(self) -> Tensor | None:
        return self.grad

    # -- gradient
    # ----------------------------------------------------------------------------------------------

    @property
    def stop_gradient(self) -> bool:
        """True where backward does not reach this tensor; new tensors start so, parameters do
        not.
        """
        return not (self.raw.requires_grad or self._nominal_grad)

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        t = self.raw
        if stop:
            self._nominal_grad = False
            if t.requires_grad:
                if t.is_leaf:
                    t.requires_grad_(False)
                else:
                    self.raw = t.detach()
        elif t.is_floating_point() or t.is_complex():
            t.requires_grad_(True)
        else:
            self._nominal_grad = True

    @property
    def requires_grad(self) -> bool:
        return not self.stop_gradient

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        self.stop_gradient = not flag

    @property
    def _grad_holder(self) -> Any:
        """Where the gradient is: with a leaf, or with what was asked to retain it."""
        raw = self.raw
        if raw.is_leaf:
            return raw
        if self._retained is None:
            node: Any = raw.grad_fn
            kept = node.metadata.get(GRADIENTS)
            if kept:  # what nothing depends on, beside a result that something does, has zeros
                self._retained = kept.setdefault(raw.output_nr, Retained())
                if self._retained.grad is None:
                    self._retained.grad = torch.zeros_like(raw)
        return self._retained

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward accumulated, or None."""
        holder = self._grad_holder
        raw = None if holder is None else holder.grad
        if raw is None:
            if not self.is_grad_cleared or holder is None:
                return None
            raw = holder.grad = torch.zeros_like(self.raw)
        out = wrap(raw)
        out._name = f"{self.name}@GRAD"
        return out

    @grad.setter
    def grad(self, value: Any) -> None:
        holder = self._grad_holder
        if holder is None:
            holder = self._retained = Retained()
        if value is None:
            holder.grad = None
            self.is_grad_cleared = False
            return
        if not isinstance(value, Tensor):
            raise DtypeError(
                f"Tensor.grad must be set to a Tensor or None, but received {type(value).__name__}"
            )
        given = value.raw
        is_float = given.is_floating_point() and self.raw.is_floating_point()
        if given.shape != self.raw.shape or (given.dtype is not self.raw.dtype and not is_float):
            raise UsageError(
                f"Tensor.grad of {self.name!r} must have shape {self.shape} and dtype "
                f"{self.dtype.name}, "
                f"but received shape {value.shape} and dtype {value.dtype.name}"
            )
        holder.grad = given.to(self.raw.dtype)  # torch has no gradient of another dtype

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def gradient(self) -> Any:
        """The gradient as an array, or None; for a row-sparse one the pair (values, rows)."""
        grad = self.grad
        if grad is None:
            return None
        if grad.raw.layout is torch.sparse_coo:
            raw = grad.raw.coalesce()
            return raw.values().numpy(), raw.indices()[0].numpy()
        return grad.numpy()

    def backward(self, grad_tensor: Tensor | None = None, retain_graph: bool = False) -> None:
        """Compute the gradients of every leaf this tensor depends on.

        Without ``grad_tensor`` the starting gradient is ones, for a tensor of any shape. 1.x has a
        ``BackwardStrategy`` in its place.
        """
        t = self.raw
        if not t.requires_grad:
            return
        if grad_tensor is None or isinstance(grad_tensor, SumOrder):
            start = None if t.ndim == 0 and not t.is_complex() else torch.ones_like(t)
        else:
            if not isinstance(grad_tensor, Tensor):
                raise BadStart(
                    "Tensor.backward: The type of grad_tensor must be paddle.Tensor, "
                    f"but received {type(grad_tensor).__name__}"
                )
            start = grad_tensor.raw
            if start.shape != t.shape:
                raise BadArgument(
                    "Tensor.backward: Tensor shape not match, Tensor of grad_tensor has shape "
                    f"{grad_tensor.shape}, the tensor {self.shape}; they must be equal"
                )
        if self.before_backward is not None:
            self.before_backward(t)
        try:
            torch.autograd.backward(t, start, retain_graph=retain_graph)
        except RuntimeError as error:
            raise_as(explain_backward("Tensor.backward", error), error)
        run_final_hooks()

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        """Drop the gradient; by default it then reads as zeros, as in Paddle, without being
        stored.
        """
        holder = self._grad_holder
        if holder is None:
            return
        grad = holder.grad
        # a row-sparse gradient is gone when it is cleared
        had_one = grad is not None and grad.layout is torch.strided
        self.is_grad_cleared = set_to_zero and (self.is_grad_cleared or had_one)
        holder.grad = None

    clear_grad = clear_gradient

    def zero_grad(self) -> None:
        self.clear_gradient(True)

    def retain_grads(self) -> None:
        """Keep the gradient of this intermediate tensor in ``grad``: that of the value it has now,
        before the hooks that are registered later, of the last backward.
        """
        t = self.raw
        if t.requires_grad and not t.is_leaf and self._retained is None:
            kept = self._retained = Retained()
            t.register_hook(kept.keep)  # type: ignore[no-untyped-call]
            number, like = t.output_nr, {"dtype": t.dtype, "device": t.device}
            shape = t.shape

            def fill(grads: tuple[torch.Tensor | None, ...]) -> None:
                """Keep zeros where only results beside it had a gradient."""
                if grads[number] is None:
                    kept.keep(torch.zeros(shape, **like))  # type: ignore[call-overload]

            t.grad_fn.register_prehook(fill)  # type: ignore[union-attr]

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any:
        """Call ``hook(grad)`` in backward; what it returns replaces the gradient. Returns a handle
        with ``remove()``.
        """
        if not self.raw.requires_grad:
            raise AutogradError(
                "Tensor.register_hook: cannot register a hook on a tensor that stops gradient."
            )

        def raw_hook(grad: torch.Tensor) -> torch.Tensor | None:
            result = hook(wrap(grad))
            return result.raw if isinstance(result, Tensor) else result

        return HookHandle(self.raw.register_hook(raw_hook))  # type: ignore[no-untyped-call]

    def detach(self) -> Tensor:
        """A Tensor on the same memory outside the graph."""
        return wrap(self.raw.detach())

    def detach_(self) -> Tensor:
        self.raw = self.raw.detach()
        return self

    # -- values
    # ----------------------------------------------------------------------------------------------

    def numpy(self, blocking: bool = True) -> np.ndarray:
        """A copy of the values as a NumPy array; bfloat16 comes as uint16 bits, as in Paddle.

        The call always waits for the values, whatever ``blocking`` says.
        """
        t = self.raw.detach()
        if t.layout is not torch.strided:
            t = t.to_dense()
        if t.dtype is torch.bfloat16:
            return t.cpu().contiguous().view(torch.int16).numpy().view(np.uint16).copy()
        array = t.resolve_conj().resolve_neg().numpy(force=True)
        return array.copy() if t.device.type == "cpu" else array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False and self.raw.device.type == "cpu":
            array = self.raw.detach().numpy()
            if dtype is None or array.dtype == dtype:
                return array
            raise UsageError(
                f"the Tensor holds {array.dtype}; as {np.dtype(dtype)} it cannot be viewed "
                "without a copy"
            )
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.raw.detach().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self.raw.__dlpack_device__()

    def torch(self) -> torch.Tensor:
        """The torch tensor inside: the same memory and the same autograd graph."""
        return self.raw

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Enter any torch function: Tensors go in as their torch tensors, what comes out is
        wrapped.
        """
        return rewrap(func(*unwrap(args), **(unwrap(kwargs) if kwargs else {})))

    def tolist(self) -> Any:
        return self.raw.tolist()

    def item(self, *args: int) -> Any:
        """The Python number at the given position, or the only one."""
        t = self.raw
        if args:
            flat = len(args) == 1 and t.ndim != 1
            try:
                return (t.reshape(-1)[args[0]] if flat else t[args]).item()
            except IndexError as error:
                raise OutOfRange(
                    f"Tensor.item: position {args} lies outside a tensor of shape {self.shape}"
                ) from error
        if t.numel() != 1:
            raise UsageError(
                "Tensor.item: only one element tensors can be converted to Python scalars, this "
                f"one has shape {self.shape}"
            )
        return t.item()

    def _number(self, kind: str) -> Any:
        if self.raw.numel() != 1:
            raise RankError(
                f"only one element variable can be converted to {kind}, but this one has shape "
                f"{self.shape}."
            )
        return self.raw.item()

    def __float__(self) -> float:
        return float(self._number("float"))

    def __int__(self) -> int:
        return int(self._number("int"))

    def __complex__(self) -> complex:
        return complex(self._number("complex"))

    def __bool__(self) -> bool:
        return bool(self._number("bool"))

    __nonzero__ = __bool__

    def __index__(self) -> int:
        return int(self._number("python index"))

    def __len__(self) -> int:
        if self.raw.ndim == 0:
            raise RankError("len() of a 0-D tensor is wrong")
        return self.raw.shape[0]

    def __iter__(self) -> Any:
        if self.raw.ndim == 0:
            raise DtypeError("iteration over a 0-D tensor")
        return iter([wrap(row) for row in self.raw.unbind(0)])

    def __contains__(self, value: Any) -> bool:
        found = self == value
        return bool(found.raw.any()) if isinstance(found, Tensor) else False

    def __hash__(self) -> int:
        return id(self)

    def __format__(self, spec: str) -> str:
        if self.raw.ndim == 0:
            return format(self.raw.item(), spec)
        return format(str(self), spec)

    def __repr__(self) -> str:
        from argosy.tensor._core.print import tensor_to_string

        return tensor_to_string(self)

    __str__ = __repr__

    # -- copies
    # ----------------------------------------------------------------------------------------------

    def __copy__(self) -> Tensor:
        out = wrap(self.raw.detach())
        out.__dict__.update(self.__dict__)
        return out

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not self.raw.is_leaf:
            raise RuntimeError(
                "Only Leaf Tensor support the deepcopy at the moment, non-Leaf Tensors contain "
                "graph information"
            )
        from copy import deepcopy

        out = _new(type(self))
        memo[id(self)] = out
        out.raw = self.raw.detach().clone().requires_grad_(self.raw.requires_grad)
        memo[id(self.raw)] = out.raw  # an uninitialised tensor says so by naming it
        for key, value in self.__dict__.items():
            out.__dict__[key] = deepcopy(value, memo)
        if self._name is not None:
            out._name = unique_name.generate(self._name)
        return out

    def __reduce__(self) -> Any:
        return _rebuild, (
            type(self),
            self.raw.detach(),
            self.raw.requires_grad,
            dict(self.__dict__),
        )

    # -- operators
    # ----------------------------------------------------------------------------------------------

    __add__ = _binary("__add__", _elementwise.add, _engine.add)
    __radd__ = _binary("__radd__", _elementwise.add, operator.add, reflected=True)
    __sub__ = _binary("__sub__", _elementwise.subtract, _engine.sub)
    __rsub__ = _binary("__rsub__", _elementwise.subtract, operator.sub, reflected=True)
    __mul__ = _binary("__mul__", _elementwise.multiply, _engine.mul)
    __rmul__ = _binary("__rmul__", _elementwise.multiply, operator.mul, reflected=True)
    __truediv__ = _binary("__truediv__", _elementwise.divide, _engine.div)
    __rtruediv__ = _binary("__rtruediv__", _elementwise.divide, operator.truediv, reflected=True)
    __div__ = __truediv__
    __rdiv__ = __rtruediv__
    __floordiv__ = _binary("__floordiv__", _elementwise.floor_divide, _elementwise.floor_divide.fn)
    __rfloordiv__ = _binary(
        "__rfloordiv__", _elementwise.floor_divide, _elementwise.floor_divide.fn, reflected=True
    )
    __mod__ = _binary("__mod__", _elementwise.remainder, _elementwise.remainder.fn)
    __rmod__ = _binary(
        "__rmod__", _elementwise.remainder, _elementwise.remainder.fn, reflected=True
    )
    __pow__ = _binary("__pow__", _elementwise.pow, _engine.pow)
    __rpow__ = _binary("__rpow__", _elementwise.pow, _engine.pow, reflected=True)
    __matmul__ = _binary("__matmul__", _elementwise.matmul, _engine.matmul)
    __rmatmul__ = _binary("__rmatmul__", _elementwise.matmul, operator.matmul, reflected=True)
    __and__ = _binary("__and__", _logic.bitwise_and, operator.and_)
    __rand__ = _reflected_bits("__rand__", _logic.bitwise_and, operator.and_)
    __or__ = _binary("__or__", _logic.bitwise_or, operator.or_)
    __ror__ = _reflected_bits("__ror__", _logic.bitwise_or, operator.or_)
    __xor__ = _binary("__xor__", _logic.bitwise_xor, operator.xor)
    __rxor__ = _reflected_bits("__rxor__", _logic.bitwise_xor, operator.xor)
    __lshift__ = _binary("__lshift__", _logic.bitwise_left_shift, operator.lshift)
    __rlshift__ = _binary("__rlshift__", _logic.bitwise_left_shift, operator.lshift, reflected=True)
    __rshift__ = _binary("__rshift__", _logic.bitwise_right_shift, operator.rshift)
    __rrshift__ = _binary(
        "__rrshift__", _logic.bitwise_right_shift, operator.rshift, reflected=True
    )
    __eq__ = _comparison("__eq__", _logic.equal, _engine.eq)
    __ne__ = _comparison("__ne__", _logic.not_equal, _engine.ne)
    __lt__ = _comparison("__lt__", _logic.less_than, _engine.lt)
    __le__ = _comparison("__le__", _logic.less_equal, _engine.le)
    __gt__ = _comparison("__gt__", _logic.greater_than, _engine.gt)
    __ge__ = _comparison("__ge__", _logic.greater_equal, _engine.ge)

    def __neg__(self) -> Any:
        return apply(_elementwise.neg, self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return apply(_elementwise.abs, self)

    def __invert__(self) -> Any:
        return apply(_logic.bitwise_not, self)


class Parameter(Tensor):
    """A Tensor that layers own and optimizers update; ``trainable`` is the opposite of
    ``stop_gradient``.
    """

    __slots__ = ()

    persistable = True
    regularizer: Any = None
    need_clip = True
    do_model_average: Any = None
    optimize_attr: dict[str, float]

    def __init__(
        self,
        data: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        name: str | None = None,
        *,
        shape: Any = None,
        lod_level: int = 0,
        optimize_attr: dict[str, float] | None = None,
        regularizer: Any = None,
        do_model_average: Any = None,
        need_clip: bool = True,
    ) -> None:
        """Hold ``data``, or, as ``EagerParamBase(shape=..., dtype=...)`` does, be of a shape and
        filled later. A parameter is no sequence, so ``lod_level`` says nothing.
        """
        if data is None:
            from argosy.tensor._core.construct import unfilled

            data = unfilled(shape, dtype)
        super().__init__(data, dtype)
        if self.raw.is_floating_point() or self.raw.is_complex():
            self.raw.requires_grad_(trainable)
        self.optimize_attr = {"learning_rate": 1.0} if optimize_attr is None else optimize_attr
        self.regularizer = regularizer
        self.do_model_average = do_model_average
        self.need_clip = need_clip
        if name is not None:
            self._name = name

    @property
    def trainable(self) -> bool:
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, flag: bool) -> None:
        if not isinstance(flag, bool):
            raise UsageError(
                f"The type of trainable MUST be bool, but the type is {type(flag).__name__}"
            )
        self.stop_gradient = not flag

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    __str__ = __repr__


class BadStart(BadArgument, TypeError):
    """What backward is to begin with is no Tensor."""


GRADIENTS = "gradients"  # where a node of the graph keeps those of its results, if it does


class Retained:
    """The gradient of an intermediate result, if ``retain_grads`` asked for it."""

    __slots__ = ("grad",)

    def __init__(self) -> None:
        self.grad: torch.Tensor | None = None

    def keep(self, grad: torch.Tensor) -> None:
        self.grad = grad


class HookHandle:
    """Removes a hook once."""

    __slots__ = ("_handle",)

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def remove(self) -> bool:
        """Remove the hook; False when it was gone already."""
        handle, self._handle = self._handle, None
        if handle is None:
            return False
        handle.remove()
        return True


def wrap(t: torch.Tensor) -> Tensor:
    """Wrap a torch tensor: no copy, same graph."""
    out = _new(Tensor)
    out.raw = t
    return out


def asks_for_gradient(x: Tensor) -> bool:
    """Whether stop_gradient=False was asked of an eager tensor, also of one of integers."""
    return x.raw.requires_grad or x._nominal_grad


def _rebuild(
    cls: type[Tensor], raw: torch.Tensor, requires_grad: bool, attributes: dict[str, Any]
) -> Tensor:
    out = _new(cls)
    out.raw = raw.requires_grad_(requires_grad)
    out.__dict__.update(attributes)
    return out


def unwrap(value: Any) -> Any:
    """Replace Tensors by their torch tensors, inside lists, tuples and dicts too."""
    if isinstance(value, Tensor):
        return value.raw
    kind = type(value)
    if kind is list:
        return [unwrap(v) for v in value]
    if kind is tuple:
        return tuple([unwrap(v) for v in value])
    if kind is dict:
        return {k: unwrap(v) for k, v in value.items()}
    return value


def rewrap(value: Any) -> Any:
    """Replace torch tensors by Tensors, inside lists, tuples (named ones too) and dicts."""
    if isinstance(value, _raw_tensor):
        return wrap(value)
    if isinstance(value, tuple):
        items = [rewrap(v) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if type(value) is list:
        return [rewrap(v) for v in value]
    if type(value) is dict:
        return {k: rewrap(v) for k, v in value.items()}
    return value


def apply(op: Op, *args: Any, **attrs: Any) -> Any:
    """Run ``op`` on Tensors: eagerly, or as the current mode decides. Errors come back in the words
    of the call.
    """
    if active_mode is not None:
        return active_mode(op, args, attrs)
    try:
        out = op.fn(
            *[
                a.raw
                if isinstance(a, Tensor)
                else (unwrap(a) if type(a) is list or type(a) is tuple else a)
                for a in args
            ],
            **({k: unwrap(v) for k, v in attrs.items()} if attrs else attrs),
        )
    except (RuntimeError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise_as(explain(op, args, attrs, error), error)
    if out.__class__ is _raw_tensor:
        result = _new(Tensor)
        result.raw = out
        return result
    return rewrap(out)


def execute_beside(op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """Run ``op`` eagerly and leave the mode, which is another thread's, as it is."""
    try:
        return rewrap(op.fn(*unwrap(args), **unwrap(attrs)))
    except (RuntimeError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise_as(explain(op, args, attrs, error), error)


def execute(op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """Run ``op`` eagerly, whatever the mode; what modes call in the end."""
    push_mode(None)
    try:
        return apply(op, *args, **attrs)
    finally:
        pop_mode()
