"""The reducer: averages the gradients of a model over the ranks of a group while backward goes on.

Gradients live in buckets (``bucketing.plan``), each a flat tensor that the backend can average in place; after ``backward()`` every ``param.grad`` is a
view of its bucket. A bucket is published when its last gradient has arrived, and its reduction goes forward at every later gradient, without waiting and
without a thread; what is left is finished at the end of backward.

Buckets are published in one fixed order on every rank. Behind the gradients of a bucket travels one flag per parameter, 1 if this rank produced it: after the
average, a flag of 0 means that no rank did, and the parameter keeps the gradient it had; any other flag means that all ranks take the average. So ranks whose
control flow differs neither hang nor drift apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from argosy.foundation import gradients
from argosy.foundation.errors import CollectiveMismatch, UsageError
from argosy.runtime.comm.backend import Backend, ReduceOp
from argosy.runtime.comm.bucket import Bucket
from argosy.runtime.parallel import bucketing
from argosy.runtime.parallel.unused import parameters_in_graph

_ALIGNMENT = 16  # elements between gradients in a bucket: each starts on a cache line


@dataclass(frozen=True, kw_only=True)
class ReducerOptions:
    bucket_bytes: int = 25 << 20
    last_bucket_bytes: int = 1 << 20
    find_unused_parameters: bool = False


class _Slot:
    """One parameter's place: its bucket, its view of the bucket, its flag."""

    __slots__ = ("bucket", "flag", "home", "is_ready", "kept", "view")

    def __init__(self, bucket: int, view: torch.Tensor, flag: torch.Tensor) -> None:
        self.bucket = bucket
        self.view = view
        self.flag = flag
        self.home = gradients.GradHome(view)
        self.is_ready = False
        self.kept: torch.Tensor | None = None  # the gradient it had before a round in which this rank did not produce one


