"""Programs in a parameter-server job: ``minimize`` makes lookups pull from servers, gradients go to them, and takes the updates out of the workers' program.

All lookups of a table become one operator ``ps_pull``, which fetches the different rows of all their ids, and lookups in those rows. The operators that
their ids depend on are moved before it. ``ps_push`` at the end hands rows' and dense gradients over and brings the dense parameters in the scope up to date.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from argosy.distributed.fleet._ps_rules import sparse_rule
from argosy.distributed.fleet._ps_runtime import Model, PsRuntime
from argosy.foundation.errors import NotSupported, UsageError
from argosy.ops.table import Op
from argosy.runtime.ps.initial import Initial
from argosy.runtime.ps.spec import Admission, SparseSpec
from argosy.static import default_startup_program, global_scope, program_guard
from argosy.static._backward import gradients
from argosy.static._entries import CountFilterEntry, ProbabilityEntry, ShowClickEntry
from argosy.static._operator import OPTIMIZE, Operator, Ref
from argosy.static._optimize import RecordedOptimizer
from argosy.static._program import Block, Program
from argosy.static._recorder import recorder
from argosy.static._variable import Parameter, Variable, samples
from argosy.tensor._naming import unique_name

__all__ = ["ProgramOptimizer"]


# -- what runs --------------------------------------------------------------------------------------------------------


class _Link:
    """What the operators of a program share: the process's part in the job."""

    def __init__(self, runtime: PsRuntime) -> None:
        self.runtime = runtime

    def __deepcopy__(self, memo: dict[int, Any]) -> _Link:
        return self  # copies of a program train through the same servers


def _pull(ids: list[torch.Tensor], table: str, dim: int, link: _Link, is_test: bool) -> Any:
    """The different rows of all ids, their ids, and for each of ``ids`` which rows are its own."""
    if ids[0].is_meta:
        count = ids[0].shape[0] if ids[0].ndim else 1
        rows = torch.empty((count, dim), device="meta")
        return rows, torch.empty(count, dtype=torch.int64, device="meta"), [torch.empty_like(i) for i in ids]
    flat = torch.cat([i.reshape(-1) for i in ids]).to(torch.int64)
    keys, places = torch.unique(flat, return_inverse=True)
    worker = link.runtime.worker
    values = worker.peek(table, keys.numpy()) if is_test else worker.pull(table, keys.numpy())
    rows = torch.from_numpy(np.array(values, np.float32))
    if torch.is_grad_enabled():
        rows.requires_grad_()
    parts = torch.split(places, [i.numel() for i in ids])
    return rows, keys, [part.view(i.shape) for part, i in zip(parts, ids, strict=True)]


def _push(
    keys: list[torch.Tensor],
    grads: list[torch.Tensor],
    tables: list[str],
    dense: list[torch.Tensor],
    rate: float,
    link: _Link,
) -> None:
    """Hand over the gradients of a step, table by table in one order on every worker."""
    worker = link.runtime.worker
    for table in sorted(set(tables)):
        mine = [i for i, name in enumerate(tables) if name == table]
        ids = torch.cat([keys[i] for i in mine]).numpy()
        worker.push(table, ids, torch.cat([grads[i].detach() for i in mine]).numpy(), rate)
    worker.end_step([g.detach() for g in dense], rate)


_PULL = Op("ps_pull", _pull)
_PUSH = Op("ps_push", _push)


# -- what is recorded -------------------------------------------------------------------------------------------------


