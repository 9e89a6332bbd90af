"""The reducer: averages the gradients of a model over the ranks of a group while backward goes on.

Gradients live in buckets (``gradient_views.py``), each a flat tensor that the backend can average
in place; after ``backward()`` every ``param.grad`` is a view of its bucket. A bucket is filled and
published when its last gradient has arrived, and its reduction goes forward at every later
gradient, without waiting and without a thread; what is left is finished at the end of backward.

A gradient that comes is only noted, in a list that the hooks share (``arrivals.py``). The reducer
looks at the list when something can follow from it: at the gradient that completed a bucket in
earlier rounds, at large ones, while a bucket is under way, and at the end.

Buckets are published in one fixed order on every rank. Behind the gradients of a bucket travels one
flag per parameter, 1 if this rank produced it: after the average, a flag of 0 means that no rank
did, and the parameter keeps the gradient it had; any other flag means that all ranks take the
average. So ranks whose control flow differs neither hang nor drift apart.

What a round is, and what becomes of one that fails, is in ``rounds.py``.
"""

from __future__ import annotations

import contextlib
import operator
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from argosy.foundation import gradients
from argosy.foundation import torch_private as private
from argosy.foundation.errors import NotSupported, UsageError
from argosy.runtime.comm.bucket import Bucket, finish_buckets
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel import agreement
from argosy.runtime.parallel.arrivals import Arrivals, Listener
from argosy.runtime.parallel.compression import BucketMaker, plain_bucket
from argosy.runtime.parallel.gradient_views import GradientBucket, GradientView, lay_out
from argosy.runtime.parallel.rounds import Rounds
from argosy.runtime.parallel.rows import RowAverage

_requires_grad = operator.attrgetter("requires_grad")


