"""The reducer: averages the gradients of a model over the ranks of a group while backward goes on.

Gradients live in buckets (``gradient_views.py``), each a flat tensor that the backend can average
in place; after ``backward()`` every ``param.grad`` is a view of its bucket. A bucket is published
when its last gradient has arrived, and its reduction goes forward at every later gradient, without
waiting and without a thread; what is left is finished at the end of backward.

Buckets are published in one fixed order on every rank. Behind the gradients of a bucket travels one
flag per parameter, 1 if this rank produced it: after the average, a flag of 0 means that no rank
did, and the parameter keeps the gradient it had; any other flag means that all ranks take the
average. So ranks whose control flow differs neither hang nor drift apart.

What a round is, and what becomes of one that fails, is in ``rounds.py``.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from argosy.foundation import gradients
from argosy.foundation import torch_private as private
from argosy.foundation.errors import NotSupported, UsageError
from argosy.runtime.comm.bucket import Bucket
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel import agreement
from argosy.runtime.parallel.averages import average_rows
from argosy.runtime.parallel.compression import BucketMaker, plain_bucket
from argosy.runtime.parallel.gradient_views import GradientView, GradientViews
from argosy.runtime.parallel.lifetime import make_hook
from argosy.runtime.parallel.rounds import Rounds


@dataclass(frozen=True, kw_only=True)
class ReducerOptions:
    bucket_bytes: int = 25 << 20
    last_bucket_bytes: int = 1 << 20
    find_unused_parameters: bool = False
    # makes buckets that travel in another form (``compression.py``); all ranks have the same
    make_bucket: BucketMaker = plain_bucket


class Reducer(Rounds):
    """Owns the buckets of ``params`` (leaves that require grad, the same list on every rank) and
    the hooks on them.

    ``sparse`` marks parameters whose gradients are row-sparse: they do not go into buckets but are
    gathered by rows. When the reducer is closed or forgotten, the parameters are as they were
    before.
    """

    def __init__(
        self,
        params: Sequence[torch.Tensor],
        names: Sequence[str],
        sparse: Sequence[bool],
        group: Group,
        options: ReducerOptions = ReducerOptions(),
    ) -> None:
        if not params:
            raise UsageError("DataParallel: this model does not have any parameters to train")
        devices = {p.device for p in params}
        if len(devices) > 1:
            raise NotSupported(
                "DataParallel: all parameters must be on one device, but are on "
                f"{sorted(map(str, devices))}"
            )
        super().__init__(params, names)
        self._is_fresh_by_sparse = {i: False for i, is_sparse in enumerate(sparse) if is_sparse}
        self._group = group
        self._options = options
        # the order of gradients in the first round; None afterwards
        self._arrivals: list[int] | None = []
        self._has_warned = False
        lines = [agreement.describe(n, p) for n, p in zip(names, params, strict=True)]
        group.run(agreement.check_same, lines, group.transport)
        self._build(
            [i for i in reversed(range(len(self._params))) if i not in self._is_fresh_by_sparse]
        )
        self._held.handles += [
            # torch has no types for it
            p.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
                make_hook(weakref.WeakMethod(self._on_hook), i)
            )
            for i, p in enumerate(self._params)
        ]

    def _build(self, order: Sequence[int]) -> None:
        self._views = GradientViews.lay_out(
            self._params,
            self._sinks,
            order,
            min(self._options.bucket_bytes, self._group.transport.most_bucket_bytes),
            self._options.last_bucket_bytes,
            self._make_bucket,
        )
        self._held.views = self._views
        for index, view in self._views.by_index.items():
            gradients.attach(self._params[index], view.home)
        self._open_round()

    def _make_bucket(self, numel: int, dtype: torch.dtype, num_flags: int) -> Bucket:
        device, transport = self._params[0].device, self._group.transport
        return self._group.run(
            self._options.make_bucket, transport, numel, dtype, device, num_flags
        )

    def _open_round(self) -> None:
        self._reset_round(self._views.plan)
        # published, and something can still be done before the end of backward
        self._under_way: list[Bucket] = []
        self._assumed_unused: set[int] = set()
        for view in self._views.by_index.values():
            view.is_ready = view.is_fresh = False
            view.home.is_open = True

    # -- a round
    # ----------------------------------------------------------------------------------------------

    @torch.no_grad()
    def _begin(self) -> None:
        super()._begin()
        find_unused = self._options.find_unused_parameters
        for index, view in self._views.by_index.items():
            is_used = self._params[index].requires_grad
            if is_used and find_unused:
                is_used = gradients.will_accumulate(self._sinks[index])
            if not is_used:
                self._assumed_unused.add(index)
                self._settle_unproduced(index, view)
        self._publish_ready()

    def _on_hook(self, index: int, param: torch.Tensor) -> None:
        if self._is_armed or self._in_round:
            # as torch.no_grad() does, whose decorator costs 5 us here, for every parameter
            was_enabled = torch.is_grad_enabled()
            private.set_grad_enabled(False)
            try:
                self._on_gradient(index, param)
            finally:
                private.set_grad_enabled(was_enabled)
        elif index in self._is_fresh_by_sparse:
            self._is_fresh_by_sparse[index] = True
        else:
            view = self._views.by_index[index]
            view.is_fresh = view.home.is_open = True

    def _on_gradient(self, index: int, param: torch.Tensor) -> None:
        if not self._in_round:
            self._begin()
        if param.grad is not None and param.grad.requires_grad:
            raise NotSupported(
                "DataParallel: backward(create_graph=True), met at parameter "
                f"{self._names[index]!r}: gradients that are averaged "
                "over the ranks are not differentiable. Use grad() for the inner derivative."
            )
        if index in self._is_fresh_by_sparse:
            self._is_fresh_by_sparse[index] = True
            return
        if self._arrivals is not None:
            self._arrivals.append(index)
        view = self._views.by_index[index]
        if view.is_ready:
            why = (
                "a gradient, but is frozen or was not in the graph when backward began. Where a "
                "part of the model is computed again in "
                "backward, use find_unused_parameters=False."
                if index in self._assumed_unused
                else "a second gradient in one backward, after the first was on its way to the "
                "other ranks. Run that part of the model "
                "once, or under no_sync()."
            )
            raise UsageError(f"DataParallel: parameter {self._names[index]!r} got {why}")
        view.home.is_open = True
        if param.grad is None:  # another hook took it
            self._settle_unproduced(index, view)
        else:
            view.adopt(param)
            self._settle(view, is_produced=True)
        if self._under_way or self._pending[view.bucket] == 0:
            self._publish_ready()

    def _settle(self, view: GradientView, is_produced: bool) -> None:
        view.is_ready = True
        view.flag.fill_(1.0 if is_produced else 0.0)
        self._pending[view.bucket] -= 1

    def _settle_unproduced(self, index: int, view: GradientView) -> None:
        """Contribute what this rank has for a parameter it did not use: its accumulated gradient,
        or zeros.
        """
        grad = self._params[index].grad
        view.kept = None
        if grad is None:
            view.tensor.zero_()
        else:
            if not view.is_fresh:
                view.kept = grad.clone()
            view.adopt(self._params[index])
        self._settle(view, is_produced=grad is not None and view.is_fresh)

    def _publish_ready(self) -> None:
        if self._next < len(self._pending) and not self._pending[self._next]:
            self._send_ready()
        if self._under_way:
            self._under_way = [bucket for bucket in self._under_way if not bucket.progress()]

    def _send(self, number: int) -> None:
        bucket = self._views.buckets[number]
        bucket.publish()
        self._under_way.append(bucket)

    @torch.no_grad()
    def _finish(self) -> None:
        """The end of backward: complete what is missing, wait for the averages, settle unused
        parameters.
        """
        missing = [i for i, view in self._views.by_index.items() if not view.is_ready]
        for index in missing:
            self._settle_unproduced(index, self._views.by_index[index])
        self._publish_ready()
        for bucket in self._views.buckets:
            self._group.run(bucket.finish)
        unused = self._take_averages()
        for index, is_fresh in self._is_fresh_by_sparse.items():
            self._group.run(average_rows, self._params[index], is_fresh, self._group.transport)
            self._is_fresh_by_sparse[index] = False
        self._open_round()
        if self._arrivals is not None:
            self._rebuild(self._arrivals)
        if missing and not self._options.find_unused_parameters:
            self._warn(missing, unused)  # last: it may be an error

    def _complete_failed(self) -> None:
        """As the base; gradients cleared since stay cleared."""
        cleared = [p for p in self._params if p.grad is None]
        super()._complete_failed()
        for param in cleared:
            param.grad = None

    def _take_averages(self) -> set[int]:
        """Give every parameter its gradient: the average, or what it had where no rank produced
        one. Returns the latter.
        """
        unused = set()
        for index, is_produced in self._views.produced().items():
            view, param = self._views.by_index[index], self._params[index]
            if is_produced:
                if not view.holds(param.grad):
                    param.grad = view.tensor.detach()
            else:
                unused.add(index)
                if view.kept is not None:
                    view.tensor.copy_(view.kept)
            view.kept = None
        return unused

    def _rebuild(self, arrivals: list[int]) -> None:
        """After the first round, order the buckets as gradients really arrive on rank 0; all ranks
        take its order.
        """
        self._arrivals = None
        seen = set(arrivals)
        order = torch.tensor(
            arrivals + [i for i in self._views.by_index if i not in seen], dtype=torch.int64
        )
        if not order.numel():
            return
        self._group.run(self._group.transport.broadcast, order, 0)
        if order.tolist() == [i for indices in self._views.plan for i in indices]:
            return
        old = self._views
        self._build(order.tolist())
        old.close()

    def _warn(self, missing: list[int], unused: set[int]) -> None:
        if self._has_warned:
            return
        self._has_warned = True
        names = ", ".join(repr(self._names[i]) for i in missing[:8]) + (
            ", ..." if len(missing) > 8 else ""
        )
        elsewhere = len(set(missing) - unused)
        warnings.warn(
            f"DataParallel: {len(missing)} of {len(self._params)} parameters got no gradient in "
            "this backward on rank "
            f"{self._group.rank}: {names}"
            + (f" ({elsewhere} of them did on another rank)" if elsewhere else "")
            + ". They were synchronised at the end. Pass find_unused_parameters=True to keep "
            "the overlap, "
            "or freeze them with stop_gradient = True.",
            stacklevel=2,
        )
