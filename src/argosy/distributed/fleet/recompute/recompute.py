"""``recompute``: run a part of the forward without keeping its activations; backward runs it a
second time.

The second run sees what the first saw: the same random numbers (torch's, NumPy's and Python's), the
same mixed precision, the same custom state. The engine asks for the saved tensors one by one
(hooks, no backward inside backward), so every kind of argument and output works, parts may be
nested, and a data-parallel wrapper knows from the graph which parameters are used.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch.utils.checkpoint

from argosy.distributed.sharding.sharded_parameters import Gate
from argosy.foundation.errors import BadArgument, NotSupported, UsageError
from argosy.foundation.process_state import register
from argosy.framework import in_dynamic_mode
from argosy.nn import Sequential
from argosy.tensor.engine import current_mode, pop_mode, push_mode

__all__: list[str] = []


class CustomStatesManager:
    """Functions that read and restore state of the script's own, so that the second run finds it as
    the first did.
    """

    def __init__(self) -> None:
        self.custom_get_state_func: Callable[[], Any] | None = None
        self.custom_set_state_func: Callable[[Any], None] | None = None

    def set_custom_get_state_func(self, custom_get_state_func: Callable[[], Any]) -> None:
        """Register the function that returns the state; once."""
        if self.custom_get_state_func is not None:
            raise BadArgument("The custom_state_manager does not support duplicate settings.")
        self.custom_get_state_func = custom_get_state_func

    def set_custom_set_state_func(self, custom_set_state_func: Callable[[Any], None]) -> None:
        """Register the function that restores what the other returned; once."""
        if self.custom_set_state_func is not None:
            raise BadArgument("The custom_state_manager does not support duplicate settings.")
        self.custom_set_state_func = custom_set_state_func


custom_state_manager = register("state of scripts", CustomStatesManager())


def recompute(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return ``function(*args, **kwargs)``, computed again in backward instead of keeping what is
    inside.

    Two keywords are not passed on: ``preserve_rng_state=True`` (repeat random numbers) and
    ``use_reentrant=True``, which is accepted for both of Paddle's implementations and chooses
    nothing here. ``function`` must do the same when it is run again; its side effects happen twice.

    Differs from Paddle: parameters get gradients even if no input needs one, and keyword-only
    arguments work.

    Example:
        >>> import paddle
        >>> from paddle.distributed.fleet.recompute import recompute
        >>> block = paddle.nn.Sequential(paddle.nn.Linear(4, 4), paddle.nn.Dropout(0.5))
        >>> out = recompute(block, paddle.ones([2, 4]))
        >>> out.sum().backward()
        >>> block[0].weight.grad.shape
        [4, 4]
    """
    preserves = kwargs.pop("preserve_rng_state", True)
    kwargs.pop("use_reentrant", True)
    if kwargs.pop("offload_indices", None):
        raise NotSupported("recompute: offload_indices (inputs kept in the memory of the host)")
    if not in_dynamic_mode():
        raise NotSupported(
            "recompute: in static graph mode; name checkpoints in "
            "DistributedStrategy.recompute_configs"
        )
    again = _SecondRun(preserves)
    return torch.utils.checkpoint.checkpoint(
        function,
        *args,
        use_reentrant=False,
        preserve_rng_state=preserves,
        context_fn=lambda: (contextlib.nullcontext(), again.conditions()),
        **kwargs,
    )


class _SecondRun:
    """What of the first run the engine does not repeat by itself: mixed precision, whole
    parameters, and other generators than torch's.
    """

    def __init__(self, preserves_random: bool) -> None:
        self._mode = current_mode()
        self._gates = list(Gate.running)
        self._generators = (np.random.get_state(), random.getstate()) if preserves_random else None
        get_state = custom_state_manager.custom_get_state_func
        self._custom = get_state() if preserves_random and get_state is not None else None

    @contextlib.contextmanager
    def conditions(self) -> Iterator[None]:
        with self._generators_restored(), Gate.reopened(self._gates):
            push_mode(self._mode)
            try:
                yield
            finally:
                pop_mode()

    @contextlib.contextmanager
    def _generators_restored(self) -> Iterator[None]:
        if self._generators is None:
            yield
            return
        get_state, set_state = (
            custom_state_manager.custom_get_state_func,
            custom_state_manager.custom_set_state_func,
        )
        before = (
            np.random.get_state(),
            random.getstate(),
            None if get_state is None else get_state(),
        )
        _restore(self._generators[0], self._generators[1], self._custom, set_state)
        try:
            yield
        finally:
            _restore(*before, set_state)


def _restore(
    numpy_state: Any, python_state: Any, custom: Any, set_custom: Callable[[Any], None] | None
) -> None:
    np.random.set_state(numpy_state)
    random.setstate(python_state)
    if custom is not None:
        if set_custom is None:
            raise UsageError(
                "recompute: custom_state_manager has a function that reads the state, but none "
                "that restores it"
            )
        set_custom(custom)


def recompute_sequential(
    ctx: dict[str, Any],
    functions: Sequential | Sequence[Callable[..., Any]],
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Run ``functions`` one after the other in ``ctx["segments"]`` parts (default 1); all but the
    last part are recomputed.

    ``ctx`` may have ``preserve_rng_state``. ``kwargs`` go to ``recompute``. Differs from Paddle
    3.3.1: more segments than one work.

    Example:
        >>> import paddle
        >>> from paddle.distributed.fleet.recompute import recompute_sequential
        >>> model = paddle.nn.Sequential(paddle.nn.Linear(10, 10), paddle.nn.Linear(10, 2))
        >>> recompute_sequential({"segments": 2}, model, paddle.ones([8, 10])).shape
        [8, 2]
    """
    segments, preserves = ctx.get("segments", 1), ctx.get("preserve_rng_state", True)
    parts = list(functions.children()) if isinstance(functions, Sequential) else list(functions)
    if not 1 <= segments <= len(parts):
        raise UsageError(
            f"recompute_sequential: segments must be from 1 to the {len(parts)} functions, but "
            f"is {segments}"
        )
    size = len(parts) // segments
    value = args
    for begin in range(0, size * (segments - 1), size):
        value = (
            recompute(
                _chain(parts[begin : begin + size]), *value, preserve_rng_state=preserves, **kwargs
            ),
        )
    return _chain(parts[size * (segments - 1) :])(*value)


def _chain(functions: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        result = functions[0](*args)
        for function in functions[1:]:
            result = function(result)
        return result

    return run
