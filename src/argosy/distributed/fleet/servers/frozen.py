"""Programs that look rows up in values of their own, where they pulled them from servers: what one
process needs for inference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.distributed.fleet.servers.rewrite import LOOKUP, PULL, drop_last_axes, is_lookup
from argosy.ops.nn import embedding as ops
from argosy.runtime.ps.tables.spec import SparseSpec
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator, Ref
from argosy.static.ir.program import Program
from argosy.static.ir.verify import check_pass, unwritten

__all__ = ["freeze", "frozen_tables"]


def frozen_tables(program: Program, specs: Mapping[str, SparseSpec]) -> list[str]:
    """The tables that a program, made for servers or not, reads."""
    operators = program.global_block().ops
    pulled = [o.args[1] for o in operators if o.type == PULL]
    return [
        *pulled,
        *{o.args[1].name: None for o in operators if is_lookup(o) and o.args[1].name in specs},
    ]


def freeze(program: Program, specs: Mapping[str, SparseSpec], sizes: Mapping[str, int]) -> None:
    """Have ``program`` find the ids of a table in ``<table>.keys`` and their rows in ``<table>``,
    two variables with ``sizes`` rows.
    """
    block = program.global_block()
    drop_last_axes(block, sizes)
    ids_of, table_of = _pulled(block)
    for name, size in sizes.items():
        block.vars.pop(name, None)
        block.create_var(name=f"{name}.keys", shape=[size], dtype="int64", persistable=True)
        block.create_var(
            name=name, shape=[size, specs[name].dim], dtype="float32", persistable=True
        )
    kept = []
    for operator in block.ops:
        if operator.type == PULL:
            for name in operator.output_arg_names:
                block.vars.pop(name, None)
            continue
        if operator.type == LOOKUP:
            rows, places = operator.args
            for place, out in zip(places, operator.out, strict=True):
                kept.append(_by_key(operator, ids_of[place.name], table_of[rows.name], out))
        elif is_lookup(operator) and operator.args[1].name in sizes:
            kept.append(_by_key(operator, operator.args[0], operator.args[1].name, operator.out))
        else:
            kept.append(operator)
    known = unwritten(block.ops)
    block.ops[:] = kept
    program.changed()
    check_pass(program.blocks, "frozen tables", known)


def _pulled(block: Block) -> tuple[dict[str, Any], dict[str, str]]:
    """Of the pulls: the ids by the name of the places that were made of them, the table by the name
    of its rows.
    """
    ids_of: dict[str, Any] = {}
    table_of: dict[str, str] = {}
    for operator in block.ops:
        if operator.type == PULL:
            rows, _, places = operator.out
            table_of[rows.name] = operator.args[1]
            ids_of.update(
                {place.name: ids for place, ids in zip(places, operator.args[0], strict=True)}
            )
    return ids_of, table_of


def _by_key(operator: Operator, ids: Any, table: str, out: Any) -> Operator:
    op, arguments = ops.embedding_by_key, (ids, Ref(f"{table}.keys"), Ref(table))
    return Operator(
        operator.block,
        op.name,
        op,
        arguments,
        {},
        out,
        operator.role,
        operator.name_scope,
        operator.where,
    )
