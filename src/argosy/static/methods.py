"""Methods of Tensor, Program, Block and Variable that need the rooms above ``ir``. ``install`` adds
them when ``static`` is imported.

``ir`` is data and imports nothing else of ``static``; what scripts call on that data may record,
load or run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from argosy.foundation.errors import DtypeError, UsageError
from argosy.framework.mode import switch
from argosy.ops.math.elementwise import scale
from argosy.static.desc import BlockDesc, OpDesc, ProgramDesc, VarDesc
from argosy.static.files.io import set_state_dict, state_dict
from argosy.static.files.programs import loads
from argosy.static.ir.block import Block
from argosy.static.ir.operator import OPTIMIZE, Number, Operator
from argosy.static.ir.program import Program
from argosy.static.ir.variable import Parameter, Variable
from argosy.static.lower.pruning import only_needed
from argosy.static.record import append_op as by_type
from argosy.static.record.alignment import FROM_THE_FIRST, aligns_first
from argosy.static.record.folding import along
from argosy.static.record.optimize import RecordedOptimizer
from argosy.static.record.recorder import recorder
from argosy.static.record.stepping import record_steps
from argosy.static.run.readers import ProgramLoader
from argosy.tensor.engine import Parameter as EagerParameter
from argosy.tensor.engine import Tensor, apply, unique_name


def prune(self: Program, targets: Any) -> Program:
    """A copy with what ``targets``, variables, operators or names, depend on."""
    return prune_with_input(self, [], targets)


def prune_with_input(self: Program, feeded_var_names: Any, targets: Any) -> Program:
    """A copy with what computes ``targets`` when ``feeded_var_names`` are fed."""
    feeds = feeded_var_names if isinstance(feeded_var_names, list) else [feeded_var_names]
    if not all(isinstance(name, str) for name in feeds):
        raise UsageError(
            "Program._prune_with_input: all feeded_var_names must be names, but received "
            f"{[type(name).__name__ for name in feeds]}"
        )
    wanted, updates = [], []
    for target in targets if isinstance(targets, (list, tuple)) else [targets]:
        if isinstance(target, Operator):
            if target.role == OPTIMIZE:
                updates.append(target.idx)
            else:
                wanted += target.output_arg_names
        elif isinstance(target, (str, Variable)):
            wanted.append(target if isinstance(target, str) else target.name)
        else:
            raise UsageError(
                "All targets of Program._prune_with_input() can only be Variable or Operator, or "
                f"names, but received {type(target).__name__}"
            )
    copy = self.clone()
    return only_needed(copy, feeds, wanted, [copy.global_block().ops[i] for i in updates])


def copy_param_info_from(self: Program, other: Program) -> None:
    """Take the parameters of ``other`` for those of this program, with all that is set on them."""
    if not isinstance(other, Program):
        raise DtypeError(
            "Program._copy_param_info_from: expected a Program, but received "
            f"{type(other).__name__}"
        )
    block = self.global_block()
    for parameter in other.global_block().all_parameters():
        if parameter.name in block.vars:
            block.vars[parameter.name] = parameter.copy_to(block)
    self.changed()


def readable(self: Program, skip_op_callstack: bool = True) -> str:
    return str(self)


def parse_from_string(binary_str: bytes) -> Program:
    """The program whose ``desc.serialize_to_string()`` this is."""
    return loads(binary_str, "Program.parse_from_string: the string")[0]


def lr_schedule_guard(self: Program, is_with_opt: bool = False) -> AbstractContextManager[None]:
    """Record what computes a learning rate inside: test programs leave it out, like the updates."""
    return recorder.in_role(OPTIMIZE)


def append_op(
    self: Block,
    type: str,
    inputs: Any = None,
    outputs: Any = None,
    attrs: Any = None,
    stop_gradient: bool = False,
) -> Operator:
    """Add an operator by Paddle's type, its slots and attributes; the variables of ``outputs`` are
    made beforehand.

    Types that are not known, slots and attributes that the operator does not have are refused.
    ``stop_gradient``, a hint of dygraph, changes nothing.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     x = paddle.static.data("x", [None, 3])
        ...     block = paddle.static.default_main_program().global_block()
        ...     y = block.create_var("y", [], "float32")
        ...     block.append_op("scale", {"X": [x]}, {"Out": [y]}, {"scale": 2.0})
        [y] = scale(x=x, scale=2.0, bias=0.0, bias_after_scale=True)
        >>> y.shape
        [-1, 3]
        >>> paddle.disable_static()
    """
    return by_type.append_op(self, type, inputs, outputs, attrs)


def rebind(self: Variable, value: Any) -> Variable:
    """Record that this variable holds ``value`` from here on: what the in-place functions of the
    face do.
    """
    recorder.write(self, value)
    return self


def keep_in(self: Variable, tensor: Tensor) -> None:
    """Record that ``tensor``, which has values, holds this variable from here on."""
    recorder.write(recorder.admit(tensor), self)


def record_optimizer(self: Variable, optimizer: Any) -> RecordedOptimizer:
    """What records the steps of ``optimizer`` in the program of this variable."""
    return RecordedOptimizer(optimizer)


def as_number(self: Variable) -> Number:
    """What stands for the value of a variable of one element where an op takes a number."""
    return Number(self.name)


def new_loader(self: Variable, feed_list: Any, *options: Any) -> ProgramLoader:
    """What ``DataLoader.from_generator`` makes of variables of a program."""
    return ProgramLoader(feed_list, *options)


# Operators with a number that Paddle records as one ``scale``: its factor and what it adds. For
# others it makes a tensor of the number first, which has a name as well.
_SCALED: dict[str, Callable[[float], tuple[float, float]]] = {
    "__add__": lambda number: (1.0, number),
    "__radd__": lambda number: (1.0, number),
    "__sub__": lambda number: (1.0, -number),
    "__rsub__": lambda number: (-1.0, number),
    "__mul__": lambda number: (number, 0.0),
    "__rmul__": lambda number: (number, 0.0),
    "__truediv__": lambda number: (1.0 / number, 0.0),
}


def as_operator(name: str) -> Callable[..., Any]:
    """The operator ``name`` of Tensor, whose results in a program are called ``tmp_0``."""
    compute = getattr(Tensor, name)

    @functools.wraps(compute)
    def operate(self: Variable, *others: Any) -> Any:
        has_number = bool(others) and isinstance(others[0], (bool, int, float))
        is_scaled = name in _SCALED and _is_scalable(self, name, *others)

        def tmp(result: int) -> str:
            if has_number and not is_scaled:
                unique_name.generate("tmp")
            return unique_name.generate("tmp")

        # inside of a layer function, what operators compute is named after it
        is_aligned_first = bool(others) and aligns_first(name, self, others[0])
        with recorder.naming(recorder.namer if recorder.is_in_layer else tmp):
            if is_aligned_first:
                return along(FROM_THE_FIRST[name], self, _as_left(self, others[0]), 0)
            if not is_scaled:
                return compute(self, *(_as_left(self, other) for other in others))
            by, plus = _SCALED[name](others[0])
            return apply(scale, _as_float(self, name, others[0]), by, plus, True)

    return operate


def _as_left(x: Variable, other: Any) -> Any:
    """``other``, in the dtype of ``x`` where eager code would refuse to mix the two: an operator of
    a program follows its left side.
    """
    if not isinstance(other, Variable) or other.raw.dtype is x.raw.dtype:
        return other
    kinds = [(v.raw.is_floating_point(), v.raw.is_complex()) for v in (x, other)]
    is_mixed = kinds[0] != kinds[1] or kinds[0] == (False, False)
    has_complex = kinds[0][1] or kinds[1][1]
    if not is_mixed or has_complex or not (x.ndim and other.ndim):
        return other
    return other.astype(x.dtype)


def _is_scalable(x: Variable, name: str, other: Any) -> bool:
    """Whether a number and a variable of this dtype make one ``scale``."""
    if type(other) not in (int, float) or x.raw.dtype is torch.bool or x.raw.dtype.is_complex:
        return False
    return other != 0 or name != "__truediv__"


def _as_float(x: Variable, name: str, other: float) -> Any:
    """``x``, as float32 where an integer and a float meet, or integers are divided."""
    stays = x.is_floating_point() or (type(other) is int and name != "__truediv__")
    return x if stays else x.astype("float32")


def get_item(self: Variable, index: Any) -> Any:
    """``self[index]``, which is called ``x_slice_0`` in a program."""

    def sliced(result: int) -> str:
        return unique_name.generate(f"{self.name}_slice")

    items = index if isinstance(index, tuple) else (index,)
    if any(map(_is_counter, items)):
        index = tuple([i.astype("int64") if _is_counter(i) else i for i in items])
    with recorder.naming(recorder.namer if recorder.is_in_layer else sliced):
        return Tensor.__getitem__(self, index)


def _is_counter(i: Any) -> bool:
    """Whether an index is one number in a float Variable, which a program may count with
    (``paddle.ones([])``); eager code is told that it is no index.
    """
    return isinstance(i, Variable) and i.raw.is_floating_point() and i.ndim == 0


def record_init(self: Parameter, initializer: Any) -> None:
    """Let the startup program fill this parameter: what an initialiser does when it is called on
    one of a program.
    """
    recorder.initialize(self, initializer)


def record_from(self: Parameter, op: Any, source: Parameter, *attrs: Any) -> None:
    """Let the startup program fill this parameter with what ``op`` makes of the first values of
    another.
    """
    recorder.initialize_from(self, op, source, attrs)


def deepcopied(self: Parameter, memo: dict[int, Any]) -> Any:
    """Another parameter of the program, with the first values of this one."""
    out = recorder.duplicate(self, unique_name.generate(self.name))
    memo[id(self)] = out
    return out


_OPERATORS = """
    __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __pow__ __rpow__
    __floordiv__ __rfloordiv__ __mod__ __rmod__ __matmul__ __rmatmul__ __neg__ __eq__ __ne__ __lt__
    __le__ __gt__ __ge__ astype
