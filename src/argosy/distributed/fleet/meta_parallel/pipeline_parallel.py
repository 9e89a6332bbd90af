"""``fleet.meta_parallel.pipeline_parallel``: of pipelines only how a batch is cut into
micro-batches, which gradient accumulation uses too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from argosy.foundation.errors import UsageError


class BadBatch(UsageError, AssertionError):
    """A batch cannot be cut as it was asked for."""


class FakeMicroDataset:
    """The ``acc_steps`` micro-batches of a batch ``(inputs, labels)``, one after the other; only
    the first stage has inputs, only the last labels, None for the other.

    Each of the two is a tensor, a list of its micro-batches, None, or a tuple of these.

    Example:
        >>> from paddle.distributed.fleet.meta_parallel.pipeline_parallel import FakeMicroDataset
        >>> batch = paddle.arange(4).reshape([4, 1]), None
        >>> [x.flatten().tolist() for x, y in FakeMicroDataset(batch, True, True, 2, 2)]
        [[0, 1], [2, 3]]
    """

    def __init__(
        self,
        data: Any,
        is_first_stage: bool,
        is_last_stage: bool,
        acc_steps: int,
        micro_batch_size: int,
    ) -> None:
        self._data = data
        self._is_first_stage = is_first_stage
        self._is_last_stage = is_last_stage
        self._acc_steps = acc_steps
        self._micro_batch_size = micro_batch_size
        self._index = 0

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return self

    def __next__(self) -> tuple[Any, Any]:
        if self._index >= self._acc_steps:
            raise StopIteration
        if not (self._is_first_stage or self._is_last_stage):
            raise BadBatch("FakeMicroDataset: only the first and the last stage have data")
        self._index += 1
        return self._load_micro_batch(self._index - 1)

    def _load_micro_batch(self, micro_step: int) -> tuple[Any, Any]:
        """The micro-batch with this number; Paddle's name."""
        if not (self._is_first_stage or self._is_last_stage):
            return None, None
        if len(self._data) != 2:
            raise BadBatch(
                "FakeMicroDataset: a batch must be (inputs, labels), but has "
                f"{len(self._data)} elements"
            )
        inputs, labels = self._data
        return (
            self._part(inputs, micro_step) if self._is_first_stage else None,
            self._part(labels, micro_step) if self._is_last_stage else None,
        )

    def _part(self, value: Any, micro_step: int) -> Any:
        if value is None:
            return None
        if isinstance(value, tuple):
            return tuple(self._part(one, micro_step) for one in value)
        if isinstance(value, list):
            if len(value) != self._acc_steps:
                raise BadBatch(
                    f"FakeMicroDataset: a list must have {self._acc_steps} micro-batches, but has "
                    f"{len(value)}"
                )
            return None if value[micro_step] is None else value[micro_step].detach()
        size = self._micro_batch_size
        if value.shape[0] != size * self._acc_steps:
            raise BadBatch(
                f"FakeMicroDataset: a batch of {value.shape[0]} samples cannot be cut into "
                f"{self._acc_steps} micro-batches of {size}"
            )
        return value[micro_step * size : (micro_step + 1) * size].detach()
