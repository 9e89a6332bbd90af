"""Reverse-mode differentiation: ``backward`` fills the gradients of leaves, ``grad`` returns those
of given inputs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from argosy.foundation.errors import BadArgument, NotSupported, UsageError, raise_as
from argosy.tensor.engine import Tensor, explain_backward, wrap
from argosy.tensor.final_hooks import run_final_hooks

__all__ = ["backward", "grad"]


def _as_tensors(value: Any, call: str, name: str) -> list[Tensor]:
    """A Tensor or a non-empty sequence of them, as a list."""
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    if not items:
        raise BadArgument(f"{call}: {name} cannot be empty")
    for item in items:
        if not isinstance(item, Tensor):
            raise BadArgument(
                f"{call}: {name} must be a Tensor or a list of Tensors, but received "
                f"{type(item).__name__}"
            )
    return items


def _starts(outputs: list[Tensor], given: Any, call: str, name: str) -> list[torch.Tensor]:
    """The gradient to start from at each output: the one given, or ones."""
    if given is None:
        given = [None] * len(outputs)
    elif not isinstance(given, (list, tuple)):
        given = [given]
    if len(given) != len(outputs):
        raise BadArgument(
            f"{call}: {name} has {len(given)} entries for {len(outputs)} tensors; they must match"
        )
    starts = []
    for i, (out, start) in enumerate(zip(outputs, given, strict=True)):
        if start is None:
            starts.append(torch.ones_like(out.raw))
        elif not isinstance(start, Tensor):
            raise BadArgument(
                f"{call}: {name}[{i}] must be a Tensor or None, but received {type(start).__name__}"
            )
        elif start.raw.numel() != out.raw.numel():
            raise UsageError(
                f"{call}: {name}[{i}] has shape {start.shape}, its tensor {out.shape}; they must "
                "have as many elements"
            )
        else:
            starts.append(start.raw.reshape(out.raw.shape))
    return starts


@contextlib.contextmanager
def _explaining(call: str) -> Iterator[None]:
    """Turn the engine's complaints about the graph into ours."""
    try:
        yield
    except RuntimeError as error:
        raise_as(explain_backward(call, error), error)


def _check_flag(call: str, name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise BadArgument(f"{call}: {name} must be True or False, but received {value!r}")


def _check_dump(call: str, path: Any) -> None:
    if path is not None:
        raise NotSupported(f"{call}: dump_backward_graph_path is not supported")


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool = False,
    *,
    dump_backward_graph_path: str | None = None,
) -> None:
    """Compute the gradients of every leaf that any of ``tensors`` depends on, in one pass.

    Where ``grad_tensors`` has None, or is None, the starting gradient is ones.
    """
    call = "paddle.autograd.backward"
    outputs = _as_tensors(tensors, call, "tensors")
    if len({id(t) for t in outputs}) != len(outputs):
        raise BadArgument(f"{call}: tensors contains the same Tensor twice")
    _check_flag(call, "retain_graph", retain_graph)
    _check_dump(call, dump_backward_graph_path)
    starts = _starts(outputs, grad_tensors, call, "grad_tensors")
    chosen = [
        (out.raw, start)
        for out, start in zip(outputs, starts, strict=True)
        if out.raw.requires_grad
    ]
    if chosen:
        with _explaining(call):
            torch.autograd.backward(
                [t for t, _ in chosen], [s for _, s in chosen], retain_graph=retain_graph
            )
        run_final_hooks()


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Any = None,
    *,
    dump_backward_graph_path: str | None = None,
) -> list[Tensor | None]:
    """Return the gradients of the sum of ``outputs`` with respect to ``inputs``, leaving ``.grad``
    alone.

    With ``create_graph`` the results can be differentiated again. ``no_grad_vars`` are taken as
    constants. The graph stays usable whatever ``retain_graph`` says, as in Paddle.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([3.0], stop_gradient=False)
        >>> (first,) = paddle.grad(x**3, x, create_graph=True)
        >>> (second,) = paddle.grad(first, x)
        >>> first.item(), second.item()
        (27.0, 18.0)
    """
    call = "paddle.grad"
    outs = _as_tensors(outputs, call, "outputs")
    ins = _as_tensors(inputs, call, "inputs")
    constants = _read_constants(no_grad_vars, call)
    for name, flag in (
        ("create_graph", create_graph),
        ("only_inputs", only_inputs),
        ("allow_unused", allow_unused),
    ):
        _check_flag(call, name, flag)
    if retain_graph is not None:
        _check_flag(call, "retain_graph", retain_graph)
    if not only_inputs:
        raise BadArgument(f"{call}: only_inputs=False is not supported")
    _check_dump(call, dump_backward_graph_path)
    starts = _starts(outs, grad_outputs, call, "grad_outputs")
    found = _grads(outs, ins, starts, create_graph, constants)
    if not allow_unused:
        for i, raw in enumerate(found):
            if raw is None and not any(ins[i] is c for c in constants):
                raise UsageError(
                    f"{call}: the {i}-th input does not appear in the backward graph. "
                    "Check the input, or pass allow_unused=True to get None for it."
                )
    if create_graph:
        found = [_differentiable(raw) for raw in found]
    return [None if raw is None else wrap(raw) for raw in found]


