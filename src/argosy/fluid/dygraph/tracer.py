"""What Paddle 1.x keeps for each ``fluid.dygraph.guard``: the parameters made inside it, and
whether its layers train.

1.x records unless a guard is open; here recording begins with the first name that only static
programs use.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

import torch

import argosy.static  # noqa: F401  (installs what records)
from argosy.foundation.errors import UsageError
from argosy.foundation.process_state import register
from argosy.framework.mode import switch
from argosy.static.nn.layer import install_keeper
from argosy.static.record.append_op import run_op
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import Parameter, first_generation


class Tracer:
    """The state of one guard. Parameters are held weakly, in the order of their creation, but those
    that no layer owns. ``is_first`` says that tensors behave as those of 1.x.
    """

    def __init__(self, is_first: bool = False) -> None:
        self.is_training = True
        self.is_first = is_first
        self._held: list[Parameter] = []
        self._parameters: weakref.WeakValueDictionary[int, Parameter] = (
            weakref.WeakValueDictionary()
        )
        self._num_noted = 0
        self._num_names = 0

    @property
    def _train_mode(self) -> bool:
        """Paddle's name for ``is_training``."""
        return self.is_training

    @_train_mode.setter
    def _train_mode(self, flag: bool) -> None:
        self.is_training = flag

    @property
    def _has_grad(self) -> bool:
        """Whether operations are recorded for backward; as everywhere here, of this thread."""
        return torch.is_grad_enabled()

    @_has_grad.setter
    def _has_grad(self, flag: bool) -> None:
        torch.set_grad_enabled(flag)

    def trace_op(
        self,
        type: str,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any],
        attrs: Mapping[str, Any],
        stop_gradient: bool = False,
        inplace_map: Any = None,
    ) -> None:
        """Compute an operator by its type; the Tensors ``outputs`` take over its results, without a
        graph if ``stop_gradient``. Inputs in the slot of an output are those that it overwrites.
        """
        given = {slot: value for slot, value in inputs.items() if slot not in outputs}
        with torch.set_grad_enabled(not stop_gradient and torch.is_grad_enabled()):
            run_op(type, given, outputs, attrs)

    def _generate_unique_name(self, key: str = "dygraph_tmp") -> str:
        """``key`` with the number of names that this guard has given."""
        self._num_names += 1
        return f"{key}_{self._num_names - 1}"

    def note(self, parameter: Parameter) -> None:
        """Remember a parameter."""
        self._parameters[self._num_noted] = parameter
        self._num_noted += 1

    def all_parameters(self) -> list[Parameter]:
        """The parameters that are still alive."""
        return list(self._parameters.values())


class Tracers:
    """The guards that are open, innermost last. One per process."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Leave every guard."""
        self._open: list[Tracer] = []
        self._outside = Tracer()

    @property
    def described(self) -> tuple[int, bool]:
        """How many guards are open, and whether layers outside of any train."""
        return len(self._open), self._outside.is_training

    @property
    def is_guarded(self) -> bool:
        return bool(self._open)

    @property
    def current(self) -> Tracer:
        """The innermost guard's; outside of any, one that nobody asks for parameters."""
        return self._open[-1] if self._open else self._outside

    def push(self, tracer: Tracer) -> None:
        self._open.append(tracer)
        first_generation.switch(tracer.is_first)

    def pop(self) -> None:
        self._open.pop()
        first_generation.switch(self.current.is_first)

    def note(self, parameter: Parameter | None, is_owned: bool = True) -> None:
        """Remember a parameter with the innermost guard, if there is one, which keeps it alive if
        no layer owns it.
        """
        if parameter is not None and self._open:
            self._open[-1].note(parameter)
            if not is_owned:
                self._open[-1]._held.append(parameter)


tracers = Tracers()
register("dygraph guards", tracers, state=lambda: tracers.described, reset=tracers.reset)

# Functions with parameters work inside of a guard too, which then keeps them.
install_keeper(lambda parameter: tracers.note(parameter, is_owned=False))


def begin_recording(call: str) -> None:
    """Record from now on, as ``paddle.enable_static()`` does; inside a guard ``call`` is an
    error.
    """
    if tracers.is_guarded:
        raise UsageError(f"{call}: static programs cannot be built inside of fluid.dygraph.guard()")
    switch.enable()
    recorder.main.is_fluid = True


def records() -> bool:
    """Whether functions that make something out of nothing are recorded: always, but inside of a
    guard.
    """
    if not tracers.is_guarded:
        switch.enable()
    return switch.is_static


def is_static() -> bool:
    """Whether functions are recorded now."""
    return switch.is_static
