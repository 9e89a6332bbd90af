"""An optimizer of the face whose state is split over ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from argosy.foundation.errors import NotSupported, UsageError
from argosy.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from argosy.ops.training import clipping
from argosy.optimizer import Optimizer
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.sharding.shards import Shards, gather_named, norms_over
from argosy.tensor.engine import Tensor, wrap

MASTERS = "master_weights"


class ShardedOptimizer(Optimizer):
    """Takes over ``optim``: this rank updates the parameters it owns, and gets the others from
    theirs.

    Everything else (rates, schedulers, clipping) is as set on ``optim``. ``state_dict()`` is this
    rank's part, without communication; ``full_state_dict()`` joins the parts, and
    ``set_state_dict()`` takes what this rank owns out of a whole, whatever the number of ranks that
    made it.
    """

    def __init__(self, optim: Optimizer, group: Group) -> None:
        # the base's constructor is not called: whatever is not set here is read from ``optim``, see
        # __getattr__
        check_rule(optim)
        self._optim = optim
        self._group = group
        self._all = list(optim.parameters())
        self.shards = Shards([p.raw for p in self._all], group)
        self._names = {p.name for p in self._all}
        self._owned_names = {self._all[i].name for i in self.shards.owned}
        self._is_owned = {id(p): p.name in self._owned_names for p in self._all}
        self._clips = replaced_clips(optim, is_split=False)
        optim.change_parameters(lambda params: [p for p in params if self._is_owned[id(p)]])

    def __getattr__(self, name: str) -> Any:
        if name == "_optim":
            raise AttributeError(name)
        return getattr(self._optim, name)

    def _parameters(self) -> list[Tensor]:
        return self._all

    @property
    def owned_parameters(self) -> list[Tensor]:
        """The parameters that this rank updates."""
        return [self._all[i] for i in self.shards.owned]

    # -- stepping
    # ----------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Update the owned parameters, then take the others from their owners; every rank calls
        it.
        """
        for param, raw in zip(self._all, self.shards.params, strict=True):
            if param.raw is not raw:
                raise UsageError(
                    f"sharding: parameter {param.name!r} was given another dtype or device after "
                    "group_sharded_parallel; do that before"
                )
        norms_for(self._clips, self._optim, self.shards.group, lambda _: True)
        self._optim.step()
        self.shards.broadcast()

    def _run_explicit(self, params_grads: Any) -> None:
        raise NotSupported(
            "sharding: apply_gradients() and minimize(parameters=...) with gradients that are "
            "given; use step()"
        )

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Forget the gradients; those of owned parameters then count as zeros, as ever."""
        self._optim.clear_grad(set_to_zero)
        for param in self._all:
            if not self._is_owned[id(param)]:
                param.clear_gradient(set_to_zero=False)

    clear_gradients = clear_grad

    def set_lr(self, value: float) -> None:
        self._optim.set_lr(value)

    def set_lr_scheduler(self, scheduler: Any) -> None:
        self._optim.set_lr_scheduler(scheduler)

    # -- state
    # ----------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """This rank's part of the state."""
        return self._optim.state_dict()

    def full_state_dict(self, dst: int | None = None) -> dict[str, Any]:
        """The state of all parameters, as one process would have it; every rank calls it. ``dst``
        (a rank of the group): only there.
        """
        own = self.state_dict()
        rest = {k: v for k, v in own.items() if k != MASTERS and not isinstance(v, Tensor)}
        masters = own.get(MASTERS, {})
        # a master's own name is part of the names of its accumulators, so it travels too
        tensors = {k: v.raw for k, v in own.items() if isinstance(v, Tensor)}
        tensors |= {f"{MASTERS}/{k}/{v.name}": v.raw for k, v in masters.items()}
        whole: dict[str, Any] = {}
        for key, raw in gather_named(tensors, self.shards.group, dst).items():
            if key.startswith(f"{MASTERS}/"):
                _, param, name = key.split("/")
                whole.setdefault(MASTERS, {})[param] = named(raw, name)
            else:
                whole[key] = named(raw, key)
        if whole:
            whole.update(rest)
        return whole

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what belongs to the owned parameters, from a whole state or from this rank's
        part.
        """
        kept = {k: v for k, v in state_dict.items() if self._keeps(k)}
        if MASTERS in state_dict:
            kept[MASTERS] = {k: v for k, v in state_dict[MASTERS].items() if k in self._owned_names}
        self._optim.set_state_dict(kept)

    load_state_dict = set_dict = set_state_dict

    def _keeps(self, key: str) -> bool:
        """Whether an entry is about an owned parameter, or about none."""
        name = name_of_entry(key, self._names)
        return key != MASTERS if name is None else name in self._owned_names


def check_rule(optim: Optimizer) -> None:
    """NotSupported for an optimizer whose parameters are also another's, which would go on with all
    of them.
    """
    if hasattr(optim, "inner_optimizer"):
        raise NotSupported(
            f"sharding: {type(optim).__name__} around another optimizer; shard that one, or use "
            "unsharded data parallelism"
        )


def name_of_entry(key: str, names: set[str]) -> str | None:
    """Which of the parameters ``names`` an entry of an optimizer's state is about. Entries begin
    with the name of their parameter.
    """
    parts = key.split("_")
    candidates = ("_".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((name for name in candidates if name in names), None)


def named(raw: torch.Tensor, name: str | None) -> Tensor:
    tensor = wrap(raw)
    if name is not None:
        tensor.name = name
    return tensor


# -- clipping by norms over all ranks
# -------------------------------------------------------------------------------


class NormClip(ClipGradByGlobalNorm):
    """Clips by norms over all ranks, which ``norms_for`` sets before each update: one for all
    gradients or, as ``ClipGradByNorm`` does, one for ``each``.
    """

    def __init__(self, clip: Any, group_index: int | None) -> None:
        super().__init__(clip.clip_norm)
        self._group_index = group_index
        self._is_each = type(clip) is ClipGradByNorm
        self.norms: Any = ()

    def lists(self, optim: Optimizer, counts: Callable[[Tensor], bool]) -> list[list[torch.Tensor]]:
        """The gradients of which norms are needed, as far as this rank counts them."""
        found = [
            [grad] if counts(param) else []
            for param, grad in optim.gradients(self._group_index)
            if getattr(param, "need_clip", True) is not False
        ]
        return found if self._is_each else [[grad for one in found for grad in one]]

    def _clip(self, grads: list[torch.Tensor]) -> list[torch.Tensor]:
        for index, grad in enumerate(grads):
            norm = self.norms[index if self._is_each else 0]
            factor = clipping.shrink_factor(norm, self.clip_norm)
            # a factor in half precision would be off by a thousandth
            clipping.scale_(
                [grad], factor.to(grad.device, torch.promote_types(grad.dtype, torch.float32))
            )
        return grads


def replaced_clips(optim: Optimizer, is_split: bool) -> list[NormClip]:
    """Give ``optim`` clips that know norms over all ranks, where it has others; returns them.
    ``is_split``: parameters themselves are.
    """
    clips: list[NormClip] = []

    def replaced(clip: Any, index: int | None) -> Any:
        if (
            clip is None
            or type(clip) is ClipGradByValue
            or (type(clip) is ClipGradByNorm and not is_split)
        ):
            return clip
        if type(clip) not in (ClipGradByGlobalNorm, ClipGradByNorm):
            raise NotSupported(
                f"sharding: clipping by {type(clip).__name__}, which would see the gradients of "
                "one rank; "
                "use a clip of paddle.nn, or unsharded data parallelism"
            )
        clips.append(NormClip(clip, index))
        return clips[-1]

    optim.change_clips(replaced)
    return clips


@torch.no_grad()
def norms_for(
    clips: Iterable[NormClip],
    optim: Optimizer,
    group: Group,
    counts: Callable[[Tensor], bool],
) -> None:
    """Tell ``clips`` the norms over the ranks of ``group``; ``counts`` says which parameters this
    rank adds to them.
    """
    lists = [clip.lists(optim, counts) for clip in clips]
    norms = norms_over([one for several in lists for one in several], group)
    begin = 0
    for clip, several in zip(clips, lists, strict=True):
        clip.norms = norms[begin : begin + len(several)]
        begin += len(several)
