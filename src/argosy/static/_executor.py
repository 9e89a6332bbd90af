"""Executor: runs programs on a place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation.errors import ProgramError, UsageError, nearest
from argosy.foundation.places import to_place
from argosy.ops.table import Op
from argosy.static._lower import Lowered, lower
from argosy.static._operator import Number, Operator, Ref, mapped
from argosy.static._program import Program
from argosy.static._recorder import default_main_program
from argosy.static._scope import Scope, global_scope
from argosy.static._variable import Variable
from argosy.tensor._defaults import defaults
from argosy.tensor._explain import explain
from argosy.tensor._tensor import _wrap


class Executor:
    """Runs programs on one place.

    A program is lowered to a function once per version, feeds and fetches; what persists between runs is in a scope.

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

    def close(self) -> None:
        """Refuse further runs."""
        self._is_closed = True

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
        """Run every operator of ``program`` and return the values of ``fetch_list``, variables or their names.

        ``feed`` gives the data variables by name: arrays, lists, Tensors. With ``use_prune`` only operators that the fetches
        depend on run. ``use_program_cache`` changes nothing: lowered programs are always kept.
        """
        if self._is_closed:
            raise UsageError("Executor.run: the executor is closed")
        program = default_main_program() if program is None else program
        if not isinstance(program, Program):
            raise UsageError(f"Executor.run: program must be a Program, but received {type(program).__name__}")
        scope = global_scope() if scope is None else scope
        fed = _merged(feed)
        fetches = _fetch_names(fetch_list)
        key = (self._device, tuple(fed), fetches, use_prune)
        lowered = program._lowered.get(key)
        if lowered is None:
            _check_feed_names(program, fed)
            lowered = program._lowered[key] = lower(program, list(fed), fetches, self._device, use_prune)
        feeds = tuple([spec.to_tensor(fed[spec.name], self._device) for spec in lowered.feeds])
        if program._rates:
            self._write_rates(program, scope)
        fetched = self._launch(program, lowered, feeds, scope)
        # Both copy: what is fetched may share memory with the scope or with what was fed.
        return [_wrap(t).numpy() if return_numpy else _wrap(t.detach().clone()) for t in fetched]

    def _launch(
        self, program: Program, lowered: Lowered, feeds: tuple[torch.Tensor, ...], scope: Scope
    ) -> Sequence[torch.Tensor]:
        fetched: Sequence[torch.Tensor]
        state = lowered.state(scope)
        was_enabled = torch.is_grad_enabled()
        before = torch.get_rng_state() if program._seed else None
        if before is not None:
            torch.manual_seed(program._seed)
        try:
            fetched, written = lowered.run(feeds, state)
        except (RuntimeError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise _located(lowered, error) from error
        finally:
            torch._C._set_grad_enabled(was_enabled)
            if before is not None:
                torch.set_rng_state(before)
        for name, value in zip(lowered.writes, written, strict=True):
            # What a startup program made belongs to nobody else; other values may share memory with feeds or state.
            scope.var(name).store(value.to(self._device), copies=bool(feeds or state))
        return fetched

    def _write_rates(self, program: Program, scope: Scope) -> None:
        """Bring the learning rates of optimizers into the scope, where the program reads them."""
        for source in program._rates:
            rate = source.optimizer._checked_lr()
            # A number is written when set_lr changed it, so that a value which the script put into the scope stays.
            if source.is_scheduled or rate != source.last:
                scope._holding(source.name).fill(rate)
                source.last = rate


def _merged(feed: Any) -> dict[str, Any]:
    if feed is None:
        return {}
    if isinstance(feed, (list, tuple)) and len(feed) == 1:
        feed = feed[0]
    if not isinstance(feed, dict):
        raise UsageError(
            f"Executor.run: feed must be a dict of names and values, or a list with one such dict, but received {type(feed).__name__}"
        )
    return feed


def _fetch_names(fetch_list: Any) -> tuple[str, ...]:
    if fetch_list is None:
        return ()
    if isinstance(fetch_list, (str, Variable)):
        fetch_list = [fetch_list]
    names: list[str] = []
    for item in fetch_list:
        if isinstance(item, str):
            names.append(item)
        elif isinstance(item, Variable):
            names.append(item.name)
        elif isinstance(item, (list, tuple)):
            names.extend(_fetch_names(item))
        else:
            raise UsageError(
                f"Executor.run: fetch_list must hold variables or their names, but received {type(item).__name__}"
            )
    return tuple(names)


def _check_feed_names(program: Program, fed: dict[str, Any]) -> None:
    variables = program.global_block().vars
    for name in fed:
        if name not in variables:
            declared = [v.name for v in variables.values() if v.is_data]
            raise ProgramError(
                f"Executor.run: feed {name!r} is no variable of the program, which declares {declared}."
                f"{nearest(str(name), variables)}"
            )


def _located(lowered: Lowered, error: Exception) -> Exception:
    """The error of an operator, with its name, the line that recorded it and what it was given."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code is not lowered.run.__code__:
        trace = trace.tb_next
    operator = None if trace is None else lowered.operators.get(trace.tb_lineno)
    if trace is None or operator is None:
        return error
    held = trace.tb_frame.f_locals

    def given(value: Any) -> Any:
        return held.get(lowered.locals_by_name[value.name]) if isinstance(value, (Ref, Number)) else value

    plain = explain(_op_of(operator), mapped(operator.args, given), mapped(operator.kwargs, given), error)
    try:
        return type(plain)(f"Executor.run: {operator.describe()}: {plain}")
    except TypeError:  # an error class of the user's own
        return plain


def _op_of(operator: Operator) -> Op:
    return operator.op or Op(operator.type, lambda: None, params=())
