"""``paddle.flops``: floating-point operations of a network, counted layer by layer in one run.

A count is a function of a layer, its inputs and its output that adds to ``layer.total_ops``;
scripts write their own the same way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from argosy import nn
from argosy.autograd import no_grad
from argosy.hapi.static_flops import Table, static_flops
from argosy.jit.static_function import StaticFunction
from argosy.static import Program
from argosy.tensor import randn, to_tensor, zeros

__all__: list[str] = []

Count = Callable[[Any, Any, Any], None]

_TRANSPOSED = (nn.Conv1DTranspose, nn.Conv2DTranspose, nn.Conv3DTranspose)
_NOTES = ("total_ops", "total_params", "input_shape", "output_shape")


def flops(
    net: Any,
    input_size: Any,
    custom_ops: dict[type, Count] | None = None,
    print_detail: bool = False,
) -> int:
    """The floating-point operations of a Layer for an input of ``input_size``, or those of a
    Program.

    ``custom_ops`` has counts for classes of layers. ``print_detail`` prints a table.

    Example:
        >>> paddle.flops(paddle.nn.Sequential(paddle.nn.Linear(3, 2)), [1, 3])
        <class 'argosy.nn.layer.common.Linear'>'s flops has been counted
        Total Flops: 6     Total Params: 8
        6
    """
    if isinstance(net, nn.Layer):
        if isinstance(net.forward, StaticFunction):
            net.forward = net.forward.dygraph_function  # type: ignore[method-assign]
        return dynamic_flops(net, randn(input_size), custom_ops, print_detail)
    if isinstance(net, Program):
        return static_flops(net, print_detail=print_detail)
    warnings.warn(
        "Your model must be an instance of paddle.nn.Layer or paddle.static.Program.", stacklevel=2
    )
    return -1


def _add(m: Any, total_ops: Any) -> None:
    m.total_ops += abs(int(total_ops))


def count_convNd(m: Any, x: Any, y: Any) -> None:
    # the weight of a transposed one is [in, out / groups, ...], of others [out, in / groups, ...]
    whole = y if isinstance(m, _TRANSPOSED) else x[0]
    groups = whole.shape[1] // m.weight.shape[1]
    per_number = x[0].shape[1] / groups * np.prod(m.weight.shape[2:]) + (m.bias is not None)
    _add(m, int(y.numel()) * per_number)


def count_leaky_relu(m: Any, x: Any, y: Any) -> None:
    _add(m, x[0].numel())


def count_bn(m: Any, x: Any, y: Any) -> None:
    if not m.training:
        _add(m, 2 * x[0].numel())


def count_linear(m: Any, x: Any, y: Any) -> None:
    _add(m, m.weight.shape[0] * y.numel())


def count_avgpool(m: Any, x: Any, y: Any) -> None:
    _add(m, y.numel())


def count_adap_avgpool(m: Any, x: Any, y: Any) -> None:
    window = np.prod(np.array(x[0].shape[2:]) // np.array(y.shape[2:]))
    _add(m, int(window + 1) * y.numel())


def count_zero_ops(m: Any, x: Any, y: Any) -> None:
    m.total_ops += 0


def count_parameters(m: Any, x: Any, y: Any) -> None:
    m.total_params[0] = sum(int(p.numel()) for p in m.parameters())


def count_io_info(m: Any, x: Any, y: Any) -> None:
    output = y[0] if isinstance(y, (list, tuple)) else y
    m.register_buffer("input_shape", to_tensor(x[0].shape))
    m.register_buffer("output_shape", to_tensor(output.shape))


register_hooks: dict[type, Count] = {
    nn.Conv1D: count_convNd,
    nn.Conv2D: count_convNd,
    nn.Conv3D: count_convNd,
    nn.Conv1DTranspose: count_convNd,
    nn.Conv2DTranspose: count_convNd,
    nn.Conv3DTranspose: count_convNd,
    nn.BatchNorm2D: count_bn,
    nn.BatchNorm: count_bn,
    nn.ReLU: count_zero_ops,
    nn.ReLU6: count_zero_ops,
    nn.LeakyReLU: count_leaky_relu,
    nn.Linear: count_linear,
    nn.Dropout: count_zero_ops,
    nn.AvgPool1D: count_avgpool,
    nn.AvgPool2D: count_avgpool,
    nn.AvgPool3D: count_avgpool,
    nn.AdaptiveAvgPool1D: count_adap_avgpool,
    nn.AdaptiveAvgPool2D: count_adap_avgpool,
    nn.AdaptiveAvgPool3D: count_adap_avgpool,
}


def dynamic_flops(
    model: nn.Layer,
    inputs: Any,
    custom_ops: dict[type, Count] | None = None,
    print_detail: bool = False,
) -> int:
    """The same for a Layer and the inputs to run it on."""
    leaves = [m for m in model.sublayers(include_self=True) if not list(m.children())]
    counts = _counts({type(m): None for m in leaves}, custom_ops or {})
    hooks = []
    for leaf in leaves:
        leaf.register_buffer("total_ops", zeros([1], dtype="int64"))
        leaf.register_buffer("total_params", zeros([1], dtype="int64"))
        hooks += [
            leaf.register_forward_post_hook(count)
            for count in (counts[type(leaf)], count_parameters, count_io_info)
            if count is not None
        ]
    was_training = model.training
    model.eval()
    try:
        with no_grad():
            model(inputs)
    finally:
        for hook in hooks:
            hook.remove()
        if was_training:
            model.train()
    table = Table(["Layer Name", "Input Shape", "Output Shape", "Params", "Flops"])
    total_ops = total_params = 0
    for leaf in model.sublayers():
        if not hasattr(leaf, "output_shape") or leaf not in leaves:
            continue  # the run did not come there
        num_ops, num_params = int(leaf.total_ops), int(leaf.total_params)
        total_ops, total_params = total_ops + num_ops, total_params + num_params
        shapes = (leaf.input_shape.tolist(), leaf.output_shape.tolist())
        table.add_row([leaf.full_name(), *shapes, num_params, num_ops])
    for leaf in leaves:
        for note in _NOTES:
            if hasattr(leaf, note):
                delattr(leaf, note)
    if print_detail:
        table.print_table()
    print(f"Total Flops: {total_ops}     Total Params: {total_params}")
    return total_ops


def _counts(kinds: dict[type, None], custom_ops: dict[type, Count]) -> dict[type, Count | None]:
    """The count for every class of layers, told as it is chosen."""
    chosen: dict[type, Count | None] = {}
    for kind in kinds:
        chosen[kind] = custom_ops.get(kind, register_hooks.get(kind))
        if kind in custom_ops:
            print(f"Customize Function has been applied to {kind}")
        elif kind in register_hooks:
            print(f"{kind}'s flops has been counted")
        else:
            print(f"Cannot find suitable count function for {kind}. Treat it as zero FLOPs.")
    return chosen
