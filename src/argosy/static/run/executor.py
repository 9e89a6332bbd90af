"""Executor: runs programs on a place."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from typing import Any

from argosy.foundation.account import account
from argosy.foundation.errors import BadArgument, DtypeError, UsageError
from argosy.foundation.places import to_place
from argosy.foundation.process_state import register
from argosy.foundation.witness import seat
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope, global_scope
from argosy.static.lower.fetch import given_out, joined
from argosy.static.lower.lowered import Lowered
from argosy.static.lower.lowering import lower
from argosy.static.lower.pruning import part_of
from argosy.static.record.recorder import default_main_program
from argosy.static.run.call import (
    fetch_names,
    known_feeds,
    run_lowered,
    seeded,
    split_fetches,
    write_rates,
)
from argosy.static.run.contract import PreparedProgram
from argosy.static.run.dataset_runs import run_from_dataset
from argosy.static.run.readers import next_feeds
from argosy.static.run.shown import show_step
from argosy.tensor.engine import defaults

# What this process says when it closes an Executor, whichever: so scripts of 1.x leave their
# parameter servers.
farewells: list[Callable[[], None]] = register("farewells of executors", [])


class ClosedExecutor(UsageError, RuntimeError):
    """A closed Executor was asked for a run."""


class NoProgram(DtypeError, AttributeError):
    """What was to be run is no program."""


class Executor:
    """Runs programs on one place.

    A program is lowered to a function once per version, feeds and fetches; what persists between
    runs is in a scope.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     x = paddle.static.data("x", [None, 2])
        ...     total = x.sum()
        >>> exe = paddle.static.Executor(paddle.CPUPlace())
        >>> _ = exe.run(startup)
        >>> [value] = exe.run(main, feed={"x": numpy.ones((3, 2), "float32")}, fetch_list=[total])
        >>> float(value)
        6.0
        >>> paddle.disable_static()
    """

    def __init__(self, place: Any = None) -> None:
        self.place = defaults.place if place is None else to_place(place)
        self._device = self.place.device
        self._is_closed = False
        # whose threads ``close`` ends
        self._compiled: weakref.WeakSet[PreparedProgram] = weakref.WeakSet()

    @property
    def _default_executor(self) -> Executor:
        """What runs programs; in Paddle an object of its own."""
        return self

    def close(self) -> None:
        """Refuse further runs, end the threads of compiled programs that it has run, and leave
        parameter servers as 1.x does.
        """
        if self._is_closed:
            return
        self._is_closed = True
        with contextlib.ExitStack() as stack:  # all of it happens, whatever fails
            for program in self._compiled:
                stack.callback(program.close)
            while farewells:
                stack.callback(farewells.pop(0))

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def run(
        self,
        program: Any = None,
        feed: Any = None,
        fetch_list: Any = None,
        feed_var_name: str = "feed",
        fetch_var_name: str = "fetch",
        scope: Scope | None = None,
        return_numpy: bool = True,
        use_program_cache: bool = False,
        return_merged: bool = True,
        use_prune: bool = False,
    ) -> list[Any]:
        """Run every operator of ``program`` and return the values of ``fetch_list``, variables or
        their names.

        ``feed`` gives the data variables by name: arrays, lists, Tensors, LoDTensors. With
        ``use_prune`` only updates and operators that the fetches depend on run; where
        ``fetch_list`` has what ``minimize`` returned, only that update. A CompiledProgram runs on
        its places: ``feed`` may be a list with a dict for each, and without ``return_merged`` a
        fetch is a list of their values. ``use_program_cache`` changes nothing: lowered programs are
        always kept. Nor do ``feed_var_name`` and ``fetch_var_name``, variables of Paddle's engine.
        """
        if self._is_closed:
            raise ClosedExecutor("Executor.run: Attempted to use a closed Executor")
        program = default_main_program() if program is None else program
        scope = global_scope() if scope is None else scope
        prepared = (
            program.attachments.get(PreparedProgram) if isinstance(program, Program) else program
        )
        if isinstance(prepared, PreparedProgram):
            if prepared.prepare():
                self._compiled.add(prepared)
                return prepared.run(
                    self.place, scope, feed, fetch_list, return_numpy, return_merged, use_prune,
                    self._prune_program,
                )  # fmt: skip
            program = prepared.recorded
        if not isinstance(program, Program):
            raise NoProgram(
                "Executor.run: program must be a Program or a CompiledProgram, but received "
                f"{type(program).__name__}"
            )
        fed = feed if type(feed) is dict else _merged(feed)
        if program.readers:
            for batch in next_feeds(program, fed):  # at most one: there is one place
                fed = {**fed, **batch}
        fetches = fetch_names(fetch_list)
        key = (self._device, tuple(fed), fetches, use_prune)
        lowered = program.lowered.get(key)
        if lowered is None:
            lowered = program.lowered[key] = self._lower(program, fed, fetches, use_prune, scope)
        given = lowered.given(fed, self._device)
        if program.rates:
            write_rates(program, scope)
        if program.seed:
            with seeded(program.seed):
                fetched = run_lowered(lowered, given, scope, self._device)
        else:
            fetched = run_lowered(lowered, given, scope, self._device)
        if lowered.trains:
            if seat.witness is not None:
                show_step(seat.witness, program, lowered, [scope], [given], [fetched])
            account.end_step()
        values = joined(fetched, lowered.lods) if lowered.lods else fetched
        return given_out(values, return_numpy)

    def _lower(
        self, program: Program, feed: Any, fetches: tuple[Any, ...], prunes: bool, scope: Scope
    ) -> Lowered:
        feeds = known_feeds(program, feed)
        names, updates = split_fetches(fetches)
        if prunes or updates:
            program = self._prune_program(program, feed, names, updates)
            for variable in program.list_vars():
                if variable.persistable:
                    scope.var(variable.name)  # also if the run fails
        return lower(program, feeds, names, self._device)

    def _prune_program(
        self,
        program: Program,
        feed: Any = None,
        fetch_list: Any = None,
        optimize_ops: Any = None,
    ) -> Program:
        """A copy of ``program`` with what computes ``fetch_list`` and with the updates
        ``optimize_ops``, or all if there are none.
        """
        return part_of(program, list(feed or ()), fetch_list or [], optimize_ops or [])

    def train_from_dataset(
        self,
        program: Any = None,
        dataset: Any = None,
        scope: Scope | None = None,
        thread: int = 0,
        debug: bool = False,
        fetch_list: Any = None,
        fetch_info: Any = None,
        print_period: int = 100,
        fetch_handler: Any = None,
    ) -> None:
        """Run ``program`` on every batch of ``dataset``, in order, and print ``fetch_list`` every
        ``print_period`` batches.

        ``thread`` is how many files are read at a time, 0 the dataset's own number. ``fetch_info``
        names what is printed; ``fetch_handler`` is a FetchHandler; ``debug`` prints how long it
        took.
        """
        run_from_dataset(
            self,
            program,
            dataset,
            scope,
            thread,
            debug,
            fetch_list,
            fetch_info,
            print_period,
            fetch_handler,
            updates=True,
        )

    def infer_from_dataset(
        self,
        program: Any = None,
        dataset: Any = None,
        scope: Scope | None = None,
        thread: int = 0,
        debug: bool = False,
        fetch_list: Any = None,
        fetch_info: Any = None,
        print_period: int = 100,
        fetch_handler: Any = None,
    ) -> None:
        """As ``train_from_dataset``, but without backward and optimizer operators: parameters stay
        as they are.
        """
        run_from_dataset(
            self,
            program,
            dataset,
            scope,
            thread,
            debug,
            fetch_list,
            fetch_info,
            print_period,
            fetch_handler,
            updates=False,
        )


def _merged(feed: Any) -> dict[str, Any]:
    if feed is None:
        return {}
    if isinstance(feed, (list, tuple)) and len(feed) == 1:
        feed = feed[0]
    if not isinstance(feed, dict):
        raise DtypeError(
            "Executor.run: feed must be a dict of names and values, or a list with one such "
            f"dict, but received {type(feed).__name__}"
        )
    return feed


def fetch_var(name: str, scope: Scope | None = None, return_numpy: bool = True) -> Any:
    """The value of a variable in ``scope``, the current one by default."""
    if not isinstance(name, str):
        raise BadArgument(f"fetch_var: name must be a string, but received {type(name).__name__}")
    found = (global_scope() if scope is None else scope).find_var(name)
    if found is None:
        raise BadArgument(
            f"fetch_var: Cannot find '{name}' in scope. Perhaps you need to make the variable "
            "persistable by using var.persistable = True in your program."
        )
    value = found.get_tensor()
    return as_numpy(value) if return_numpy else value


def as_numpy(tensor: Any, copy: bool = False) -> Any:
    """The array, or the list of arrays, that holds what was fetched."""
    if isinstance(tensor, (list, tuple)):
        return [as_numpy(item, copy) for item in tensor]
    [array] = given_out([tensor], as_array=True)
    return array
