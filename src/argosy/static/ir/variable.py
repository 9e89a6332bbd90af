"""Variable and Parameter: what a program computes with.

A Variable is a Tensor without values, so that every function, operator and layer of the face takes
it. Its ``kind`` is a pair of samples: ``raw``, a tensor on the meta device in which a stand-in size
takes the place of each dimension that is known only when the program runs, and ``alt``, the same
with another stand-in (None when nothing is dynamic). A dimension that differs between the two reads
as -1.

What is known of a variable depends on where recording stands: a branch or a loop that writes a
variable around it notes what that is from there on in its own block (``Block.known``).

A few values depend on shapes alone (``paddle.shape(x)``, small constants): for these both tensors
are real, so that they can be used as shapes while recording.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import (
    DtypeError,
    NotEager,
    NotSupported,
    ProgramError,
    UsageError,
)
from argosy.foundation.places import Place
from argosy.static.ir.owner import OwningBlock
from argosy.tensor.engine import Parameter as EagerParameter
from argosy.tensor.engine import Shape, Tensor


class FixedGradient(NotEager, RuntimeError):
    """The gradient of a variable of a program was set by hand."""


class NoBackward(NotEager):
    """Gradients were asked of a variable in the way of tensors."""


# Sizes that stand for an unknown one: with many divisors in common, so that a reshape that will fit
# also fits now, and unlikely in a script, so that an error message can show -1 in their place.
STAND_IN, OTHER_STAND_IN = 1920, 2688


def samples(shape: Sequence[int], dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The pair of meta tensors for a declared shape."""
    first = torch.empty([STAND_IN if n < 0 else n for n in shape], dtype=dtype, device="meta")
    if all(n >= 0 for n in shape):
        return first, None
    return first, torch.empty(
        [OTHER_STAND_IN if n < 0 else n for n in shape], dtype=dtype, device="meta"
    )


def offset_samples() -> tuple[torch.Tensor, torch.Tensor]:
    """The pair for the offsets of sequences: one more than there are sequences, whose number is
    unknown.
    """
    first, second = (
        torch.empty(n + 1, dtype=torch.int64, device="meta") for n in (STAND_IN, OTHER_STAND_IN)
    )
    return first, second


class Extents(Shape):
    """The shape of a variable: a list, as in Paddle 3, that equals the tuple that it is in 2.6."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return list.__eq__(self, list(other) if isinstance(other, tuple) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """What is known of a value without a run: two samples, the second only if an extent is
    dynamic.
    """

    first: torch.Tensor
    second: torch.Tensor | None = None

    @property
    def shape(self) -> Extents:
        """Extent of each dimension; -1 where only a run tells."""
        if self.second is None:
            return Extents(self.first.shape)
        pairs = zip(self.first.shape, self.second.shape, strict=True)
        return Extents([a if a == b else -1 for a, b in pairs])

    @property
    def dtype(self) -> torch.dtype:
        return self.first.dtype

    def sample(self, other: bool) -> torch.Tensor:
        """One of the two; the only one if there is no ``other``."""
        return self.second if other and self.second is not None else self.first


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What recording knows of a variable: its kind, and whether it lets no gradient pass."""

    kind: Kind
    stops: bool


# What may be set on a parameter, for its text.
_DETAILS = ("trainable", "optimize_attr", "regularizer", "do_model_average", "need_clip")


