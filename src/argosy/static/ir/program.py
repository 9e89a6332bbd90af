"""Program: blocks of operators, with their text, copy and check."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from argosy.foundation.errors import UsageError
from argosy.foundation.process_state import register
from argosy.framework import seed as set_global_seed
from argosy.framework.mode import switch
from argosy.optimizer.optimizer import scheduler_of
from argosy.static.ir.attachment import Attachments, ServerJob
from argosy.static.ir.block import Block
from argosy.static.ir.operator import FORWARD, Operator
from argosy.static.ir.sub_blocks import refresh
from argosy.static.ir.variable import Parameter, Variable
from argosy.static.ir.verify import check_pass, unwritten, verify

_ids = itertools.count()


@dataclass
class SeedOfPrograms:
    """The ``random_seed`` that new programs have; ``Program.global_seed`` sets it."""

    value: int = 0


seed_of_programs = SeedOfPrograms()
register("seed of new programs", seed_of_programs, attributes=("value",))


@dataclass
class RateSource:
    """The variable that holds a learning rate, the optimizer that knows it, and the number last
    taken from there.
    """

    name: str
    optimizer: Any
    last: float


@dataclass(frozen=True)
class RecordedUpdate:
    """What an optimizer recorded to update parameters: its operators, and the names of the
    variables made for them.

    ``params`` are the names of the parameters; ``clip`` is the one that was in force.
    ``is_conditional``: it does not run in every step.
    """

    optimizer: Any
    params: tuple[str, ...]
    clip: Any
    is_conditional: bool
    operators: tuple[Operator, ...]
    made: frozenset[str]


class Program:
    """A recorded computation: blocks of operators over named variables.

    ``version`` counts the changes; what was lowered for one version is kept until the next. The
    methods that are only declared here need the rooms above and come from ``static.methods``.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> main = paddle.static.Program()
        >>> with paddle.static.program_guard(main):
        ...     x = paddle.static.data("x", [None, 3])
        ...     y = (x * 2.0).sum()
        >>> [operator.type for operator in main.global_block().ops]
        ['scale', 'reduce_sum']
        >>> paddle.disable_static()
    """

    desc: Any
    parse_from_string: ClassVar[Callable[[bytes], Program]]
    _lr_schedule_guard: Callable[..., AbstractContextManager[None]]

    def __init__(self) -> None:
        self.id = next(_ids)
        self.version = 0
        self.flushed = -1  # the version that its description was last compared with
        self.blocks = [Block(self, 0)]
        self._current = 0
        self.seed = seed_of_programs.value
        # Eager Tensors used in it by id, kept alive so that ids stay theirs.
        self.constants: dict[int, tuple[Any, Variable]] = {}
        self.rates: list[RateSource] = []
        self.updates: list[RecordedUpdate] = []
        self.readers: list[Any] = []  # loaders that runs take batches from (see run.readers)
        self.lowered: dict[Any, Any] = {}
        self.is_loaded = False  # whether a file says what its operators are
        self.is_fluid = False  # whether functions of 1.x recorded it, or a part of it
        self.run_options: dict[str, Any] | None = None  # what Fleet says about runs over datasets
        self.attachments = Attachments()

    def changed(self) -> None:
        self.version += 1
        if self.lowered:
            self.lowered.clear()

    # -- contents
    # ----------------------------------------------------------------------------------------------

    @property
    def _fleet_opt(self) -> dict[str, Any] | None:
        """``run_options``, as Paddle's scripts know them."""
        return self.run_options

    @_fleet_opt.setter
    def _fleet_opt(self, options: dict[str, Any] | None) -> None:
        self.run_options = options

    @property
    def is_distributed(self) -> bool:
        """Whether it is part of a parameter-server job."""
        return self.attachments.get(ServerJob) is not None

    _is_distributed = is_distributed  # as Paddle names it

    def global_block(self) -> Block:
        return self.blocks[0]

    def block(self, index: int) -> Block:
        return self.blocks[index]

    def current_block(self) -> Block:
        return self.blocks[self._current]

    def create_block(self, parent_idx: int | None = None) -> Block:
        """Add a block inside the current one, or inside another, and record into it until
        ``leave_block``.
        """
        block = Block(self, len(self.blocks), self._current if parent_idx is None else parent_idx)
        self.blocks.append(block)
        self._current = block.idx
        self.changed()
        return block

    def leave_block(self) -> None:
        """Record into the enclosing block again."""
        self._current = self.current_block().parent_idx

    _create_block, _rollback = create_block, leave_block  # what scripts call them

    def drop_blocks(self, start: int) -> None:
        """Take out the blocks from number ``start`` on and record into the one around them."""
        if start < len(self.blocks):
            self._current = self.blocks[start].parent_idx
            del self.blocks[start:]

    @contextlib.contextmanager
    def in_block(self, index: int) -> Iterator[None]:
        """Record into a block meanwhile."""
        before, self._current = self._current, index
        try:
            yield
        finally:
            self._current = before

    def empty_unreached_blocks(self) -> None:
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
        """Other than 0: every run starts from this seed. Set outside of static mode, it also seeds
        what runs at once.
        """
        return self.seed

    @random_seed.setter
    def random_seed(self, seed: int) -> None:
        if not isinstance(seed, int):
            raise UsageError(
                f"Program.random_seed must be an integer, but received {type(seed).__name__}"
            )
        self.seed = seed
        # in dygraph, scripts of 1.x seed through the default programs
        if seed and not switch.is_static:
            set_global_seed(seed)

    def global_seed(self, seed: int = 0) -> None:
        """Set the ``random_seed`` of this program and of every one made from now on."""
        seed_of_programs.value = seed
        self.random_seed = seed

    @property
    def lr_scheduler(self) -> Any:
        """The scheduler of the last optimizer recorded, or None."""
        found = (scheduler_of(source.optimizer) for source in reversed(self.rates))
        return next((scheduler for scheduler in found if scheduler is not None), None)

    def list_vars(self) -> Iterator[Variable]:
        for block in self.blocks:
            yield from list(block.vars.values())

    def all_parameters(self) -> list[Parameter]:
        return [p for block in self.blocks for p in block.all_parameters()]

    # -- copies
    # ----------------------------------------------------------------------------------------------

    def clone(self, for_test: bool = False) -> Program:
        """Copy the program; ``for_test`` leaves out backward and optimizer operators and puts
        dropout and the like in test mode.

        Parameters keep their names, so both programs share them through the scope.
        """
        out = Program()
        out.seed = self.seed
        out.is_loaded = self.is_loaded
        out.readers = list(self.readers)
        if not for_test:
            out.rates = list(self.rates)
        out.blocks = [Block(out, block.idx, block.parent_idx) for block in self.blocks]
        for old, new in zip(self.blocks, out.blocks, strict=True):
            new.vars = {name: variable.copy_to(new) for name, variable in old.vars.items()}
            new.ops = [
                o.copy_to(new, for_test) for o in old.ops if not for_test or o.role == FORWARD
            ]
        job = self.attachments.get(ServerJob)
        if job is not None:
            out.attachments.put(ServerJob, job)
        if not for_test:
            out.updates = self._copied_updates(out)
        if for_test:
            refresh(out.blocks)
        left_out = [o for block in self.blocks for o in block.ops if for_test and o.role != FORWARD]
        known = unwritten(self.global_block().ops).union(*(o.output_arg_names for o in left_out))
        check_pass(out.blocks, "clone", known)
        return out

    def _inference_optimize(self, prune_read_op: bool = True) -> Program:
        """A copy with all operators, in which dropout and the like are in test mode; without its
        readers if ``prune_read_op``.
        """
        out = self.clone()
        for block in out.blocks:
            for operator in block.ops:
                operator.enter_test_mode()
        refresh(out.blocks)
        if prune_read_op:
            out.readers = []
        return out

    def in_training_mode(self) -> Program:
        """A copy in which dropout and the like are in training mode, the opposite of
        ``clone(for_test=True)``.
        """
        out = self.clone()
        for block in out.blocks:
            for operator in block.ops:
                operator.leave_test_mode()
        return out

    def _copied_updates(self, out: Program) -> list[RecordedUpdate]:
        pairs = zip(self.blocks, out.blocks, strict=True)
        twins = {id(a): b for old, new in pairs for a, b in zip(old.ops, new.ops, strict=True)}
        return [
            replace(
                update, operators=tuple(twins[id(o)] for o in update.operators if id(o) in twins)
            )
            for update in self.updates
        ]

    # -- text and check
    # -----------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return "\n".join(str(block) for block in self.blocks)

    __repr__ = __str__

    def to_string(self, throw_on_error: bool = False, with_details: bool = False) -> str:
        """Its text; ``with_details`` also what is set on its variables and no operator shows."""
        if not with_details:
            return str(self)
        return "\n".join([str(self), *(v.to_string(True, True) for v in self.list_vars())])

    def verify(self) -> None:
        """Raise ProgramError, naming the operator, if the program cannot run.

        Every operator must have the form of its op or be of a kind that the Executor knows, and
        read only what is fed, kept or written before it.
        """
        verify(self.blocks)
