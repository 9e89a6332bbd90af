"""``fluid.layers.control_flow``: branches and loops, and the comparisons and arrays that 1.x keeps
beside them. In dygraph arrays are Python lists.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from argosy import tensor as T
from argosy.fluid.dygraph.tracer import begin_recording, is_static
from argosy.fluid.layers.step_recording import StepRecording
from argosy.fluid.table import define, filled
from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, OutOfRange, ProgramError, UsageError
from argosy.ops.fluid import reduction as reduction_ops
from argosy.static.ir.operator import leaves
from argosy.static.ir.sub_blocks import Traffic
from argosy.static.ir.variable import Variable
from argosy.static.nn.control_flow import while_loop as static_while_loop
from argosy.static.record import arrays
from argosy.static.record.arrays import ArrayVariable, record_stack
from argosy.static.record.control import Branches, loop_variable, record_loop, sub_block
from argosy.static.record.recorder import recorder
from argosy.static.record.reinfer import settle
from argosy.tensor.engine import Tensor, apply

if TYPE_CHECKING:  # the names of the table

    def __getattr__(name: str) -> Any: ...


define(
    globals(),
    """
Print(input, first_n=-1, message=None, summarize=20, print_tensor_name=True,
  print_tensor_type=True, print_tensor_shape=True, print_tensor_lod=True, print_phase='both')
  -> static.Print(input, first_n, message, summarize, print_tensor_name, print_tensor_type,
  print_tensor_shape, False, print_tensor_lod, print_phase)
equal(x, y, cond=None) -> tensor.equal(x, y), into cond
greater_equal(x, y, cond=None) -> tensor.greater_equal(x, y), into cond
greater_than(x, y, cond=None) -> tensor.greater_than(x, y), into cond
less_equal(x, y, cond=None) -> tensor.less_equal(x, y), into cond
less_than(x, y, force_cpu=None, cond=None) -> tensor.less_than(x, y), into cond
not_equal(x, y, cond=None) -> tensor.not_equal(x, y), into cond
""",
)


def is_empty(x: Any, cond: Any = None) -> Any:
    """Whether ``x`` has no element, as a tensor of shape [1]; ``cond`` is filled with it if
    given.
    """
    return filled(apply(reduction_ops.is_empty, x), cond)


def increment(x: Any, value: float = 1.0, in_place: bool = True) -> Any:
    """Add ``value`` to a tensor of one element, by default to ``x`` itself."""
    return T.increment(x, value) if in_place else x + value


def while_loop(
    cond: Any, body: Any, loop_vars: Any, is_test: bool = False, name: str | None = None
) -> Any:
    """``paddle.static.nn.while_loop``; as in 1.x, variables among ``loop_vars`` through which no
    gradient flows hold their last values after it.
    """
    results = static_while_loop(cond, body, loop_vars, is_test, name)
    if is_static():
        for old, new in zip(leaves(list(loop_vars)), leaves(results), strict=True):
            if isinstance(old, Variable) and old.stop_gradient and not old.is_data:
                recorder.write(old, new)
    return results


# -- arrays


def create_array(dtype: Any, initialized_list: Any = None) -> Any:
    """An array for tensors of ``dtype``, with the tensors of ``initialized_list``."""
    given = [] if initialized_list is None else initialized_list
    if not isinstance(given, (list, tuple)):
        raise DtypeError(
            f"create_array: initialized_list must be a list, but received {type(given).__name__}"
        )
    for value in given:
        _require(value, Tensor, "create_array: initialized_list must hold tensors")
    if not is_static():
        return list(given)
    array = arrays.record_array(dtypes.to_torch(dtype))
    for position, value in enumerate(given):
        arrays.record_write(array, T.full([1], position, "int64"), recorder.admit(value))
    array.num_initial = len(given)
    return array


def array_write(x: Any, i: Any, array: Any = None) -> Any:
    """Put ``x`` at index ``i`` of ``array``, or of a new array; in dygraph ``i`` is at most one
    behind the last element.
    """
    array = create_array(x.dtype) if array is None else array
    if is_static():
        _require(array, ArrayVariable, "array_write: array must be made by create_array")
        _require(x, Variable, "array_write: x must be a Variable")
        arrays.record_write(array, i, x)
        return array
    _require(array, list, "array_write: array must be made by create_array")
    position = int(i)
    if not 0 <= position <= len(array):
        raise OutOfRange(f"array_write: index {position} of an array of {len(array)} elements")
    array[position : position + 1] = [x]
    return array


def array_read(array: Any, i: Any) -> Any:
    """The tensor at index ``i``."""
    if is_static():
        _require(array, ArrayVariable, "array_read: array must be made by create_array")
        return arrays.record_read(array, i)
    _require(array, list, "array_read: array must be made by create_array")
    position = int(i)
    if not 0 <= position < len(array):
        raise OutOfRange(f"array_read: index {position} of an array of {len(array)} elements")
    return array[position]


def array_length(array: Any) -> Any:
    """The number of tensors, as a tensor of shape [1]; in dygraph a number."""
    if is_static():
        _require(array, ArrayVariable, "array_length: array must be made by create_array")
        return arrays.record_length(array)
    _require(array, list, "array_length: array must be made by create_array")
    return len(array)


def _require(value: Any, kind: type, message: str) -> None:
    if not isinstance(value, kind):
        raise DtypeError(f"{message}, but received {type(value).__name__}")


# -- blocks that change the variables around them


def _require_condition(call: str, cond: Any) -> Variable:
    if not isinstance(cond, Variable):
        raise DtypeError(
            f"{call}: condition should be a variable, but received {type(cond).__name__}"
        )
    if cond.raw.dtype is not torch.bool or cond.size not in (1, -1):
        raise DtypeError(
            f"{call}: condition should be a boolean variable of one element, but received {cond!r}"
        )
    return recorder.admit(cond)  # type: ignore[no-any-return]


class While:
    """Repeats a block while ``cond`` holds; the block must write ``cond``.

    Example:
        >>> import paddle
        >>> from paddle import fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     i = fluid.layers.fill_constant([1], "int64", 0)
        ...     n = fluid.layers.fill_constant([1], "int64", 10)
        ...     cond = fluid.layers.less_than(i, n)
        ...     loop = fluid.layers.While(cond)
        ...     with loop.block():
        ...         _ = fluid.layers.increment(i)
        ...         _ = fluid.layers.less_than(i, n, cond=cond)
        ...     fluid.Executor(fluid.CPUPlace()).run(fetch_list=[i])
        [array([10])]
        >>> paddle.disable_static()
    """

    def __init__(self, cond: Any, is_test: bool = False, name: str | None = None) -> None:
        begin_recording("fluid.layers.While")
        self._condition = _require_condition("While", cond)

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Record what the loop does."""
        with sub_block() as block:
            yield
            if self._condition.name not in Traffic(block).writes:
                raise ProgramError(
                    f"While: the block does not write the condition {self._condition.name!r}, so "
                    "the loop would never end; "
                    "update it, as less_than(i, n, cond=cond) does"
                )
            settle(block, [])
        record_loop(block, self._condition, [], [])