class Reducer:
    """Owns the buckets of ``params`` (leaves that require grad, the same list on every rank) and the hooks on them.

    ``sparse`` marks parameters whose gradients are row-sparse: they do not go into buckets but are gathered by rows.
    """

    def __init__(
        self,
        params: Sequence[torch.Tensor],
        names: Sequence[str],
        sparse: Sequence[bool],
        backend: Backend,
        options: ReducerOptions = ReducerOptions(),
    ) -> None:
        if not params:
            raise UsageError("DataParallel: this model does not have any parameters to train, and does not need to use DataParallel")
        self._params = list(params)
        self._names = list(names)
        self._sparse = list(sparse)
        self._backend = backend
        self._options = options
        self._arrivals: list[int] = []
        self._is_rebuilt = False
        self._has_warned = False
        self.is_sync_enabled = True
        self._check_same_model()
        self._build([i for i in reversed(range(len(self._params))) if not self._sparse[i]])
        self._handles = [p.register_post_accumulate_grad_hook(self._make_hook(i)) for i, p in enumerate(self._params)]

    # -- building -----------------------------------------------------------------------------------------------

    def _check_same_model(self) -> None:
        """Compare shapes and dtypes over the ranks, so that a different model is an error now and not a wrong number later."""
        text = "\n".join(f"{n} {list(p.shape)} {p.dtype}" for n, p in zip(self._names, self._params, strict=True)).encode()
        size = torch.tensor([len(text)])
        sizes = [torch.empty_like(size) for _ in range(self._backend.world_size)]
        self._backend.all_gather(sizes, size)
        width = max(int(s) for s in sizes)
        mine = torch.zeros(width, dtype=torch.uint8)
        mine[: len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        every = [torch.empty_like(mine) for _ in sizes]
        self._backend.all_gather(every, mine)
        lists = [bytes(t.tolist())[: int(s)].decode().split("\n") for t, s in zip(every, sizes, strict=True)]
        for rank, other in enumerate(lists):
            if other != lists[0]:
                differing = [f"{a!r} on rank 0, {b!r} on rank {rank}" for a, b in zip(lists[0], other, strict=False) if a != b]
                what = differing[0] if differing else f"{len(lists[0])} parameters on rank 0, {len(other)} on rank {rank}"
                raise CollectiveMismatch(f"DataParallel: the ranks have different models: {what}")

    def _build(self, order: Sequence[int]) -> None:
        """Lay out the buckets for gradients that arrive in ``order``; gradients that exist move into the new places."""
        items = [bucketing.Item(index=i, numel=self._params[i].numel(), dtype=self._params[i].dtype) for i in order]
        self._plan = bucketing.plan(items, self._options.bucket_bytes, self._options.last_bucket_bytes)
        self._buckets: list[Bucket] = []
        self._slots: dict[int, _Slot] = {}
        for number, indices in enumerate(self._plan):
            params = [self._params[i] for i in indices]
            starts, total = bucketing.offsets([p.numel() for p in params], _ALIGNMENT)
            bucket = self._backend.make_bucket(total + len(params), params[0].dtype)
            bucket.tensor.zero_()
            self._buckets.append(bucket)
            for k, (index, param, start) in enumerate(zip(indices, params, starts, strict=True)):
                view = bucket.tensor[start : start + param.numel()].view(param.shape)
                slot = self._slots[index] = _Slot(number, view, bucket.tensor[total + k])
                if param.grad is not None and param.grad.layout is torch.strided:
                    view.copy_(param.grad)
                    param.grad = view.detach()
                gradients.attach(param, slot.home)
        self._reset_round()

    def _reset_round(self) -> None:
        self._pending = [len(indices) for indices in self._plan]
        self._next = 0  # the bucket to publish next; the order is the same on every rank
        self._in_backward = False
        self._reachable: set[int] = set()  # ids of the leaves that the outputs seen since the last round lead to
        for slot in self._slots.values():
            slot.is_ready = False
            slot.home.is_open = True

    # -- a round ------------------------------------------------------------------------------------------------

    def prepare(self, outputs: Sequence[torch.Tensor]) -> None:
        """Get ready for the backward of ``outputs``; call it after each forward that will be synchronised."""
        if not (self._options.find_unused_parameters and self.is_sync_enabled):
            return
        self._reachable |= parameters_in_graph(outputs)

    def _make_hook(self, index: int) -> Callable[[torch.Tensor], None]:
        def hook(param: torch.Tensor) -> None:
            if self.is_sync_enabled:
                self._on_gradient(index, param)

        return hook

    def _on_gradient(self, index: int, param: torch.Tensor) -> None:
        if not self._in_backward:
            self._in_backward = True
            torch.autograd.Variable._execution_engine.queue_callback(self._finish)
            if self._reachable:
                for other in self._slots:
                    if id(self._params[other]) not in self._reachable:
                        self._mark_ready(other, produced=False)
        if self._sparse[index]:
            return
        if not self._is_rebuilt:
            self._arrivals.append(index)
        slot = self._slots[index]
        if slot.is_ready:
            raise UsageError(
                f"DataParallel: parameter {self._names[index]!r} got a gradient after it had been taken as "
                + ("unused: it is not reachable from the outputs of forward." if self._reachable else "complete in this backward.")
                + " Return every tensor that the loss depends on from forward."
            )
        grad = param.grad
        if grad is not None and grad.data_ptr() != slot.view.data_ptr():
            slot.view.copy_(grad)
            param.grad = slot.view.detach()
        self._mark_ready(index, produced=True)

    def _mark_ready(self, index: int, produced: bool) -> None:
        slot = self._slots[index]
        if slot.is_ready:
            return
        slot.is_ready = True
        if not produced:
            self._keep(index, slot)
        slot.flag.fill_(1.0 if produced else 0.0)
        self._pending[slot.bucket] -= 1
        self._publish_ready()

    def _keep(self, index: int, slot: _Slot) -> None:
        """Contribute what this rank has for a parameter it did not use: its accumulated gradient, or zeros."""
        grad = self._params[index].grad
        if grad is None:
            slot.view.zero_()
            slot.kept = None
            return
        slot.kept = grad.clone()
        if grad.data_ptr() != slot.view.data_ptr():
            slot.view.copy_(grad)

    def _publish_ready(self) -> None:
        while self._next < len(self._buckets) and self._pending[self._next] == 0:
            self._buckets[self._next].publish()
            self._next += 1
        for bucket in self._buckets[: self._next]:
            bucket.progress()

    def _finish(self) -> None:
        """The end of backward: complete what is missing, wait for the averages, settle unused parameters."""
        missing = [i for i, slot in self._slots.items() if not slot.is_ready]
        for index in missing:
            self._mark_ready(index, produced=False)
        for bucket in self._buckets:
            bucket.finish()
        unused = self._settle()
        self._reduce_sparse()
        surprising = [i for i in missing if self._params[i].requires_grad]
        if surprising and not self._options.find_unused_parameters:
            self._warn(surprising, unused)
        arrivals, is_first = self._arrivals, not self._is_rebuilt
        self._reset_round()
        if is_first:
            self._rebuild(arrivals)

    def _settle(self) -> list[int]:
        """Give every parameter its gradient: the average, or what it had where no rank produced one. Returns the latter."""
        unused = []
        flags = torch.cat([bucket.tensor[-len(indices) :].float() for bucket, indices in zip(self._buckets, self._plan, strict=True)])
        produced = iter((flags > 0).tolist())
        for indices in self._plan:
            for index in indices:
                slot, param = self._slots[index], self._params[index]
                if next(produced):
                    if param.grad is None or param.grad.data_ptr() != slot.view.data_ptr():
                        param.grad = slot.view.detach()
                else:
                    unused.append(index)
                    if slot.kept is not None:
                        slot.view.copy_(slot.kept)
                slot.kept = None
        return unused

    def _reduce_sparse(self) -> None:
        for index, is_sparse in enumerate(self._sparse):
            if is_sparse:
                _average_rows(self._params[index], self._backend)

    def _rebuild(self, arrivals: list[int]) -> None:
        """After the first round, order the buckets as gradients really arrive on rank 0; all ranks take its order."""
        self._is_rebuilt = True
        order = torch.tensor(arrivals + [i for i in self._slots if i not in set(arrivals)])
        self._backend.broadcast(order, 0)
        if order.tolist() == [i for indices in self._plan for i in indices]:
            return
        old = self._buckets
        for index, slot in self._slots.items():
            param = self._params[index]
            if param.grad is not None and param.grad.data_ptr() == slot.view.data_ptr():
                param.grad = slot.view.clone()
        self._build(order.tolist())
        for bucket in old:
            bucket.close()

    def _warn(self, missing: list[int], unused: list[int]) -> None:
        if self._has_warned:
            return
        self._has_warned = True
        names = ", ".join(repr(self._names[i]) for i in missing[:8]) + (", ..." if len(missing) > 8 else "")
        elsewhere = len(missing) - len(set(missing) & set(unused))
        warnings.warn(
            f"DataParallel: {len(missing)} of {len(self._params)} parameters got no gradient in this backward on rank "
            f"{self._backend.rank}: {names}"
            + (f" ({elsewhere} of them did on another rank)" if elsewhere else "")
            + ". They were synchronised at the end. Pass find_unused_parameters=True to keep the overlap, "
            "or freeze them with stop_gradient = True.",
            stacklevel=2,
        )

    def close(self) -> None:
        """Remove the hooks; gradients move to memory of their own."""
        for handle in self._handles:
            handle.remove()
        for index, slot in self._slots.items():
            param = self._params[index]
            gradients.attach(param, None)
            if param.grad is not None and param.grad.data_ptr() == slot.view.data_ptr():
                param.grad = param.grad.clone()
        self._slots.clear()
        for bucket in self._buckets:
            bucket.close()


def _average_rows(param: torch.Tensor, backend: Backend) -> None:
    """Average a row-sparse gradient: the rows of all ranks, each divided by their number. A rank without one takes part with no rows."""
    n = backend.world_size
    grad = param.grad
    if grad is not None and grad.layout is not torch.sparse_coo:
        backend.all_reduce(grad, ReduceOp.AVG)
        return
    width = param.shape[1:]
    if grad is None:
        rows, values = torch.empty(0, dtype=torch.int64), torch.empty(0, *width, dtype=param.dtype)
    else:
        grad = grad.coalesce()
        rows, values = grad.indices()[0], grad.values()
    counts = [torch.empty(1, dtype=torch.int64) for _ in range(n)]
    backend.all_gather(counts, torch.tensor([rows.numel()]))
    most = max(int(c) for c in counts)
    if most == 0:
        return
    padded_rows = torch.zeros(most, dtype=torch.int64)
    padded_values = torch.zeros(most, *width, dtype=param.dtype)
    padded_rows[: rows.numel()] = rows
    padded_values[: rows.numel()] = values
    all_rows = [torch.empty_like(padded_rows) for _ in range(n)]
    all_values = [torch.empty_like(padded_values) for _ in range(n)]
    backend.all_gather(all_rows, padded_rows)
    backend.all_gather(all_values, padded_values)
    joined_rows = torch.cat([r[: int(c)] for r, c in zip(all_rows, counts, strict=True)])
    joined_values = torch.cat([v[: int(c)] for v, c in zip(all_values, counts, strict=True)]) / n
    param.grad = torch.sparse_coo_tensor(joined_rows[None], joined_values, param.shape, check_invariants=False).coalesce()