def mark_final(gradient: torch.Tensor) -> None:
    """Say that a gradient cannot be differentiated, whatever ``create_graph`` asks."""
    gradient.is_final = True  # type: ignore[attr-defined]


def _differentiable(raw: torch.Tensor | None) -> torch.Tensor | None:
    """A gradient for ``create_graph``: one that does not depend on the inputs too goes on."""
    if raw is None or raw.requires_grad or getattr(raw, "is_final", False):
        return raw
    return raw.detach().requires_grad_()


def _read_constants(given: Any, call: str) -> list[Tensor]:
    if given is None:
        return []
    items = list(given) if isinstance(given, (list, tuple, set)) else [given]
    if not all(isinstance(item, Tensor) for item in items):
        raise BadArgument(
            f"{call}: no_grad_vars must be None, a Tensor or a list, tuple or set of Tensors"
        )
    return items


def _grads(
    outs: Sequence[Tensor],
    ins: Sequence[Tensor],
    starts: Sequence[torch.Tensor],
    create_graph: bool,
    constants: Sequence[Tensor],
) -> list[torch.Tensor | None]:
    """The raw gradient of each input, None where backward does not reach it."""
    sources = [
        (out.raw, start) for out, start in zip(outs, starts, strict=True) if out.raw.requires_grad
    ]
    targets = [x.raw for x in ins]
    reached = [t.requires_grad for t in targets]
    if constants:
        seen = _reachable([t for t, _ in sources], [c.raw for c in constants])
        reached = [ok and _node(t) in seen for ok, t in zip(reached, targets, strict=True)]
    if not sources or not any(reached):
        return [None] * len(targets)
    # a zero gradient at a constant cuts every path through it
    walls: list[Any] = [c.raw for c in constants if c.raw.requires_grad]
    handles = [wall.register_hook(torch.zeros_like) for wall in walls]
    try:
        with _explaining("paddle.grad"):
            results = torch.autograd.grad(
                [t for t, _ in sources],
                [t for t, ok in zip(targets, reached, strict=True) if ok],
                [s for _, s in sources],
                retain_graph=True,
                create_graph=create_graph,
                allow_unused=True,
            )
    finally:
        for handle in handles:
            handle.remove()
    rest = iter(results)
    return [next(rest) if ok else None for ok in reached]


def _node(t: torch.Tensor) -> tuple[Any, int]:
    """The place of a tensor in the graph: the node that makes it (or accumulates into it) and which
    output it is.
    """
    edge = torch.autograd.graph.get_gradient_edge(t)
    return edge.node, edge.output_nr


def _reachable(outputs: list[torch.Tensor], walls: list[torch.Tensor]) -> set[tuple[Any, int]]:
    """Every place that backward from ``outputs`` passes without going through ``walls``."""
    blocked = {_node(t) for t in walls if t.requires_grad}
    seen: set[tuple[Any, int]] = set()
    stack = [_node(t) for t in outputs]
    while stack:
        place = stack.pop()
        if place in seen or place in blocked or place[0] is None:
            continue
        seen.add(place)
        stack.extend(place[0].next_functions)
    return seen