class Switch:
    """Runs the first case whose condition holds, else the default; the blocks write variables made
    outside.

    Example:
        >>> import paddle
        >>> from paddle import fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     step = fluid.layers.fill_constant([1], "float32", 5.0)
        ...     rate = fluid.layers.fill_constant([1], "float32", 0.0)
        ...     ten = fluid.layers.fill_constant([1], "float32", 10.0)
        ...     with fluid.layers.Switch() as switch:
        ...         with switch.case(step < ten):
        ...             _ = fluid.layers.assign(ten, rate)
        ...         with switch.default():
        ...             _ = fluid.layers.assign(step, rate)
        ...     fluid.Executor(fluid.CPUPlace()).run(fetch_list=[rate])
        [array([10.], dtype=float32)]
        >>> paddle.disable_static()
    """

    def __init__(self, name: str | None = None) -> None:
        begin_recording("fluid.layers.Switch")
        self._conditions: list[Variable] = []
        self._branches: Branches | None = None
        self._has_default = False

    def __enter__(self) -> Switch:
        self._branches = Branches()
        return self

    def __exit__(self, kind: Any, *exc: object) -> None:
        branches, self._branches = self._branches, None
        if kind is not None or branches is None or not self._conditions:
            return
        if not self._has_default:
            with branches.branch():
                pass
        names = [*[f"case {i} of Switch" for i in range(len(self._conditions))], "its default"]
        branches.finish(self._conditions, [None] * len(names), names, "Switch")

    @contextlib.contextmanager
    def case(self, condition: Any) -> Iterator[None]:
        """Record what happens if ``condition`` holds and that of no case before."""
        branches = self._require_open("case")
        if self._has_default:
            raise UsageError("Switch.case: it comes after default()")
        self._conditions.append(_require_condition("Switch.case", condition))
        with branches.branch():
            yield

    @contextlib.contextmanager
    def default(self) -> Iterator[None]:
        """Record what happens if no condition holds."""
        branches = self._require_open("default")
        if not self._conditions:
            raise UsageError("Switch.default: there should be at least one case before default")
        if self._has_default:
            raise UsageError("Switch.default: there is one already")
        self._has_default = True
        with branches.branch():
            yield

    def _require_open(self, call: str) -> Branches:
        if self._branches is None:
            raise UsageError(
                f"Switch.{call} should be called inside with: `with Switch() as switch:`"
            )
        return self._branches


