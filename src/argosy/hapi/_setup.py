"""What a Model is made of and was told by ``prepare``: the facts that it shares with its adapter,
with the loop over batches and with callbacks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from argosy.foundation.errors import BadArgument, UsageError
from argosy.hapi._precision import Precision
from argosy.nn import Layer
from argosy.static import InputSpec
from argosy.tensor.engine import Tensor

Specs = list[InputSpec] | None


def to_list(value: Any) -> list[Any] | None:
    """A list or tuple as a list, anything else as a list of one; None stays None."""
    if value is None:
        return None
    return list(value) if isinstance(value, (list, tuple)) else [value]


def as_list(value: Any) -> list[Any]:
    """The same, where None means nothing."""
    return to_list(value) or []


def extract_args(func: Callable[..., Any]) -> list[str]:
    """The names of a function's positional arguments, ``self`` of a method among them."""
    return inspect.getfullargspec(func).args


@dataclass
class Setup:
    """The parts of a Model; ``mode`` is "train", "eval" or "test"."""

    network: Layer
    inputs: Specs = None
    labels: Specs = None
    optimizer: Any = None
    loss: Callable[..., Any] | None = None
    metrics: list[Any] = field(default_factory=list)
    precision: Precision = field(default_factory=Precision)
    scaler: Any = None
    place: Any = None
    mode: str = "train"
    eval_loader: Any = None  # that is iterated now; it knows how many samples there are

    @property
    def quantities(self) -> list[str]:
        """What is told of every batch: the loss, if there is one, and the metrics."""
        names = ["loss"] if self.loss else []
        for metric in self.metrics:
            names += as_list(metric.name())
        return names

    def update_metrics(self, outputs: list[Any], labels: list[Any]) -> list[Any]:
        """Count a batch in every metric; returns what they say of it."""
        return [
            metric.update(*map(to_array, as_list(metric.compute(*outputs, *labels))))
            for metric in self.metrics
        ]

    def result(self, losses: list[np.ndarray], metrics: list[Any]) -> Any:
        """Losses and metrics of a batch in the form that the ``*_batch`` methods return."""
        if self.loss and metrics:
            return losses, metrics
        return losses if self.loss else metrics


def optimizer_of(model: Any) -> Any:
    """The optimizer that a Model was prepared with; None without one."""
    setup = getattr(model, "setup", None)
    return setup.optimizer if isinstance(setup, Setup) else getattr(model, "_optimizer", None)


def to_array(value: Any) -> np.ndarray:
    return value.numpy() if isinstance(value, Tensor) else np.asarray(value)


def input_specs(network: Layer, specs: Any) -> list[InputSpec]:
    """The descriptions of a network's inputs; without any, one per argument of its ``forward``,
    of which only the name is known.
    """
    if specs is None:
        return [InputSpec([None], name=name) for name in _argument_names(network)]
    if isinstance(specs, Mapping):
        specs = [specs[name] for name in _argument_names(network) if name in specs]
    return _checked(as_list(specs))


def label_specs(specs: Any) -> Specs:
    """The descriptions of labels, None if there are none."""
    if isinstance(specs, Mapping):
        specs = list(specs.values())
    return None if specs is None else _checked(as_list(specs))


def inferred_specs(network: Layer, tensors: list[Any]) -> list[InputSpec]:
    """Descriptions of the inputs that a network was just given."""
    names = _argument_names(network)
    return [
        InputSpec(list(tensor.shape), tensor.dtype, name)
        for name, tensor in zip(names, tensors, strict=False)
    ]


def _argument_names(network: Layer) -> list[str]:
    names = extract_args(getattr(network.forward, "dygraph_function", network.forward))
    return names[1:] if names[:1] == ["self"] else names


def _checked(specs: list[Any]) -> list[InputSpec]:
    for i, spec in enumerate(specs):
        if not isinstance(spec, InputSpec):
            raise BadArgument(
                f"Model: input or label {i} must be an InputSpec, but is a {type(spec).__name__}"
            )
        if spec.name is None:
            raise UsageError(
                f"Model: Requires Input[{i}].name != None, but receive `None` with {spec}."
            )
    return specs
