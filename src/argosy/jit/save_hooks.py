"""Functions that ``jit.save`` calls before it writes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from argosy.foundation import process_state

Hook = Callable[[Any, Any, dict[str, Any]], object]

hooks: list[Hook] = process_state.register("hooks before jit.save", [])


class SaveHook:
    """A hook that was registered."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def remove(self) -> None:
        """Have it called no more."""
        remove(self._hook)


def register(hook: Hook) -> SaveHook:
    """Call ``hook(layer, input_spec, configs)`` before each ``jit.save``, once however often it is
    registered.
    """
    if hook not in hooks:
        hooks.append(hook)
    return SaveHook(hook)


def remove(hook: Hook) -> None:
    """Forget one hook, if it is registered."""
    if hook in hooks:
        hooks.remove(hook)


def clear() -> None:
    """Forget all hooks."""
    hooks.clear()


def run_before(save: Callable[..., None]) -> Callable[..., None]:
    """``save``, with the hooks called first."""

    @functools.wraps(save)
    def call(layer: Any, path: str, input_spec: Any = None, **configs: Any) -> None:
        for hook in list(hooks):
            hook(layer, input_spec, configs)
        save(layer, path, input_spec, **configs)

    return call
