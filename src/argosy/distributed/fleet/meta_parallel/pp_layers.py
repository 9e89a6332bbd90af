"""Models that are written as a list of layers for a pipeline, on one stage: the layers in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from argosy.distributed.fleet.meta_parallel._random import get_rng_state_tracker
from argosy.distributed.fleet.recompute.recompute import recompute
from argosy.foundation.errors import BadArgument, DtypeError, NotSupported, UsageError
from argosy.framework import random
from argosy.nn import Layer, LayerDict
from argosy.tensor.engine import Tensor

__all__ = ["LayerDesc", "PipelineLayer", "SharedLayerDesc"]

_BASE_SEED = 1234  # Paddle's: layer i of the list is initialised with this plus i


class LayerDesc:
    """A layer that is not made yet: its class and the arguments."""

    def __init__(self, layer_func: type[Layer], *inputs: Any, **kwargs: Any) -> None:
        self.layer_func = layer_func
        self.inputs = inputs
        self.kwargs = kwargs
        if not (isinstance(layer_func, type) and issubclass(layer_func, Layer)):
            raise DtypeError(
                f"{type(self).__name__}: The input(layer_func) should be a derived class of Layer, "
                f"but is {layer_func!r}."
            )

    def build_layer(self) -> Layer:
        """Make it."""
        return self.layer_func(*self.inputs, **self.kwargs)

    def __repr__(self) -> str:
        given = [str(value) for value in self.inputs]
        given += [f"{name}={value}" for name, value in self.kwargs.items()]
        return f"{self.layer_func.__name__}({', '.join(given)})"


class SharedLayerDesc(LayerDesc):
    """A layer that is made once for all places with its ``key``; ``forward_func(layer, input)``
    is what a place does with it, by default calling it.
    """

    def __init__(
        self,
        key: str,
        layer_func: type[Layer],
        forward_func: Callable[[Any, Any], Any] | None = None,
        shared_weight_attr: str = "weight",
        *inputs: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(layer_func, *inputs, **kwargs)
        self.layer_name = key
        self.forward_func = forward_func
        self.shared_weight_attr = shared_weight_attr


class PipelineLayer(Layer):
    """The layers of a list, descriptions of layers and functions among them, in order.

    Pipelines of one stage only. ``recompute_interval`` layers at a time are computed again in
    backward, with the settings of ``recompute_ctx``. ``seg_method`` says how stages would be cut.

    Example:
        >>> from paddle.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer
        >>> descriptions = [LayerDesc(paddle.nn.Linear, 2, 3), paddle.nn.functional.relu]
        >>> PipelineLayer(descriptions, num_stages=1)(paddle.ones([1, 2])).shape
        [1, 3]
    """

    def __init__(
        self,
        layers: Sequence[Any],
        num_stages: int | None = None,
        topology: Any = None,
        loss_fn: Any = None,
        seg_method: Any = "uniform",
        recompute_interval: int = 0,
        recompute_ctx: dict[str, Any] | None = None,
        num_virtual_pipeline_stages: int | None = None,
        use_cudagraph: bool = False,
    ) -> None:
        super().__init__()
        if num_stages is None and topology is None:
            raise UsageError("PipelineLayer: should provide num_stages or topology")
        self._num_stages = topology.get_dim("pipe") if topology is not None else num_stages
        if self._num_stages != 1 or (num_virtual_pipeline_stages or 1) > 1:
            raise NotSupported(
                f"PipelineLayer: {self._num_stages} stages of {num_virtual_pipeline_stages or 1} "
                "parts; pipelines are supported for one stage only"
            )
        if recompute_interval > 0 and recompute_ctx is None:
            raise BadArgument("PipelineLayer: recompute_ctx must be not None for recompute.")
        self.layers = layers
        self._topo = topology
        self._loss_fn = loss_fn if isinstance(loss_fn, list) else [loss_fn]
        self._recompute_interval = recompute_interval
        self.recompute_ctx = recompute_ctx
        self._stage_id = 0
        self._layers_desc = list(layers)
        self._num_layers = len(self._layers_desc)
        self._start_pos, self._end_pos = 0, self._num_layers
        self.shared_layers = LayerDict()
        self.run_function: list[Callable[..., Any]] = []
        self._build()

    def _build(self) -> None:
        """Make the layers, each with a seed of its own, and give the random numbers back."""
        before, tracker = random.get_rng_state(), get_rng_state_tracker()
        states = tracker.get_states_tracker()
        for index, description in enumerate(self._layers_desc):
            random.seed(_BASE_SEED + index)
            self.run_function.append(self._made(index, description))
        random.set_rng_state(before)
        tracker.set_states_tracker(states)

    def _made(self, index: int, description: Any) -> Any:
        if isinstance(description, SharedLayerDesc):
            key = description.layer_name
            if key not in self.shared_layers:
                self.shared_layers[key] = description.build_layer()
            shared = self.shared_layers[key]
            if description.forward_func is None:
                return shared
            return partial(description.forward_func, shared)
        if isinstance(description, (Layer, LayerDesc)):
            layer = description if isinstance(description, Layer) else description.build_layer()
            self.add_sublayer(str(index), layer)
            return layer
        if not callable(description):
            raise DtypeError(
                "PipelineLayer: an element must be a Layer, a LayerDesc or a function, but is "
                f"{type(description).__name__}"
            )
        return description

    def get_num_virtual_stages(self) -> int:
        """1: a stage has one part."""
        return 1

    def get_stage_from_index(self, layer_idx: int) -> int:
        """0, the stage of every layer."""
        if not 0 <= layer_idx < self._num_layers:
            raise BadArgument(f"get_stage_from_index: layer_idx {layer_idx} is out of bound")
        return 0

    def forward_function(self, start: int, end: int) -> Callable[..., Any]:
        """Layers ``start`` to ``end - 1`` as a function."""

        def run(*x: Any) -> Any:
            value: Any = x[0] if len(x) == 1 else x
            for layer in self.run_function[start:end]:
                value = layer(value)
            return value

        return run

    def forward(self, input: Any, chunk_id: int | None = None) -> Any:
        if chunk_id is not None:
            raise BadArgument(
                "PipelineLayer: chunk_id is only valid when using virtual pipeline stage"
            )
        count = len(self.run_function)
        step = self._recompute_interval
        if step == 0:
            return self.forward_function(0, count)(input)
        settings = self.recompute_ctx or {}
        for start in range(0, count, step):
            part = self.forward_function(start, min(start + step, count))
            given = input if isinstance(input, tuple) else (input,)
            if self._needs_recompute(start, start + step, given):
                keeps = settings.get("preserve_rng_state", True)
                input = recompute(part, *given, preserve_rng_state=keeps)
            else:
                input = part(*given)
        return input

    def _needs_recompute(self, start: int, end: int, given: tuple[Any, ...]) -> bool:
        parts = self.run_function[start:end]
        has_gradient = any(isinstance(x, Tensor) and not x.stop_gradient for x in given)
        return has_gradient and any(isinstance(p, Layer) and p.parameters() for p in parts)
