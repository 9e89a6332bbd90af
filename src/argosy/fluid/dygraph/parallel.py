"""Data parallelism by the rule of 1.x: the script scales the loss and asks for the sum of the
gradients.

``scale_loss`` and ``apply_collective_grads`` together give the mean gradient. A script that calls
neither is not synchronised. As in 1.8, every rank takes rank 0's values of the trainable parameters
at the first forward; parameters that layers create at their first call follow right then.
"""

from __future__ import annotations

from typing import Any

from argosy import nn
from argosy.distributed import ParallelEnv, init_parallel_env
from argosy.distributed.job import default_group
from argosy.distributed.parallel import ParallelStrategy, build_parallel_strategy
from argosy.fluid.dygraph.layers import Layer
from argosy.fluid.dygraph.tracer import tracers
from argosy.foundation.errors import BadArgument, DtypeError
from argosy.runtime.parallel.averages import average_rows, combine_gradients
from argosy.runtime.parallel.broadcast import broadcast_values
from argosy.tensor.engine import Parameter, Tensor

Env = ParallelEnv


def prepare_context(strategy: ParallelStrategy | None = None) -> ParallelStrategy | None:
    """Join the job that the environment describes, inside a dygraph guard; every process of the job
    must call it.

    Returns the strategy to pass to ``DataParallel``: nranks, local_rank, trainer_endpoints and
    current_endpoint. None where there is one process.

    Example:
        >>> import paddle.fluid as fluid
        >>> with fluid.dygraph.guard():
        ...     print(fluid.dygraph.prepare_context())
        None
    """
    env = ParallelEnv()
    given = strategy if strategy is not None else build_parallel_strategy()
    if given.nranks < 2:
        return None
    if not tracers.is_guarded:
        raise BadArgument(
            "dygraph.prepare_context should be used inside `with fluid.dygraph.guard(place):`"
        )
    if (given.nranks, given.local_rank) != (env.nranks, env.local_rank):
        raise BadArgument(
            f"dygraph.prepare_context: the strategy says rank {given.local_rank} of "
            f"{given.nranks}, "
            f"but the environment says rank {env.local_rank} of {env.nranks}; pass None to take "
            "the environment's"
        )
    init_parallel_env()
    return given


class DataParallel(Layer):
    """Run a layer as one of ``strategy.nranks`` replicas; ``strategy`` comes from
    ``prepare_context``.

    With one process, or without a strategy, it only passes through. Row-sparse gradients are summed
    too.
    """

    def __init__(self, layers: nn.Layer, strategy: ParallelStrategy | None = None) -> None:
        super().__init__(layers.full_name() + "_data_parallel")
        self._layers = layers
        self._strategy = strategy if strategy is not None else build_parallel_strategy()
        self._is_equal = False

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self._is_equal and self._is_data_parallel_mode():
            self._is_equal = True
            self._make_equal()
        return self._layers(*inputs, **kwargs)

    def _make_equal(self) -> None:
        """Take rank 0's parameters, those still to be created included."""
        _take_first_ranks(self._layers.parameters())
        for layer in self._layers.sublayers(include_self=True):
            # ``_build_once`` is what scripts of 1.x override, ``_built`` what they look at
            if not layer._built and type(layer)._build_once is not nn.Layer._build_once:
                layer.__dict__["_build_once"] = _then_take_first_ranks(layer)

    def _is_data_parallel_mode(self) -> bool:
        return self._strategy.nranks > 1

    def scale_loss(self, loss: Tensor) -> Any:
        """Divide the loss by the number of ranks, so that summed gradients are those of the
        mean.
        """
        if not self._is_data_parallel_mode():
            return loss
        if not isinstance(loss, Tensor):
            raise DtypeError(
                "DataParallel.scale_loss: the loss must be a Tensor, but is a "
                f"{type(loss).__name__}"
            )
        return loss / float(self._strategy.nranks)

    def apply_collective_grads(self) -> None:
        """Replace the gradient of each trainable parameter by its sum over the ranks, which must
        have gradients for the same ones.
        """
        if not self._is_data_parallel_mode():
            return
        group = default_group("DataParallel.apply_collective_grads")
        trained = [p for p in self._layers.parameters() if p.trainable]
        by_rows = self._row_sparse_ids()
        dense = [p for p in trained if id(p) not in by_rows and p.grad is not None]
        if dense:
            group.run(combine_gradients, [p.raw.grad for p in dense], 1.0, group.transport)
        for param in trained:
            if id(param) in by_rows:
                group.run(average_rows, param.raw, True, group.transport)
                _scale_gradient(param, group.nranks)

    def _row_sparse_ids(self) -> set[int]:
        tables = [
            layer
            for layer in self.sublayers()
            if isinstance(layer, nn.Embedding) and layer.is_sparse
        ]
        return {id(table.weight) for table in tables}

    def state_dict(
        self,
        destination: Any = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
        keep_vars: bool = True,
    ) -> Any:
        """The state of the wrapped layer, under its own names."""
        return self._layers.state_dict(
            destination, include_sublayers, structured_name_prefix, use_hook, keep_vars
        )

    def set_dict(  # type: ignore[override]
        self, stat_dict: Any, include_sublayers: bool = True, use_structured_name: bool = True
    ) -> None:
        """Load the state of the wrapped layer."""
        self._layers.set_dict(stat_dict, use_structured_name=use_structured_name)

    load_dict = set_dict

    def set_state_dict(self, state_dict: Any, use_structured_name: bool = True) -> Any:
        """Load the state of the wrapped layer, by the rules of 2.x."""
        return self._layers.set_state_dict(state_dict, use_structured_name)


def _take_first_ranks(params: list[Parameter]) -> None:
    """Overwrite the trainable ones of ``params`` with those of rank 0; every rank calls it."""
    group = default_group("fluid.dygraph.DataParallel")
    values = [p.raw for p in params if p.trainable]
    if values:
        group.run(broadcast_values, values, group.transport, 0)


def _then_take_first_ranks(layer: nn.Layer) -> Any:
    build = layer._build_once

    def build_equal(*inputs: Any, **kwargs: Any) -> None:
        del layer.__dict__["_build_once"]
        before = {id(p) for p in layer.parameters()}
        build(*inputs, **kwargs)
        _take_first_ranks([p for p in layer.parameters() if id(p) not in before])

    return build_equal


def _scale_gradient(param: Parameter, factor: int) -> None:
    if param.raw.grad is not None:
        param.raw.grad = param.raw.grad * factor
