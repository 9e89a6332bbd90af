"""An optimizer of the face that updates parts of parameters (stage 3)."""

from __future__ import annotations

from typing import Any

import torch

from argosy.distributed.sharding.sharded_optimizer import (
    MASTERS,
    ShardedOptimizer,
    check_rule,
    name_of_entry,
    named,
    norms_for,
    replaced_clips,
)
from argosy.distributed.sharding.sharded_parameters import SplitLayers
from argosy.foundation.errors import NotSupported, UsageError
from argosy.nn import Layer
from argosy.optimizer import ASGD, Lamb, Optimizer
from argosy.optimizer.lars import LarsMomentumOptimizer
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.sharding.sharded_parameters import SplitTensor
from argosy.tensor.engine import Tensor

# rules that look at a parameter as a whole (its norm), or keep something of another shape than it
_NEED_WHOLE = (ASGD, Lamb, LarsMomentumOptimizer)


class SplitOptimizer(ShardedOptimizer):
    """Takes over ``optim``: once a model has split its parameters this rank updates its part of
    each, and all those that stayed whole.

    ``state_dict()`` is this rank's part, without communication; ``full_state_dict()`` joins the
    parts, and ``set_state_dict()`` takes its part out of a whole.
    """

    def __init__(self, optim: Optimizer, group: Group) -> None:
        # the base's constructor is not called: it would give each parameter an owner
        if isinstance(optim, _NEED_WHOLE):
            raise NotSupported(
                f"sharding stage 3: {type(optim).__name__}, whose update is not one element at a "
                "time; use stage 2"
            )
        check_rule(optim)
        self._optim = optim
        self._group = group
        self._layers: SplitLayers | None = None
        self._splits: dict[str, SplitTensor] = {}
        self._clips = replaced_clips(optim, is_split=True)
        self._names = {p.name for p in optim.parameters()}

    @property
    def group(self) -> Group:
        """The ranks over which parameters are split."""
        return self._group

    def check_parameters(self, model: Layer) -> None:
        """UsageError unless the optimizer has the parameters that ``model`` trains, and no
        others.
        """
        check_parameters(model, self._optim)

    def take(self, layers: SplitLayers) -> None:
        """Update the shares of the parameters that ``layers`` has split, from what was kept for the
        whole ones.
        """
        if self._layers is not None:
            raise UsageError(
                "sharding stage 3: this optimizer updates the parts of another model already"
            )
        self._layers = layers
        parts = {id(p): p for p in layers.params}
        self._splits = {p.name: p.parts for p in layers.params}
        self._optim.change_parameters(
            lambda params: [parts[id(p)].share if id(p) in parts else p for p in params]
        )
        self._optim.change_state(self._kept_part, self._part)

    def _kept_part(self, name: str, kept: torch.Tensor) -> torch.Tensor:
        split = self._splits.get(name)
        return split.cut(kept) if split is not None and kept.shape == split.shape else kept

    def _parameters(self) -> list[Tensor]:
        return self._optim.parameters()

    @property
    def owned_parameters(self) -> list[Tensor]:
        """What this rank updates: its parts of split parameters, and the whole ones."""
        return list(self._parameters())

    # -- stepping
    # ----------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Update this rank's parts; every rank calls it."""
        if self._layers is None:
            raise UsageError(
                "sharding stage 3: the optimizer steps before a model was wrapped, whose "
                "parameters it is to split"
            )
        self._layers.order.check(self.group)
        shares = set()
        for param in self._layers.params:
            shares.add(id(param.share))
            if param.parts.is_waiting:
                raise UsageError(
                    f"sharding stage 3: parameter {param.name!r} has gradients of a backward "
                    "under no_sync() that no synchronised one followed"
                )
            param.share.stop_gradient = param.stop_gradient
        is_first = self._group.rank == 0
        # what every rank has counts once
        norms_for(self._clips, self._optim, self.group, lambda p: is_first or id(p) in shares)
        self._layers.release()
        self._optim.step()

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Forget the gradients, which then count as zeros, as ever."""
        self._optim.clear_grad(set_to_zero)
        for split in self._splits.values():
            split.forget_waiting()

    clear_gradients = clear_grad

    # -- state
    # ----------------------------------------------------------------------------------------------

    def full_state_dict(self, dst: int | None = None) -> dict[str, Any]:
        """The state of whole parameters, as one process would have it; every rank calls it. ``dst``
        (a rank of the group): only there.
        """
        own = self.state_dict()
        whole: dict[str, Any] = {}
        for key, value in own.items():
            if key != MASTERS:
                whole[key] = self._whole(name_of_entry(key, self._names), value, dst)
        if MASTERS in own:
            whole[MASTERS] = {
                name: self._whole(name, value, dst) for name, value in own[MASTERS].items()
            }
        return whole if dst is None or dst == self._group.rank else {}

    def _whole(self, param: str | None, value: Any, dst: int | None) -> Any:
        split = self._splits.get(param or "")
        if split is None or not isinstance(value, Tensor) or not split.is_part(value.raw):
            return value
        raw = split.gather(value.raw) if dst is None else split.gather_to(dst, value.raw)
        return None if raw is None else named(raw, value.name)

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load this rank's part of a whole state, or such a part itself."""
        parts = {key: self._part(key, value) for key, value in state_dict.items() if key != MASTERS}
        if MASTERS in state_dict:
            parts[MASTERS] = {
                name: self._part(name, value) for name, value in state_dict[MASTERS].items()
            }
        self._optim.set_state_dict(parts)

    load_state_dict = set_dict = set_state_dict

    def _part(self, key: str, value: Any) -> Any:
        split = self._splits.get(name_of_entry(key, self._names) or "")
        if split is None or not hasattr(value, "shape") or tuple(value.shape) != tuple(split.shape):
            return value
        tensor = value if isinstance(value, Tensor) else Tensor(value)
        return named(split.cut(tensor.raw), tensor.given_name)


def check_parameters(model: Layer, optimizer: Optimizer) -> None:
    """UsageError unless ``optimizer`` has the parameters that ``model`` trains, and no others that
    are trained.
    """
    known = {id(p) for p in optimizer.parameters()}
    for name, param in model.named_parameters():
        if param.trainable and id(param) not in known:
            raise UsageError(
                f"sharding: the optimizer does not have parameter {name!r}, which the model "
                "trains; pass it or freeze it"
            )
    own = {id(p) for p in model.parameters()}
    for other in optimizer.parameters():
        if not other.stop_gradient and id(other) not in own:
            raise UsageError(
                f"sharding: the optimizer has parameter {other.name!r}, which is not the "
                "model's: its gradients would not be averaged over ranks"
            )
