"""What a callback may react to, and the list of those of one run."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator
from typing import Any

from argosy.foundation.errors import BadArgument

MODES = ("train", "eval", "predict")

Logs = dict[str, Any] | None


class Callback:
    """Base of callbacks: every method is called at its moment and does nothing.

    ``model`` is the Model and ``params`` a dict with ``batch_size``, ``epochs``, ``steps``,
    ``verbose`` and ``metrics``. A callback ends training with ``self.model.stop_training = True``.

    Example:
        >>> class Losses(paddle.callbacks.Callback):
        ...     def on_epoch_end(self, epoch, logs=None):
        ...         print(epoch, logs["loss"])
    """

    # here too, for subclasses of Paddle's scripts leave out super().__init__()
    model: Any = None
    params: dict[str, Any] = {}

    def __init__(self) -> None:
        self.model = None
        self.params = {}

    def set_params(self, params: dict[str, Any]) -> None:
        self.params = params

    def set_model(self, model: Any) -> None:
        self.model = model

    def on_train_begin(self, logs: Logs = None) -> None:
        """``fit`` starts."""

    def on_train_end(self, logs: Logs = None) -> None:
        """``fit`` ends; ``logs`` are those of its last training batch."""

    def on_eval_begin(self, logs: Logs = None) -> None:
        """An evaluation starts; ``logs`` has ``steps`` and the names of the ``metrics``."""

    def on_eval_end(self, logs: Logs = None) -> None:
        """An evaluation ends; ``logs`` has the loss of its last batch and the metrics of all."""

    def on_predict_begin(self, logs: Logs = None) -> None:
        """``predict`` starts; ``logs`` has ``steps``."""

    def on_predict_end(self, logs: Logs = None) -> None:
        """``predict`` ends."""

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Epoch number ``epoch``, from 0, starts."""

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """An epoch ends; its evaluation, if any, is still to come."""

    def on_train_batch_begin(self, step: int, logs: Logs = None) -> None:
        """A batch was loaded; ``logs`` are those of the batch before."""

    def on_train_batch_end(self, step: int, logs: Logs = None) -> None:
        """A batch was trained on: ``logs`` has ``loss``, the metrics, ``step``, ``batch_size``."""

    def on_eval_batch_begin(self, step: int, logs: Logs = None) -> None:
        """As ``on_train_batch_begin``, in an evaluation."""

    def on_eval_batch_end(self, step: int, logs: Logs = None) -> None:
        """As ``on_train_batch_end``, in an evaluation."""

    def on_predict_batch_begin(self, step: int, logs: Logs = None) -> None:
        """As ``on_train_batch_begin``, in ``predict``."""

    def on_predict_batch_end(self, step: int, logs: Logs = None) -> None:
        """As ``on_train_batch_end``, in ``predict``; ``logs`` has ``step`` and ``batch_size``."""


class CallbackList:
    """Callbacks, called one after another in the order of the list."""

    def __init__(self, callbacks: Iterable[Callback]) -> None:
        self.callbacks = list(callbacks)
        self.params: dict[str, Any] = {}
        self.model: Any = None

    def append(self, callback: Callback) -> None:
        self.callbacks.append(callback)

    def __iter__(self) -> Iterator[Callback]:
        return iter(self.callbacks)

    def set_params(self, params: dict[str, Any]) -> None:
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model: Any) -> None:
        for callback in self.callbacks:
            callback.set_model(model)

    def _call(self, moment: str, *args: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, moment)(*args)

    def on_begin(self, mode: str, logs: Logs = None) -> None:
        self._call(f"on_{_checked(mode)}_begin", logs)

    def on_end(self, mode: str, logs: Logs = None) -> None:
        self._call(f"on_{_checked(mode)}_end", logs)

    def on_epoch_begin(self, epoch: int | None = None, logs: Logs = None) -> None:
        self._call("on_epoch_begin", epoch, logs)

    def on_epoch_end(self, epoch: int | None = None, logs: Logs = None) -> None:
        self._call("on_epoch_end", epoch, logs)

    def on_batch_begin(self, mode: str, step: int | None = None, logs: Logs = None) -> None:
        self._call(f"on_{_checked(mode)}_batch_begin", step, logs)

    def on_batch_end(self, mode: str, step: int | None = None, logs: Logs = None) -> None:
        self._call(f"on_{_checked(mode)}_batch_end", step, logs)


def _checked(mode: str) -> str:
    if mode not in MODES:
        raise BadArgument(f"CallbackList: mode should be train, eval or predict, not {mode!r}")
    return mode


def first_number(value: Any) -> Any:
    """The number to watch of a value in the logs: of a list its first; None if there is none."""
    if isinstance(value, (list, tuple)):
        return value[0]
    return value if isinstance(value, numbers.Number) else None
