"""A data-parallel wrapper that can split the parameters of its layer (stage 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.distributed.parallel import DataParallel
from argosy.distributed.sharding.sharded_parameters import SplitLayers, SplitParameter
from argosy.distributed.sharding.split_optimizer import SplitOptimizer
from argosy.foundation.errors import UsageError
from argosy.runtime.comm.group import Group


class SplitLayer(DataParallel):
    """Large parameters are split by ``split_parameters``, the gradients of the others averaged on
    every rank.
    """

    # ``split_parameters`` will be called: until then no memory is spent on whole gradients
    _is_to_split = False
    _split: SplitLayers | None = None

    def split_parameters(
        self,
        optimizer: SplitOptimizer,
        replicas: Group | None = None,
        segment_size: int = 1 << 12,
        excluded: Sequence[str | int] = (),
    ) -> None:
        """Keep only this rank's part of the parameters over the ranks of ``optimizer``, which
        updates the parts from now on.

        ``replicas``: the ranks, one of each group that splits the model, with the same parts.
        """
        optimizer.check_parameters(self._layers)
        has_reducer = self._reducer is not None or self._is_to_split
        if self._reducer is not None:
            self._reducer.close()
            self._reducer = None
        self._split = SplitLayers(self._layers, optimizer.group, replicas, segment_size, excluded)
        optimizer.take(self._split)
        if has_reducer and self._strategy.nranks > 1:
            self.init_reducer()

    @property
    def is_split(self) -> bool:
        return self._split is not None

    def _to_reduce(self) -> list[tuple[str, Any]]:
        return [(name, p) for name, p in super()._to_reduce() if not isinstance(p, SplitParameter)]

    def init_reducer(self) -> None:
        is_early = self._is_to_split and self._split is None
        if not is_early and (self._split is None or self._to_reduce()):
            super().init_reducer()

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self._split is None:
            if self._is_to_split and self.training and torch.is_grad_enabled():
                raise UsageError(
                    "sharding stage 3: the model has no distributed optimizer yet, which is to "
                    "update its parts"
                )
            return super().forward(*inputs, **kwargs)
        return self._split.run(super().forward, inputs, kwargs, self.grad_need_sync)

    # -- whole values
    # -------------------------------------------------------------------------------------------

    def get_all_parameters(
        self, convert2cpu: bool = False, with_freeze_param: bool = False
    ) -> None:
        """Make all parameters whole until the next forward or step; every rank calls it. Then
        ``state_dict()`` can be called by one.

        ``convert2cpu`` puts them into the memory of the host. Differs from Paddle: frozen ones are
        whole too in either case; what is written into a parameter meanwhile stays.
        """
        if self._split is not None:
            self._split.hold(convert2cpu)

    def state_dict(  # type: ignore[override]
        self,
        destination: Any = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
    ) -> Any:
        """The state of the wrapped layer with whole parameters. If some are split every rank calls
        it, and gets copies of those.
        """
        return self.whole_state(destination, include_sublayers, structured_name_prefix)

    def whole_state(
        self,
        destination: Any = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        dst: int | None = None,
    ) -> Any:
        """As ``state_dict``; without split parameters on ranks other than ``dst``, if given."""
        state = super().state_dict(destination, include_sublayers, structured_name_prefix)
        copies: dict[int, Any] = {}
        for key, value in list(state.items()):
            if isinstance(value, SplitParameter) and value.is_absent:
                if id(value) not in copies:
                    copies[id(value)] = value.whole(dst)
                state[key] = copies[id(value)]
                if state[key] is None:
                    del state[key]
        return state