class StaticRNN(StepRecording):
    """Runs a step for each entry of the first dimension of its inputs; what it outputs is stacked.

    Example:
        >>> import paddle
        >>> from paddle import fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     x = fluid.data("x", [4, 2, 3])
        ...     rnn = fluid.layers.StaticRNN()
        ...     with rnn.step():
        ...         word = rnn.step_input(x)
        ...         total = rnn.memory(shape=[-1, 3], batch_ref=word)
        ...         new = total + word
        ...         rnn.update_memory(total, new)
        ...         rnn.step_output(new)
        ...     rnn().shape
        [4, 2, 3]
        >>> paddle.disable_static()
    """

    _face = "StaticRNN"
    _outside = "You must invoke {} in rnn block: inside `with rnn.step():`"

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self._sources: dict[str, Variable] = {}  # of the inputs of a step
        self._length = -1

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """Record one step."""
        if self._outputs:
            raise UsageError("StaticRNN.step: the step is recorded already")
        with self._recorded():
            yield

    def _check_inputs(self) -> None:
        if not self._sources or not self._arrays:
            raise ProgramError("StaticRNN: a step needs a step_input and an output")

    def _count(self) -> Any:
        return T.shape(next(iter(self._sources.values())))[0:1].astype("int64")

    def _gathered(self, array: ArrayVariable) -> Variable:
        made: Variable = record_stack(array, self._length)
        return made

    def step_input(self, x: Any) -> Any:
        """The entry of this step of ``x``, whose first dimension are the steps."""
        self._require_step("step_input")
        if self._length not in (-1, x.shape[0]) and x.shape[0] != -1:
            raise UsageError(
                f"StaticRNN.step_input: {x.name!r} has {x.shape[0]} steps, an input before it "
                f"{self._length}"
            )
        self._length = max(self._length, x.shape[0])
        entry = T.squeeze(T.gather(x, self._index), 0)
        self._sources[entry.name] = x
        return entry

    def memory(
        self,
        init: Any = None,
        shape: Any = None,
        batch_ref: Any = None,
        init_value: float = 0.0,
        init_batch_dim_idx: int = 0,
        ref_batch_dim_idx: int = 1,
    ) -> Any:
        """What one step leaves for the next; it starts as ``init``, or as ``init_value`` in
        ``shape``, as many rows as ``batch_ref`` has.
        """
        parent = self._require_step("memory")
        with parent.program.in_block(parent.idx):
            if init is None:
                if shape is None or batch_ref is None:
                    raise UsageError(
                        "StaticRNN.memory: if init is None, memory at least needs shape and "
                        "batch_ref"
                    )
                source = self._sources.get(batch_ref.name, batch_ref)
                extents: list[Any] = list(shape)
                place = ref_batch_dim_idx
                # with an axis: 1.x, which reads what is saved of this, knows no number without
                extents[init_batch_dim_idx] = T.shape(source)[place : place + 1]
                init = T.full(extents, init_value, batch_ref.dtype)
            memory = loop_variable(init)
        self._memories[memory.name] = (memory, None)
        return memory

    def update_memory(self, mem: Any, var: Any) -> None:
        """Let ``var`` be the memory ``mem`` of the next step."""
        self._require_step("update_memory")
        if mem.name not in self._memories:
            raise UsageError(f"StaticRNN.update_memory: {mem.name!r} was not made by memory()")
        self._memories[mem.name] = (mem, var)

    def step_output(self, o: Any) -> None:
        """Let the values that ``o`` has in each step be an output."""
        self._add_output(self._require_step("step_output"), o)

    def output(self, *outputs: Any) -> None:
        """``step_output`` for each."""
        for one in outputs:
            self.step_output(one)

    def __call__(self) -> Any:
        """The outputs of all steps."""
        if not self._outputs:
            raise UsageError("StaticRNN: its outputs are there after `with rnn.step():`")
        return self._results()
