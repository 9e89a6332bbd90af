"""Hooks for the end of the next backward: ``core.eager._add_backward_final_hook``."""

from __future__ import annotations

from collections.abc import Callable

from argosy.foundation.process_state import register


class FinalHooks:
    """The hooks that wait, in their order."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []


_hooks = register("hooks of the next backward", FinalHooks())


def _add_backward_final_hook(hook: Callable[[], None]) -> None:
    """Call ``hook()`` once, when the next backward has computed all gradients."""
    _hooks.waiting.append(hook)


def run_final_hooks() -> None:
    """Call the hooks that wait; what they add waits for the backward after."""
    if _hooks.waiting:
        due, _hooks.waiting = _hooks.waiting, []
        for hook in due:
            hook()
