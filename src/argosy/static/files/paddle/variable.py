"""Variables in Paddle's files."""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.static.files.decode import Node, add, shape_of
from argosy.static.ir.block import Block
from argosy.static.ir.variable import Parameter, Variable, samples
from argosy.static.record.arrays import ArrayVariable
from argosy.static.record.ranks import RANK_TABLE

LOD_TENSOR, SELECTED_ROWS, TENSOR_ARRAY = 7, 8, 13
LOD_RANK_TABLE = 12
FEED_LIST, FETCH_LIST, STEP_SCOPES = 9, 10, 11

_FIELDS = {
    LOD_TENSOR: "lod_tensor",
    SELECTED_ROWS: "selected_rows",
    TENSOR_ARRAY: "tensor_array",
}
_DEEPEST_LOD = 8


def add_variable(block: Block, node: Node, feeds: list[str], alias: str = "") -> None:
    """Add the variable that ``node`` describes to ``block``, perhaps under another name; those of
    kinds that hold something of Paddle's engine, such as the scopes of a loop, have no counterpart.
    """
    fields = node.entries()
    name = alias or fields["name"].name()
    kind = fields["type"].entries()
    number = kind["type"].integer()
    if number == LOD_RANK_TABLE:
        table = Variable(block, name, *samples([-1, 2], torch.int64))
        table.type = RANK_TABLE
        add(block, table, node)
        return
    if number not in _FIELDS:
        return
    if name in block.vars:
        raise fields["name"].refused("a name that the block does not have yet")
    dtype, shape, levels = _tensor(kind, number, node)
    is_parameter = _flag(fields, "is_parameter")
    stops = _flag(fields, "stop_gradient")
    first, second = samples(shape, dtype)
    made: Variable
    if is_parameter and second is None:
        made = Parameter(block, name, first, not stops)
    elif number == TENSOR_ARRAY:
        made = ArrayVariable(block, name, first, second)
    else:
        keeps = _flag(fields, "persistable")
        is_data = block.idx == 0 and name in feeds
        made = Variable(
            block, name, first, second, persistable=keeps, stop_gradient=stops, is_data=is_data
        )
        if is_data and levels:
            made = block.create_var(
                name, shape, dtypes.name_of(dtype), stop_gradient=stops, is_data=True,
                lod_level=levels
            )  # fmt: skip
            return
    add(block, made, node)


def _tensor(kind: dict[str, Node], number: int, node: Node) -> tuple[torch.dtype, list[int], int]:
    """Dtype, shape and levels of sequences; 1.x leaves them out of what has none."""
    described = kind.get(_FIELDS[number])
    if described is None:
        return torch.float32, [], 0
    fields = described.entries()
    levels = fields["lod_level"].integer(0, _DEEPEST_LOD) if "lod_level" in fields else 0
    tensor = fields["tensor"].entries() if "tensor" in fields else fields
    code = tensor["data_type"].integer()
    if code not in dtypes.TORCH_BY_CODE:
        raise tensor["data_type"].refused("the number of an element type")
    dtype = dtypes.TORCH_BY_CODE[code]
    # What Paddle computes of unknown extents may be any negative number.
    shape = shape_of(tensor["dims"], dtype, lowest=-(1 << 63))
    return dtype, [max(n, -1) for n in shape], levels


def _flag(fields: dict[str, Node], name: str) -> bool:
    return name in fields and fields[name].flag()


def described(variable: Variable) -> dict[str, Any]:
    """The VarDesc of a variable."""
    if variable.type == RANK_TABLE:
        return held_by_engine(variable.name, LOD_RANK_TABLE)
    dims = list(variable.shape)
    kind = TENSOR_ARRAY if isinstance(variable, ArrayVariable) else LOD_TENSOR
    out = tensor(variable.name, variable.raw.dtype, dims, kind, variable.lod_level)
    return {
        **out,
        "persistable": bool(variable.persistable),
        "need_check_feed": bool(variable.is_data and variable.checks_feed),
        "is_parameter": isinstance(variable, Parameter),
        "stop_gradient": bool(variable.stop_gradient),
    }


def tensor(
    name: str, dtype: torch.dtype, dims: list[int], kind: int = LOD_TENSOR, levels: int = 0
) -> dict[str, Any]:
    """The VarDesc of a tensor, or of an array of such."""
    inside = {
        "tensor": {"data_type": int(dtypes.CODE_BY_TORCH[dtype]), "dims": dims},
        "lod_level": levels,
    }
    return {"name": name, "type": {"type": kind, _FIELDS[kind]: inside}, "persistable": False}


def held_by_engine(name: str, kind: int) -> dict[str, Any]:
    """The VarDesc of a variable that holds what is fed or fetched, the scopes of a loop or a
    table of ranks.
    """
    return {"name": name, "type": {"type": kind}, "persistable": kind in (FEED_LIST, FETCH_LIST)}
