"""The reducer: averages the gradients of a model over the ranks of a group while backward goes on.

Gradients live in buckets (``places.py``), each a flat tensor that the backend can average in place;
after ``backward()`` every ``param.grad`` is a view of its bucket. A bucket is published when its
last gradient has arrived, and its reduction goes forward at every later gradient, without waiting
and without a thread; what is left is finished at the end of backward.

Buckets are published in one fixed order on every rank. Behind the gradients of a bucket travels one
flag per parameter, 1 if this rank produced it: after the average, a flag of 0 means that no rank
did, and the parameter keeps the gradient it had; any other flag means that all ranks take the
average. So ranks whose control flow differs neither hang nor drift apart.

A *round* is one backward. It begins when backward reaches an output of a forward that was to be
synchronised, or the first gradient after one, and ends with backward. If backward fails, the round
is completed at the next forward with what there is, so that the other ranks, which are waiting, go
on in step.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from argosy.foundation import gradients
from argosy.foundation.errors import NotSupported, UsageError
from argosy.runtime.comm.bucket import Bucket
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel import agreement
from argosy.runtime.parallel.anchor import Anchor
from argosy.runtime.parallel.averages import average_rows
from argosy.runtime.parallel.compression import BucketMaker, plain_bucket
from argosy.runtime.parallel.lifetime import Held, make_hook, weakly
from argosy.runtime.parallel.places import Place, Places


@dataclass(frozen=True, kw_only=True)
class ReducerOptions:
    bucket_bytes: int = 25 << 20
    last_bucket_bytes: int = 1 << 20
    find_unused_parameters: bool = False
    # makes buckets that travel in another form (``compression.py``); all ranks have the same
    make_bucket: BucketMaker = plain_bucket


class Reducer:
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
        self._params = list(params)
        self._names = list(names)
        self._is_fresh_by_sparse = {i: False for i, is_sparse in enumerate(sparse) if is_sparse}
        self._group = group
        self._options = options
        # the order of gradients in the first round; None afterwards
        self._arrivals: list[int] | None = []
        self._has_warned = False
        self._is_armed = False  # a forward that is to be synchronised has run since the last round
        self._in_round = False
        lines = [agreement.describe(n, p) for n, p in zip(names, params, strict=True)]
        group.run(agreement.check_same, lines, group.transport)
        self._anchor = Anchor(weakly(self._begin_unless_begun))
        self._sinks = [gradients.sink_of(p) for p in self._params]
        self._held = Held(self._params)
        self._release = weakref.finalize(self, self._held.release)
        self._release.atexit = False
        self._build(
            [i for i in reversed(range(len(self._params))) if i not in self._is_fresh_by_sparse]
        )
        self._held.handles += [
            p.register_post_accumulate_grad_hook(make_hook(weakref.WeakMethod(self._on_hook), i))  # type: ignore[no-untyped-call]
            for i, p in enumerate(self._params)
        ]

    def _build(self, order: Sequence[int]) -> None:
        self._places = Places.lay_out(
            self._params,
            self._sinks,
            order,
            self._options.bucket_bytes,
            self._options.last_bucket_bytes,
            self._make_bucket,
        )
        self._held.places = self._places
        for index, place in self._places.by_index.items():
            gradients.attach(self._params[index], place.home)
        self._reset_round()

    def _make_bucket(self, numel: int, dtype: torch.dtype) -> Bucket:
        return self._group.run(
            self._options.make_bucket, self._group.transport, numel, dtype, self._params[0].device
        )

    def _reset_round(self) -> None:
        self._in_round = self._is_armed = False
        self._pending = [len(indices) for indices in self._places.plan]
        self._next = 0  # the bucket to publish next; the order is the same on every rank
        # published, and something can still be done before the end of backward
        self._under_way: list[Bucket] = []
        self._assumed_unused: set[int] = set()
        for place in self._places.by_index.values():
            place.is_ready = place.is_fresh = False
            place.home.is_open = True

    # -- forward
    # ----------------------------------------------------------------------------------------------

    def prepare(self, outputs: Sequence[torch.Tensor], is_synchronised: bool) -> None:
        """Get ready for the backward of ``outputs``; call it after each forward with gradients."""
        if self._in_round and not gradients.is_in_backward():
            self._complete_failed()
        self._is_armed = is_synchronised
        if is_synchronised:
            for output in outputs:
                if output.grad_fn is not None:  # a leaf outlives the step, and with it the hook
                    output.register_hook(self._on_output)  # type: ignore[no-untyped-call]

    def needs_anchor(self, outputs: Sequence[torch.Tensor]) -> bool:
        """Whether no backward could come from ``outputs``, although there are parameters to
        train.
        """
        return not any(t.requires_grad for t in outputs) and any(
            p.requires_grad for p in self._params
        )

    def anchored(self, output: torch.Tensor) -> torch.Tensor:
        """``output``, tied to the reducer so that a backward from it takes part in the round."""
        return self._anchor.tie(output) if output.is_floating_point() else output

    # -- a round
    # ----------------------------------------------------------------------------------------------

    def _on_output(self, _: torch.Tensor) -> None:
        # autograd.grad() comes by as well, but leaves no gradients to average
        if not self._in_round and any(gradients.will_accumulate(sink) for sink in self._sinks):
            self._begin()

    def _begin_unless_begun(self) -> None:
        if not self._in_round:
            self._begin()

    @torch.no_grad()
    def _begin(self) -> None:
        self._in_round = True
        torch.autograd.Variable._execution_engine.queue_callback(self._finish)
        find_unused = self._options.find_unused_parameters
        for index, place in self._places.by_index.items():
            is_used = self._params[index].requires_grad
            if is_used and find_unused:
                is_used = gradients.will_accumulate(self._sinks[index])
            if not is_used:
                self._assumed_unused.add(index)
                self._settle_unproduced(index, place)
        self._publish_ready()

    def _on_hook(self, index: int, param: torch.Tensor) -> None:
        if self._is_armed or self._in_round:
            # as torch.no_grad() does, whose decorator costs 5 us here, for every parameter
            was_enabled = torch.is_grad_enabled()
            torch._C._set_grad_enabled(False)
            try:
                self._on_gradient(index, param)
            finally:
                torch._C._set_grad_enabled(was_enabled)
        elif index in self._is_fresh_by_sparse:
            self._is_fresh_by_sparse[index] = True
        else:
            place = self._places.by_index[index]
            place.is_fresh = place.home.is_open = True

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
        place = self._places.by_index[index]
        if place.is_ready:
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
        place.home.is_open = True
        if param.grad is None:  # another hook took it
            self._settle_unproduced(index, place)
        else:
            place.adopt(param)
            self._settle(place, is_produced=True)
        self._publish_ready()

    def _settle(self, place: Place, is_produced: bool) -> None:
        place.is_ready = True
        place.flag.fill_(1.0 if is_produced else 0.0)
        self._pending[place.bucket] -= 1

    def _settle_unproduced(self, index: int, place: Place) -> None:
        """Contribute what this rank has for a parameter it did not use: its accumulated gradient,
        or zeros.
        """
        grad = self._params[index].grad
        place.kept = None
        if grad is None:
            place.view.zero_()
        else:
            if not place.is_fresh:
                place.kept = grad.clone()
            place.adopt(self._params[index])
        self._settle(place, is_produced=grad is not None and place.is_fresh)

    def _publish_ready(self) -> None:
        buckets = self._places.buckets
        while self._next < len(buckets) and self._pending[self._next] == 0:
            buckets[self._next].publish()
            self._under_way.append(buckets[self._next])
            self._next += 1
        if self._under_way:
            self._under_way = [bucket for bucket in self._under_way if not bucket.progress()]

    @torch.no_grad()
    def _finish(self) -> None:
        """The end of backward: complete what is missing, wait for the averages, settle unused
        parameters.
        """
        missing = [i for i, place in self._places.by_index.items() if not place.is_ready]
        for index in missing:
            self._settle_unproduced(index, self._places.by_index[index])
        self._publish_ready()
        for bucket in self._places.buckets:
            self._group.run(bucket.finish)
        unused = self._take_averages()
        for index, is_fresh in self._is_fresh_by_sparse.items():
            self._group.run(average_rows, self._params[index], is_fresh, self._group.transport)
            self._is_fresh_by_sparse[index] = False
        self._reset_round()
        if self._arrivals is not None:
            self._rebuild(self._arrivals)
        if missing and not self._options.find_unused_parameters:
            self._warn(missing, unused)  # last: it may be an error

    def _complete_failed(self) -> None:
        """Complete the round of a backward that failed halfway, for the sake of the others;
        gradients cleared since stay cleared.
        """
        cleared = [p for p in self._params if p.grad is None]
        self._finish()
        for param in cleared:
            param.grad = None

    def _take_averages(self) -> set[int]:
        """Give every parameter its gradient: the average, or what it had where no rank produced
        one. Returns the latter.
        """
        unused = set()
        for index, is_produced in self._places.produced().items():
            place, param = self._places.by_index[index], self._params[index]
            if is_produced:
                if not place.holds(param.grad):
                    param.grad = place.view.detach()
            else:
                unused.add(index)
                if place.kept is not None:
                    place.view.copy_(place.kept)
            place.kept = None
        return unused

    def _rebuild(self, arrivals: list[int]) -> None:
        """After the first round, order the buckets as gradients really arrive on rank 0; all ranks
        take its order.
        """
        self._arrivals = None
        seen = set(arrivals)
        order = torch.tensor(
            arrivals + [i for i in self._places.by_index if i not in seen], dtype=torch.int64
        )
        if not order.numel():
            return
        self._group.run(self._group.transport.broadcast, order, 0)
        if order.tolist() == [i for indices in self._places.plan for i in indices]:
            return
        old = self._places
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

    def close(self) -> None:
        """Remove the hooks; gradients move to memory of their own."""
        self._release()