@dataclass(frozen=True, kw_only=True)
class ReducerOptions:
    bucket_bytes: int = 25 << 20
    last_bucket_bytes: int = 1 << 20
    find_unused_parameters: bool = False
    # makes buckets that travel in another form (``compression.py``); all ranks have the same
    make_bucket: BucketMaker = plain_bucket
    # gradients of matrices may travel as two factors between hosts, as they do inside a host
    factors_between_hosts: bool = False


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
        self._rows = self._held.rows
        self._group = group
        self._options = options
        self._arrivals = Arrivals()
        self._under_way = self._arrivals.under_way
        # the order of gradients in the first round; None afterwards
        self._order: list[int] | None = []
        self._has_warned = False
        # parameters that got a gradient that has not been averaged, outside of rounds
        self._fresh: set[int] = set()
        self._views = self._held.views
        self._buckets: list[GradientBucket] = []
        lines = [agreement.describe(n, p) for n, p in zip(names, params, strict=True)]
        group.run(agreement.check_same, lines, group.transport)
        self._has_factors = self._may_have_factors()
        is_urgent = group.transport.kind == "hierarchical"  # what goes to hosts leaves at once
        for i, param in enumerate(self._params):
            if i in self._is_fresh_by_sparse:
                self._rows[i] = RowAverage(param, group.transport, is_lasting=True)
            else:
                view = GradientView(i, param, self._sinks[i], is_urgent, self._matrix_of(param))
                self._views[i] = view
                if view.is_large:
                    gradients.attach(param, view.home)
        self._build(list(reversed(self._views)))
        listener: weakref.ref[Listener] = weakref.ref(self)
        for i, param in enumerate(self._params):
            own = self._views.get(i)
            if own is not None and own.matrix is not None:
                own.home.take = self._arrivals.taking(own, listener)
                # at the sink, which the engine visits also with nothing
                hook = self._arrivals.settling(own, listener, param)
                self._held.handles.append(self._sinks[i].register_hook(hook))
                continue
            after = self._sparse_hook(i) if own is None else self._arrivals.hook(own, listener)
            register = param.register_post_accumulate_grad_hook
            self._held.handles.append(register(after))  # type: ignore[no-untyped-call]

    def _build(self, order: Sequence[int]) -> None:
        self._buckets = lay_out(
            self._views,
            self._params,
            order,
            min(self._options.bucket_bytes, self._group.transport.most_bucket_bytes),
            self._options.last_bucket_bytes,
            self._make_bucket,
        )
        self._held.buckets = self._buckets
        self._open_round()

    def _make_bucket(
        self, numel: int, dtype: torch.dtype, num_flags: int, matrix: tuple[int, int] | None
    ) -> Bucket:
        device, transport = self._params[0].device, self._group.transport
        if matrix is not None:
            return self._group.run(transport.make_factored_bucket, numel, dtype, matrix)
        return self._group.run(
            self._options.make_bucket, transport, numel, dtype, device, num_flags
        )

    def _may_have_factors(self) -> bool:
        """Whether gradients may travel as two factors: only as they are, without compression, and
        between hosts where that was asked for, since it is no gain on a fast link.
        """
        transport, options = self._group.transport, self._options
        if options.make_bucket is not plain_bucket:
            return False
        if transport.kind == "hierarchical" and not options.factors_between_hosts:
            return False
        return not self._group.run(transport.why_no_factors)

    def _matrix_of(self, param: torch.Tensor) -> tuple[int, int] | None:
        """The shape of ``param`` if its gradient may come as two factors."""
        if not self._has_factors or param.ndim != 2 or param.device.type != "cpu":
            return None
        shape = (param.shape[0], param.shape[1])
        return shape if self._group.transport.takes_factors(shape, param.dtype) else None

    def _open_round(self) -> None:
        self._reset_round()
        self._arrivals.in_round = False
        self._under_way.clear()
        self._fresh.clear()
        for bucket in self._buckets:
            bucket.open()

    # -- a round
    # ----------------------------------------------------------------------------------------------

    def _sparse_hook(self, index: int) -> Callable[[torch.Tensor], None]:
        reference = weakref.ref(self)

        def hook(param: torch.Tensor) -> None:
            reducer = reference()
            if reducer is not None:
                reducer._is_fresh_by_sparse[index] = True
                if reducer.is_armed or reducer.in_round:
                    reducer.begin_unless_begun()
                    reducer._refuse_graph(index, param)

        return hook

    def joins(self, view: GradientView) -> bool:
        if self.is_armed:
            self._begin()
            return True
        self._fresh.add(view.index)
        view.home.is_open = True
        return False

    def takes_factors(self, view: GradientView) -> bool:
        return (self.is_armed or self.in_round) and not view.bucket.is_sent

    def check(self, view: GradientView, param: torch.Tensor) -> None:
        if view.bucket.is_sent:
            raise self._too_late(view)
        if torch.is_grad_enabled():
            self._refuse_graph(view.index, param)

    def look(self, view: GradientView) -> None:
        self._take_in(may_have_graph=torch.is_grad_enabled())
        due = self._next
        self._send_ready()
        if self._next > due and self._buckets[due] is not view.bucket:
            self._buckets[due].await_all()  # it was complete before, and nobody looked

    def _take_in(self, may_have_graph: bool) -> None:
        """Let the buckets know which gradients have come."""
        noted = self._arrivals.take()
        if self._order is not None:
            self._order += noted
        late = None
        for index in noted:
            view = self._views[index]
            bucket = view.bucket
            if bucket.is_sent:
                late = late or view
                continue
            bucket.arrived.add(index)
            if bucket.unused:
                bucket.unused.discard(index)
        if late is not None:
            raise self._too_late(late)
        if may_have_graph:
            for index in noted:
                self._refuse_graph(index, self._params[index])

    def _begin(self) -> None:
        super()._begin()
        self._arrivals.in_round = True
        find_unused = self._options.find_unused_parameters
        if not find_unused and all(map(_requires_grad, self._params)):
            return
        for index, view in self._views.items():
            if not self._params[index].requires_grad or (
                find_unused and not gradients.will_accumulate(self._sinks[index])
            ):
                view.bucket.unused.add(index)
        self._send_ready()

    def _refuse_graph(self, index: int, param: torch.Tensor) -> None:
        if param.grad is not None and param.grad.requires_grad:
            raise NotSupported(
                "DataParallel: backward(create_graph=True), met at parameter "
                f"{self._names[index]!r}: gradients that are averaged "
                "over the ranks are not differentiable. Use grad() for the inner derivative."
            )

    def _too_late(self, view: GradientView) -> UsageError:
        why = (
            "a gradient, but is frozen or was not in the graph when backward began. Where a "
            "part of the model is computed again in "
            "backward, use find_unused_parameters=False."
            if view.index in view.bucket.unused
            else "a second gradient in one backward, after the first was on its way to the "
            "other ranks. Run that part of the model "
            "once, or under no_sync()."
        )
        return UsageError(f"DataParallel: parameter {self._names[view.index]!r} got {why}")

    def _send_ready(self) -> None:
        """Send the buckets whose turn it is and whose gradients have all come, and do what can be
        done for those that were sent before.
        """
        while self._next < len(self._buckets) and self._buckets[self._next].is_complete:
            self._send_next()
        if self._under_way:
            self._under_way[:] = [bucket for bucket in self._under_way if not bucket.progress()]

    def _send_next(self) -> None:
        bucket = self._buckets[self._next]
        self._next += 1
        bucket.fill(self._fresh, is_last=self._next == len(self._buckets))
        bucket.bucket.publish()
        self._under_way.append(bucket.bucket)

    def _finish(self) -> None:
        """The end of backward: complete what is missing, wait for the averages, settle unused
        parameters.
        """
        # as torch.no_grad() does, without its object
        was_enabled = torch.is_grad_enabled()
        private.set_grad_enabled(False)
        try:
            self._take_in(may_have_graph=True)
            missing = self._missing()
            if self._next < len(self._buckets) and self._buckets[self._next].is_complete:
                self._buckets[self._next].await_all()
            while self._next < len(self._buckets):
                self._send_next()
            unused: set[int] = set()
            self._group.run(finish_buckets, [bucket.bucket for bucket in self._buckets])
            for bucket in self._buckets:
                unused |= bucket.take_averages()
            for index, rows in self._rows.items():
                self._group.run(rows.average, self._is_fresh_by_sparse[index])
                self._is_fresh_by_sparse[index] = False
            self._open_round()
            if self._order is not None:
                self._rebuild(self._order)
        finally:
            private.set_grad_enabled(was_enabled)
        if missing and not self._options.find_unused_parameters:
            self._warn(missing, unused)  # last: it may be an error

    def _missing(self) -> list[int]:
        """Parameters that were expected to get a gradient in this round and did not."""
        return [
            view.index
            for bucket in self._buckets
            if not bucket.is_complete
            for view in bucket.views
            if view.index not in bucket.arrived and view.index not in bucket.unused
        ]

    def _complete_failed(self) -> None:
        """As the base; gradients cleared since stay cleared, and what is wrong with others was
        said or came after what was.
        """
        with contextlib.suppress(UsageError, NotSupported):
            self._take_in(may_have_graph=True)
        cleared = [p for p in self._params if p.grad is None]
        super()._complete_failed()
        for param in cleared:
            param.grad = None

    def _rebuild(self, arrivals: list[int]) -> None:
        """After the first round, order the buckets as gradients really arrive on rank 0; all ranks
        take its order.
        """
        self._order = None
        # a parameter of a part that ran twice has come twice
        order = torch.tensor(list(dict.fromkeys([*arrivals, *self._views])), dtype=torch.int64)
        if not order.numel():
            return
        self._group.run(self._group.transport.broadcast, order, 0)
        if order.tolist() == [view.index for bucket in self._buckets for view in bucket.views]:
            return
        old = self._buckets
        self._build(order.tolist())
        for bucket in old:
            bucket.close()

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
