"""Sharding for plain PyTorch: an optimizer whose state is split over the ranks.

::

    optimizer = ShardedOptimizer(torch.optim.AdamW(model.parameters(), lr=1e-3), group)
    model = DataParallelModule(model, group, options)                       # stage 1
    owned = OwnedGradients(optimizer.shards, options.bucket_bytes)
    model = DataParallelModule(model, group, options, exchange=owned)       # stage 2
    ...
    optimizer.clip_grad_norm_(1.0)      # for torch.nn.utils.clip_grad_norm_: right in both stages
    optimizer.step()

Schedulers, ``param_groups`` and ``zero_grad`` work as on the optimizer that was passed in.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

from argosy.foundation.errors import CheckpointError, NotSupported, UsageError
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.sharding.shards import Shards, gather_named

_SEPARATOR = "/"


class ShardedOptimizer(torch.optim.Optimizer):
    """Takes over ``optimizer``: this rank updates the parameters it owns, and gets the others from
    theirs.

    ``param_groups`` list all parameters; settings that are changed there (a learning rate by a
    scheduler) reach the optimizer at each step. ``state`` and ``state_dict()`` are those of the
    owned parameters; ``full_state_dict()`` joins all.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, group: Group) -> None:
        if isinstance(optimizer, ShardedOptimizer):
            raise UsageError("this optimizer is sharded already")
        if isinstance(optimizer, torch.optim.LBFGS):
            raise NotSupported("sharding: LBFGS, whose update mixes all parameters")
        self.inner = optimizer
        everything = [dict(g, params=list(g["params"])) for g in optimizer.param_groups]
        self.shards = Shards([p for g in everything for p in g["params"]], group)
        self._is_sealed = False
        super().__init__(everything, dict(optimizer.defaults))
        self._is_sealed = True
        for inner, outer in zip(optimizer.param_groups, self.param_groups, strict=True):
            inner["params"] = [p for p in outer["params"] if self.shards.owns(p)]
        for param in [p for p in optimizer.state if not self.shards.owns(p)]:
            del optimizer.state[param]
        self.state = optimizer.state

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the owned parameters, then take the others from their owners; every rank calls
        it.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._copy_settings()
        self.inner.step()
        self.shards.broadcast()
        return loss

    def _copy_settings(self) -> None:
        for inner, outer in zip(self.inner.param_groups, self.param_groups, strict=True):
            inner.update((key, value) for key, value in outer.items() if key != "params")

    def clip_grad_norm_(self, max_norm: float) -> torch.Tensor:
        """Scale the gradients by one factor so that their joint norm, over all ranks, is at most
        ``max_norm``; returns the norm before.
        """
        owned = [self.shards.params[i].grad for i in self.shards.owned]
        norm = self.shards.global_norm([g for g in owned if g is not None])
        factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
        with torch.no_grad():
            for param in self.shards.params:
                if param.grad is not None:
                    param.grad.mul_(factor.to(param.grad.device, param.grad.dtype))
        return norm

    # -- state
    # ----------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The settings of all groups, and the state of the owned parameters under their numbers
        among all.
        """
        self._copy_settings()
        number = {id(p): i for i, p in enumerate(self.shards.params)}
        groups = [
            {
                **{k: v for k, v in g.items() if k != "params"},
                "params": [number[id(p)] for p in g["params"]],
            }
            for g in self.param_groups
        ]
        return {
            "state": {number[id(p)]: state for p, state in self.inner.state.items()},
            "param_groups": groups,
        }

    def full_state_dict(self, dst: int | None = None) -> dict[str, Any]:
        """The state of all parameters, as the optimizer of one process would give it; without state
        on ranks other than ``dst``, if given.

        Every rank calls it.
        """
        own = self.state_dict()
        named = {
            f"{index}{_SEPARATOR}{key}": value
            for index, values in own["state"].items()
            for key, value in values.items()
        }
        for name, value in named.items():
            if not isinstance(value, torch.Tensor):
                raise CheckpointError(
                    f"{type(self.inner).__name__} keeps state that is not a tensor ({name}); it "
                    "cannot be gathered"
                )
        whole = gather_named(named, self.shards.group, dst)
        state: dict[int, dict[str, Any]] = {}
        for name in sorted(whole, key=lambda n: int(n.split(_SEPARATOR, 1)[0])):
            index, key = name.split(_SEPARATOR, 1)
            state.setdefault(int(index), {})[key] = whole[name]
        return {"state": state, "param_groups": own["param_groups"]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the owned parameters' part of a whole state, from any number of ranks or from the
        plain optimizer.
        """
        given = state_dict["param_groups"]
        if [len(g["params"]) for g in given] != [len(g["params"]) for g in self.param_groups]:
            raise CheckpointError(
                f"the saved optimizer has groups of {[len(g['params']) for g in given]} "
                "parameters, this one of "
                f"{[len(g['params']) for g in self.param_groups]}"
            )
        order = [i for g in given for i in g["params"]]  # the saved number of each parameter
        states = state_dict["state"]
        saved = {
            id(p): states.get(number) for p, number in zip(self.shards.params, order, strict=True)
        }
        params = self.shards.params
        missing = [i for i in self.shards.owned if states and saved[id(params[i])] is None]
        if missing and any(params[i].requires_grad for i in missing):
            raise CheckpointError(
                f"the saved state has nothing for parameter {missing[0]}, which rank "
                f"{self.shards.group.rank} owns; "
                "save full_state_dict(), not state_dict(), of a sharded optimizer"
            )
        for outer, group in zip(self.param_groups, given, strict=True):
            outer.update((key, value) for key, value in group.items() if key != "params")
        self._copy_settings()
        numbers = itertools.count()  # as the inner optimizer counts its parameters
        kept: dict[int, Any] = {}
        groups = []
        for inner in self.inner.param_groups:
            own = {next(numbers): saved[id(param)] for param in inner["params"]}
            kept.update((number, state) for number, state in own.items() if state is not None)
            groups.append({**inner, "params": list(own)})
        self.inner.load_state_dict({"state": kept, "param_groups": groups})
        self.state = self.inner.state

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        if self._is_sealed:
            raise UsageError(
                "a sharded optimizer cannot take more parameters: add them before sharding"
            )
        super().add_param_group(param_group)
