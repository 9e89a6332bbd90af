"""What reducers have in common: they take part in backward, one round for each.

A *round* is one backward. It begins when backward reaches an output of a forward that was to be
synchronised, or the first gradient after one, and ends with backward. Gradients travel in buckets;
a bucket leaves when its last gradient is there, and buckets leave in one fixed order on every rank.
If backward fails, the round is completed at the next forward with what there is, so that the other
ranks, which are waiting, go on in step.
"""

from __future__ import annotations

import abc
import weakref
from collections.abc import Sequence

import torch

from argosy.foundation import gradients
from argosy.foundation import torch_private as private
from argosy.runtime.parallel.anchor import Anchor
from argosy.runtime.parallel.lifetime import Held, weakly


class Rounds(abc.ABC):
    """The rounds of ``params``, leaves that require grad, the same list on every rank."""

    def __init__(self, params: Sequence[torch.Tensor], names: Sequence[str]) -> None:
        self._params = list(params)
        self._names = list(names)
        self.is_armed = False  # a forward that is to be synchronised has run since the last round
        self.in_round = False
        self._sinks = [gradients.sink_of(p) for p in self._params]
        self._anchor = Anchor(weakly(self.begin_unless_begun))
        self._held = Held(self._params)
        self._release = weakref.finalize(self, self._held.release)
        self._release.atexit = False

    def _reset_round(self) -> None:
        """Get ready for a round."""
        self.in_round = self.is_armed = False
        self._next = 0  # the bucket to send next; the order is the same on every rank

    # -- forward
    # ----------------------------------------------------------------------------------------------

    def prepare(self, outputs: Sequence[torch.Tensor], is_synchronised: bool) -> None:
        """Get ready for the backward of ``outputs``; call it after each forward with gradients."""
        if self.in_round and not gradients.is_in_backward():
            self._complete_failed()
        self.is_armed = is_synchronised
        if is_synchronised:
            for output in outputs:
                if output.grad_fn is not None:  # a leaf outlives the step, and with it the hook
                    private.hook_for_good(output, self._on_output)

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
        if not self.in_round and any(gradients.will_accumulate(sink) for sink in self._sinks):
            self._begin()

    def begin_unless_begun(self) -> None:
        if not self.in_round:
            self._begin()

    def _begin(self) -> None:
        self.in_round = True
        private.queue_callback(self._finish)

    @abc.abstractmethod
    def _finish(self) -> None:
        """The end of backward: send what is left, and leave the gradients where they belong."""

    def _complete_failed(self) -> None:
        """Complete the round of a backward that failed halfway, for the sake of the others."""
        self._finish()

    def close(self) -> None:
        """Remove the hooks; gradients move to memory of their own."""
        self._release()