class ProgramOptimizer:
    """The script's optimizer, whose ``minimize`` makes the program of a worker. Servers call it too, to know what they serve."""

    def __init__(self, optimizer: Any, runtime: PsRuntime) -> None:
        self._inner_opt = optimizer
        self._runtime = runtime

    def __getattr__(self, name: str) -> Any:
        if name == "_inner_opt":
            raise AttributeError(name)
        return getattr(self._inner_opt, name)

    def minimize(
        self,
        loss: Any,
        startup_program: Program | None = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        parameters: Any = None,
    ) -> tuple[list[Operator], list[tuple[Any, Any]]]:
        """Rewrite the loss's program; returns the operators of the update and the (parameter, gradient) pairs of the dense parameters."""
        program: Program = loss.block.program
        if loss.block.idx != 0:
            raise NotSupported("minimize: in a parameter-server job the loss must not be inside a branch or a loop")
        startup = startup_program or default_startup_program()
        tables = _sparse_parameters(program.global_block())
        specs = {name: _spec(param, pad, startup, self._inner_opt) for name, (param, pad) in tables.items()}
        link = _Link(self._runtime)
        pulls = _rewrite(program, specs, link)
        for name in tables:
            _forget(program, startup, name)
        chosen = parameters if parameters is not None else parameter_list
        dense = _dense(program, chosen, no_grad_set)
        self._runtime.model = _model(specs, dense, self._inner_opt)
        with program_guard(program, startup):
            return self._record_update(loss, program, pulls, dense, link)

    def _record_update(
        self,
        loss: Any,
        program: Program,
        pulls: list[tuple[str, Variable, Variable]],
        dense: list[Parameter],
        link: _Link,
    ) -> tuple[list[Operator], list[tuple[Any, Any]]]:
        block = program.global_block()
        found = gradients([loss], [*dense, *(rows for _, rows, _ in pulls)])
        of_rows = [(t, keys, g) for (t, _, keys), g in zip(pulls, found[len(dense) :], strict=True) if g is not None]
        pairs = [(p, g) for p, g in zip(dense, found, strict=False) if g is not None]
        done = len(block.ops)
        recorded = RecordedOptimizer(self._inner_opt)
        is_local = self._runtime.mode.trains_locally
        if is_local and pairs:
            recorded.apply_gradients(pairs)
        with recorder.in_role(OPTIMIZE), torch.no_grad():
            rate = recorded._rate(program)
            by_name = {p.name: g for p, g in pairs}
            sent = [] if is_local else [by_name.get(p.name) for p in dense]
            if any(g is None for g in sent):
                unused = [p.name for p in dense if p.name not in by_name]
                raise UsageError(
                    f"minimize: the loss does not depend on {unused}; set stop_gradient on them, or leave them out of parameters"
                )
            arguments = (
                [k for _, k, _ in of_rows],
                [g for _, _, g in of_rows],
                [t for t, _, _ in of_rows],
                sent,
                rate,
                link,
            )
            recorder.append(block, "ps_push", _PUSH, arguments, {}, [])
        return block.ops[done:], pairs


def _is_lookup(operator: Operator) -> bool:
    return operator.op is not None and operator.op.name == "embedding" and isinstance(operator.args[1], Ref)


def _sparse_parameters(block: Block) -> dict[str, tuple[Parameter, int]]:
    """Parameters of which only rows are used, with the id of padding (-1: none)."""
    found: dict[str, tuple[Parameter, int]] = {}
    for operator in block.ops:
        if _is_lookup(operator):
            weight = block.vars.get(operator.args[1].name)
            is_sparse = operator.args[3] is True or getattr(weight, "sparse_table", None) is not None
            if isinstance(weight, Parameter) and is_sparse:
                known = found.setdefault(weight.name, (weight, operator.args[2]))
                if known[1] != operator.args[2]:
                    raise NotSupported(
                        f"lookups of table {weight.name!r} have different padding_idx: {known[1]} and {operator.args[2]}"
                    )
    for operator in block.ops:
        if not _is_lookup(operator):
            for name in operator.input_arg_names:
                if name in found:
                    raise NotSupported(
                        f"parameter {name!r} of a sparse embedding is also used by operator {operator.type}; rows on servers can only be looked up"
                    )
    return found


def _spec(param: Parameter, padding: int, startup: Program, optimizer: Any) -> SparseSpec:
    table = getattr(param, "sparse_table", None)
    entry = None if table is None else table.entry
    admission = Admission()
    if isinstance(entry, CountFilterEntry):
        admission = Admission("count", entry._count_filter)
    elif isinstance(entry, ProbabilityEntry):
        admission = Admission("probability", entry._probability)
    elif isinstance(entry, ShowClickEntry):
        raise NotSupported(f"table {param.name!r}: ShowClickEntry is not supported in programs yet")
    return SparseSpec(
        param.name,
        int(param.shape[1]),
        sparse_rule(optimizer),
        _initial(param, startup),
        padding if padding >= 0 else None,
        admission,
    )


