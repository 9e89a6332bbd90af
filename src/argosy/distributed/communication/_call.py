"""What the collectives of ``paddle.distributed`` have in common: checking what they are given, and
starting the transport's call.

Tensors are changed in place. ``sync_op=False`` starts the collective and returns a task with
``wait()``; collectives of one group run in the order in which they were called either way. A
process that is not in the group warns and does nothing.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch

from argosy.distributed.job import default_group, job
from argosy.foundation.errors import DtypeError, UsageError
from argosy.runtime.comm.backend import BITWISE, ReduceOp
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.work import Work
from argosy.tensor.engine import Tensor, wrap

_OPERATIONS = {int(op): op for op in ReduceOp if op not in BITWISE}


class CallError(UsageError, RuntimeError):
    """A collective was called in a way that Paddle answers with a RuntimeError."""


def prepare(
    call: str, tensor: Any, group: Group | None, argument: str = "tensor"
) -> tuple[torch.Tensor, Group | None]:
    """The engine's tensor and the group to use, as ``raw_of`` and ``member_of``; in one function
    because every small collective pays for it.
    """
    if not isinstance(tensor, Tensor):
        raw_of(call, tensor, argument)
    raw = tensor.raw
    if raw.requires_grad:
        raw = raw.detach()
    if group is None:
        group = job.world
    if not isinstance(group, Group) or not group.has_me:
        group = member_of(call, group, stacklevel=4)
    return raw, group


def raw_of(call: str, tensor: Any, argument: str = "tensor") -> torch.Tensor:
    """The engine's tensor, outside the graph."""
    if not isinstance(tensor, Tensor):
        raise DtypeError(
            f"{call}: {argument} must be a Tensor, but received {type(tensor).__name__}"
        )
    raw = tensor.raw
    return raw.detach() if raw.requires_grad else raw


def member_of(call: str, group: Group | None, stacklevel: int = 3) -> Group | None:
    """The group to use; None (with a warning) where this process is not in it."""
    chosen = group if group is not None else default_group(call)
    if not isinstance(chosen, Group):
        raise DtypeError(
            f"{call}: group must be a Group made by new_group(), but received "
            f"{type(chosen).__name__}"
        )
    if chosen.has_me:
        return chosen
    warnings.warn(
        f"{call}: this process is not in group {chosen.name!r} (ranks {chosen.ranks}); "
        "nothing is done.",
        stacklevel=stacklevel,
    )
    return None


def operation(call: str, op: Any) -> ReduceOp:
    """The transport's name of one of Paddle's."""
    try:
        return _OPERATIONS[op]
    except (KeyError, TypeError):
        raise UsageError(
            f"{call}: op must be ReduceOp.SUM, MAX, MIN, PROD or AVG, but received {op!r}"
        ) from None


def start(group: Group, sync_op: bool, call: Callable[..., Any], *args: Any) -> Work:
    """Run ``call`` of the group's transport, or only start it."""
    if sync_op:
        group.run(call, *args)
        return _done(call.__name__)
    return group.submit(call, *args)


@functools.cache
def _done(call: str) -> Work:
    """The task of every collective of this name that ran before its call returned: there is nothing
    in it that could differ.
    """
    return Work.completed(what=call)


def targets(
    call: str, out: Any, like: torch.Tensor, count: int
) -> tuple[list[torch.Tensor], Callable[[], None]]:
    """Where parts are received: the tensors of a list (filled if empty), or slices of one tensor;
    and what to do afterwards.
    """
    if isinstance(out, Tensor):
        whole = out.raw.detach()
        if whole.numel() != like.numel() * count:
            raise UsageError(
                f"{call}: the output has shape {out.shape}; {count} ranks with "
                f"{list(like.shape)} each need {count} times as many elements"
            )
        flat = whole.contiguous().view(-1)

        def write_back() -> None:
            if not whole.is_contiguous():
                whole.copy_(flat.view(whole.shape))

        return [part.view(like.shape) for part in flat.tensor_split(count)], write_back
    if not isinstance(out, list):
        raise DtypeError(
            f"{call}: the output must be a list or a Tensor, but received {type(out).__name__}"
        )
    if not out:
        fresh = [
            torch.empty_like(like, memory_format=torch.contiguous_format) for _ in range(count)
        ]
        return fresh, lambda: out.extend(wrap(t) for t in fresh)
    return [raw_of(call, t, "each tensor of the list") for t in out], lambda: None


def then(call: Callable[..., Any], after: Callable[[], None]) -> Callable[..., Any]:
    """``call`` and, once it has run, ``after``."""

    def both(*args: Any) -> None:
        call(*args)
        after()

    both.__name__ = call.__name__
    return both


def parts(call: str, source: Any, count: int) -> list[torch.Tensor]:
    """What is sent: the tensors of a list, or equal slices of one tensor along its first axis."""
    if isinstance(source, Tensor):
        raw = source.raw.detach()
        if raw.ndim == 0 or raw.shape[0] % count:
            raise UsageError(
                f"{call}: the first dimension of the input, of shape {source.shape}, must be a "
                f"multiple of the {count} ranks"
            )
        return list(raw.chunk(count))
    return [raw_of(call, t, "each tensor of the list") for t in source]
