"""What a program is fed: ``data``, and ``InputSpec`` that describes it; variables that persist:
``create_global_var``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.foundation import dtypes
from argosy.foundation.errors import BadArgument, DtypeError, NotSupported, UsageError
from argosy.framework.mode import switch
from argosy.nn import parameter
from argosy.static.ir.variable import Parameter, Variable
from argosy.static.record.recorder import recorder
from argosy.tensor.creation import assign, full
from argosy.tensor.engine import Tensor, get_default_dtype, unique_name


def data(name: str, shape: Any, dtype: Any = None, lod_level: int = 0) -> Variable:
    """Declare a variable that runs are fed with; None or -1 is a dimension that each run may
    choose.

    With ``lod_level`` its rows belong to sequences that nest so deep, and runs are fed with a
    LoDTensor. Their offsets are variables of the program too, beside it: ``name@LOD``, or
    ``name@LOD0``, ``name@LOD1`` for two levels.
    """
    if not switch.is_static:
        raise BadArgument(
            "data() is only supported while programs are recorded: call paddle.enable_static() "
            "first"
        )
    if not isinstance(name, str):
        raise DtypeError(f"static.data: name must be a string, but received {name!r}")
    if not isinstance(shape, (list, tuple)):
        raise DtypeError(
            f"static.data: shape must be a list or tuple, but received {type(shape).__name__}"
        )
    if not isinstance(lod_level, int) or lod_level < 0:
        raise UsageError(
            f"static.data({name!r}): lod_level must be 0 or more, but received {lod_level!r}"
        )
    block = recorder.main.global_block()
    return block.create_var(
        name,
        shape,
        get_default_dtype() if dtype is None else dtype,
        stop_gradient=True,
        is_data=True,
        lod_level=lod_level,
    )


def create_parameter(
    shape: Any,
    dtype: Any,
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Any = None,
) -> Parameter:
    """A parameter of the main program that the startup program fills."""
    made: Any = parameter.create_parameter(shape, dtype, name, attr, is_bias, default_initializer)
    return made  # type: ignore[no-any-return]


def create_global_var(
    shape: Any,
    value: float,
    dtype: Any,
    persistable: bool = False,
    force_cpu: bool = False,
    name: str | None = None,
) -> Tensor:
    """A variable that the startup program fills with ``value``; it keeps what operators assign to
    it from run to run. In dygraph a Tensor of ``value``.
    """
    call = "create_global_var"
    if not isinstance(shape, (list, tuple, np.ndarray)):
        raise DtypeError(f"{call}: shape must be a list, but received {type(shape).__name__}")
    for extent in shape:
        if not isinstance(extent, (int, np.integer)):
            raise DtypeError(f"{call}: shape must hold integers, but received {shape}")
    if dtypes.to_torch(dtype).is_complex:
        raise DtypeError(f"{call}: dtype must be real, but received {dtype}")
    if not switch.is_static:
        made: Tensor = full([int(n) for n in shape], value, dtype)
        made.persistable = bool(persistable)
        if name:
            made.name = name
        return made
    if not persistable:
        raise NotSupported(
            "create_global_var(persistable=False): use paddle.full, whose result lives for one run"
        )
    name = name or unique_name.generate("_generated_var")
    return recorder.new_state(name, [int(n) for n in shape], dtypes.to_torch(dtype), value)


def setitem(x: Any, index: Any, value: Any) -> Any:
    """A variable like ``x`` with ``value`` at ``index``; ``x`` stays what it is.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     out = paddle.static.setitem(paddle.zeros([2, 2]), (0, 1), 3.0)
        ...     paddle.static.Executor().run(fetch_list=[out])[0].tolist()
        [[0.0, 3.0], [0.0, 0.0]]
        >>> paddle.disable_static()
    """
    out = assign(x)
    out[index] = value
    return out


class InputSpec:
    """Shape, dtype and name of an input; None and -1 are dimensions that may vary.

    Example:
        >>> import paddle
        >>> paddle.static.InputSpec([None, 784], "float32", "x")
        InputSpec(shape=(-1, 784), dtype=paddle.float32, name=x, stop_gradient=False)
    """

    def __init__(
        self,
        shape: Any,
        dtype: Any = "float32",
        name: str | None = None,
        stop_gradient: bool = False,
    ) -> None:
        self.shape = tuple(-1 if n is None else int(n) for n in shape)
        self.dtype = dtypes.BY_TORCH[dtypes.to_torch(dtype)]
        self.name = name
        self.stop_gradient = stop_gradient

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> InputSpec:
        return cls(tensor.shape, tensor.dtype, name or tensor.name)

    @classmethod
    def from_numpy(cls, ndarray: Any, name: str | None = None) -> InputSpec:
        return cls(ndarray.shape, str(ndarray.dtype), name)

    def batch(self, batch_size: int) -> InputSpec:
        """Put a batch dimension in front, in place."""
        if not isinstance(batch_size, int) or (batch_size <= 0 and batch_size != -1):
            raise UsageError(
                "InputSpec.batch: batch_size must be a positive integer, but received "
                f"{batch_size!r}"
            )
        self.shape = (batch_size, *self.shape)
        return self

    def unbatch(self) -> InputSpec:
        """Take the first dimension away, in place."""
        if not self.shape:
            raise UsageError("InputSpec.unbatch: there is no dimension to take away")
        self.shape = self.shape[1:]
        return self

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype.name, self.name, self.stop_gradient

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InputSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"InputSpec(shape={self.shape}, dtype={self.dtype}, name={self.name}, "
            f"stop_gradient={self.stop_gradient})"
        )
