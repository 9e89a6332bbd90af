"""``fluid.framework`` and ``base.framework``: programs, places, flags and the mode."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from argosy.fluid import core
from argosy.fluid.dygraph.tracer import Tracer, tracers
from argosy.fluid.op_protos import known_types, op_proto
from argosy.fluid.proto.framework_pb2 import OpProto
from argosy.fluid.wrapped_decorator import wrap_decorator
from argosy.foundation import dtypes
from argosy.foundation.errors import BadArgument, DtypeError, UsageError
from argosy.foundation.places import Place, to_place
from argosy.framework.mode import in_dygraph_mode, switch
from argosy.static import Program, default_main_program
from argosy.static.ir.variable import Variable as StaticVariable
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import Tensor, defaults

EMPTY_VAR_NAME = "@EMPTY@"
TEMP_VAR_NAME = "@TEMP@"
GRAD_VAR_SUFFIX = "@GRAD"
ZERO_VAR_SUFFIX = "@ZERO"
CONTROL_DEP_VAR_PREFIX = "__control_var"

# Paddle has two sorts of objects for dtypes and this table between them; here there is one.
paddle_type_to_proto_type = {dtype: dtype for dtype in dtypes.BY_TORCH.values()}


def grad_var_name(var_name: str) -> str:
    """The name of the gradient of a variable."""
    return f"{var_name}{GRAD_VAR_SUFFIX}"


def convert_np_dtype_to_dtype_(np_dtype: Any) -> dtypes.DType:
    """The dtype of Paddle's for one of NumPy's, or its name.

    Example:
        >>> import numpy as np
        >>> paddle.base.framework.convert_np_dtype_to_dtype_(np.float16)
        paddle.float16
    """
    return dtypes.from_any(np_dtype)


convert_np_dtype_to_proto_type = convert_np_dtype_to_dtype_
convert_to_proto_type = convert_np_dtype_to_dtype_


def dtype_is_floating(dtype: Any) -> bool:
    """Whether a dtype is one of floating-point numbers."""
    return dtypes.from_any(dtype).is_floating_point


# -- places
# ------------------------------------------------------------------------------------------------


def _current_expected_place() -> Place:
    """Where new tensors go."""
    return defaults.place


_current_expected_place_ = _current_expected_place


def _set_expected_place(place: Any) -> None:
    """Put new tensors on ``place`` from now on."""
    defaults.set_place(place)


@contextlib.contextmanager
def _dygraph_place_guard(place: Any) -> Iterator[None]:
    """Put new tensors on ``place`` inside the block."""
    before = defaults.place, defaults.device, defaults.is_place_chosen
    defaults.set_place(place)
    try:
        yield
    finally:
        defaults.place, defaults.device, defaults.is_place_chosen = before


def _get_paddle_place(place: Any) -> Place | None:
    """A place from its name, as 'cpu' or 'gpu:0'; a place and None stay what they are."""
    if place is None or isinstance(place, Place):
        return place
    if not isinstance(place, str):
        raise DtypeError(f"place only supports Place or str, but received {type(place).__name__}")
    return to_place(place)


def _get_paddle_place_list(places: Any) -> list[Place | None]:
    """``_get_paddle_place`` of each."""
    if not isinstance(places, (list, tuple)):
        raise DtypeError(f"places must be a list or tuple, but received {type(places).__name__}")
    return [_get_paddle_place(place) for place in places]


# -- programs
# ------------------------------------------------------------------------------------------------


def switch_main_program(program: Program) -> Program:
    """Record into ``program`` from now on; returns the program that was recorded before."""
    before, recorder.main = recorder.main, _program("switch_main_program", program)
    return before


def switch_startup_program(program: Program) -> Program:
    """Record initialisers into ``program`` from now on; returns the one before."""
    before, recorder.startup = recorder.startup, _program("switch_startup_program", program)
    return before


def _program(call: str, program: Any) -> Program:
    if not isinstance(program, Program):
        raise BadArgument(f"{call}: expected a Program, but received {type(program).__name__}")
    return program


def _manual_program_seed(seed: int) -> None:
    """Set the ``random_seed`` of the default programs, and of those made from now on."""
    recorder.main.random_seed = seed
    recorder.startup.random_seed = seed
    Program().global_seed(seed)


def _get_var(name: str, program: Program | None = None) -> Any:
    """The variable ``name`` of a program's first block, by default of the main program's."""
    return _program("_get_var", program or default_main_program()).global_block().var(name)


# -- the mode
# ------------------------------------------------------------------------------------------------


def _dygraph_tracer() -> Tracer | None:
    """The state of the open dygraph guard, or of the process outside of any; None while programs
    are recorded.
    """
    return None if switch.is_static else tracers.current


@contextlib.contextmanager
def _dygraph_guard(tracer: Tracer | None) -> Iterator[None]:
    """Run ops at once inside the block under ``tracer``; record them if it is None."""
    was_static = switch.is_static
    if tracer is None:
        switch.enable()
    else:
        switch.disable()
        tracers.push(tracer)
    try:
        yield
    finally:
        if tracer is not None:
            tracers.pop()
        switch.enable() if was_static else switch.disable()


def _only_if(condition: Callable[[], bool], reason: str) -> Callable[..., Any]:
    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not condition():
                raise BadArgument(f"{func.__name__}() {reason}")
            return func(*args, **kwargs)

        return call

    return wrap_decorator(decorate)


_IN_STATIC = "is only supported while programs are recorded: call paddle.enable_static() first"
dygraph_not_support = static_only = _only_if(lambda: not in_dygraph_mode(), _IN_STATIC)
dygraph_only = non_static_only = _only_if(
    in_dygraph_mode,
    "is only supported in dynamic graph mode: call paddle.disable_static() first",
)
fake_interface_only = _only_if(lambda: False, "can only be called on a Tensor, not on a Variable")


def _non_static_mode() -> bool:
    """Whether ops run at once."""
    return not switch.is_static


def _var_base_to_np(var_base: Tensor) -> np.ndarray:
    """The values of a Tensor."""
    return var_base.numpy()


# -- operators
# ------------------------------------------------------------------------------------------------


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
        elif attr.type == core.AttrType.SCALARS and not any(
            isinstance(item, StaticVariable) for item in value
        ):
            canonical[attr.name] = [core.Scalar(x) for x in np.ravel(value).tolist()]
    return canonical


def extract_plain_list(array: list[Any]) -> list[Any]:
    """The numbers in a list of ``core.Scalar``."""
    return [item.value() for item in array]