class Variable(Tensor):
    """A named value of a program: fed, computed by an operator, or kept in a scope when
    ``persistable``.
    """

    __slots__ = ()

    block: OwningBlock
    is_data = False
    # whether it must be fed with all its dimensions, as 1.x asks of ``fluid.data``
    is_fed_exactly = False
    # whether gradients are wanted of it although none reaches what it is computed of
    is_source = False
    is_stopped = False  # whether it was told to let no gradient pass, whatever reaches it
    checks_feed = True  # whether what is fed must have the declared dtype and shape at all
    notes: Mapping[str, Any] = MappingProxyType({})  # attributes that scripts set and no run reads
    # variables with the offsets of its sequences, a level each, outermost first
    lod_names: tuple[str, ...] = ()
    # of data that was declared without sequences and may be fed with some: the levels that there
    # may be, each without a value in runs that have none
    late_lod: tuple[str, ...] = ()
    type = "dense_tensor"

    def __init__(
        self,
        block: OwningBlock,
        name: str,
        first: torch.Tensor,
        second: torch.Tensor | None = None,
        *,
        persistable: bool = False,
        stop_gradient: bool = True,
        is_data: bool = False,
        lod: tuple[str, ...] = (),
    ) -> None:
        self._own = Known(Kind(first, second), stop_gradient)
        self.block = block
        self._name = name
        self.persistable = persistable
        self.is_data = is_data
        self.lod_names = lod

    # -- what it is
    # ---------------------------------------------------------------------------------------------

    @property
    def known(self) -> Known:
        """What is known of it where recording stands now."""
        holder = self._holder()
        return self._own if holder is None else holder.known[self.name]

    def _holder(self) -> Any:
        """The innermost block, of those between the one that is recorded and its own, that wrote
        it; None if none did.
        """
        block = self.block.program.current_block()
        while block is not None and block is not self.block:
            if self.name in block.known:
                return block
            block = block.parent
        return None

    def know(self, kind: Kind, stops: bool) -> None:
        """Be of a kind from where recording stands on, and let no gradient pass if ``stops``."""
        block = self.block.program.current_block()
        if block is not self.block and self.block.encloses(block):
            block.known[self.name] = Known(kind, stops)
        else:
            self.define(kind, stops)

    def define(self, kind: Kind, stops: bool | None = None) -> None:
        """Be of a kind wherever no inner block says otherwise."""
        self._own = Known(kind, self._own.stops if stops is None else stops)

    @property
    def kind(self) -> Kind:
        return self.known.kind

    @property
    def raw(self) -> torch.Tensor:  # type: ignore[override]
        return self.known.kind.first

    @property
    def alt(self) -> torch.Tensor | None:
        return self.known.kind.second

    @property
    def shape(self) -> Extents:
        """Extent of each dimension; -1 where only a run tells."""
        return self.kind.shape

    @property
    def size(self) -> int:
        """Number of elements; -1 where only a run tells."""
        return (
            -1
            if self.alt is not None and self.alt.numel() != self.raw.numel()
            else self.raw.numel()
        )

    @property
    def name(self) -> str:
        return self._name  # type: ignore[return-value]

    @name.setter
    def name(self, value: str) -> None:
        self.block.rename_var(self.name, value)

    @property
    def lod_level(self) -> int:
        """How deep the sequences nest that its rows belong to; 0 if they belong to none."""
        return len(self.lod_names)

    @property
    def grad_name(self) -> str:
        return f"{self.name}@GRAD"

    @property
    def place(self) -> Place:
        raise ProgramError(
            f"Variable {self.name!r} has no place: the place of the Executor decides"
        )

    @property
    def stop_gradient(self) -> bool:
        return self.known.stops

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        holder = self._holder()
        if holder is None:
            self._own = Known(self._own.kind, bool(stop))
        else:
            holder.known[self.name] = Known(self.kind, bool(stop))
        self.is_source, self.is_stopped = not stop, bool(stop)
        self.block.program.changed()

    @property
    def is_leaf(self) -> bool:
        return self.persistable or self.is_data

    @property
    def op(self) -> Any:
        """The operator that wrote this variable last, or None."""
        return next((o for o in reversed(self.block.ops) if self.name in o.output_arg_names), None)

    @property
    def grad(self) -> Any:
        """The gradient variable that ``append_backward`` made, or None."""
        return self.block.vars.get(self.grad_name)

    @grad.setter
    def grad(self, value: Any) -> None:
        raise FixedGradient(
            f"Variable {self.name!r}: its gradient is what a run of the program computes, and "
            "cannot be set; append_backward makes the variable that holds it"
        )

    def __len__(self) -> int:
        shape = self.shape
        if not shape or shape[0] < 0:
            raise ProgramError(f"len() of Variable {self.name!r}: its shape is {list(shape)}")
        return shape[0]

    def __iter__(self) -> Any:
        from argosy.tensor.manipulation import unbind

        return iter(unbind(self))

    # -- recording
    # ----------------------------------------------------------------------------------------------

    def detach(self) -> Any:
        """A copy through which no gradient flows."""
        from argosy.tensor.creation import assign

        out = assign(self)
        out.stop_gradient = True
        return out

    def detach_(self) -> Any:
        self.stop_gradient = True
        return self

    def contiguous(self) -> Any:
        return self

    # -- values, which there are none of
    # ------------------------------------------------------------------------

    def _no_value(self, call: str) -> NotEager:
        return NotEager(
            f"{call} of Variable {self.name!r}: a variable of a program has no value while the "
            "program is recorded. "
            "Fetch it with Executor.run(fetch_list=[...]), or leave static mode with "
            "paddle.disable_static()."
        )

    def _number(self, kind: str) -> Any:
        if self.raw.device.type != "meta" and self.alt is None and self.raw.numel() == 1:
            return self.raw.item()
        raise self._no_value(f"{kind}()")

    def __bool__(self) -> bool:
        if not self.block.program.is_fluid:
            return super().__bool__()
        # Scripts of 1.x write `if mask:` for `if mask is not None:`.
        warnings.warn(
            f"bool() of Variable {self.name!r}: True in a program of 1.x, whatever value a run "
            "gives it; layers.cond and layers.While go by the value",
            stacklevel=2,
        )
        return True

    def numpy(self) -> np.ndarray:  # type: ignore[override]
        raise self._no_value("numpy()")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise self._no_value("numpy.asarray()")

    def tolist(self) -> Any:
        if self.raw.device.type != "meta" and self.alt is None:
            return self.raw.tolist()
        raise self._no_value("tolist()")

    def item(self) -> Variable:  # type: ignore[override]
        """The variable itself, so that ``paddle.shape(x)[0].item()`` may be recorded; it must have
        at most one dimension.
        """
        if len(self.shape) > 1:
            raise DtypeError(
                f"Required input var should be 1-D Variable, but received {list(self.shape)}"
            )
        return self

    def __contains__(self, value: Any) -> bool:
        raise self._no_value("in")

    def torch(self) -> Any:
        raise self._no_value("torch()")

    def backward(self, grad_tensor: Any = None, retain_graph: bool = False) -> None:
        raise NoBackward(
            f"backward() of Variable {self.name!r}: a program gets its gradients from "
            "optimizer.minimize(loss) "
            "or paddle.static.append_backward(loss)"
        )

    def register_hook(self, hook: Any) -> Any:
        raise NotSupported(
            f"Variable.register_hook: hooks cannot be recorded (variable {self.name!r})"
        )

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise ProgramError(
            f"torch.{getattr(func, '__name__', func)} was called on a Variable: only functions "
            "of paddle can be recorded"
        )

    def get_value(self, scope: Any = None) -> Any:
        """The value that ``scope`` (the current one by default) holds."""
        return self._scope("get_value", scope).holding(self.name).get_tensor()

    def _scope(self, call: str, scope: Any) -> Any:
        from argosy.static.ir.scope import Scope, global_scope

        if scope is not None and not isinstance(scope, Scope):
            raise DtypeError(
                f"Variable.{call}: scope must be a Scope, but received {type(scope).__name__}"
            )
        return scope or global_scope()

    def set_value(self, value: Any, scope: Any = None) -> None:
        """Overwrite the value that ``scope`` (the current one by default) holds."""
        scope = self._scope("set_value", scope)
        if not hasattr(value, "__array__") and not isinstance(value, Tensor):
            raise DtypeError(
                "Variable.set_value: expected an array or a tensor, but received "
                f"{type(value).__name__}"
            )
        array = value.numpy() if isinstance(value, Tensor) else np.asarray(value)
        if list(array.shape) != list(self.shape):
            raise UsageError(
                f"Variable.set_value: {self.name!r} has shape {list(self.shape)}, the value "
                f"{list(array.shape)}"
            )
        scope.holding(self.name).get_tensor().set(array)

    # -- copies and text
    # ----------------------------------------------------------------------------------------

    def take_name(self, name: str) -> None:
        """Be called ``name``; the block under whose old name it stands sees to the rest."""
        self._name = name

    def copy_to(self, block: OwningBlock, name: str = "") -> Variable:
        """The same variable for another program, or another of the same kind under a new
        ``name``.
        """
        out = object.__new__(type(self))
        out.__dict__.update(self.__dict__)
        out.block = block
        out._name = name or self.name
        return out

    def __copy__(self) -> Variable:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        raise NotSupported(
            f"copy.deepcopy of Variable {self.name!r}: only parameters can be copied while "
            "recording"
        )

    def __reduce__(self) -> Any:
        raise NotSupported(
            f"pickling Variable {self.name!r}: save the program with paddle.static.save instead"
        )

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def to_string(self, throw_on_error: bool = False, with_details: bool = False) -> str:
        """Its text; ``with_details`` also what is set on it."""
        if not with_details:
            return repr(self)
        names = ("persistable", "is_data", *_DETAILS)
        shown = (f"{name}: {getattr(self, name)}" for name in names if hasattr(self, name))
        return f"{self!r} ({', '.join(shown)})"

    def _to_readable_code(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        kind = "persist var" if self.persistable else "var"
        return f"{kind} {self.name} : {_kind(self)}.stop_gradient({self.stop_gradient})"

    __str__ = __repr__


class Parameter(Variable, EagerParameter):
    """A variable that layers own and optimizers update; its first values come from the startup
    program.
    """

    __slots__ = ()

    def __init__(
        self, block: OwningBlock, name: str, first: torch.Tensor, trainable: bool = True
    ) -> None:
        Variable.__init__(self, block, name, first, persistable=True, stop_gradient=not trainable)
        self.optimize_attr = {"learning_rate": 1.0}

    def __repr__(self) -> str:
        trained = "trainable " if self.trainable else ""
        return (
            f"persist {trained}param {self.name} : "
            f"{_kind(self)}.stop_gradient({self.stop_gradient})"
        )

    __str__ = __repr__


def _kind(variable: Variable) -> str:
    return f"shape{tuple(variable.shape)}.dtype({dtypes.name_of(variable.raw.dtype)})"
