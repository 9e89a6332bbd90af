"""Program, Block and the text, copy and check of a program."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import ProgramError, UsageError, nearest
from argosy.ops import table
from argosy.static._operator import FORWARD, Operator, leaves
from argosy.static._variable import Parameter, Variable, samples
from argosy.tensor._naming import unique_name

_ids = itertools.count()

AnyVariable = TypeVar("AnyVariable", bound=Variable)


class Block:
    """Variables by name and operators in the order in which they run."""

    def __init__(self, program: Program, idx: int, parent_idx: int = -1) -> None:
        self.program = program
        self.idx = idx
        self.parent_idx = parent_idx
        self.vars: dict[str, Variable] = {}
        self.ops: list[Operator] = []

    def var(self, name: str) -> Variable:
        """The variable of this name; it must be in this block."""
        if not isinstance(name, str):
            raise UsageError(f"Block.var: expected a name, but received {type(name).__name__}")
        if name not in self.vars:
            raise ProgramError(f"var {name} not in this block.{nearest(name, self.vars)}")
        return self.vars[name]

    def has_var(self, name: str) -> bool:
        return name in self.vars

    def _find_var_recursive(self, name: str) -> Variable | None:
        """The variable of this name in this block or one that encloses it."""
        if name in self.vars:
            return self.vars[name]
        return self.program.blocks[self.parent_idx]._find_var_recursive(name) if self.parent_idx >= 0 else None

    def all_parameters(self) -> list[Parameter]:
        return [v for v in self.vars.values() if isinstance(v, Parameter)]

    def create_var(
        self,
        name: str | None = None,
        shape: Any = (),
        dtype: Any = "float32",
        persistable: bool = False,
        stop_gradient: bool = False,
        is_data: bool = False,
        lod_level: int = 0,
        **unused: Any,
    ) -> Variable:
        """Add a variable of a declared shape; None and -1 stand for a dimension that a run tells."""
        if unused:
            raise UsageError(f"Block.create_var: unknown arguments {sorted(unused)}")
        extents = [-1 if n is None else int(n) for n in shape]
        engine = dtypes.to_torch(dtype)
        return self._add(
            Variable(
                self,
                name or unique_name.generate("_generated_var"),
                *samples(extents, engine),
                persistable=persistable,
                stop_gradient=stop_gradient,
                is_data=is_data,
                lod_level=lod_level,
            )
        )

    def _add(self, variable: AnyVariable) -> AnyVariable:
        self.vars[variable.name] = variable
        self.program._changed()
        return variable

    def _append(self, operator: Operator) -> Operator:
        self.ops.append(operator)
        self.program._changed()
        return operator

    def _rename_var(self, old: str, new: str) -> None:
        if any(old in operator.input_arg_names or old in operator.output_arg_names for operator in self.ops):
            raise ProgramError(f"Variable {old!r} cannot be renamed to {new!r}: operators use it already")
        if new in self.vars:
            raise ProgramError(f"Variable {old!r} cannot be renamed: there is another {new!r} already")
        variable = self.vars.pop(old)
        variable._name = new
        self._add(variable)

    def __str__(self) -> str:
        lines = [f"{{ // block {self.idx}", *(f"    {v}" for v in self.vars.values()), ""]
        lines += [f"    {operator}" for operator in self.ops]
        return "\n".join([*lines, "}"])

    __repr__ = __str__


@dataclass
class RateSource:
    """The variable that holds a learning rate, the optimizer that knows it, and the number last taken from there."""

    name: str
    optimizer: Any
    last: float

    @property
    def is_scheduled(self) -> bool:
        return callable(self.optimizer._learning_rate)


class Program:
    """A recorded computation: blocks of operators over named variables.

    ``version`` counts the changes; what was lowered for one version is kept until the next.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> main = paddle.static.Program()
        >>> with paddle.static.program_guard(main):
        ...     x = paddle.static.data("x", [None, 3])
        ...     y = (x * 2.0).sum()
        >>> [operator.type for operator in main.global_block().ops]
        ['elementwise_mul', 'reduce_sum']
        >>> paddle.disable_static()
    """

    def __init__(self) -> None:
        self.id = next(_ids)
        self.version = 0
        self.blocks = [Block(self, 0)]
        self._current = 0
        self._seed = 0
        self._constants: dict[
            int, tuple[Any, Variable]
        ] = {}  # eager Tensors used in it, kept alive so that ids stay theirs
        self._rates: list[RateSource] = []
        self._lowered: dict[Any, Any] = {}
        self._is_for_test = False

    def _changed(self) -> None:
        self.version += 1
        if self._lowered:
            self._lowered.clear()

    # -- contents -----------------------------------------------------------------------------------------------

    def global_block(self) -> Block:
        return self.blocks[0]

    def block(self, index: int) -> Block:
        return self.blocks[index]

    def current_block(self) -> Block:
        return self.blocks[self._current]

    @property
    def num_blocks(self) -> int:
        return len(self.blocks)

    @property
    def random_seed(self) -> int:
        """Other than 0: every run starts from this seed."""
        return self._seed

    @random_seed.setter
    def random_seed(self, seed: int) -> None:
        if not isinstance(seed, int):
            raise UsageError(f"Program.random_seed must be an integer, but received {type(seed).__name__}")
        self._seed = seed

    @property
    def lr_scheduler(self) -> Any:
        """The scheduler of the last optimizer recorded, or None."""
        return next((s.optimizer._learning_rate for s in reversed(self._rates) if s.is_scheduled), None)

    def list_vars(self) -> Iterator[Variable]:
        for block in self.blocks:
            yield from list(block.vars.values())

    def all_parameters(self) -> list[Parameter]:
        return [p for block in self.blocks for p in block.all_parameters()]

    # -- copies -------------------------------------------------------------------------------------------------

    def clone(self, for_test: bool = False) -> Program:
        """Copy the program; ``for_test`` leaves out backward and optimizer operators and puts dropout and the like in test mode.

        Parameters keep their names, so both programs share them through the scope.
        """
        out = Program()
        out._seed = self._seed
        out._is_for_test = for_test
        if not for_test:
            out._rates = list(self._rates)
        out.blocks = [Block(out, block.idx, block.parent_idx) for block in self.blocks]
        for old, new in zip(self.blocks, out.blocks, strict=True):
            new.vars = {name: variable.copy_to(new) for name, variable in old.vars.items()}
            new.ops = [o.copy_to(new, for_test) for o in old.ops if not for_test or o.role == FORWARD]
        return out

    # -- text and check -----------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return "\n".join(str(block) for block in self.blocks)

    __repr__ = __str__

    def to_string(self, throw_on_error: bool = False, with_details: bool = False) -> str:
        return str(self)

    def verify(self) -> None:
        """Raise ProgramError, naming the operator, if the program cannot run.

        Every operator must be in the op table or known to the Executor, and read only what is fed, kept or written before it.
        """
        from argosy.static._lower import EMITTERS

        for block in self.blocks:
            written = {v.name for v in block.vars.values() if v.persistable or v.is_data}
            for operator in block.ops:
                _verify_operator(operator, written, EMITTERS)
                written.update(operator.output_arg_names)


def _verify_operator(operator: Operator, written: set[str], special: Any) -> None:
    block = operator.block
    if operator.op is None:
        if operator.type not in special:
            raise ProgramError(f"Program.verify: {operator.describe()} is of no known type")
    elif table.get(operator.op.name) is not operator.op:
        raise ProgramError(f"Program.verify: {operator.describe()} is not the op of that name in the table")
    for name in operator.input_arg_names:
        if block._find_var_recursive(name) is None:
            raise ProgramError(f"Program.verify: {operator.describe()} reads {name!r}, which is no variable")
        if name not in written and name in block.vars:
            raise ProgramError(
                f"Program.verify: {operator.describe()} reads {name!r} before any operator has written it; "
                "it is neither fed nor persistable"
            )
    for name in operator.output_arg_names:
        if name not in block.vars:
            raise ProgramError(f"Program.verify: {operator.describe()} writes {name!r}, which is no variable")
    for leaf in leaves([list(operator.args), operator.kwargs]):
        if isinstance(leaf, torch.Tensor):
            raise ProgramError(f"Program.verify: {operator.describe()} has a tensor among its attributes")
