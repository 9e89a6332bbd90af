"""Parameters of a layer some of which are computed before every forward."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from argosy.nn.layer.layers import Layer


class WithComputed(OrderedDict[str, Any]):
    """A layer's parameters; a name that is not among them is looked up in its buffers.

    Layers read ``_parameters["weight"]`` directly. A computed weight is no parameter, so it must
    not be listed here, yet that read must find it.
    """

    def __init__(self, parameters: Any = (), computed: Any = None) -> None:
        super().__init__(parameters)
        self.computed = computed

    def __missing__(self, name: str) -> Any:
        if self.computed is None or name not in self.computed:
            raise KeyError(name)
        return self.computed[name]

    def __reduce__(self) -> Any:
        return WithComputed, (list(self.items()), self.computed)


def read_computed(layer: Layer) -> None:
    """Let reads of the layer's parameters find computed ones."""
    if not isinstance(layer.own_parameters, WithComputed):
        own, computed = layer.own_parameters, layer.own_buffers
        layer.__dict__["_parameters"] = WithComputed(own, computed)
