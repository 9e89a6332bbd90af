"""Programs in a parameter-server job: ``minimize`` makes lookups pull from servers, gradients go to
them, and takes the updates out of the workers' program.

``send_barrier`` at the end, in geo mode ``send``, hands rows' and dense gradients over and brings
the dense parameters in the scope up to date. A startup program ends with ``ps_take``: once
the worker has joined the servers, their values count. The program of a server is
``listen_and_serv``.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from argosy.distributed.entry_attr import ShowClickEntry
from argosy.distributed.fleet.servers.auto import chosen
from argosy.distributed.fleet.servers.progress import follow
from argosy.distributed.fleet.servers.rewrite import (
    Link,
    Pull,
    forget,
    rewrite,
    sparse_parameters,
    variable,
)
from argosy.distributed.fleet.servers.rules import multiplier_of, sparse_rule
from argosy.distributed.fleet.servers.runtime import Model, PsRuntime
from argosy.distributed.fleet.servers.tables import check_names, configured, with_entry
from argosy.foundation.errors import NotSupported, UsageError, nearest
from argosy.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm
from argosy.ops.array.initialization import (
    assign_value,
    fill_constant,
    gaussian_random,
    truncated_gaussian_random,
    uniform_random,
)
from argosy.ops.table import Op
from argosy.runtime.ps.tables.initial import Initial
from argosy.runtime.ps.tables.spec import SparseSpec
from argosy.static import default_startup_program, global_scope, program_guard
from argosy.static.ir.operator import OPTIMIZE, Operator, Ref
from argosy.static.ir.program import Program
from argosy.static.ir.variable import Parameter, Variable
from argosy.static.record.backward import gradients
from argosy.static.record.optimize import RecordedOptimizer
from argosy.static.record.recorder import recorder
from argosy.static.run.contract import Follows, LookAhead

__all__ = ["ProgramOptimizer"]


# -- what runs
# --------------------------------------------------------------------------------------------------


def _count(
    keys: torch.Tensor,
    places: list[torch.Tensor],
    offsets: list[torch.Tensor | None],
    show: torch.Tensor,
    click: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """How often each of ``keys`` was shown and clicked: as its samples were. ``offsets`` says where
    samples begin; without, each has as many ids.
    """
    totals = []
    for counts in (show, click):
        each, total = (
            counts.reshape(-1).to(torch.float32),
            torch.zeros(keys.shape[0], device=keys.device),
        )
        for found, starts in zip(places, offsets, strict=True):
            flat = found.reshape(-1)
            if flat.is_meta:
                continue
            lengths = (
                starts.diff()
                if starts is not None
                else torch.full_like(each, flat.numel() // max(len(each), 1))
            )
            if len(lengths) != len(each) or int(lengths.sum()) != flat.numel():
                raise UsageError(
                    f"ShowClickEntry: {flat.numel()} ids of {len(lengths)} samples do not fit "
                    f"{len(each)} values of shows and clicks"
                )
            total.index_add_(0, flat, each.repeat_interleave(lengths.to(torch.int64)))
        totals.append(total)
    return totals[0], totals[1]


def _push(
    keys: list[torch.Tensor],
    grads: list[torch.Tensor],
    tables: list[str],
    counts: list[Any],
    dense: list[torch.Tensor],
    rate: float,
    link: Link,
) -> None:
    """Hand over the gradients of a step, table by table in one order on every worker."""
    worker, model = link.runtime.worker, link.runtime.known_model("step")
    for table, ids, grad, counted in sorted(
        zip(tables, keys, grads, counts, strict=True), key=lambda part: part[0]
    ):
        pair = None if counted is None else (counted[0].numpy(), counted[1].numpy())
        worker.push(table, ids.numpy(), grad.detach().numpy(), model.rate(table, rate), pair)
    worker.end_step([g.detach() for g in dense], rate)


def _take(values: list[torch.Tensor], names: list[str], link: Link) -> list[torch.Tensor]:
    """What a startup program leaves in dense parameters: its own values, or the servers' if it is
    run again after the worker has joined them.
    """
    served = link.runtime.served()
    return [served.get(name, value) for name, value in zip(names, values, strict=True)]


_COUNT = Op("ps_count", _count)


def _serve(link: Link) -> None:
    link.runtime.run_server()


_SEND = {name: Op(name, _push) for name in ("send", "send_barrier")}
_SERVE = Op("listen_and_serv", _serve)
_TAKE = Op("ps_take", _take)


# -- what is recorded
# -------------------------------------------------------------------------------------------------


class ProgramOptimizer:
    """The script's optimizer, whose ``minimize`` makes the program of a worker. Servers call it
    too, to know what they serve.
    """

    def __init__(self, optimizer: Any, runtime: PsRuntime) -> None:
        self._inner_opt = optimizer
        self._sender = optimizer  # what servers are told of it
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
        """Rewrite the loss's program; returns the operators of the update and the (parameter,
        gradient) pairs of the dense parameters.

        Rows of tables that are not among the parameters to train, or in ``no_grad_set``, are looked
        up and stay as they are.
        """
        if isinstance(loss, (list, tuple)):
            if len(loss) != 1:
                raise NotSupported(
                    f"minimize: a job with servers trains one loss, but received {len(loss)}"
                )
            [loss] = loss
        program: Program = loss.block.program
        if loss.block.idx != 0:
            raise NotSupported(
                "minimize: in a parameter-server job the loss must not be inside a branch or a loop"
            )
        startup = startup_program or default_startup_program()
        strategy = chosen(self._runtime.strategy, self._inner_opt, program)
        if strategy is not self._runtime.strategy:
            self._runtime.use_strategy(strategy)
        wanted = _Chosen(parameters if parameters is not None else parameter_list, no_grad_set)
        tables = sparse_parameters(program.global_block())
        check_names(self._runtime.strategy, list(tables))
        clip = self._worker_clip(tables)
        specs, own_rates = {}, set()
        for name, (param, padding) in tables.items():
            specs[name], has_own_rate = self._spec(param, padding, startup)
            if has_own_rate:
                own_rates.add(name)
        link = Link(self._runtime)
        pulls = rewrite(program, specs, link)
        rows = {name: given for name in tables if (given := _given_rows(name, startup)) is not None}
        entries = {
            name: param.sparse_table.entry
            for name, (param, _) in tables.items()
            if hasattr(param, "sparse_table")
        }
        for name in tables:
            forget(program, name)
            forget(startup, name)
        dense = [p for p in program.all_parameters() if not p.stop_gradient and p.name in wanted]
        trained = [pull for pull in pulls if not pull.is_test and pull.table in wanted]
        with program_guard(program, startup):
            found = gradients([loss], [*dense, *(pull.rows for pull in trained)])
            pairs = [(p, g) for p, g in zip(dense, found, strict=False) if g is not None]
            self._runtime.model = _model(
                specs, [p for p, _ in pairs], self._sender, rows, frozenset(own_rates),
                {name: multiplier_of(param) for name, (param, _) in tables.items()},
            )  # fmt: skip
            _record_take(startup, [p.name for p, _ in pairs], link)
            pushed = [
                (p, g) for p, g in zip(trained, found[len(dense) :], strict=True) if g is not None
            ]
            if clip is not None:
                pairs, pushed = _clipped(clip, pairs, pushed, tables)
            program.attachments.put(LookAhead, LookAhead(link.look_ahead))
            program.attachments.put(Follows, Follows(partial(follow, self._runtime, program)))
            program.run_options = self._options()
            operators = self._record_update(program, pushed, pairs, entries, link)
        if self._runtime.role.is_server():
            block = program.global_block()
            del block.ops[:]
            recorder.append(block, _SERVE.name, _SERVE, (link,), {}, [])
        return operators, pairs

    def _worker_clip(self, tables: dict[str, Any]) -> Any:
        """The clip of a program with rows on servers that looks at norms; None if there is none.

        The worker has all gradients of its batch, no server does. As in Paddle it clips them before
        it sends them, so that servers get an optimizer without a clip.
        """
        clip = self._inner_opt.clip
        if not tables or not isinstance(clip, (ClipGradByNorm, ClipGradByGlobalNorm)):
            return None
        self._sender = self._inner_opt.without_clip()
        return clip

    def _options(self) -> dict[str, Any]:
        """What ``_fleet_opt`` of the program says: settings of runs, and the place in the job."""
        role = self._runtime.role
        rank = role.server_index() if role.is_server() else role.worker_index()
        place = {"mpi_size": role.worker_num(), "mpi_rank": rank}
        return {**self._runtime.strategy.trainer_desc_configs, **place}

    def _spec(self, param: Any, padding: int, startup: Program) -> tuple[SparseSpec, bool]:
        """The table of a parameter, and whether it has a learning rate of its own."""
        table = getattr(param, "sparse_table", None)
        spec = SparseSpec(
            param.name,
            int(param.shape[1]),
            sparse_rule(self._sender, param),
            _initial(param, startup),
            padding if padding >= 0 else None,
        )
        spec, has_own_rate = configured(spec, self._runtime.strategy)
        return with_entry(
            spec, None if table is None else table.entry, self._runtime.mode
        ), has_own_rate

    def _record_update(
        self,
        program: Program,
        pushed: Sequence[tuple[Pull, Variable]],
        pairs: list[tuple[Any, Any]],
        entries: dict[str, Any],
        link: Link,
    ) -> list[Operator]:
        block = program.global_block()
        done = len(block.ops)
        recorded = RecordedOptimizer(self._sender)
        is_local = self._runtime.mode.trains_locally
        if is_local and pairs:
            recorded.apply_gradients(pairs)
        with recorder.in_role(OPTIMIZE), torch.no_grad():
            arguments = (
                [pull.keys for pull, _ in pushed],
                [grad for _, grad in pushed],
                [pull.table for pull, _ in pushed],
                [_record_counts(pull, entries.get(pull.table)) for pull, _ in pushed],
                [] if is_local else [grad for _, grad in pairs],
                recorded.rate(program),
                link,
            )
            kind = "send" if is_local else "send_barrier"
            recorder.append(block, kind, _SEND[kind], arguments, {}, [])
        return block.ops[done:]


def _clipped(
    clip: Any,
    pairs: list[tuple[Any, Any]],
    pushed: list[tuple[Pull, Variable]],
    tables: dict[str, Any],
) -> tuple[list[tuple[Any, Any]], list[tuple[Pull, Variable]]]:
    """Record the clipping of the gradients of dense parameters and of the rows of a batch."""
    for pull, _ in pushed:
        rows: Any = pull.rows
        rows.need_clip = getattr(tables[pull.table][0], "need_clip", True)
    with recorder.in_role(OPTIMIZE), torch.no_grad():
        found = [g for _, g in clip([*pairs, *((pull.rows, grad) for pull, grad in pushed)])]
    dense = [(p, g) for (p, _), g in zip(pairs, found, strict=False)]
    return dense, [(p, g) for (p, _), g in zip(pushed, found[len(pairs) :], strict=True)]


class _Chosen:
    """The names of parameters to train."""

    def __init__(self, wanted: Any, excluded: Any) -> None:
        self._wanted = None if wanted is None else {getattr(p, "name", p) for p in wanted}
        self._excluded = {getattr(p, "name", p) for p in excluded or ()}

    def __contains__(self, name: str) -> bool:
        return name not in self._excluded and (self._wanted is None or name in self._wanted)


def _record_counts(pull: Pull, entry: Any) -> list[Variable] | None:
    """Record how the shows and clicks of a pull's ids are counted; None where the script does not
    say: then every push of an id is a show.
    """
    if not isinstance(entry, ShowClickEntry):
        return None
    block: Any = pull.rows.block
    for name in (entry.show_name, entry.click_name):
        if name not in block.vars:
            warnings.warn(
                f"table {pull.table!r}: ShowClickEntry names variable {name!r}, which the "
                f"program does not have; it is not used.{nearest(name, block.vars)}",
                stacklevel=2,
            )
            return None
    nested = [v.name for v in pull.ids if len(v.lod_names) > 1]
    if nested:
        raise NotSupported(
            f"table {pull.table!r}: ShowClickEntry with ids of nested sequences "
            f"({', '.join(nested)})"
        )
    out = [
        variable(block, f"{pull.table}.{what}", [-1], torch.float32) for what in ("shows", "clicks")
    ]
    offsets = [block.vars[v.lod_names[0]] if v.lod_names else None for v in pull.ids]
    named = Ref(entry.show_name), Ref(entry.click_name)
    recorder.append(
        block, "ps_count", _COUNT, (pull.keys, pull.positions, offsets, *named), {}, tuple(out)
    )
    return out


def _record_take(startup: Program, names: Sequence[str], link: Link) -> None:
    block = startup.global_block()
    made = {name for operator in block.ops for name in operator.output_arg_names}
    taken = [name for name in names if name in made]
    if taken:
        values = [Ref(name) for name in taken]
        recorder.append(block, "ps_take", _TAKE, (values, taken, link), {}, values)


def _initial(param: Parameter, startup: Program) -> Initial:
    """How the rows of a parameter begin, from the operator of the startup program that fills it."""
    filler = next((o for o in startup.global_block().ops if param.name in o.output_arg_names), None)
    seed = zlib.crc32(param.name.encode())
    if filler is None or filler.op is None:
        raise UsageError(
            f"table {param.name!r}: the startup program does not say how its rows begin"
        )
    settings = filler.kwargs
    kind = filler.op
    if kind is fill_constant:
        return Initial("constant", float(settings["value"]))
    if kind is assign_value:
        return Initial("constant", 0.0)  # of rows beyond those that are given
    if kind is uniform_random:
        return Initial("uniform", float(settings["min"]), float(settings["max"]), seed)
    if kind is gaussian_random or kind is truncated_gaussian_random:
        name = "normal" if kind is gaussian_random else "truncated_normal"
        return Initial(name, float(settings["mean"]), float(settings["std"]), seed)
    raise NotSupported(
        f"table {param.name!r}: rows on servers begin with a constant, uniform, normal or "
        f"truncated normal values, not by {kind.name}"
    )


def _given_rows(name: str, startup: Program) -> tuple[np.ndarray, np.ndarray] | None:
    """The ids and values that the startup program gives a parameter number by number; None if it
    follows a rule.
    """
    filler = next(o for o in startup.global_block().ops if name in o.output_arg_names)
    if filler.op is not assign_value:
        return None
    values = np.asarray(filler.kwargs["values"], np.float32)
    return np.arange(len(values)), values


def _model(
    specs: dict[str, SparseSpec],
    dense: list[Parameter],
    optimizer: Any,
    rows: dict[str, tuple[np.ndarray, np.ndarray]],
    own_rates: frozenset[str],
    multipliers: dict[str, float],
) -> Model:
    names = [p.name for p in dense]

    def tensors() -> dict[str, torch.Tensor]:
        scope, held = global_scope(), {}
        for name in names:
            tensor = scope.holding(name).tensor
            assert tensor is not None
            held[name] = tensor.detach()
        return held

    def is_ready() -> bool:
        return all(
            (v := global_scope().find_var(n)) is not None and v.tensor is not None for n in names
        )

    return Model(
        sparse=tuple(specs.values()),
        shapes={p.name: tuple(int(n) for n in p.shape) for p in dense},
        tensors=tensors,
        params=dense,
        optimizer=optimizer,
        rows=rows,
        is_ready=is_ready,
        own_rates=own_rates,
        multipliers=multipliers,
    )
