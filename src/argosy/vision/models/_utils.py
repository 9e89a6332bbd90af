"""Rounding of channels, and the results of inner layers."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from argosy import nn
from argosy.foundation.errors import UsageError
from argosy.tensor.manipulation import flatten


def _make_divisible(v: float, divisor: int = 8, min_value: int | None = None) -> int:
    """The multiple of ``divisor`` nearest to ``v``, or the next one where that would lose more
    than a tenth.
    """
    nearest = int(v + divisor / 2) // divisor * divisor
    rounded = max(divisor if min_value is None else min_value, nearest)
    return rounded if rounded >= 0.9 * v else rounded + divisor


class IntermediateLayerGetter(nn.LayerDict):
    """The layers of a net up to the last one that is wanted; calling it gives what the wanted ones
    compute.

    ``return_layers`` maps the name of a layer of the net to the name of its result.
    """

    return_layers: dict[str, str]

    def __init__(self, model: nn.Layer, return_layers: dict[str, str]) -> None:
        children = dict(model.named_children())
        if unknown := set(return_layers) - set(children):
            raise UsageError(
                f"IntermediateLayerGetter: {sorted(unknown)} of return_layers are not present in "
                f"model, which has {list(children)}"
            )
        last = max((list(children).index(str(name)) for name in return_layers), default=0)
        super().__init__(OrderedDict(list(children.items())[: last + 1]))
        self.return_layers = return_layers

    def forward(self, x: Any) -> OrderedDict[str, Any]:
        results: OrderedDict[str, Any] = OrderedDict()
        for name, layer in self.items():
            first = next(iter(layer.sublayers()), layer)
            if x.ndim == 4 and (isinstance(layer, nn.Linear) or isinstance(first, nn.Linear)):
                x = flatten(x, 1)
            x = layer(x)
            if name in self.return_layers:
                results[self.return_layers[name]] = x
        return results
