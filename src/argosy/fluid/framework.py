"""``fluid.framework``: programs, places, flags and the mode."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from argosy import static
from argosy.device import device_guard as default_device
from argosy.fluid import core
from argosy.fluid.dygraph.tracer import Tracer, begin_recording, tracers
from argosy.fluid.op_protos import known_types, op_proto
from argosy.fluid.proto.framework_pb2 import OpProto
from argosy.foundation import dtypes
from argosy.foundation.errors import UsageError
from argosy.foundation.places import Place, to_place
from argosy.framework.mode import switch
from argosy.static import Program
from argosy.static.ir.variable import Variable as StaticVariable
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import Tensor, defaults

EMPTY_VAR_NAME = core.kEmptyVarName()
TEMP_VAR_NAME = core.kTempVarName()
GRAD_VAR_SUFFIX = core.kGradVarSuffix()
ZERO_VAR_SUFFIX = core.kZeroVarSuffix()
CONTROL_DEP_VAR_PREFIX = core.kControlDepVarName()

# There is one kind of dtypes here: a dtype of Paddle 3 is the VarType of the same numbers.
paddle_type_to_proto_type = {dtype: dtype for dtype in dtypes.ALL}


def program_guard(
    main_program: Program, startup_program: Program | None = None
) -> AbstractContextManager[None]:
    """Record into ``main_program``, and initialisers into ``startup_program`` if it is given.

    Example:
        >>> import paddle.fluid as fluid
        >>> main = fluid.Program()
        >>> with fluid.program_guard(main):
        ...     x = fluid.data("x", [None, 3])
        ...     y = x * 2.0
        >>> [operator.type for operator in main.global_block().ops]
        ['elementwise_mul']
        >>> paddle.disable_static()
    """
    begin_recording("fluid.program_guard")
    return static.program_guard(main_program, startup_program)


def switch_main_program(program: Program) -> Program:
    """Record into ``program`` from now on; returns the program before."""
    before, recorder.main = recorder.main, program
    return before


def switch_startup_program(program: Program) -> Program:
    """Record initialisers into ``program`` from now on; returns the program before."""
    before, recorder.startup = recorder.startup, program
    return before


def _get_var(name: str, program: Program | None = None) -> Any:
    """A variable of the global block of ``program``, the one that is recorded without it."""
    return (recorder.main if program is None else program).global_block().var(name)


def grad_var_name(var_name: str) -> str:
    """The name of the gradient of a variable."""
    return f"{var_name}@GRAD"


# -- the mode
# --------------------------------------------------------------------------------------------------


def _non_static_mode() -> bool:
    """Whether ops run at once."""
    return not switch.is_static


def _dygraph_tracer() -> Tracer | None:
    """What is kept for the innermost guard; None in static mode."""
    return None if switch.is_static else tracers.current


@contextlib.contextmanager
def _dygraph_guard(tracer: Tracer | None) -> Iterator[None]:
    """Run ops at once inside the block, or record them if ``tracer`` is None."""
    was_static = switch.is_static
    (switch.enable if tracer is None else switch.disable)()
    try:
        yield
    finally:
        (switch.enable if was_static else switch.disable)()


def _only(holds: Callable[[], bool], text: str) -> Callable[[Any], Any]:
    """A decorator that raises ``text``, with the name of the function, where ``holds`` does not."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not holds():
                raise WrongMode(text.format(func.__name__))
            return func(*args, **kwargs)

        return call

    return decorate


class WrongMode(UsageError, AssertionError):
    """A function was called in the mode that it is not for."""


dygraph_only = non_static_only = _only(
    _non_static_mode,
    "We only support '{}()' in dynamic graph mode, please call 'paddle.disable_static()' to enter "
    "dynamic graph mode.",
)
static_only = _only(
    lambda: switch.is_static,
    "'{}()' is only supported in static graph mode, please call 'paddle.enable_static()' to enter "
    "static graph mode.",
)
dygraph_not_support = _only(lambda: switch.is_static, "We don't support {} in dynamic graph mode")