def _initial(param: Parameter, startup: Program) -> Initial:
    """How the rows of a parameter begin, from the operator of the startup program that fills it."""
    filler = next((o for o in startup.global_block().ops if param.name in o.output_arg_names), None)
    seed = zlib.crc32(param.name.encode())
    if filler is None or filler.op is None:
        raise UsageError(f"table {param.name!r}: the startup program does not say how its rows begin")
    settings = filler.kwargs
    kind = filler.op.name
    if kind == "fill_constant":
        return Initial("constant", float(settings["value"]))
    if kind == "uniform_random":
        return Initial("uniform", float(settings["low"]), float(settings["high"]), seed)
    if kind in ("gaussian_random", "truncated_gaussian_random"):
        name = "normal" if kind == "gaussian_random" else "truncated_normal"
        return Initial(name, float(settings["mean"]), float(settings["std"]), seed)
    raise NotSupported(
        f"table {param.name!r}: rows on servers begin with a constant, uniform, normal or truncated normal values, not by {kind}"
    )


def _rewrite(program: Program, specs: dict[str, SparseSpec], link: _Link) -> list[tuple[str, Variable, Variable]]:
    """Put a pull before the lookups of each table; returns (table, rows, keys) of each pull."""
    block = program.global_block()
    lookups = [o for o in block.ops if _is_lookup(o) and o.args[1].name in specs]
    early = _ancestors(block.ops, [o.args[0].name for o in lookups])
    if any(o in early for o in lookups):
        raise NotSupported(
            "minimize: the ids of a lookup depend on the rows of another; rows on servers are fetched once per step"
        )
    pulls, operators = [], []
    for name, spec in specs.items():
        users = [o for o in lookups if o.args[1].name == name]
        rows = block._add(_variable(block, f"{name}.rows", [-1, spec.dim], torch.float32, stops=False))
        keys = block._add(_variable(block, f"{name}.keys", [-1], torch.int64))
        places = [block._add(_like(block, f"{name}.places", block.vars[o.args[0].name])) for o in users]
        out = (Ref(rows.name), Ref(keys.name), [Ref(p.name) for p in places])
        arguments = ([o.args[0] for o in users], name, spec.dim, link)
        operators.append(Operator(block, "ps_pull", _PULL, arguments, {"is_test": False}, out, users[0].role))
        for operator, place in zip(users, places, strict=True):
            operator.args = (Ref(place.name), Ref(rows.name), -1, False, False)
        pulls.append((name, rows, keys))
    late = [o for o in block.ops if o not in early]
    block.ops[:] = [*(o for o in block.ops if o in early), *operators, *late]
    program._changed()
    return pulls


def _ancestors(operators: Sequence[Operator], names: Iterable[str]) -> set[Operator]:
    """The operators that the named variables depend on."""
    needed, found = set(names), set()
    for operator in reversed(operators):
        if needed.intersection(operator.output_arg_names):
            found.add(operator)
            needed.update(operator.input_arg_names)
    return found


def _variable(block: Block, name: str, shape: list[int], dtype: torch.dtype, stops: bool = True) -> Variable:
    first, second = samples(shape, dtype)
    return Variable(block, unique_name.generate(name), first, second, stop_gradient=stops)


def _like(block: Block, name: str, other: Variable) -> Variable:
    return Variable(block, unique_name.generate(name), other._t, other._alt, stop_gradient=True)


def _forget(program: Program, startup: Program, name: str) -> None:
    """Take a parameter that lives on servers out of both programs."""
    program.global_block().vars.pop(name)
    block = startup.global_block()
    block.vars.pop(name, None)
    block.ops[:] = [o for o in block.ops if name not in o.output_arg_names]
    program._changed()
    startup._changed()


def _dense(program: Program, chosen: Any, no_grad_set: Any) -> list[Parameter]:
    wanted = None if chosen is None else {getattr(p, "name", p) for p in chosen}
    excluded = {getattr(p, "name", p) for p in no_grad_set or ()}
    return [
        p
        for p in program.all_parameters()
        if not p.stop_gradient and p.name not in excluded and (wanted is None or p.name in wanted)
    ]


def _model(specs: dict[str, SparseSpec], dense: list[Parameter], optimizer: Any) -> Model:
    names = [p.name for p in dense]

    def tensors() -> dict[str, torch.Tensor]:
        scope, held = global_scope(), {}
        for name in names:
            tensor = scope._holding(name).tensor
            assert tensor is not None
            held[name] = tensor.detach()
        return held

    def is_ready() -> bool:
        return all((v := global_scope().find_var(n)) is not None and v.tensor is not None for n in names)

    return Model(
        sparse=tuple(specs.values()),
        shapes={p.name: tuple(int(n) for n in p.shape) for p in dense},
        tensors=tensors,
        params=dense,
        optimizer=optimizer,
        rows={},
        is_ready=is_ready,
    )