""".split()  # noqa: SIM905


def to_static_var(self: Tensor, to_parameter: bool = False, **settings: Any) -> Variable:
    """Declare a variable of the main program with the name, shape and dtype of a Tensor; for a
    Parameter, or ``to_parameter``, a parameter with its settings.
    """
    block = recorder.main.global_block()
    if not to_parameter and not isinstance(self, EagerParameter):
        options = {"persistable": self.persistable, "stop_gradient": self.stop_gradient} | settings
        return block.create_var(self.name, self.shape, self.dtype, **options)
    if isinstance(self, EagerParameter):
        kept = ("optimize_attr", "regularizer", "do_model_average", "need_clip", "is_distributed")
        settings = {name: getattr(self, name) for name in kept} | settings
        settings.setdefault("trainable", self.trainable)
    return block.create_parameter(self.shape, self.dtype, self.name, **settings)


class MainBlock:
    """``Tensor.block``: a Tensor is in no program; the block is the one that would record it. A
    Variable has its own.
    """

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else recorder.main.global_block()


_METHODS: dict[type, dict[str, Any]] = {
    Tensor: {"_to_static_var": to_static_var, "block": MainBlock()},
    Program: {
        "desc": property(ProgramDesc),
        "_get_desc": ProgramDesc,
        "_prune": prune,
        "_prune_with_input": prune_with_input,
        "_copy_param_info_from": copy_param_info_from,
        # what servers need of a program hangs on its parameters and attachments
        "_copy_dist_param_info_from": copy_param_info_from,
        "_to_readable_code": readable,
        "state_dict": state_dict,
        "set_state_dict": set_state_dict,
        "parse_from_string": staticmethod(parse_from_string),
        "_lr_schedule_guard": lr_schedule_guard,
    },
    Block: {"append_op": append_op, "desc": property(BlockDesc)},
    Operator: {"desc": property(OpDesc)},
    Variable: {
        "desc": property(VarDesc),
        "rebind": rebind,
        "keep_in": keep_in,
        "record_optimizer": record_optimizer,
        "as_number": as_number,
        "new_loader": new_loader,
        "__getitem__": get_item,
        **{name: as_operator(name) for name in _OPERATORS},
    },
    Parameter: {"record_init": record_init, "record_from": record_from, "__deepcopy__": deepcopied},
}


def install() -> None:
    """Add the methods to their classes, and the loops to what the face may ask for."""
    for cls, methods in _METHODS.items():
        for name, method in methods.items():
            setattr(cls, name, method)
    switch.install_loop(record_steps)
