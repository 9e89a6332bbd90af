"""The arguments of c10d's calls. Pure functions.

torch's own code passes an object with options; others use the overloads with keyword arguments,
which are turned into such an object here.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from argosy.foundation.errors import UsageError
from argosy.runtime.comm import fingerprint
from argosy.runtime.comm.backend import ReduceOp

_Type: Any = dist.ReduceOp.RedOpType
OP_BY_TYPE: dict[Any, ReduceOp] = {
    _Type.SUM: ReduceOp.SUM,
    _Type.AVG: ReduceOp.AVG,
    _Type.PRODUCT: ReduceOp.PROD,
    _Type.MIN: ReduceOp.MIN,
    _Type.MAX: ReduceOp.MAX,
    _Type.BAND: ReduceOp.BAND,
    _Type.BOR: ReduceOp.BOR,
    _Type.BXOR: ReduceOp.BXOR,
}
_FIELD = {"op": "reduceOp", "root": "rootRank", "timeout": "timeout"}
# dtypes that torch added later travel as others of their size
_SAME_SIZE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def made(kind: type, given: Any, rest: tuple[Any, ...], named: dict[str, Any], *names: str) -> Any:
    """The options of ``kind`` that an overload means: ``names`` are the places of its arguments
    after the tensors, the last of them the timeout.
    """
    values = dict(zip(names, (given, *rest) if given is not None else rest, strict=False))
    for name, value in named.items():
        if name == "opts":
            return value
        if name not in names:
            raise TypeError(f"unexpected argument {name!r}; expected {', '.join(names)}")
        values[name] = value
    options = kind()
    for name, value in values.items():
        if value is not None:
            setattr(options, _FIELD[name], value)
    return options


def limit_s(options: Any) -> float | None:
    """The time that this one call has; None where the group's holds."""
    timeout: timedelta = options.timeout
    return None if timeout < timedelta(0) else timeout.total_seconds()


def operation(call: str, op: Any) -> tuple[ReduceOp, Any]:
    """The reduction that torch's ``op`` means, and the factor that each rank's tensor gets first,
    None if there is none.
    """
    if op == _Type.SUM:  # half the time of looking it up
        return ReduceOp.SUM, None
    found = OP_BY_TYPE.get(op.op)
    if found is not None:
        return found, None
    if op.op == _Type.PREMUL_SUM:
        return ReduceOp.SUM, op.factor
    raise UsageError(f"{call}: {op.op} is not a reduction that argosy knows")


def single(call: str, tensors: Any) -> torch.Tensor:
    """The tensor of a call that takes a list for ranks with several devices."""
    if isinstance(tensors, torch.Tensor):
        return tensors
    if len(tensors) != 1:
        raise UsageError(f"{call}: expected one tensor, but received {len(tensors)}")
    found: torch.Tensor = tensors[0]
    return found


def single_list(call: str, lists: Any) -> list[torch.Tensor]:
    """The list of a call that takes a list of such lists."""
    if len(lists) and isinstance(lists[0], torch.Tensor):
        return list(lists)
    if len(lists) != 1:
        raise UsageError(f"{call}: expected one list of tensors, but received {len(lists)}")
    return list(lists[0])


def movable(tensor: torch.Tensor) -> torch.Tensor:
    """``tensor`` under a dtype that groups know; the same memory."""
    if tensor.dtype in fingerprint.CODE_BY_DTYPE:
        return tensor
    return tensor.detach().view(_SAME_SIZE[tensor.dtype.itemsize])
