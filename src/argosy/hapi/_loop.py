"""The loops of a Model over batches: ``fit``, ``evaluate`` and ``predict``."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from argosy.foundation import env
from argosy.foundation.errors import BadArgument
from argosy.hapi._callback import CallbackList
from argosy.hapi._setup import as_list
from argosy.hapi.callbacks import EarlyStopping, config_callbacks
from argosy.io import DataLoader, Dataset, DistributedBatchSampler
from argosy.utils import flatten


@dataclass(frozen=True)
class FitOptions:
    epochs: int
    eval_freq: int
    accumulate: int
    num_iters: int | None


def batch_sizes(given: int | Sequence[int]) -> tuple[int, int]:
    """The batch sizes of training and of evaluation."""
    if isinstance(given, int):
        return given, given
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        raise BadArgument(
            "Model.fit: batch_size length error, expected an integer, or train_batch_size and "
            f"eval_batch_size, but received {given!r}"
        )
    return given[0], given[1]


def as_loader(
    data: Any,
    place: Any,
    batch_size: int,
    num_workers: int,
    shuffle: bool = False,
    drop_last: bool = False,
) -> Any:
    """A loader of this rank's share of a Dataset; anything else is one already."""
    if not isinstance(data, Dataset):
        return data
    sampler = DistributedBatchSampler(
        data, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last
    )
    return DataLoader(
        data, batch_sampler=sampler, places=place, num_workers=num_workers, return_list=True
    )


def fit(model: Any, loader: Any, eval_loader: Any, options: FitOptions, **printed: Any) -> None:
    steps, epochs = _length(loader), options.epochs
    model.num_iters = options.num_iters
    if options.num_iters is not None and steps is not None:
        _check_iters(options.num_iters)
        epochs = options.num_iters // steps + 1
        steps = min(options.num_iters, steps)
    setup = model.setup
    callbacks = config_callbacks(
        model=model, epochs=epochs, steps=steps, metrics=setup.quantities, **printed
    )
    if eval_loader is None and any(isinstance(c, EarlyStopping) for c in callbacks):
        warnings.warn("EarlyStopping needs validation data.", stacklevel=3)
    setup.eval_loader = eval_loader
    logs: dict[str, Any] = {}
    callbacks.on_begin("train")
    for epoch in range(epochs):
        callbacks.on_epoch_begin(epoch)
        _run_epoch(model, loader, callbacks, "train", logs, options.accumulate)
        callbacks.on_epoch_end(epoch, logs)
        if eval_loader is not None and epoch % options.eval_freq == 0:
            _evaluate(model, eval_loader, callbacks, _length(eval_loader))
        if model.stop_training:
            break
    callbacks.on_end("train", logs)
    setup.eval_loader = None


def evaluate(
    model: Any,
    loader: Any,
    given: Any,
    log_freq: int,
    verbose: int,
    num_iters: int | None,
) -> dict[str, Any]:
    setup = model.setup
    setup.eval_loader = loader
    callbacks = config_callbacks(
        given, model=model, log_freq=log_freq, verbose=verbose, metrics=setup.quantities
    )
    steps = _length(loader)
    model.num_iters = num_iters
    if num_iters is not None and steps is not None:
        _check_iters(num_iters)
        model.num_iters = steps = min(num_iters, steps)
    logs = _evaluate(model, loader, callbacks, steps)
    setup.eval_loader = None
    return {name: logs[name] for name in setup.quantities}


def _evaluate(
    model: Any, loader: Any, callbacks: CallbackList, steps: int | None
) -> dict[str, Any]:
    logs: dict[str, Any] = {}
    callbacks.on_begin("eval", {"steps": steps, "metrics": model.setup.quantities})
    _run_epoch(model, loader, callbacks, "eval", logs)
    callbacks.on_end("eval", logs)
    return logs


def predict(model: Any, loader: Any, given: Any, verbose: int) -> list[Any]:
    """A tuple of arrays, one per batch, for each output."""
    setup = model.setup
    setup.eval_loader = loader
    callbacks = config_callbacks(given, model=model, verbose=verbose)
    logs: dict[str, Any] = {}
    model.num_iters = None
    callbacks.on_begin("predict", {"steps": _length(loader)})
    outputs = _run_epoch(model, loader, callbacks, "predict", logs)
    setup.eval_loader = None
    callbacks.on_end("predict", logs)
    return list(zip(*outputs, strict=True))


def _run_epoch(
    model: Any,
    loader: Any,
    callbacks: CallbackList,
    mode: str,
    logs: dict[str, Any],
    accumulate: int = 1,
) -> list[Any]:
    """Run every batch of a loader and tell the callbacks, with what they share, ``logs``; returns
    the outputs of ``predict``.
    """
    setup, adapter = model.setup, model.adapter
    outputs = []
    num_batches, world_size = _length(loader), env.world_size()
    adapter.start()
    for step, batch in enumerate(loader):
        # pairs of inputs and labels, and programs' lists of places, come nested
        values = flatten(batch)
        callbacks.on_batch_begin(mode, step, logs)
        if mode == "predict":
            chosen = values if setup.inputs is None else values[: len(setup.inputs)]
            outputs.append(model.predict_batch(chosen))
        else:
            num_inputs = len(as_list(setup.inputs))
            inputs, labels = values[:num_inputs], values[num_inputs:]
            if mode == "train":
                is_due = (step + 1) % accumulate == 0 or step + 1 == num_batches
                told = model.train_batch(inputs, labels, is_due)
            else:
                told = model.eval_batch(inputs, labels)
            logs.update(_quantities(setup, told))
        logs["step"] = step
        logs["batch_size"] = adapter.num_samples or _num_rows(values[0]) * world_size
        callbacks.on_batch_end(mode, step, logs)
        if _is_through(model):
            break
    for metric in setup.metrics:
        metric.reset()
    return outputs


def _quantities(setup: Any, told: Any) -> dict[str, Any]:
    """The loss of a batch and the metrics since the start, by name."""
    values: list[Any] = []
    if setup.loss:
        values.append([float(loss.item()) for loss in (told[0] if setup.metrics else told)])
    for metric in setup.metrics:
        values += as_list(metric.accumulate())
    return dict(zip(setup.quantities, values, strict=True))


def _num_rows(value: Any) -> int:
    shape = value.shape() if callable(value.shape) else value.shape  # a tensor of a scope
    return int(shape[0])


def _is_through(model: Any) -> bool:
    """Count a batch against ``num_iters``; the last one stops training too, as in Paddle."""
    if model.num_iters is None:
        return False
    model.num_iters -= 1
    if model.num_iters > 0:
        return False
    model.num_iters, model.stop_training = None, True
    return True


def _check_iters(num_iters: int) -> None:
    if num_iters <= 0:
        raise BadArgument(f"Model: num_iters must be greater than 0, but is {num_iters}")


def _length(loader: Any) -> int | None:
    try:
        return len(loader)
    except (TypeError, RuntimeError, NotImplementedError):  # a stream, or a generator
        return None
