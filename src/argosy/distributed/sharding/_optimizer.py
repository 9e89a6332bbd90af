"""An optimizer of the face whose state is split over ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.distributed._group import Group
from argosy.foundation.errors import NotSupported, UsageError
from argosy.nn.clip import ClipGradByGlobalNorm
from argosy.ops import clipping
from argosy.optimizer import Optimizer
from argosy.runtime.parallel.sharding import Shards, gather_named
from argosy.tensor._tensor import Tensor, _wrap

_MASTERS = "master_weights"


class ShardedOptimizer(Optimizer):
    """Takes over ``optim``: this rank updates the parameters it owns, and gets the others from theirs.

    Everything else (rates, schedulers, clipping) is as set on ``optim``. ``state_dict()`` is this rank's part, without communication; ``full_state_dict()``
    joins the parts, and ``set_state_dict()`` takes what this rank owns out of a whole, whatever the number of ranks that made it.
    """

    def __init__(self, optim: Optimizer, group: Group) -> None:
        # the base's constructor is not called: whatever is not set here is read from ``optim``, see __getattr__
        self._optim = optim
        self._group = group
        self._all = list(optim._parameters())
        self._shards = Shards([p._t for p in self._all], group._inner)
        self._names = {p.name for p in self._all}
        self._owned_names = {self._all[i].name for i in self._shards.owned}
        self._is_owned = {id(p): p.name in self._owned_names for p in self._all}
        self._clips = _restrict(optim, self._is_owned)

    def __getattr__(self, name: str) -> Any:
        if name == "_optim":
            raise AttributeError(name)
        return getattr(self._optim, name)

    def _parameters(self) -> list[Tensor]:
        return self._all

    @property
    def owned_parameters(self) -> list[Tensor]:
        """The parameters that this rank updates."""
        return [self._all[i] for i in self._shards.owned]

    # -- stepping -----------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Update the owned parameters, then take the others from their owners; every rank calls it."""
        for param, raw in zip(self._all, self._shards.params, strict=True):
            if param._t is not raw:
                raise UsageError(
                    f"sharding: parameter {param.name!r} was given another dtype or device after group_sharded_parallel; do that before"
                )
        if self._clips:
            with torch.no_grad():
                norms = self._shards.global_norms([clip.gradients(self._optim) for clip in self._clips])
            for clip, norm in zip(self._clips, norms, strict=True):
                clip.norm = norm
        self._optim.step()
        self._shards.broadcast()

    def _run_explicit(self, params_grads: Any) -> None:
        raise NotSupported(
            "sharding: apply_gradients() and minimize(parameters=...) with gradients that are given; use step()"
        )

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Forget the gradients; those of owned parameters then count as zeros, as ever."""
        self._optim.clear_grad(set_to_zero)
        for param in self._all:
            if not self._is_owned[id(param)]:
                param._t.grad = None
                if param._is_grad_cleared:
                    param._is_grad_cleared = False

    clear_gradients = clear_grad

    def set_lr(self, value: float) -> None:
        self._optim.set_lr(value)

    def set_lr_scheduler(self, scheduler: Any) -> None:
        self._optim.set_lr_scheduler(scheduler)

    # -- state --------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """This rank's part of the state."""
        return self._optim.state_dict()

    def full_state_dict(self, dst: int | None = None) -> dict[str, Any]:
        """The state of all parameters, as one process would have it; every rank calls it. ``dst`` (a rank of the group): only there."""
        own = self.state_dict()
        rest = {k: v for k, v in own.items() if k != _MASTERS and not isinstance(v, Tensor)}
        masters = own.get(_MASTERS, {})
        # a master's own name is part of the names of its accumulators, so it travels too
        named = {k: v._t for k, v in own.items() if isinstance(v, Tensor)}
        named |= {f"{_MASTERS}/{k}/{v.name}": v._t for k, v in masters.items()}
        whole: dict[str, Any] = {}
        for key, raw in gather_named(named, self._shards.group, dst).items():
            if key.startswith(f"{_MASTERS}/"):
                _, param, name = key.split("/")
                whole.setdefault(_MASTERS, {})[param] = _named(raw, name)
            else:
                whole[key] = _named(raw, key)
        if whole:
            whole.update(rest)
        return whole

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what belongs to the owned parameters, from a whole state or from this rank's part."""
        kept = {k: v for k, v in state_dict.items() if self._keeps(k)}
        if _MASTERS in state_dict:
            kept[_MASTERS] = {k: v for k, v in state_dict[_MASTERS].items() if k in self._owned_names}
        self._optim.set_state_dict(kept)

    load_state_dict = set_dict = set_state_dict

    def _keeps(self, key: str) -> bool:
        """Whether an entry is about an owned parameter, or about none. Entries begin with the name of their parameter."""
        parts = key.split("_")
        for end in range(len(parts), 0, -1):
            name = "_".join(parts[:end])
            if name in self._names:
                return name in self._owned_names
        return key != _MASTERS


def _named(raw: torch.Tensor, name: str) -> Tensor:
    tensor = _wrap(raw)
    tensor.name = name
    return tensor


class _NormOfAll(ClipGradByGlobalNorm):
    """Clips by a norm over all ranks, which ``ShardedOptimizer.step`` sets before each update."""

    def __init__(self, clip: ClipGradByGlobalNorm, group_index: int | None) -> None:
        super().__init__(clip.clip_norm, clip.group_name, clip.auto_skip_clip)
        self._group_index = group_index
        self.norm = torch.zeros(())

    def gradients(self, optim: Optimizer) -> list[torch.Tensor]:
        """The gradients on this rank that the norm is about."""
        groups = optim._param_groups
        params: Sequence[Tensor] = groups if self._group_index is None else groups[self._group_index]["params"]
        chosen = []
        for param in params:
            grad = param._t.grad if param._t.grad is not None else optim._missing_grad(param)
            if grad is not None and param._t.requires_grad and getattr(param, "need_clip", True) is not False:
                chosen.append(grad)
        return chosen

    def _clip(self, grads: list[torch.Tensor]) -> list[torch.Tensor]:
        factor = clipping.shrink_factor(self.norm, self.clip_norm)
        for grad in grads:
            clipping.scale_([grad], factor.to(grad.device, grad.dtype))
        return grads


def _restrict(optim: Optimizer, is_owned: dict[int, bool]) -> list[_NormOfAll]:
    """Leave ``optim`` the owned parameters only, and clips that know the norm over all ranks; returns these."""
    clips: list[_NormOfAll] = []

    def replaced(clip: Any, index: int | None) -> Any:
        if not isinstance(clip, ClipGradByGlobalNorm):
            return clip
        clips.append(_NormOfAll(clip, index))
        return clips[-1]

    if optim._has_groups:
        for index, group in enumerate(optim._param_groups):
            group["params"] = [p for p in group["params"] if is_owned[id(p)]]
            group["grad_clip"] = replaced(group["grad_clip"], index)
    else:
        optim._param_groups = optim._parameter_list = [p for p in optim._parameter_list if is_owned[id(p)]]
        optim._grad_clip = replaced(optim._grad_clip, None)
    optim._plans.clear()
    return clips
