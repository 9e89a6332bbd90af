"""Facts about an op that more than one reader needs, given where the op is defined.

``Traits`` checks them when the op is defined, so that a fact that cannot be stops the import. What
is left out has the default, which holds for most ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, Flag, auto
from typing import Any, Protocol

from argosy.foundation.errors import InternalError


class Precision(Flag):
    """What automatic mixed precision does with the floating inputs of an op.

    WHITE, BLACK, EXTRA_BLACK and GRAY are Paddle's lists.
    """

    PROMOTED = 0  # in no list: float32 as soon as one input is
    WHITE = auto()  # low precision
    BLACK = auto()  # float32: leaves the range of float16, or loses too much in long sums
    EXTRA_BLACK = auto()  # float32 at level O2 too: its low-precision kernel is slow or inexact
    GRAY = auto()  # in a program: as the operators that feed it, not worth a cast of its own
    UNTOUCHED = auto()  # sees its inputs as they are: it casts or copies
    MIXED = auto()  # only its first input is cast: statistics and affine parameters stay float32


class Record(Protocol):
    """What records the parts of an op."""

    def __call__(self, op: Any, /, *args: Any, **attrs: Any) -> Any:
        """Record a call of ``op``; its results are named after the whole."""

    def apart(self, op: Any, /, *args: Any, **attrs: Any) -> Any:
        """Record a call on the way; its results are named after itself."""


FLOATING = ("float16", "bfloat16", "float32", "float64")


class Rows(Enum):
    """Whether row i of a result is made of row i of the first input, if there are as many."""

    KEPT = auto()
    KEPT_IF_ALONE = auto()  # not where another variable is among the inputs
    # Other rows, or sequences that the face of the op tells, or that Paddle drops.
    OTHER = auto()


class SparseGradients(Enum):
    """What an op does with row-sparse gradients."""

    MADE_DENSE = auto()  # it must get them dense
    TAKEN = auto()
    PASSED_ON = auto()  # taken, and result i is as sparse as gradient i


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The facts.

    ``types`` are Paddle's operator types for the op, with its words for parameters and results
    (``spelling``); its operators have the first, or the op's name if there is none, or what
    ``type_of`` says, given the arguments by name. ``fluid`` is the type in programs of 1.x, where
    it differs. ``parts`` records the operators that Paddle has in the op's place: it is given what
    records an op, and the arguments; NotImplemented stands for the op itself. ``file_parts`` is the
    same for files of Paddle's only, where programs have the op as a whole. ``mutates`` names the
    parameters whose tensors it changes; ``alike`` those of them that take lists in which one tensor
    may stand for several whose values are equal. ``is_random``: two calls with equal inputs differ.
    ``test_attrs`` are the values of attributes in a test program. ``precision`` is the op's class
    in mixed precision, by those of Paddle's types under which lists have it; given without a type
    it stands for the type of its operators. ``is_reshape``: the same elements in the same order, in
    another shape. ``is_lookup``: rows of ``weight`` at the ids ``x``, with row-sparse gradients if
    ``sparse``. ``recorded_dtypes`` names the dtypes that a parameter may have in a program;
    eager calls take whatever the computation can. ``is_fused``: it hands raw memory to a kernel
    that compares no sizes. ``layer`` says how Paddle's function for it names its results in a
    program (``static/record/naming.py``); by default after the type. ``sketch`` tells what a call
    returns without running it (``sketch.py``). ``beside``, of an op that gives a list of matrices,
    one for each element of its last argument, is the op that gives these side by side: it is called
    with the same arguments and lists of what stands before and after them, with weight and bias
    where a linear map follows, and with True where relu follows that.
    """

    types: tuple[str, ...] = ()
    type_of: Callable[[Mapping[str, Any]], str] | None = None
    fluid: str = ""
    parts: Callable[..., Any] | None = None  # (Record, *args, **attrs)
    file_parts: Callable[..., Any] | None = None  # (Record, *args, **attrs)
    mutates: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()
    is_random: bool = False
    test_attrs: Mapping[str, bool] = field(default_factory=dict)
    precision: Precision | Mapping[str, Precision] = Precision.PROMOTED
    rows: Rows = Rows.KEPT
    sparse_gradients: SparseGradients = SparseGradients.MADE_DENSE
    is_reshape: bool = False
    is_lookup: bool = False
    is_fused: bool = False
    recorded_dtypes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    layer: str = ""
    sketch: Callable[..., Any] | None = None  # (*args, **attrs)
    beside: Any = None  # an Op: (*args, before, after, weight, bias, is_relu)

    def __post_init__(self) -> None:
        for name, is_valid in _VALID.items():
            value = getattr(self, name)
            if not is_valid(value):
                raise InternalError(f"{name} cannot be {value!r}")


def _is_a(kind: type) -> Any:
    return lambda value: isinstance(value, kind)


def _are_names(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(v, str) and v for v in value)


def _is_mapping_to(kind: type) -> Any:
    return lambda value: (
        isinstance(value, Mapping)
        and all(isinstance(k, str) and isinstance(v, kind) for k, v in value.items())
    )


_VALID = {
    "types": _are_names,
    "type_of": lambda value: value is None or callable(value),
    "fluid": _is_a(str),
    "parts": lambda value: value is None or callable(value),
    "file_parts": lambda value: value is None or callable(value),
    "mutates": _are_names,
    "alike": _are_names,
    "is_random": _is_a(bool),
    "test_attrs": _is_mapping_to(bool),
    "precision": lambda value: isinstance(value, Precision) or _is_mapping_to(Precision)(value),
    "rows": _is_a(Rows),
    "sparse_gradients": _is_a(SparseGradients),
    "is_reshape": _is_a(bool),
    "is_lookup": _is_a(bool),
    "is_fused": _is_a(bool),
    "layer": _is_a(str),
    "recorded_dtypes": _is_mapping_to(tuple),
    "sketch": lambda value: value is None or callable(value),
    "beside": lambda value: value is None or callable(getattr(value, "fn", None)),
}
