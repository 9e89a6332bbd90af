"""Program: blocks of operators, with their text, copy and check."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from argosy.foundation.errors import UsageError
from argosy.framework import seed as set_global_seed
from argosy.framework._mode import switch
from argosy.static._block import Block
from argosy.static._operator import FORWARD, OPTIMIZE, Operator
from argosy.static._sub_blocks import refresh
from argosy.static._variable import Parameter, Variable

_ids = itertools.count()


@dataclass
class RateSource:
    """The variable that holds a learning rate, the optimizer that knows it, and the number last taken from there."""

    name: str
    optimizer: Any
    last: float

    @property
    def is_scheduled(self) -> bool:
        return callable(self.optimizer._learning_rate)


@dataclass(frozen=True)
class RecordedUpdate:
    """What an optimizer recorded to update parameters: its operators, and the names of the variables made for them.

    ``params`` are the names of the parameters; ``clip`` is the one that was in force. ``is_conditional``: it does not run in every step.
    """

    optimizer: Any
    params: tuple[str, ...]
    clip: Any
    is_conditional: bool
    operators: tuple[Operator, ...]
    made: frozenset[str]


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
        # Eager Tensors used in it by id, kept alive so that ids stay theirs.
        self._constants: dict[int, tuple[Any, Variable]] = {}
        self._rates: list[RateSource] = []
        self._updates: list[RecordedUpdate] = []
        self._readers: list[Any] = []  # loaders that runs take batches from (see _readers)
        self._lowered: dict[Any, Any] = {}
        self._compiled: Any = None  # a CompiledProgram that runs in its stead
        self._is_for_test = False
        self._is_loaded = False  # whether a file says what its operators are
        self._job: Any = None  # the parameter-server job that it belongs to
        self._fleet_opt: dict[str, Any] | None = None  # what Fleet says about runs over datasets
        self._look_ahead: Callable[[Any], None] | None = None  # is told the feed after the one that runs next
        self._follow: Callable[[], Any] | None = (
            None  # begins a pass over a dataset, of which some batches may be done already
        )
        self._forward_part: tuple[int, Program] | None = None  # what infer_from_dataset runs, and of which version

    def _changed(self) -> None:
        self.version += 1
        if self._lowered:
            self._lowered.clear()

    # -- contents -----------------------------------------------------------------------------------------------

    @property
    def _is_distributed(self) -> bool:
        """Whether it is part of a parameter-server job."""
        return self._job is not None

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
        out._is_loaded = self._is_loaded
        out._readers = list(self._readers)
        if not for_test:
            out._rates = list(self._rates)
        out.blocks = [Block(out, block.idx, block.parent_idx) for block in self.blocks]
        for old, new in zip(self.blocks, out.blocks, strict=True):
            new.vars = {name: variable.copy_to(new) for name, variable in old.vars.items()}
            new.ops = [o.copy_to(new, for_test) for o in old.ops if not for_test or o.role == FORWARD]
        out._job = self._job
        if not for_test:
            out._updates = self._copied_updates(out)
        if for_test:
            refresh(out)
        return out

    def _copied_updates(self, out: Program) -> list[RecordedUpdate]:
        pairs = zip(self.blocks, out.blocks, strict=True)
        twins = {id(a): b for old, new in pairs for a, b in zip(old.ops, new.ops, strict=True)}
        return [
            replace(update, operators=tuple(twins[id(o)] for o in update.operators if id(o) in twins))
            for update in self._updates
        ]

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
