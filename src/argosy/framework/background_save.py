"""``paddle.async_save``: state dicts are copied at once and written to their files in a thread."""

from __future__ import annotations

import threading
from typing import Any

from argosy.foundation.errors import DtypeError, UsageError
from argosy.foundation.process_state import register
from argosy.framework.io import save
from argosy.framework.mode import in_dynamic_mode
from argosy.tensor.engine import Tensor, wrap

__all__ = ["async_save", "clear_async_save_task_queue"]


class _Task(threading.Thread):
    """One file that is written; what went wrong is raised to whoever waits for it."""

    def __init__(self, obj: Any, path: Any, protocol: int, configs: dict[str, Any]) -> None:
        super().__init__(name="paddle.async_save")  # no daemon: a script may end meanwhile
        self._call = (obj, path, protocol)
        self._configs = configs
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            save(*self._call, **self._configs)
        except BaseException as error:
            self._error = error

    def finish(self) -> None:
        """Wait until the file is written."""
        self.join()
        if self._error is not None:
            raise self._error


_tasks: list[_Task] = register("files that are being written", [])


def async_save(
    obj: Any, path: Any, protocol: int = 4, sync_other_task: bool = False, **configs: Any
) -> None:
    """``paddle.save`` of a state dict, a Tensor or a dict of them in a thread; they may change as
    soon as it returns.

    With ``sync_other_task`` it waits first for the files that are being written.
    """
    if not in_dynamic_mode():
        raise UsageError("paddle.async_save: works in dynamic mode only; use paddle.static.save")
    copy = _copied(obj)
    if sync_other_task:
        clear_async_save_task_queue()
    task = _Task(copy, path, protocol, configs)
    task.start()
    _tasks.append(task)


def clear_async_save_task_queue() -> None:
    """Wait until every file is written; raise what went wrong with one."""
    while _tasks:
        _tasks.pop(0).finish()


def _copied(obj: Any) -> Any:
    if isinstance(obj, Tensor):
        copy = wrap(obj.raw.detach().clone())
        copy.name = obj.name
        return copy
    if isinstance(obj, dict):
        return {key: _copied_part(value) for key, value in obj.items()}
    raise DtypeError(
        f"paddle.async_save: expected a dict or a Tensor, but received {type(obj).__name__}"
    )


def _copied_part(value: Any) -> Any:
    return _copied(value) if isinstance(value, (dict, Tensor)) else value
