"""Sharding (ZeRO stages 1 and 2; stage 3 is in ``sharded_parameters.py``): each parameter has an
owner, the rank that keeps its optimizer state and updates it.

- Stage 1: gradients are averaged on every rank, by ``Reducer``; the optimizer is made on
  ``shards.owned`` alone.
- Stage 2: a gradient is averaged on the owner and None elsewhere, by ``ShardedReducer``
  (``sharded_reducer.py``); the rest is the same.

A step of either stage::

    shards = Shards(params, group)          # once; the same list on every rank
    norm = shards.global_norm(grads)        # over the gradients of owned parameters, to clip by
    optimizer.step()                        # made on [params[i] for i in shards.owned]
    shards.broadcast()                      # owners give the others the updated parameters

``sharded_optimizer.py`` does this for a ``torch.optim.Optimizer``. State leaves a shard by
``gather_named`` as one dict, which is cut anew for any number of ranks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import torch

from argosy.foundation.errors import CheckpointError, NotSupported, UsageError
from argosy.runtime.comm.backend import Backend, ReduceOp
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel import agreement
from argosy.runtime.parallel.broadcast import broadcast_values, packs, unpack

_PACK_BYTES = 32 << 20


def assign_owners(sizes: Sequence[int], num_ranks: int) -> list[int]:
    """The owner of each parameter: largest first, each to the rank that has least so far, the lower
    rank among equals.
    """
    loads = [0] * num_ranks
    owners = [0] * len(sizes)
    for index in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        rank = min(range(num_ranks), key=lambda r: (loads[r], r))
        owners[index] = rank
        loads[rank] += sizes[index]
    return owners


class Shards:
    """Who owns which of ``params``. All ranks make it alike; it holds no memory of its own."""

    def __init__(self, params: Sequence[torch.Tensor], group: Group) -> None:
        self.params = list(params)
        self.group = group
        group.run(
            agreement.check_same,
            [agreement.describe(str(i), p) for i, p in enumerate(self.params)],
            group.transport,
        )
        self.owners = assign_owners(
            [p.numel() * p.element_size() for p in self.params], group.nranks
        )
        self.owned = [i for i, owner in enumerate(self.owners) if owner == group.rank]
        self._owned_ids = {id(self.params[i]) for i in self.owned}

    def owns(self, param: torch.Tensor) -> bool:
        """Whether this rank updates ``param``, which must be one of ``params``."""
        return id(param) in self._owned_ids

    def owners_of(
        self, params: Sequence[torch.Tensor], names: Sequence[str], sparse: Sequence[bool]
    ) -> list[int]:
        """The owner of each of a model's ``params`` in stage 2; an error for one that the optimizer
        does not have or that has row-sparse gradients.
        """
        owner_by_id = {id(p): owner for p, owner in zip(self.params, self.owners, strict=True)}
        for name, param, is_sparse in zip(names, params, sparse, strict=True):
            if is_sparse:
                raise NotSupported(
                    f"sharding stage 2: parameter {name!r} has row-sparse gradients; use stage 1"
                )
            if id(param) not in owner_by_id:
                raise UsageError(
                    f"sharding: the optimizer does not have parameter {name!r}, which the model "
                    "trains; pass it or freeze it"
                )
        return [owner_by_id[id(param)] for param in params]

    def broadcast(self) -> None:
        """Give every rank the values that owners have; small parameters of one owner travel
        together.
        """
        broadcast_from_owners(self.params, self.owners, self.group)

    def global_norm(self, grads: Sequence[torch.Tensor]) -> torch.Tensor:
        """The 2-norm over the gradients of all ranks, each passing those of its own parameters;
        0-d, float64.
        """
        return norms_over([grads], self.group)[0]


def broadcast_from_owners(
    params: Sequence[torch.Tensor], owners: Sequence[int], group: Group
) -> None:
    """Give every rank the values of the rank that owns each of ``params``."""
    for rank in sorted(set(owners)):
        owned = [p for p, owner in zip(params, owners, strict=True) if owner == rank]
        group.run(broadcast_values, owned, group.transport, rank)


@torch.no_grad()
def sum_on_owners(
    grads: Sequence[torch.Tensor], owners: Sequence[int], group: Group, scale: float
) -> None:
    """Replace each dense gradient by its sum over the ranks times ``scale``, on the rank that owns
    it; on the others it is of no use afterwards.
    """
    for owner in range(group.nranks):
        owned = [g for g, o in zip(grads, owners, strict=True) if o == owner]
        for pack in packs(owned, _PACK_BYTES):
            flat = (
                pack[0]
                if len(pack) == 1 and pack[0].is_contiguous()
                else torch.cat([g.reshape(-1) for g in pack])
            )
            group.run(group.transport.reduce, flat, owner, ReduceOp.SUM)
            flat.mul_(scale)
            if owner == group.rank and flat is not pack[0]:
                unpack(flat, pack)


@torch.no_grad()
def norms_over(lists: Sequence[Sequence[torch.Tensor]], group: Group) -> torch.Tensor:
    """The 2-norm of each list of gradients, of which every rank passes some, with one exchange;
    float64.
    """
    squares = torch.zeros(len(lists), dtype=torch.float64)
    for k, grads in enumerate(lists):
        for grad in grads:
            values = grad.coalesce().values() if grad.is_sparse else grad
            # in the gradient's own precision at least float32, as an optimizer on one rank would
            wide = values.float() if values.dtype.itemsize < 4 else values
            squares[k] += torch.linalg.vector_norm(wide).double().cpu() ** 2
    if len(lists):
        group.run(group.transport.all_reduce, squares, ReduceOp.SUM)
    return squares.sqrt()


def gather_named(
    own: Mapping[str, torch.Tensor], group: Group, dst: int | None = None
) -> dict[str, torch.Tensor]:
    """Join the named tensors of all ranks, in rank order; empty on the others if ``dst`` is given.
    Every rank calls it.

    Tensors travel one at a time, so that no rank but those that keep the result holds more than its
    own and one. Names must differ between ranks.
    """
    result: dict[str, torch.Tensor] = {}
    wants = dst is None or dst == group.rank
    for src in range(group.nranks):
        is_mine = src == group.rank
        head = (
            [[name, str(t.dtype).removeprefix("torch."), list(t.shape)] for name, t in own.items()]
            if is_mine
            else []
        )
        described = json.loads(
            group.run(broadcast_bytes, json.dumps(head).encode(), group.transport, src)
        )
        for name, dtype, shape in described:
            value = (
                own[name].detach() if is_mine else torch.empty(shape, dtype=getattr(torch, dtype))
            )
            group.run(group.transport.broadcast, value, src)
            if name in result:
                raise CheckpointError(f"state of two ranks has the same name {name!r}")
            if wants:
                result[name] = value
    return result


def broadcast_bytes(data: bytes, backend: Backend, src: int) -> bytes:
    """The ``data`` of rank ``src``."""
    size = torch.tensor([len(data)])
    backend.broadcast(size, src)
    if not int(size):
        return b""
    content = (
        torch.frombuffer(bytearray(data), dtype=torch.uint8)
        if backend.rank == src
        else torch.empty(0)
    )
    if backend.rank != src:
        content = torch.empty(int(size), dtype=torch.uint8)
    backend.broadcast(content, src)
    return content.numpy().tobytes()
