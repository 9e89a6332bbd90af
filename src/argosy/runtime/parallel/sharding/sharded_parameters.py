"""Sharding stage 3 on raw tensors: each rank keeps its part of a parameter; the whole exists only
while a layer computes with it.

::

    order, saving = Order(), Saving()               # for all parameters of a model
    split = SplitTensor("weight", value, group, order)      # on every rank; value may be forgotten
    now with saving.around():                           # a forward: autograd keeps none of the
    whole values that it meets
        weight = split.whole(saving, is_synchronised=True)
        y = x @ weight
    del weight                                      # with it goes its memory
    y.sum().backward()                              # gathers again where backward needs values, and
    leaves the mean over ranks in split.share.grad order.check(group)                              #
    that all ranks did the same optimizer.step()                                # made on
    split.share

The whole is the result of a differentiable gather whose derivative is a reduce-scatter: parameters
that are used twice, layers that run twice, backwards that add up and graphs that are kept are
autograd's business. What autograd would keep of the whole is replaced by a note of how to get it
again (``sharded_saving.py``); nothing frees memory that somebody still refers to. Ranks run the
same layers in the same order.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch

from argosy.foundation import torch_private as private
from argosy.foundation.errors import CollectiveMismatch, NotSupported, UsageError
from argosy.runtime.comm.backend import ReduceOp
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.sharding.sharded_saving import Restorable, Saving


class Absent(torch.Tensor):
    """Stands for a tensor whose values are on several ranks: it has shape, dtype and device, and
    any use of its values is an error that says so.

    So is asking for its gradient, if there is one: whoever does (a clip, an optimizer) would go on
    without it.
    """

    parameter: str
    source: weakref.ref[SplitTensor]
    __torch_function__ = private.disabled_torch_function  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, split: SplitTensor, like: torch.Tensor) -> Absent:
        made: Absent = private.make_wrapper_subclass(
            cls, like.shape, dtype=like.dtype, device=like.device, requires_grad=like.requires_grad
        )
        made.parameter = split.name
        made.source = weakref.ref(split)
        return made

    @property
    def grad(self) -> torch.Tensor | None:
        split = self.source()
        if split is not None and (split.share.grad is not None or split.is_waiting):
            raise UsageError(
                f"sharding stage 3: the gradient of parameter {self.parameter!r} is split over "
                "the ranks. The optimizer that group_sharded_parallel or "
                "fleet returned has this rank's part, and clips by its grad_clip."
            )
        return None

    @grad.setter
    def grad(self, value: torch.Tensor | None) -> None:
        if value is not None:
            raise NotSupported(
                f"sharding stage 3: setting the gradient of parameter {self.parameter!r}, which "
                "is split"
            )

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # torch declares it without the class
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        found = [a for a in (*args, *(kwargs or {}).values()) if isinstance(a, Absent)]
        name = repr(found[0].parameter) if found else "of a list"
        raise UsageError(
            f"sharding stage 3: parameter {name} is split over the ranks and whole only while "
            "its own layer runs. To use it elsewhere, "
            "list it in extra_parameters of the layer that does, keep its layer whole by "
            "exclude_layer, or call get_all_parameters() first."
        )


class Order:
    """What this rank has exchanged of split parameters since the last ``check``, as one number.

    Where ranks run layers of one size in another order than each other, exchanges fit and values
    are those of different parameters; only the order tells.
    """

    def __init__(self) -> None:
        self._num_known = 0
        self._digest = 0

    def new_number(self) -> int:
        self._num_known += 1
        return self._num_known

    def note(self, number: int) -> None:
        self._digest = (self._digest * 1000003 + number) % 0x7FFFFFFFFFFFFFE7

    def check(self, group: Group) -> None:
        """CollectiveMismatch unless all ranks of ``group`` have noted the same since they last
        called it.
        """
        own, self._digest = torch.tensor([self._digest]), 0
        found = [torch.empty_like(own) for _ in range(group.nranks)]
        group.run(group.transport.all_gather, found, own)
        others = [rank for rank, digest in enumerate(found) if not torch.equal(digest, found[0])]
        if others:
            raise CollectiveMismatch(
                f"sharding stage 3: ranks {others} of group {group.name!r} ran other layers "
                "since the last step than rank 0, or in another order, so "
                "that parts of different parameters were put together. Every rank must run the "
                "same; keep layers that only some ranks use whole by exclude_layer."
            )


class SplitTensor:
    """A parameter of which this rank has ``share``: a leaf with 1/n of the elements in their order,
    the last one padded with zeros.

    ``order`` notes its exchanges. ``replicas``: the ranks, one of each group that splits the same
    model, with the same share.
    """

    def __init__(
        self,
        name: str,
        value: torch.Tensor,
        group: Group,
        order: Order,
        replicas: Group | None = None,
    ) -> None:
        self.name = name
        self._order, self._number = order, order.new_number()
        self.shape = value.shape
        self.group = group
        self._replicas = replicas
        self._num_shared = -(-value.numel() // group.nranks)
        # whole gradients of backwards that were not synchronised
        self._waiting: torch.Tensor | None = None
        self.absent = Absent(self, value)
        self.share = self.cut(value.detach()).requires_grad_(value.requires_grad)

    # -- values
    # ----------------------------------------------------------------------------------------------

    def cut(self, whole: torch.Tensor) -> torch.Tensor:
        """This rank's part of a tensor of the parameter's shape, in memory of its own."""
        flat = whole.reshape(-1)
        begin = self.group.rank * self._num_shared
        part = flat.new_zeros(self._num_shared)
        own = flat[begin : begin + self._num_shared]
        part[: own.numel()].copy_(own)
        return part

    def is_part(self, value: torch.Tensor) -> bool:
        """Whether ``value`` has the size of a part, as what an optimizer keeps for each element
        has.
        """
        return value.shape == (self._num_shared,)

    @torch.no_grad()
    def gather(self, part: torch.Tensor) -> torch.Tensor:
        """The whole of which each rank passes its ``part``."""
        flat = part.new_empty(self._num_shared * self.group.nranks)
        self.group.run(self.group.transport.all_gather, self._pieces(flat), part.detach())
        return flat[: self.shape.numel()].view(self.shape)

    @torch.no_grad()
    def gather_to(self, dst: int, part: torch.Tensor) -> torch.Tensor | None:
        """As ``gather`` on rank ``dst`` of the group, None on the others."""
        if self.group.rank != dst:
            self.group.run(self.group.transport.gather, None, part.detach(), dst)
            return None
        flat = part.new_empty(self._num_shared * self.group.nranks)
        self.group.run(self.group.transport.gather, self._pieces(flat), part.detach(), dst)
        return flat[: self.shape.numel()].view(self.shape)

    def _pieces(self, flat: torch.Tensor) -> list[torch.Tensor]:
        return list(flat.view(self.group.nranks, -1).unbind())

    def gather_share(self) -> torch.Tensor:
        """The whole value."""
        self._order.note(self._number)
        return self.gather(self.share)

    def whole(self, saving: Saving, is_synchronised: bool) -> torch.Tensor:
        """The whole value to compute with; differentiable, unless the share needs no gradient.
        ``saving`` must be open.
        """
        use = _Use(self)
        args = self.share, use, is_synchronised
        value: torch.Tensor = _Gather.apply(*args)  # type: ignore[no-untyped-call]
        saving.watch(use, value)
        return value

    # -- gradients
    # ----------------------------------------------------------------------------------------------

    @property
    def is_waiting(self) -> bool:
        """Whether there are gradients that no synchronised backward has taken along yet."""
        return self._waiting is not None

    def forget_waiting(self) -> None:
        self._waiting = None

    @torch.no_grad()
    def settle(self, grad: torch.Tensor, is_synchronised: bool) -> torch.Tensor | None:
        """This rank's part of the mean of the whole gradients of all ranks, with what waits; None
        if it is only to wait itself.
        """
        if self._waiting is not None:
            grad = self._waiting.add_(grad)
        if not is_synchronised:
            self._waiting = grad if self._waiting is not None else grad.clone()
            return None
        self._waiting = None
        self._order.note(self._number)
        flat = grad.reshape(-1)
        missing = self._num_shared * self.group.nranks - flat.numel()
        if missing:
            flat = torch.nn.functional.pad(flat, (0, missing))
        part = flat.new_empty(self._num_shared)
        self.group.run(self.group.transport.reduce_scatter, part, self._pieces(flat), ReduceOp.AVG)
        if self._replicas is not None:
            self._replicas.run(self._replicas.transport.all_reduce, part, ReduceOp.AVG)
        return part


class _Use(Restorable):
    """The whole values of one forward; in its backward they are gathered once and kept until
    everything that was saved of them was asked for.
    """

    def __init__(self, split: SplitTensor) -> None:
        self.split = split
        self._num_saved = 0
        self._num_left = 0
        self._whole: torch.Tensor | None = None

    def count_saved(self) -> None:
        self._num_saved += 1

    def restored(self) -> torch.Tensor:
        # The count, not the lifetime of some object, says when to gather again: all ranks must
        # decide alike.
        whole = self._whole
        if whole is None:
            whole, self._num_left = self.split.gather_share(), self._num_saved
        self._num_left -= 1
        self._whole = whole if self._num_left > 0 else None
        return whole

    def end(self) -> None:
        self._whole = None


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, share: torch.Tensor, use: _Use, is_synchronised: bool) -> torch.Tensor:
        ctx.use, ctx.is_synchronised = use, is_synchronised
        return use.split.gather_share()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, None, None]:
        split = ctx.use.split
        if grad.requires_grad:
            raise NotSupported(
                f"sharding stage 3: parameter {split.name!r} got a gradient of higher order; use "
                "stage 1"
            )
        ctx.use.end()
        return split.settle(grad, ctx.is_synchronised), None, None
