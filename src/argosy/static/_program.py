"""Program, Block and the text, copy and check of a program."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import ProgramError, UsageError, nearest
from argosy.framework import seed as set_global_seed
from argosy.framework._mode import switch
from argosy.static._operator import FORWARD, OPTIMIZE, Operator
from argosy.static._sub_blocks import refresh
from argosy.static._variable import Parameter, Variable, offset_samples, samples
from argosy.tensor._naming import unique_name

_ids = itertools.count()

Kind = tuple[torch.Tensor, torch.Tensor | None]  # the pair of samples of a Variable

AnyVariable = TypeVar("AnyVariable", bound=Variable)


class Block:
    """Variables by name and operators in the order in which they run."""

    def __init__(self, program: Program, idx: int, parent_idx: int = -1) -> None:
        self.program = program
        self.idx = idx
        self.parent_idx = parent_idx
        self.vars: dict[str, Variable] = {}
        self.ops: list[Operator] = []
        self._before: dict[
            str, tuple[Variable, Kind, bool]
        ] = {}  # variables of enclosing blocks that it writes, as they were

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
        parent = self.parent
        return None if parent is None else parent._find_var_recursive(name)

    @property
    def parent(self) -> Block | None:
        """The block whose operator runs this one."""
        return self.program.blocks[self.parent_idx] if self.parent_idx >= 0 else None

    def _encloses(self, other: Block) -> bool:
        """Whether ``other`` is this block or lies inside it."""
        inner: Block | None = other
        while inner is not None and inner is not self:
            inner = inner.parent
        return inner is self

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
        name = name or unique_name.generate("_generated_var")
        return self._add(
            Variable(
                self,
                name,
                *samples(extents, engine),
                persistable=persistable,
                stop_gradient=stop_gradient,
                is_data=is_data,
                lod=self._create_offsets(name, lod_level)
                if is_data
                else (),  # of others, what they are computed from tells
            )
        )

    def _create_offsets(self, name: str, lod_level: int) -> tuple[str, ...]:
        """Add the data variables that hold the offsets of the sequences of ``name``, a level each; returns their names."""
        names = [f"{name}@LOD"] if lod_level == 1 else [f"{name}@LOD{level}" for level in range(lod_level)]
        return tuple(self._add(Variable(self, n, *offset_samples(), is_data=True)).name for n in names)

    def _add(self, variable: AnyVariable) -> AnyVariable:
        parent = self.parent
        if parent is not None and parent._find_var_recursive(variable.name) is not None:
            raise ProgramError(f"Variable {variable.name!r} of block {self.idx} would hide that of an enclosing block")
        self.vars[variable.name] = variable
        self.program._changed()
        return variable

    def _append(self, operator: Operator) -> Operator:
        self.ops.append(operator)
        self.program._changed()
        return operator

    def _note_write(self, variable: Variable) -> None:
        """Remember what a variable of an enclosing block was before this block writes it."""
        inner: Block | None = self
        while inner is not None and inner is not variable.block:
            inner._before.setdefault(variable.name, (variable, (variable._t, variable._alt), variable._stop_gradient))
            inner = inner.parent

    def _rename_var(self, old: str, new: str) -> None:
        if any(old in operator.input_arg_names or old in operator.output_arg_names for operator in self.ops):
            raise ProgramError(f"Variable {old!r} cannot be renamed to {new!r}: operators use it already")
        if new in self.vars:
            raise ProgramError(f"Variable {old!r} cannot be renamed: there is another {new!r} already")
        variable = self.vars.pop(old)
        variable._name = new
        self._add(variable)

    def __str__(self) -> str:
        inside = f" in block {self.parent_idx}" if self.parent_idx >= 0 else ""
        lines = [f"{{ // block {self.idx}{inside}", *(f"    {v}" for v in self.vars.values()), ""]
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
        self._readers: list[Any] = []  # loaders that runs take batches from (see _readers)
        self._lowered: dict[Any, Any] = {}
        self._compiled: Any = None  # a CompiledProgram that runs in its stead
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

    def _create_block(self, parent_idx: int | None = None) -> Block:
        """Add a block inside the current one, or inside another, and record into it until ``_rollback``."""
        block = Block(self, len(self.blocks), self._current if parent_idx is None else parent_idx)
        self.blocks.append(block)
        self._current = block.idx
        self._changed()
        return block

    def _rollback(self) -> None:
        """Record into the enclosing block again."""
        self._current = self.current_block().parent_idx

    def _empty_unreached_blocks(self) -> None:
        """Forget what no run comes to after operators were taken out; blocks keep their numbers."""
        reached, waiting = set(), [self.global_block()]
        while waiting:
            block = waiting.pop()
            reached.add(block.idx)
            waiting += [inner for operator in block.ops for inner in operator.sub_blocks]
        for block in self.blocks:
            if block.idx not in reached:
                block.ops, block.vars = [], {}

    @property
    def num_blocks(self) -> int:
        return len(self.blocks)

    @property
    def random_seed(self) -> int:
        """Other than 0: every run starts from this seed. Set outside of static mode, it also seeds what runs at once."""
        return self._seed

    @random_seed.setter
    def random_seed(self, seed: int) -> None:
        if not isinstance(seed, int):
            raise UsageError(f"Program.random_seed must be an integer, but received {type(seed).__name__}")
        self._seed = seed
        if seed and not switch.is_static:  # in dygraph, scripts of 1.x seed through the default programs
            set_global_seed(seed)

    @property
    def lr_scheduler(self) -> Any:
        """The scheduler of the last optimizer recorded, or None."""
        return next((s.optimizer._learning_rate for s in reversed(self._rates) if s.is_scheduled), None)

    def list_vars(self) -> Iterator[Variable]:
        for block in self.blocks:
            yield from list(block.vars.values())

    def all_parameters(self) -> list[Parameter]:
        return [p for block in self.blocks for p in block.all_parameters()]

    def _lr_schedule_guard(self, is_with_opt: bool = False) -> AbstractContextManager[None]:
        """Record what computes a learning rate inside: test programs leave it out, like the updates."""
        from argosy.static._recorder import recorder  # which stands on this module

        return recorder.in_role(OPTIMIZE)

    # -- copies -------------------------------------------------------------------------------------------------

    def clone(self, for_test: bool = False) -> Program:
        """Copy the program; ``for_test`` leaves out backward and optimizer operators and puts dropout and the like in test mode.

        Parameters keep their names, so both programs share them through the scope.
        """
        out = Program()
        out._seed = self._seed
        out._is_for_test = for_test
        out._readers = list(self._readers)
        if not for_test:
            out._rates = list(self._rates)
        out.blocks = [Block(out, block.idx, block.parent_idx) for block in self.blocks]
        for old, new in zip(self.blocks, out.blocks, strict=True):
            new.vars = {name: variable.copy_to(new) for name, variable in old.vars.items()}
            new.ops = [o.copy_to(new, for_test) for o in old.ops if not for_test or o.role == FORWARD]
        if for_test:
            refresh(out)
        return out

    # -- text and check -----------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return "\n".join(str(block) for block in self.blocks)

    __repr__ = __str__

    def to_string(self, throw_on_error: bool = False, with_details: bool = False) -> str:
        return str(self)

    @property
    def desc(self) -> ProgramDesc:
        """What ``parse_from_string`` reads: ``program.desc.serialize_to_string()``."""
        return ProgramDesc(self)

    @staticmethod
    def parse_from_string(binary_str: bytes) -> Program:
        """The program whose ``desc.serialize_to_string()`` this is."""
        from argosy.static._serialize import loads  # which stands on this module

        return loads(binary_str, "Program.parse_from_string: the string")[0]

    def verify(self) -> None:
        """Raise ProgramError, naming the operator, if the program cannot run.

        Every operator must be in the op table or known to the Executor, and read only what is fed, kept or written before it.
        """
        from argosy.static._verify import verify_block  # which stands on this module

        verify_block(self.global_block(), set())


@dataclass(frozen=True, slots=True)
class ProgramDesc:
    """A program seen as data."""

    program: Program

    def serialize_to_string(self) -> bytes:
        from argosy.static._serialize import dumps  # which stands on this module

        return dumps(self.program)