# -- places
# --------------------------------------------------------------------------------------------------


def _current_expected_place() -> Place:
    """Where new tensors go."""
    return defaults.place


_current_expected_place_ = _current_expected_place


def _set_expected_place(place: Any) -> None:
    """Put new tensors at ``place``."""
    defaults.set_place(place)


def _dygraph_place_guard(place: Any) -> AbstractContextManager[None]:
    """Put new tensors at ``place`` inside the block."""
    return default_device(place)


def _get_paddle_place(place: Any) -> Place | None:
    """The place that a text such as ``gpu:0`` names; places and None are given back."""
    return None if place is None else to_place(place)


def _get_paddle_place_list(places: Any) -> list[Place | None]:
    """The places that texts name."""
    if not isinstance(places, (list, tuple)):
        raise UsageError("places must be a list or a tuple of places or of their names")
    return [_get_paddle_place(place) for place in places]


# -- dtypes and values
# --------------------------------------------------------------------------------------------------


def convert_np_dtype_to_dtype_(np_dtype: Any) -> Any:
    """The dtype of Paddle that a dtype of NumPy, or its name, is."""
    return dtypes.BY_TORCH[dtypes.to_torch(np_dtype)]


convert_np_dtype_to_proto_type = convert_nptype_to_vartype = convert_np_dtype_to_dtype_


def dtype_is_floating(dtype: Any) -> bool:
    """Whether a dtype is float16, float32 or float64."""
    return convert_np_dtype_to_dtype_(dtype) in (
        dtypes.float16,
        dtypes.float32,
        dtypes.float64,
    )


def _var_base_to_np(var_base: Tensor) -> np.ndarray:
    """The values of a Tensor."""
    return var_base.numpy()


# -- operators
# --------------------------------------------------------------------------------------------------


class OpProtoHolder:
    """The slots and attributes of operators by type; ``instance()`` is the one holder."""

    _instance: OpProtoHolder | None = None

    @classmethod
    def instance(cls) -> OpProtoHolder:
        """The one holder."""
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def get_op_proto(self, type: str) -> OpProto:
        """The slots and attributes of a type."""
        if not self.has_op_proto(type):
            raise UsageError(f'Operator "{type}" has not been registered.')
        return op_proto(type)

    def has_op_proto(self, type: str) -> bool:
        return type in known_types()

    @staticmethod
    def generated_op_attr_names() -> set[str]:
        """The attributes that every operator gets when it is recorded."""
        maker = core.op_proto_and_checker_maker
        return {
            maker.kOpRoleAttrName(),
            maker.kOpRoleVarAttrName(),
            maker.kOpNameScopeAttrName(),
            maker.kOpCreationCallstackAttrName(),
            maker.kOpDeviceAttrName(),
        }


def get_all_op_protos() -> list[OpProto]:
    """The slots and attributes of all types."""
    return [op_proto(name) for name in known_types()]


def canonicalize_attrs(attrs: Mapping[str, Any], op_proto: OpProto) -> dict[str, Any]:
    """``attrs`` with those that are declared as numbers of any type wrapped as ``core.Scalar``."""
    canonical = dict(attrs)
    for attr in op_proto.attrs:
        value = attrs.get(attr.name)
        if value is None or isinstance(value, StaticVariable):
            continue
        if attr.type == core.AttrType.SCALAR:
            canonical[attr.name] = core.Scalar(value)
        elif attr.type == core.AttrType.SCALARS and len(value) > 0:
            if not all(isinstance(item, StaticVariable) for item in value):
                canonical[attr.name] = [core.Scalar(x) for x in np.ravel(value).tolist()]
    return canonical


def extract_plain_list(array: list[Any]) -> list[Any]:
    """The numbers in a list of ``core.Scalar``."""
    return [item.value() for item in array]
