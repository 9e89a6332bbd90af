"""The text of ``pylayer``: its blocks become functions, of which the second gives the gradients.

    def p3(v0=v0):                     def p5(v4, v0=v0):
        v2 = f0(v0)                        v6 = f1(v4)
        return (v2, )                      return (v6, )
    (v3, ) = layered(p3, p5, (0, ), (v0, ))

They keep what they read of the variables around them, which the rest of the program may delete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.static.ir.operator import Operator, SubBlock, names_in
from argosy.static.lower.control import stop_gradients
from argosy.static.lower.emitter import Emitter, emits
from argosy.static.lower.text import listed

Function = Callable[..., tuple[torch.Tensor, ...]]


@emits("pylayer")
def _emit_pylayer(emitter: Emitter, index: int, operator: Operator) -> None:
    named, text = operator.kwargs, emitter.text
    written = [ref.name for ref in operator.out[1]]
    forward = _function(emitter, index, operator, named["forward"], [], written)
    backward = "None"
    if "backward" in named:
        backward = _function(emitter, index, operator, named["backward"], named["grads"], [])
    inputs = listed(emitter.expression(ref) for ref in operator.args[0])
    left = listed(text.local(name) for name in operator.output_arg_names)
    taken = tuple(named.get("taken", ()))
    call = f"{text.constant(layered, 'f')}({forward}, {backward}, {taken}, ({inputs}))"
    text.append(f"({left}) = {call}" if left else call)
    stop_gradients(emitter, operator)


def _function(
    emitter: Emitter,
    index: int,
    operator: Operator,
    sub: SubBlock,
    given: Sequence[str],
    written: Sequence[str],
) -> str:
    """Write a block as a function of ``given`` that returns its results and what it writes around
    it; returns its name.
    """
    text = emitter.text
    name = f"p{len(text.lines)}"
    around = dict.fromkeys(text.local(n) for n in names_in(operator.args[1]))
    params = [*(text.local(n) for n in given), *(f"{v}={v}" for v in around)]
    inner = emitter.nested(index, sub)
    inner.joins_graph = True  # gradients are on or off as the caller has them
    text.append(f"def {name}({', '.join(params)}):")
    with text:
        inner.emit_suite([])
        results = [inner.dense_local(n) for n in (*sub.results, *written)]
        text.append(f"return ({listed(results)})")
    return name


def layered(
    forward: Function, backward: Function | None, taken: tuple[int, ...], inputs: Any
) -> tuple[torch.Tensor, ...]:
    """What ``forward`` computes; its gradients are those that ``backward`` says, of the inputs at
    the positions ``taken``.
    """
    if backward is None:
        with torch.no_grad():
            return forward()
    return _Layered.apply(forward, backward, taken, *inputs)  # type: ignore[no-any-return, no-untyped-call]


class _Layered(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, forward: Function, backward: Function, taken: tuple[int, ...], *inputs: Any
    ) -> Any:
        ctx.run, ctx.taken, ctx.count = backward, taken, len(inputs)
        # autograd wants results that are nobody else's
        outs = tuple(t.clone() if t.requires_grad or t._is_view() else t for t in forward())
        numbers = (t for t in outs if not (t.is_floating_point() or t.is_complex()))
        ctx.mark_non_differentiable(*numbers)
        return outs

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        found: list[torch.Tensor | None] = [None] * ctx.count
        for index, grad in zip(ctx.taken, ctx.run(*grads), strict=True):
            found[index] = grad
        return None, None, None, *found
