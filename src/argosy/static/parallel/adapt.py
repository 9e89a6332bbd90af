"""What one place of a data-parallel run changes in a program before it is lowered.

Its operators: the gradient of the loss is scaled, gradients are combined with those of the other
places, updates may be split. Its ops:
random ones draw from the place's own stream, batch normalisation may take its statistics over all
places.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from argosy.ops.nn import norm as norm_ops
from argosy.ops.table import Op
from argosy.ops.traits import SparseGradients
from argosy.runtime.parallel.totals import total_by
from argosy.static.ir.operator import Operator
from argosy.static.ir.verify import checked_operators
from argosy.static.lower.fusion import unfused
from argosy.static.lower.gradients import require_outer_backward
from argosy.static.parallel import rewrite
from argosy.static.parallel.exchange import Exchange
from argosy.static.parallel.strategy import RunSpec
from argosy.static.parallel.thread_pool import Barrier
from argosy.static.parallel.totals import Totals
from argosy.static.parallel.trainers import Trainers

_generator_lock = threading.Lock()  # torch's default generator of the CPU is one for all threads


@dataclass(eq=False)
class Shared:
    """What the places of a run have in common."""

    num_places: int
    spec: RunSpec
    trainers: Trainers | None
    barrier: Barrier
    fuses: bool
    exchange: Exchange = field(default_factory=Exchange)
    totals: dict[tuple[str, ...], Totals] = field(default_factory=dict)

    @property
    def is_alone(self) -> bool:
        return self.num_places == 1 and self.trainers is None

    def totals_of(self, names: tuple[str, ...]) -> Totals:
        if names not in self.totals:
            # Averaging is the scale 1 / num_trainers of the loss's gradient.
            is_sum = not self.spec.scales_loss
            self.totals[names] = Totals(
                self.barrier, self.num_places, self.trainers, is_sum, self.exchange
            )
        return self.totals[names]


class PlaceAdaptation:
    """The changes for place number ``place``."""

    def __init__(self, place: int, device: torch.device, shared: Shared) -> None:
        self.place = place
        self._shared = shared
        self._device = device
        self.random_state: torch.Tensor | None = None
        self.draws = False  # whether the program has a random op

    # -- operators
    # ----------------------------------------------------------------------------------------------

    def operators(self, operators: list[Operator], fetches: Sequence[str]) -> list[Operator]:
        shared, spec = self._shared, self._shared.spec
        if spec.feeds_loss_gradient:
            fed = [rewrite.loss_gradient(o).name for o in operators if rewrite.is_of_loss(o)]
            made = rewrite.with_loss_gradient(operators, None)
            operators = checked_operators(operators, made, "fed loss gradient", fed)
        elif spec.scales_loss and shared.num_places > 1:
            made = rewrite.with_loss_gradient(operators, _filler(1.0 / shared.num_places))
            operators = checked_operators(operators, made, "scaled loss gradient")
        if not shared.is_alone:
            require_outer_backward(operators)
            if shared.exchange.combines_gradients:
                made = rewrite.with_combined_gradients(operators, fetches, self._combiner)
                operators = checked_operators(operators, made, "combined gradients")
        if shared.trainers is not None:
            made = shared.exchange.operators(operators, fetches, self._combiner)
            operators = checked_operators(operators, made, type(shared.exchange).__name__)
        if spec.updates_once and shared.num_places > 1:
            made = rewrite.with_split_updates(
                operators, self.place, shared.num_places, self._exchanger
            )
            operators = checked_operators(operators, made, "split updates")
        return operators

    def _combiner(self, names: tuple[str, ...], is_changed: bool) -> Op:
        totals, place = self._shared.totals_of(names), self.place

        def combine(grads: list[torch.Tensor]) -> list[torch.Tensor]:
            return totals.combine(place, grads, is_changed)

        return Op(
            "combine_gradients",
            combine,
            params=("grads",),
            sparse_gradients=SparseGradients.TAKEN,
        )

    def _exchanger(self, owner_by_index: list[int]) -> Op:
        barrier, place = self._shared.barrier, self.place

        def exchange(values: list[torch.Tensor]) -> list[torch.Tensor]:
            everywhere = barrier.exchange(place, values)
            for value, owner, index in zip(values, owner_by_index, range(len(values)), strict=True):
                if owner != place:
                    value.copy_(everywhere[owner][index])
            barrier.exchange(place)  # nobody goes on to write while another still reads
            return values

        return Op("broadcast_updates_", exchange, mutates=("values",))

    # -- ops
    # ----------------------------------------------------------------------------------------------

    def function(self, op: Op) -> Callable[..., Any]:
        function = self._function(op)
        return unfused(op, function) if self._shared.fuses else function

    def _function(self, op: Op) -> Callable[..., Any]:
        if (
            op is norm_ops.batch_norm_
            and self._shared.spec.syncs_batch_norm
            and not self._shared.is_alone
        ):
            return self._synced_batch_norm
        if (
            self._shared.trainers is not None
            and (own := self._shared.exchange.function(op)) is not None
        ):
            return own
        self.draws |= op.traits.is_random
        if op.traits.is_random and self._shared.num_places > 1 and self._device.type == "cpu":
            return self._drawn(op.fn)
        return op.fn

    @property
    def stream(self) -> PlaceAdaptation | None:
        """What holds, in ``random_state``, the state of this place's random numbers, if they are
        its own.
        """
        return self if self._shared.num_places > 1 and self._device.type == "cpu" else None

    def seed(self, seed: int) -> None:
        """Begin this place's stream of random numbers."""
        if self._device.type == "cpu":
            self.random_state = torch.Generator().manual_seed(seed).get_state()
        else:
            torch.cuda.default_generators[self._device.index].manual_seed(seed)

    def _drawn(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """``fn`` with the state of this place in torch's generator: which place draws first does
        not matter.
        """

        def draw(*args: Any, **kwargs: Any) -> Any:
            assert self.random_state is not None
            with _generator_lock:
                outside = torch.get_rng_state()
                torch.set_rng_state(self.random_state)
                try:
                    return fn(*args, **kwargs)
                finally:
                    self.random_state = torch.get_rng_state()
                    torch.set_rng_state(outside)

        return draw

    def _synced_batch_norm(
        self,
        x: torch.Tensor,
        mean: torch.Tensor,
        variance: torch.Tensor,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
        is_test: bool,
        momentum: float,
        epsilon: float,
        channel_last: bool,
        use_global_stats: bool,
        trainable_statistics: bool,
    ) -> torch.Tensor:
        if use_global_stats or (is_test and not trainable_statistics):
            out: torch.Tensor = norm_ops.batch_norm_.fn(
                x, mean, variance, weight, bias, is_test, momentum, epsilon, channel_last,
                use_global_stats, trainable_statistics
            )  # fmt: skip
            return out
        own = norm_ops.channel_moments.fn(x, channel_last)
        moments = total_by(self._total, own)
        out = norm_ops.batch_norm_from_moments_.fn(
            x, moments, mean, variance, weight, bias, momentum, epsilon, channel_last
        )
        return out

    def _total(self, part: torch.Tensor) -> torch.Tensor:
        """The sum of ``part`` over places, in their order, and trainers."""
        shared = self._shared
        parts = shared.barrier.exchange(self.place, part)
        total: torch.Tensor = parts[0].to(part.device, copy=True)
        for other in parts[1:]:
            total += other.to(part.device)
        if shared.trainers is None:
            return total
        if self.place == 0:
            shared.trainers.total(total)
        everywhere: torch.Tensor = shared.barrier.exchange(self.place, total)[0]
        return everywhere.to(part.device, copy=True)


def _filler(value: float) -> Op:
    def fill(loss: torch.Tensor) -> torch.Tensor:
        return torch.full_like(loss, value, requires_grad=False)

    return Op("loss_gradient", fill, params=("loss",))
