"""Lookups of sparse parameters in a program become pulls.

All lookups of a table become one operator ``ps_pull``, which fetches the unique rows of all
their ids, and one ``ps_lookup``, which hands them out. The operators that the ids depend on are
moved before them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from argosy.distributed.fleet.servers.beside import beside
from argosy.distributed.fleet.servers.lookup import rows_at, unique_ids
from argosy.distributed.fleet.servers.runtime import PsRuntime
from argosy.foundation.errors import NotSupported
from argosy.ops.array.manipulation import squeeze
from argosy.ops.fluid.lookup import lookup_table
from argosy.ops.nn.embedding import embedding
from argosy.ops.table import Op
from argosy.runtime.ps.tables.spec import SparseSpec
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator, Ref
from argosy.static.ir.program import Program
from argosy.static.ir.variable import Parameter, Variable, samples
from argosy.static.ir.verify import checked
from argosy.tensor.engine import unique_name

__all__ = ["LOOKUP", "PULL", "Link", "Pull", "forget", "rewrite", "sparse_parameters", "variable"]

PULL, LOOKUP = "ps_pull", "ps_lookup"


class Link:
    """What the operators of a program share: the process's part in the job, and, where it is known,
    the batch after this one.
    """

    def __init__(self, runtime: PsRuntime) -> None:
        self.runtime = runtime
        self.feeds_by_table: dict[str, list[str]] = {}  # of tables all of whose ids are fed
        self._later: Mapping[str, Any] | None = None
        self._asked: set[str] = set()  # tables whose rows of that batch were asked for

    def look_ahead(self, feed: Mapping[str, Any] | None) -> None:
        """Take note of the next batch, whose rows are fetched while this one is computed; None:
        there is none.
        """
        self._later = feed
        self._asked.clear()

    def fetch_ahead(self, table: str) -> None:
        """Ask for the rows of the next batch, if it is known which these are."""
        names = self.feeds_by_table.get(table)
        if (
            self._later is None
            or names is None
            or table in self._asked
            or self.runtime.mode.kind != "async"
        ):
            return
        self._asked.add(table)
        ids = [_array(self._later[name]).reshape(-1) for name in names]
        self.runtime.worker.prefetch(table, unique_ids(torch.from_numpy(np.concatenate(ids)))[0])

    def __deepcopy__(self, memo: dict[int, Any]) -> Link:
        return self  # copies of a program train through the same servers


def _pull(ids: list[torch.Tensor], table: str, dim: int, link: Link, is_test: bool) -> Any:
    """The unique rows of all ids, their ids, and for each of ``ids`` which rows are its own.
    Runs that take no gradients make no rows.
    """
    if ids[0].is_meta:
        count = ids[0].shape[0] if ids[0].ndim else 1
        rows = torch.empty((count, dim), device="meta")
        return (
            rows,
            torch.empty(count, dtype=torch.int64, device="meta"),
            [torch.empty_like(i) for i in ids],
        )
    keys, positions = unique_ids(torch.cat([i.reshape(-1) for i in ids]))
    worker = link.runtime.worker
    trains = torch.is_grad_enabled() and not is_test
    values = worker.pull(table, keys) if trains else worker.peek(table, keys)
    rows = torch.from_numpy(values)
    if trains:
        rows.requires_grad_()
        link.fetch_ahead(table)
    parts = torch.split(positions, [i.numel() for i in ids])
    return (
        rows,
        torch.from_numpy(keys),
        [part.view(i.shape) for part, i in zip(parts, ids, strict=True)],
    )


def _lookup(rows: torch.Tensor, positions: list[torch.Tensor]) -> list[torch.Tensor]:
    """The rows at each of ``positions``; all in one go, so that their gradients are added up in one
    go too.
    """
    if rows.is_meta:
        return [rows.new_empty((*p.shape, rows.shape[1])) for p in positions]
    return list(rows_at(rows, positions))


_PULL = Op(PULL, _pull, test_attrs={"is_test": True})
# only runs have it: lowering puts it in the place of lookups that are concatenated
_BESIDE = Op("ps_lookup_beside", beside)
_LOOKUP = Op(LOOKUP, _lookup, beside=_BESIDE)


def _array(value: Any) -> np.ndarray:
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


@dataclass(frozen=True)
class Pull:
    """The variables of one table's pull; ``ids`` are those of the lookups, ``positions`` where each
    finds its rows.
    """

    table: str
    rows: Variable
    keys: Variable
    ids: list[Variable]
    positions: list[Variable]
    is_test: bool


def is_lookup(operator: Operator) -> bool:
    op = operator.op
    return op is not None and op.traits.is_lookup and isinstance(operator.args[1], Ref)


def sparse_parameters(block: Block) -> dict[str, tuple[Parameter, int]]:
    """Parameters of which only rows are used, with the id of padding (-1: none)."""
    found: dict[str, tuple[Parameter, int]] = {}
    for operator in block.ops:
        if is_lookup(operator):
            weight = block.vars.get(operator.args[1].name)
            is_sparse = (
                operator.args[3] is True or getattr(weight, "sparse_table", None) is not None
            )
            if isinstance(weight, Parameter) and is_sparse:
                known = found.setdefault(weight.name, (weight, operator.args[2]))
                if known[1] != operator.args[2]:
                    raise NotSupported(
                        f"lookups of table {weight.name!r} have different padding_idx: "
                        f"{known[1]} and {operator.args[2]}"
                    )
    for operator in (o for b in block.program.blocks for o in b.ops):
        if not is_lookup(operator) or operator.block is not block:
            for name in operator.input_arg_names:
                if name in found:
                    raise NotSupported(
                        f"parameter {name!r} of a sparse embedding is also used by operator "
                        f"{operator.type}; rows on servers can only be looked up, and not "
                        "inside a branch or a loop"
                    )
    return found


def rewrite(
    program: Program, specs: Mapping[str, SparseSpec], link: Link, tests: bool = False
) -> list[Pull]:
    """Put a pull before the lookups of each table; with ``tests`` none of them makes rows."""
    block = program.global_block()
    drop_last_axes(block, specs)
    lookups = [o for o in block.ops if is_lookup(o) and o.args[1].name in specs]
    early = _ancestors(block.ops, [o.args[0].name for o in lookups])
    if any(o in early for o in lookups):
        raise NotSupported(
            "minimize: the ids of a lookup depend on the rows of another; rows on servers are "
            "fetched once per step"
        )
    pulls, operators = [], []
    for name, spec in specs.items():
        users = [o for o in lookups if o.args[1].name == name]
        if not users:
            continue
        table = getattr(block.vars.get(name), "sparse_table", None)
        rows = variable(block, f"{name}.rows", [-1, spec.dim], torch.float32, stops=False)
        keys = variable(block, f"{name}.keys", [-1], torch.int64)
        ids = [block.vars[o.args[0].name] for o in users]
        positions = [_like(block, f"{name}.positions", i) for i in ids]
        pull = Pull(
            name, rows, keys, ids, positions, tests or (table is not None and table.is_test)
        )
        out = (Ref(rows.name), Ref(keys.name), [Ref(p.name) for p in positions])
        arguments = ([o.args[0] for o in users], name, spec.dim, link)
        operators.append(
            Operator(block, PULL, _PULL, arguments, {"is_test": pull.is_test}, out, users[0].role)
        )
        found = [o.out for o in users]
        operators.append(
            Operator(block, LOOKUP, _LOOKUP, (out[0], out[2]), {}, found, users[0].role)
        )
        pulls.append(pull)
        fed = [_fed(block, i.name) for i in ids]
        if all(f is not None for f in fed):
            link.feeds_by_table[name] = [f for f in fed if f is not None]
    late = [o for o in block.ops if o not in early and o not in lookups]
    with checked(program.blocks, "pulls in place of lookups"):
        block.ops[:] = [*(o for o in block.ops if o in early), *operators, *late]
    program.changed()
    return pulls


def drop_last_axes(block: Block, tables: Container[str]) -> None:
    """Let lookups of 1.x, whose ids have a last axis of length 1, get ids without it."""
    operators: list[Operator] = []
    for operator in block.ops:
        if operator.op is lookup_table and operator.args[1].name in tables:
            ids, *rest = operator.args
            given = block.vars[ids.name]
            if len(given.shape) > 1 and given.shape[-1] == 1:
                flat = variable(block, f"{ids.name}.flat", list(given.shape[:-1]), given.raw.dtype)
                flat.lod_names = given.lod_names
                axes, ids = (ids, [-1]), Ref(flat.name)
                role = operator.role
                operators.append(Operator(block, squeeze.type, squeeze, axes, {}, ids, role))
            operator.op, operator.type = embedding, embedding.type
            operator.args = (ids, *rest, False)
        operators.append(operator)
    block.ops[:] = operators


def _fed(block: Block, name: str) -> str | None:
    """The fed variable whose ids, in another shape at most, a variable has; None if it has
    others.
    """
    while not block.vars[name].is_data:
        maker = next((o for o in block.ops if name in o.output_arg_names), None)
        if maker is None or maker.op is None or not maker.op.traits.is_reshape:
            return None
        name = maker.input_arg_names[0]
    return name


def _ancestors(operators: Sequence[Operator], names: Iterable[str]) -> set[Operator]:
    """The operators that the named variables depend on."""
    needed, found = set(names), set()
    for operator in reversed(operators):
        if needed.intersection(operator.output_arg_names):
            found.add(operator)
            needed.update(operator.input_arg_names)
    return found


def variable(
    block: Block, name: str, shape: list[int], dtype: torch.dtype, stops: bool = True
) -> Variable:
    """A new variable of ``block``."""
    first, second = samples(shape, dtype)
    return block.add_variable(
        Variable(block, unique_name.generate(name), first, second, stop_gradient=stops)
    )


def _like(block: Block, name: str, other: Variable) -> Variable:
    return block.add_variable(
        Variable(block, unique_name.generate(name), other.raw, other.alt, stop_gradient=True)
    )


def forget(program: Program, name: str) -> None:
    """Take a parameter that lives on servers, and what fills it, out of a program."""
    block = program.global_block()
    with checked(program.blocks, "tables on servers"):
        block.vars.pop(name, None)
        block.ops[:] = [o for o in block.ops if name not in o.output_arg_names]
    program.changed()
