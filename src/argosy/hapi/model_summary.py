"""``paddle.summary``: a table of the layers of a network, found by running it once."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from argosy.autograd import no_grad
from argosy.foundation.errors import BadArgument, UsageError
from argosy.framework import in_dynamic_mode
from argosy.nn import Layer, LayerList, Sequential
from argosy.nn.layer.rnn import RNNBase
from argosy.static import InputSpec
from argosy.tensor import cast, rand
from argosy.tensor.engine import Tensor

__all__: list[str] = []

_MB = 1024**2
_HEADS = ("Layer (type)", "Input Shape", "Output Shape", "Param #")
_WIDTHS = (15, 20, 20, 15)


class ModelSummary(TypedDict):
    """How many numbers a network learns."""

    total_params: int
    trainable_params: int


def summary(
    net: Layer, input_size: Any = None, dtypes: Any = None, input: Any = None
) -> ModelSummary:
    """Print the layers of ``net`` with their shapes and parameters; returns the number of
    parameters, ``total_params``, and of those that are trained, ``trainable_params``.

    ``input_size`` is the shape of the input, or a list of shapes; at most one dimension of each
    may be None or -1, which counts as 1. ``dtypes`` are theirs, float32 by default. With ``input``
    the network runs on that instead.

    Example:
        >>> counts = paddle.summary(paddle.nn.Linear(3, 2), (1, 3))  # doctest: +ELLIPSIS
        -----...
        >>> counts["total_params"]
        8
    """
    if input_size is None:
        input_size = _shapes_of(input)
    sizes = _known(_as_shapes(input_size))
    if not in_dynamic_mode():
        warnings.warn(
            "Your model was created in static graph mode, this may not get correct summary "
            "information!",
            stacklevel=2,
        )
    was_training = in_dynamic_mode() and net.training
    if was_training:
        net.eval()
    counts: ModelSummary
    text, counts = summary_string(net, sizes, dtypes, input)
    print(text)
    if was_training:
        net.train()
    return counts


def _shapes_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        return tuple(value.shape)
    if isinstance(value, (list, tuple)):
        return [tuple(member.shape) for member in value]
    if isinstance(value, dict):
        return [tuple(member.shape) for member in value.values()]
    if value is None:
        raise UsageError("summary: input_size and input cannot be None at the same time")
    raise UsageError(
        "summary: Input is not tensor, list, tuple and dict, unable to determine input_size, "
        f"please input input_size; it is a {type(value).__name__}"
    )


def _as_shapes(size: Any) -> Any:
    """Sizes as the script gave them: a tuple is one shape, or several, a list has one per input."""
    if isinstance(size, InputSpec):
        return tuple(size.shape)
    if isinstance(size, int):
        return (size,)
    if not isinstance(size, list):
        return size
    for item in size:
        if not isinstance(item, (int, tuple, InputSpec)):
            raise BadArgument(
                "summary: When input_size is list, expect item in input_size is a tuple or "
                f"InputSpec, but got {type(item)}"
            )
    return [_as_shapes(item) for item in size]


def _is_nested(size: Sequence[Any]) -> bool:
    return any(isinstance(item, (list, tuple)) for item in size)


def _known(size: Any) -> Any:
    """Sizes with a 1 for the dimension that may vary."""
    if _is_nested(size):
        return [_known(item) for item in size]
    is_open = [n is None or n == -1 for n in size]
    if sum(is_open) > 1:
        raise UsageError(
            "summary: Option input_size only the dim of batch_size can be None or -1, but "
            f"received {size}"
        )
    shape = tuple(1 if may_vary else n for n, may_vary in zip(size, is_open, strict=True))
    for n in shape:
        if isinstance(n, numbers.Number) and n <= 0:  # type: ignore[operator]
            raise UsageError(
                f"summary: Expected element in input size greater than zero, but got {n}"
            )
    return shape


@dataclass(frozen=True)
class _Row:
    input_shape: Any
    output_shape: Any
    num_params: int
    num_trainable: int


@no_grad()
def summary_string(
    model: Layer, input_size: Any = None, dtypes: Any = None, input: Any = None
) -> tuple[str, ModelSummary]:
    """The text that ``summary`` prints and the dict that it returns; sizes have no open
    dimensions.
    """
    sizes = input_size if isinstance(input_size, list) else [input_size]
    if input is not None:
        rows = _run(model, (input,))
    else:
        rows = _run(model, _inputs(sizes, dtypes))
    total = sum(row.num_params for row in rows.values())
    counts: ModelSummary = {
        "total_params": total,
        "trainable_params": sum(row.num_trainable for row in rows.values()),
    }
    return _table(rows, counts, _num_numbers(sizes)), counts


def _inputs(sizes: Sequence[Any], dtypes: Any) -> list[Any]:
    kinds = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes] * len(sizes)
    return [_input(size, kind) for size, kind in zip(sizes, kinds, strict=False)]


def _input(size: Any, dtype: Any) -> Any:
    if _is_nested(size):
        return _inputs(size, dtype)
    kind = dtype[0] if isinstance(dtype, (list, tuple)) else dtype
    return cast(rand(list(size)), kind or "float32")


def _run(model: Layer, inputs: Sequence[Any]) -> dict[str, _Row]:
    """One forward pass; a row for every layer that it came through."""
    rows: dict[str, _Row] = {}

    def note(layer: Layer, given: Any, output: Any) -> None:
        rows[_label(layer, len(rows))] = _Row(
            _input_shape(given), _output_shape(output), *_num_params(layer)
        )

    hooks = [layer.register_forward_post_hook(note) for layer in _with_rows(model)]
    try:
        model(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return rows


def _with_rows(model: Layer) -> list[Layer]:
    """Layers that get a row: not containers, nor the network itself unless it is a leaf. Of a
    recurrent network that runs as one op only the whole has a row.
    """
    fused = [m for m in model.sublayers(include_self=True) if _is_fused(m)]
    inside = {id(part) for whole in fused for part in whole.sublayers()}
    is_leaf = not model.sublayers()
    return [
        layer
        for layer in model.sublayers(include_self=True)
        if _is_fused(layer)
        or not (
            isinstance(layer, (Sequential, LayerList))
            or (layer is model and not is_leaf)
            or id(layer) in inside
        )
    ]


def _is_fused(layer: Layer) -> bool:
    return isinstance(layer, RNNBase) and layer.could_use_cudnn


def _label(layer: Layer, index: int) -> str:
    number = layer.full_name().rpartition("_")[2]
    return f"{type(layer).__name__}-{int(number) + 1 if number.isdigit() else index + 1}"


def _input_shape(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_input_shape(member) for member in value]
    return list(value.shape) if isinstance(value, Tensor) else None


def _output_shape(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_output_shape(member) for member in value]
    return list(value.shape) if hasattr(value, "shape") else []


def _num_params(layer: Layer) -> tuple[int, int]:
    own = layer.parameters(include_sublayers=False)
    if not in_dynamic_mode():
        own = list(layer.state_dict().values())
    sizes = [int(np.prod(param.shape)) for param in own]
    is_trained = [getattr(p, "trainable", True) and not p.stop_gradient for p in own]
    return sum(sizes), sum(n for n, trained in zip(sizes, is_trained, strict=True) if trained)


def _num_numbers(shapes: Any) -> int:
    """How many numbers tensors of these shapes have together."""
    if isinstance(shapes, (list, tuple)) and any(isinstance(s, (list, tuple)) for s in shapes):
        return sum(_num_numbers(shape) for shape in shapes)
    return int(abs(np.prod(shapes)))


def _table(rows: dict[str, _Row], counts: ModelSummary, num_given: int) -> str:
    cells = [
        (name, str(row.input_shape), str(row.output_shape), f"{row.num_params:,}")
        for name, row in rows.items()
    ]
    lengths = [
        (len(name), len(inputs), len(outputs), len(str(row.num_params)))
        for (name, inputs, outputs, _), row in zip(cells, rows.values(), strict=True)
    ]
    widths = [max(column) for column in zip(_WIDTHS, *lengths, strict=True)]
    total_width = max(75, sum(widths) + 5)
    thin, thick = "-" * total_width, "=" * total_width
    lines = [
        " ".join(f"{text:^{width}}" for text, width in zip(texts, widths, strict=True))
        for texts in (_HEADS, *cells)
    ]
    total, trainable = counts["total_params"], counts["trainable_params"]
    given_mb = num_given * 4.0 / _MB
    # each output is kept, and so is its gradient
    passed_mb = 2.0 * sum(_num_numbers(row.output_shape) for row in rows.values()) * 4.0 / _MB
    params_mb = total * 4.0 / _MB
    return "\n".join([
        thin, lines[0], thick, *lines[1:], thick,
        f"Total params: {total:,}",
        f"Trainable params: {trainable:,}",
        f"Non-trainable params: {total - trainable:,}",
        thin,
        f"Input size (MB): {given_mb:0.2f}",
        f"Forward/backward pass size (MB): {passed_mb:0.2f}",
        f"Params size (MB): {params_mb:0.2f}",
        f"Estimated Total Size (MB): {given_mb + passed_mb + params_mb:0.2f}",
        thin, "",
    ])  # fmt: skip
