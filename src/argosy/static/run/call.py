"""One run of a lowered program on one place: its state in, its writes out, its errors told with the
operator they come from.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from argosy.foundation import torch_private as private
from argosy.foundation.errors import ArgosyError, DtypeError, ProgramError, nearest, raise_as
from argosy.ops.table import Op
from argosy.optimizer.optimizer import current_rate
from argosy.static.ir.lod import LoDTensor, LoDTensorArray
from argosy.static.ir.operator import OPTIMIZE, Number, Operator, Ref, mapped
from argosy.static.ir.program import Program
from argosy.static.ir.scope import Scope, ScopeVariable
from argosy.static.ir.variable import Variable
from argosy.static.lower.lowered import Lowered
from argosy.tensor.engine import explain

# What is told in the words of the call also when a function of the script raises it.
_EXPLAINED = (RuntimeError, IndexError, TypeError, ValueError, AttributeError)


def run_lowered(
    lowered: Lowered,
    feeds: tuple[torch.Tensor | None, ...],
    scope: Scope,
    device: torch.device,
    call: str = "Executor.run",
) -> Sequence[torch.Tensor]:
    """Run, store what was written in ``scope``, return what was fetched (it may share memory with
    the scope and with feeds). ``call`` is what the script called, for errors.
    """
    fetched: Sequence[torch.Tensor]
    state = lowered.state(scope)
    was_enabled = torch.is_grad_enabled()
    try:
        fetched, written = lowered.run(feeds, state)
    except Exception as error:  # of an op: whatever it is, it is told with the operator
        raise_as(located(lowered, error, call), error)
    finally:
        private.set_grad_enabled(was_enabled)
    for name, value in zip(lowered.writes, written, strict=True):
        if not isinstance(value, torch.Tensor):
            _keep(scope.var(name), value, device)
            continue
        # What a startup program made belongs to nobody else; other values may share memory with
        # feeds or state.
        scope.var(name).store(value.to(device), copies=bool(feeds or state))
    return fetched


def _keep(held: ScopeVariable, value: Any, device: torch.device) -> None:
    """Store sequences, or an array of tensors."""
    if isinstance(value, LoDTensor):
        held.store(value.raw_tensor().to(device))
        held.lod = value.lod()
    elif isinstance(value, list):
        held.array = LoDTensorArray(
            LoDTensor(e.detach().clone()) if isinstance(e, torch.Tensor) else e for e in value
        )
    else:
        raise ProgramError(
            f"Executor.run: {held.name!r}, which is kept, must get a tensor, but got {value!r:.80}"
        )


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw random numbers from ``seed`` on inside the block."""
    before = torch.get_rng_state()
    torch.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(before)


def write_rates(program: Program, scope: Scope) -> None:
    """Bring the learning rates of optimizers into the scope, where the program reads them."""
    for source in program.rates:
        rate, is_scheduled = current_rate(source.optimizer)
        # A number is written when set_lr changed it, so that a value which the script put into the
        # scope stays.
        if is_scheduled or rate != source.last:
            scope.holding(source.name).fill(rate)
            source.last = rate


def fetch_names(fetch_list: Any) -> tuple[Any, ...]:
    """The names of what is fetched: variables or names, nested or alone. Operators of an update
    are among them as they are: ``minimize`` returns them, with parameters and gradients beside.
    """
    if fetch_list is None:
        return ()
    if isinstance(fetch_list, (str, Variable)):
        fetch_list = [fetch_list]
    names: list[Any] = []
    for item in fetch_list:
        if isinstance(item, str):
            names.append(item)
        elif isinstance(item, Variable):
            names.append(item.name)
        elif isinstance(item, (list, tuple)):
            names.extend(fetch_names(item[0] if _is_minimized(item) else item))
        elif isinstance(item, Operator) and item.role == OPTIMIZE:
            names.append(item)
        else:
            raise DtypeError(
                "Executor.run: fetch_list must hold variables or their names, or operators of an "
                f"update, but received "
                f"{type(item).__name__}"
            )
    return tuple(names)


def split_fetches(fetches: tuple[Any, ...]) -> tuple[list[str], list[Operator]]:
    """The names of ``fetch_names`` and its operators."""
    names = [item for item in fetches if isinstance(item, str)]
    return names, [item for item in fetches if isinstance(item, Operator)]


def _is_minimized(item: Any) -> bool:
    """Whether it is what ``minimize`` returns."""
    return (
        isinstance(item, tuple)
        and len(item) == 2
        and isinstance(item[0], list)
        and all(isinstance(operator, Operator) for operator in item[0])
    )


def known_feeds(program: Program, fed: dict[str, Any]) -> list[str]:
    """The names in ``fed`` that the program has; of others the user is warned, as in Paddle."""
    variables = program.global_block().vars
    for name in fed:
        if name not in variables:
            warnings.warn(
                f"The variable {name} is not found in program. It is not declared or is pruned."
                f"{nearest(str(name), variables)}",
                stacklevel=3,
            )
    return [name for name in fed if name in variables]


def located(lowered: Lowered, error: Exception, call: str = "Executor.run") -> Exception:
    """The error of an operator, with its name, the line that recorded it and what it was given;
    ``call`` is what runs it.
    """
    trace, step = None, error.__traceback__
    while step is not None:
        # Spans that are recomputed are functions inside of it, in the same text.
        if (
            lowered.code is not None
            and step.tb_frame.f_code.co_filename == lowered.code.co_filename
        ):
            trace = step
        step = step.tb_next
    if trace is None:
        return error
    operator = lowered.operators.get(trace.tb_lineno)
    if operator is None:
        return error if isinstance(error, ArgosyError) else ProgramError(f"{call}: {error}")
    calls_script = operator.special is not None and operator.special.calls_script
    if calls_script and not isinstance(error, _EXPLAINED):
        return error
    if isinstance(error, NameError) and trace.tb_next is None:
        return ProgramError(
            f"{call}: {operator.describe()}: a variable has no value in this run ({error})"
        )
    held = trace.tb_frame.f_locals

    def given(value: Any) -> Any:
        return (
            held.get(lowered.locals_by_name.get(value.name, ""))
            if isinstance(value, (Ref, Number))
            else value
        )

    plain = explain(
        _op_of(operator), mapped(operator.args, given), mapped(operator.kwargs, given), error
    )
    try:
        return type(plain)(f"{call}: {operator.describe()}: {plain}")
    except TypeError:  # an error class of the user's own
        return plain


def _op_of(operator: Operator) -> Op:
    return operator.op or Op(operator.type, lambda: None, params=())
