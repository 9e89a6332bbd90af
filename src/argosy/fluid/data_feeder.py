"""``fluid.data_feeder``: batches for programs from lists of samples; names of dtypes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.foundation.places import to_place
from argosy.framework.mode import in_dygraph_mode
from argosy.static import Program, Variable, default_main_program
from argosy.static.parallel.places import cpu_places, cuda_places
from argosy.static.run.readers import Feed, feed_of_samples
from argosy.tensor.engine import Parameter as EagerParameter
from argosy.tensor.engine import Tensor


def convert_dtype(dtype: Any) -> str:
    """The name of a dtype as NumPy's array of it has it: 'float32', and 'uint16' for bfloat16."""
    name = dtypes.name_of(dtypes.to_torch(dtype))
    return "uint16" if name == "bfloat16" else name


def convert_float_to_uint16(data: np.ndarray, data_format: str = "NCHW") -> np.ndarray:
    """The upper halves of float32 numbers: bfloat16, rounded towards zero."""
    return (np.ascontiguousarray(data, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def convert_uint16_to_float(data: np.ndarray) -> np.ndarray:
    """The numbers of an array of bfloat16 bits."""
    return (np.asarray(data).astype(np.uint32) << 16).view(np.float32)


def check_variable_and_dtype(
    input: Any, input_name: str, expected_dtype: Any, op_name: str, extra_message: str = ""
) -> None:
    """While a program is recorded: raise TypeError unless ``input`` is a Variable of a dtype in
    ``expected_dtype``.
    """
    check_type(input, input_name, Variable, op_name, extra_message)
    check_dtype(getattr(input, "dtype", None), input_name, expected_dtype, op_name, extra_message)


def check_type(
    input: Any, input_name: str, expected_type: Any, op_name: str, extra_message: str = ""
) -> None:
    """While a program is recorded: raise TypeError unless ``input`` is of one of the types."""
    if in_dygraph_mode():
        return
    if isinstance(input, Tensor) and not isinstance(input, (Variable, EagerParameter)):
        raise DtypeError(
            f"{op_name}: {input_name!r} is an eager Tensor, but a program is recorded; call "
            "paddle.disable_static() or use fluid.dygraph.guard()"
        )
    if not isinstance(input, expected_type):
        raise DtypeError(
            f"The type of '{input_name}' in {op_name} must be {expected_type}, but received "
            f"{type(input)}. {extra_message}"
        )


def check_dtype(
    input_dtype: Any, input_name: str, expected_dtype: Any, op_name: str, extra_message: str = ""
) -> None:
    """While a program is recorded: raise TypeError unless a dtype is one of those expected."""
    if not in_dygraph_mode() and convert_dtype(input_dtype) not in expected_dtype:
        raise DtypeError(
            f"The data type of '{input_name}' in {op_name} must be {expected_dtype}, but received "
            f"{convert_dtype(input_dtype)}. {extra_message}"
        )


def check_shape(
    shape: Any,
    op_name: str,
    expected_shape_type: Any = (list, tuple, Variable),
    expected_element_type: Any = (int, Variable),
    expected_tensor_dtype: Any = ("int32", "int64"),
) -> None:
    """While a program is recorded: raise TypeError unless ``shape`` is a list of integers and
    integer Variables, or one such Variable.
    """
    if in_dygraph_mode():
        return
    check_type(shape, "shape", expected_shape_type, op_name)
    items = [] if isinstance(shape, Variable) or expected_element_type is None else shape
    for item in items:
        check_type(item, "element of shape", expected_element_type, op_name)
    for item in [shape, *items]:
        if expected_tensor_dtype is not None and isinstance(item, Variable):
            check_dtype(item.dtype, "shape", expected_tensor_dtype, op_name)


class DataFeeder:
    """Turns lists of samples, tuples with a field for each of ``feed_list``, into what
    ``Executor.run`` is fed.

    Variables with ``lod_level`` take nested sequences of different lengths. The executor, not
    ``place``, decides where a program runs.

    Example:
        >>> import paddle.fluid as fluid
        >>> with fluid.program_guard(fluid.Program()):
        ...     x = fluid.data("x", [None, 2])
        ...     y = fluid.data("y", [None, 1], "int64")
        ...     feeder = fluid.DataFeeder([x, y], fluid.CPUPlace())
        >>> feed = feeder.feed([([1, 2], 0), ([3, 4], 1)])
        >>> feed["x"].shape(), feed["y"].shape()
        ([2, 2], [2, 1])
        >>> paddle.disable_static()
    """

    def __init__(
        self, feed_list: Sequence[Any], place: Any, program: Program | None = None
    ) -> None:
        block = (program or default_main_program()).global_block()
        self._variables = [block.var(item) if isinstance(item, str) else item for item in feed_list]
        for variable in self._variables:
            if not isinstance(variable, Variable):
                raise DtypeError(
                    "DataFeeder: feed_list should contain variables or their names, but "
                    f"received {type(variable).__name__}"
                )
        self.feed_names = [v.name for v in self._variables]
        self.place = to_place(place)

    def feed(self, iterable: Iterable[Any]) -> Feed:
        """A batch by name."""
        return feed_of_samples(self._variables, iterable)

    def feed_parallel(
        self, iterable: Sequence[Any], num_places: int | None = None
    ) -> Iterator[Feed]:
        """A batch for each place from as many lists of samples."""
        batches, count = list(iterable), self._num_places(num_places)
        if len(batches) != count:
            raise UsageError(
                f"feed_parallel takes a mini-batch for each place: there are {count} places, but "
                f"received {len(batches)}"
            )
        return (self.feed(batch) for batch in batches)

    def decorate_reader(
        self,
        reader: Callable[[], Any],
        multi_devices: bool,
        num_places: int | None = None,
        drop_last: bool = True,
    ) -> Callable[[], Iterator[Any]]:
        """A reader of batches by name; with ``multi_devices`` of lists of them, one for each
        place.
        """

        def read() -> Iterator[Any]:
            if not multi_devices:
                for samples in reader():
                    yield self.feed(samples)
                return
            count, group = self._num_places(num_places), []
            for samples in reader():
                group.append(samples)
                if len(group) == count:
                    yield list(self.feed_parallel(group, count))
                    group = []
            if group and not drop_last:
                raise UsageError(
                    f"decorate_reader: {len(group)} batches are left for {count} places, and "
                    "drop_last is False"
                )

        return read

    def _num_places(self, num_places: int | None) -> int:
        if num_places is not None:
            return int(num_places)
        return len(cuda_places() if self.place.is_gpu_place() else cpu_places())
