"""Where the gradients of a model live: flat buckets, and one view of them for each parameter.

Gradients come one by one, but are brought into their bucket together when it leaves: one call that
copies many small ones costs a third of as many calls. Large ones are copied when they come, while
they are in the cache, unless their op has written them here (``foundation/gradients.py``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import torch

from argosy.foundation import gradients
from argosy.foundation import torch_private as private
from argosy.runtime.comm.bucket import Bucket, FactoredBucket
from argosy.runtime.parallel import bucketing

_ALIGNMENT = 16  # elements between gradients in a bucket: each starts on a cache line

# From this size on a gradient is copied at once, or written in place by the op that computes it:
# an op written in Python costs 25 us more than torch's own, and copying 512 KB from memory more.
LARGE_BYTES = 512 << 10

# of the number of elements, their dtype, how many of the last are flags, and the shape of the
# matrix that the bucket is for, if that may come as two factors
BucketMaker = Callable[[int, torch.dtype, int, tuple[int, int] | None], Bucket]

_address_of = torch.Tensor.data_ptr
_is_contiguous = torch.Tensor.is_contiguous
_grad_of = operator.attrgetter("grad")
_BYTES = np.empty(0, np.uint8)


class GradientView:
    """One parameter's place in a bucket. It stays with its parameter while buckets come and go.

    ``is_awaited`` says that the bucket may be complete when its gradient has come. ``matrix`` is
    the shape of a parameter whose gradient may come as two factors, to ``factors``, a bucket of
    its own.
    """

    __slots__ = ("bucket", "factors", "home", "index", "is_awaited", "is_large", "matrix", "place")

    bucket: GradientBucket
    place: torch.Tensor

    def __init__(
        self,
        index: int,
        param: torch.Tensor,
        sink: Any,
        is_urgent: bool,
        matrix: tuple[int, int] | None = None,
    ) -> None:
        self.index = index
        self.matrix = matrix
        self.is_large = param.nbytes >= LARGE_BYTES
        self.home = gradients.GradHome(param, sink, is_urgent)
        self.factors: FactoredBucket | None = None

    def move_to(self, bucket: GradientBucket, place: torch.Tensor) -> None:
        self.bucket = bucket
        self.is_awaited = False
        self.place = self.home.view = place
        self.factors = bucket.bucket if isinstance(bucket.bucket, FactoredBucket) else None

    def holds(self, grad: torch.Tensor | None) -> bool:
        """Whether ``grad`` lies here."""
        return (
            grad is not None
            and grad.layout is torch.strided
            and grad.data_ptr() == self.place.data_ptr()
        )

    def adopt(self, param: torch.Tensor) -> None:
        """Move the gradient of ``param`` here, unless it is here already or will be made here."""
        grad = param.grad
        if grad is not None and not self.holds(grad):
            grad = grad.detach() if grad.layout is torch.strided else grad.detach().to_dense()
            if self.factors is not None and self.factors.is_offered:
                self.factors.multiply()  # the weight was used in another way too
                self.place.add_(grad)
            else:
                self.place.copy_(grad)
            param.grad = self.place.detach()
        elif grad is None and self.factors is not None and self.factors.is_offered:
            param.grad = self.place.detach()


class GradientBucket:
    """The gradients of some parameters in one bucket; behind them lies one flag for each.

    ``arrived`` and ``unused`` are the parameters of this round, by their index, whose gradient has
    come, and those that will have none on this rank.
    """

    def __init__(
        self, bucket: Bucket, views: Sequence[GradientView], params: Sequence[torch.Tensor]
    ) -> None:
        self.bucket = bucket
        self.views = list(views)
        self.size = len(self.views)
        self.arrived: set[int] = set()
        self.unused: set[int] = set()
        self.is_sent = False
        self._params = list(params)
        self._flags = bucket.tensor[-self.size :]
        self._is_whole = True  # this rank has produced every gradient of the round
        self._is_lent = False  # what lies here was made the gradients of the parameters
        # gradients from before a round in which this rank produced none, by index
        self._kept: dict[int, torch.Tensor] = {}
        starts, _ = _offsets(params)
        for view, start, param in zip(self.views, starts, params, strict=True):
            view.move_to(self, _part(bucket.tensor, start, param))
            view.adopt(param)
        self.views[-1].is_awaited = True  # they are in the order in which gradients come
        self._places = [view.place for view in self.views]
        self._addresses = [place.data_ptr() for place in self._places]
        # for the loop that brings gradients here: it sets the flags as well
        self._ones = torch.ones_like(self._flags)
        self._targets = np.array([*self._addresses, self._flags.data_ptr()])
        self._sources = np.array([*self._addresses, self._ones.data_ptr()])
        self._num_bytes = np.array([part.nbytes for part in (*self._places, self._flags)])
        # numbers as they lie in memory: torch may leave the conjugation of complex ones for later
        self._is_plain = params[0].device.type == "cpu" and not any(
            param.is_complex() for param in params
        )
        # what the gradients of the parameters become, round after round
        self._aliases = [place.detach() for place in self._places]
        self._homes = [view.home for view in self.views if view.is_large]

    def open(self) -> None:
        """Get ready for a round."""
        self.arrived.clear()
        self.unused.clear()
        self.is_sent = False
        for home in self._homes:
            home.is_open = True

    def await_all(self) -> None:
        """From now on any of the gradients may be the last: they have come in another order."""
        for view in self.views:
            view.is_awaited = True

    @property
    def is_complete(self) -> bool:
        """Whether every gradient has come that will."""
        return len(self.arrived) + len(self.unused) >= self.size

    def fill(self, fresh: Collection[int], is_last: bool) -> None:
        """Bring every gradient here and set its flag. A parameter without one contributes zeros, or
        what it had accumulated, which counts as produced if it is in ``fresh``.

        Parameters let go of the memory that their gradients came in, but for the last bucket of a
        round: there it is no gain, and ``take_averages`` would have to look whether they still do.
        """
        self.is_sent = True
        self._is_whole = len(self.arrived) == self.size and self._gather()
        self._is_lent = self._is_whole and not is_last
        if self._is_lent:
            self._lend()
        if self._is_whole:
            return
        self._kept.clear()
        for k, (view, param) in enumerate(zip(self.views, self._params, strict=True)):
            grad = param.grad
            is_produced = grad is not None and (view.index in self.arrived or view.index in fresh)
            if view.factors is not None:
                view.factors.withdraw()  # a backward that failed, or cleared gradients
            if grad is None:
                view.place.zero_()
            elif not is_produced:
                self._kept[view.index] = grad.clone()
            view.adopt(param)
            self._flags[k] = float(is_produced)

    def _gather(self) -> bool:
        """Bring all gradients here at once and set all flags; False if one is missing or not
        dense.
        """
        grads = list(map(_grad_of, self._params))
        try:
            addresses = list(map(_address_of, grads))
        except (TypeError, RuntimeError):  # of None, of a sparse tensor
            return False
        if self._is_plain and all(map(_is_contiguous, grads)):
            # a third of the time that torch takes for many small ones; loads numba
            from argosy.runtime.parallel import kernels

            self._sources[:-1] = addresses
            kernels.copy_all(self._targets, self._sources, self._num_bytes, _BYTES)
            return True
        chosen = [k for k, own in enumerate(self._addresses) if addresses[k] != own]
        if chosen:
            private.foreach_copy_([self._places[k] for k in chosen], [grads[k] for k in chosen])
        self._flags.fill_(1.0)
        return True

    def _lend(self) -> None:
        """Make what lies here the gradients of the parameters."""
        if list(map(_address_of, self._aliases)) != self._addresses:
            # somebody has moved one away: ``param.grad.data = x``
            self._aliases = [place.detach() for place in self._places]
        for param, alias in zip(self._params, self._aliases, strict=True):
            param.grad = alias

    def take_averages(self) -> set[int]:
        """Give every parameter its gradient: the average, or what it had where no rank produced
        one. Returns the latter.
        """
        if self._is_whole:
            if not self._is_lent or not all(
                map(operator.is_, map(_grad_of, self._params), self._aliases)
            ):
                self._lend()
            return set()
        unused = set()
        # a mean of flags is positive if one of them was: it cannot round to zero, not in float16
        # either
        is_produced = (self._flags.float() > 0).tolist()
        for view, param, is_there in zip(self.views, self._params, is_produced, strict=True):
            if is_there:
                param.grad = view.place.detach()
            else:
                unused.add(view.index)
                if view.index in self._kept:
                    view.place.copy_(self._kept[view.index])
        self._kept.clear()
        return unused

    def close(self) -> None:
        self._places, self._aliases = [], []
        self._flags = torch.empty(0)
        self.bucket.close()


def lay_out(
    views: dict[int, GradientView],
    params: Sequence[torch.Tensor],
    order: Sequence[int],
    bucket_bytes: int,
    last_bucket_bytes: int,
    make_bucket: BucketMaker,
) -> list[GradientBucket]:
    """Make buckets for gradients that arrive in ``order``, in the order in which they are
    published, and move the views there; gradients that exist move along.
    """
    items = [
        bucketing.Item(
            index=i,
            numel=_wire_numel(params[i]),
            dtype=params[i].dtype.to_real(),
            is_alone=views[i].matrix is not None,
        )
        for i in order
    ]
    made = []
    for indices in bucketing.plan(items, bucket_bytes, last_bucket_bytes):
        chosen = [params[i] for i in indices]
        num_flags = len(indices)
        dtype = chosen[0].dtype.to_real()
        numel, matrix = _offsets(chosen)[1] + num_flags, views[indices[0]].matrix
        bucket = make_bucket(numel, dtype, num_flags, matrix)
        bucket.tensor.zero_()
        made.append(GradientBucket(bucket, [views[i] for i in indices], chosen))
    return made


def _offsets(params: Sequence[torch.Tensor]) -> tuple[list[int], int]:
    return bucketing.offsets([_wire_numel(p) for p in params], _ALIGNMENT)


def _wire_numel(param: torch.Tensor) -> int:
    """Elements in the bucket: a complex number takes two."""
    return param.numel() * (2 if param.is_complex() else 1)


def _part(flat: torch.Tensor, start: int, param: torch.Tensor) -> torch.Tensor:
    part = flat[start : start + _wire_numel(param)]
    return (
        torch.view_as_complex(part.view(*param.shape, 2))
        if param.is_complex()
        else part.view(param.shape)
    )
