"""``paddle.Model``: a network with the loops that train, evaluate and use it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from argosy.autograd import no_grad
from argosy.foundation import env
from argosy.foundation.errors import BadArgument, DtypeError
from argosy.framework import in_dynamic_mode
from argosy.hapi import _loop, _state_file
from argosy.hapi._dynamic_adapter import DynamicGraphAdapter
from argosy.hapi._precision import read_precision
from argosy.hapi._setup import (
    Setup,
    as_list,
    input_specs,
    label_specs,
)
from argosy.hapi._static_adapter import StaticGraphAdapter
from argosy.hapi.callbacks import Callback
from argosy.hapi.model_summary import ModelSummary, summary
from argosy.metric import Metric
from argosy.nn import Layer
from argosy.static import InputSpec
from argosy.tensor.engine import defaults

__all__: list[str] = []

Callbacks = Callback | Sequence[Callback] | None


def flatten_list(l: list[list[Any]]) -> tuple[list[Any], list[int]]:
    """The members of lists as one list, and how many each had."""
    return [member for part in l for member in part], [len(part) for part in l]


def restore_flatten_list(l: list[Any], splits: list[int]) -> list[list[Any]]:
    """The opposite of ``flatten_list``."""
    members = iter(l)
    return [[next(members) for _ in range(num)] for num in splits]


class _Parts:
    """The parts of a Model under the names by which Paddle's scripts reach for them."""

    setup: Setup

    def _part(name: str) -> Any:  # type: ignore[misc]  # makes the attributes below
        def read(self: Any) -> Any:
            return getattr(self.setup, name)

        def write(self: Any, value: Any) -> None:
            setattr(self.setup, name, value)

        return property(read, write)

    network = _part("network")
    mode = _part("mode")
    _inputs = _part("inputs")
    _labels = _part("labels")
    _optimizer = _part("optimizer")
    _loss = _part("loss")
    _metrics = _part("metrics")
    _scaler = _part("scaler")
    _place = _part("place")


class Model(_Parts):
    """A network with training, evaluation and prediction, in dygraph or, after
    ``paddle.enable_static()``, as programs.

    ``inputs`` and ``labels`` describe what the network and the loss take; programs need them. In a
    job of several processes each of them trains on its share of the samples with averaged
    gradients, and an evaluation counts every sample once.

    Example:
        >>> class Line(paddle.io.Dataset):
        ...     def __getitem__(self, i):
        ...         x = paddle.full([1], i / 4.0)
        ...         return x, 2.0 * x
        ...     def __len__(self):
        ...         return 4
        >>> net = paddle.nn.Linear(1, 1)
        >>> model = paddle.Model(net)
        >>> sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        >>> model.prepare(sgd, paddle.nn.MSELoss())
        >>> model.fit(Line(), batch_size=2, epochs=300, verbose=0)
        >>> round(float(net.weight), 1)
        2.0
    """

    def __init__(
        self,
        network: Layer,
        inputs: InputSpec | Sequence[InputSpec] | dict[str, InputSpec] | None = None,
        labels: InputSpec | Sequence[InputSpec] | None = None,
    ) -> None:
        is_dynamic = in_dynamic_mode()
        if not is_dynamic and not isinstance(inputs, (list, tuple, dict, InputSpec)):
            raise DtypeError(
                "Model: 'inputs' must be list or tuple or dict, and couldn't be None in static "
                f"graph mode, but is a {type(inputs).__name__}"
            )
        self.setup = Setup(network, input_specs(network, inputs), label_specs(labels))
        self.stop_training = False
        self.num_iters: int | None = None  # batches that are still to run, where they are limited
        self._adapter = (
            DynamicGraphAdapter(self.setup, bool(inputs))
            if is_dynamic
            else StaticGraphAdapter(self.setup)
        )

    @property
    def adapter(self) -> DynamicGraphAdapter | StaticGraphAdapter:
        """What does the work in the mode that the Model was made in."""
        return self._adapter

    def prepare(
        self,
        optimizer: Any = None,
        loss: Layer | Callable[..., Any] | None = None,
        metrics: Metric | Sequence[Metric] | None = None,
        amp_configs: str | dict[str, Any] | None = None,
    ) -> None:
        """Say what to train with.

        ``loss`` takes the outputs, then the labels. ``amp_configs`` is a level, "O1" or "O2", or a
        dict with a ``level`` and arguments of ``paddle.amp``.
        """
        if loss is not None and not callable(loss):
            raise DtypeError(
                "Model.prepare: 'loss' must be sub classes of `paddle.nn.Layer` or any callable "
                f"function, but is a {type(loss).__name__}"
            )
        for metric in as_list(metrics):
            if not isinstance(metric, Metric):
                raise BadArgument(
                    f"Model.prepare: {type(metric).__name__} is not sub class of Metric"
                )
        setup = self.setup
        setup.place = defaults.place
        setup.optimizer, setup.loss, setup.metrics = optimizer, loss, as_list(metrics)
        setup.precision = read_precision(amp_configs, optimizer, not in_dynamic_mode())
        self._adapter.prepare()

    # -- one batch
    # ----------------------------------------------------------------------------------------------

    def train_batch(self, inputs: Any, labels: Any = None, update: bool = True) -> Any:
        """Train on one batch; returns the losses, with metrics a pair (losses, metrics).

        With ``update=False`` gradients are kept for a later batch, which adds its own.
        """
        return self._adapter.train_batch(inputs, labels, update)

    @no_grad()
    def eval_batch(self, inputs: Any, labels: Any = None) -> Any:
        """Evaluate one batch; returns as ``train_batch`` does, without a loss only metrics."""
        return self._adapter.eval_batch(inputs, labels)

    @no_grad()
    def predict_batch(self, inputs: Any) -> list[np.ndarray]:
        """The outputs of the network for one batch."""
        outputs: list[np.ndarray] = self._adapter.predict_batch(inputs)
        return outputs

    # -- all of them
    # ----------------------------------------------------------------------------------------------

    def fit(
        self,
        train_data: Any = None,
        eval_data: Any = None,
        batch_size: int | Sequence[int] = 1,
        epochs: int = 1,
        eval_freq: int = 1,
        log_freq: int = 10,
        save_dir: str | None = None,
        save_freq: int = 1,
        verbose: int = 2,
        drop_last: bool = False,
        shuffle: bool = True,
        num_workers: int = 0,
        callbacks: Callbacks = None,
        accumulate_grad_batches: int = 1,
        num_iters: int | None = None,
    ) -> None:
        """Train for ``epochs`` epochs, and evaluate after every ``eval_freq``-th.

        A Dataset is batched here: ``batch_size`` (two of them: for training and evaluation),
        ``drop_last``, ``shuffle`` and ``num_workers`` say how. A DataLoader, or anything that
        yields batches, is taken as it is. The optimizer steps once in ``accumulate_grad_batches``
        batches. ``num_iters`` ends training after so many batches, those of evaluations counted,
        and then leaves ``stop_training`` set.
        """
        if train_data is None:
            raise BadArgument("Model.fit: train_data must be given!")
        train_size, eval_size = _loop.batch_sizes(batch_size)
        train_loader = _loop.as_loader(
            train_data, self.setup.place, train_size, num_workers, shuffle, drop_last
        )
        eval_loader = _loop.as_loader(eval_data, self.setup.place, eval_size, num_workers)
        _loop.fit(
            self,
            train_loader,
            eval_loader,
            _loop.FitOptions(epochs, eval_freq, accumulate_grad_batches, num_iters),
            callbacks=callbacks,
            log_freq=log_freq,
            save_dir=save_dir,
            save_freq=save_freq,
            verbose=verbose,
        )

    def evaluate(
        self,
        eval_data: Any,
        batch_size: int = 1,
        log_freq: int = 10,
        verbose: int = 2,
        num_workers: int = 0,
        callbacks: Callbacks = None,
        num_iters: int | None = None,
    ) -> dict[str, Any]:
        """The loss of the last batch and the metrics of all, by name; with ``num_iters`` of so many
        batches.
        """
        loader = _loop.as_loader(eval_data, self.setup.place, batch_size, num_workers)
        return _loop.evaluate(self, loader, callbacks, log_freq, verbose, num_iters)

    def predict(
        self,
        test_data: Any,
        batch_size: int = 1,
        num_workers: int = 0,
        stack_outputs: bool = False,
        verbose: int = 1,
        callbacks: Callbacks = None,
    ) -> list[Any]:
        """For each output of the network a tuple with one array per batch; with ``stack_outputs``
        one array of all samples.
        """
        loader = _loop.as_loader(test_data, self.setup.place, batch_size, num_workers)
        outputs = _loop.predict(self, loader, callbacks, verbose)
        return [np.vstack(parts) for parts in outputs] if stack_outputs else outputs

    # -- files, and what there is
    # ----------------------------------------------------------------------------------------------

    def save(self, path: str, training: bool = True) -> None:
        """Write ``path``.pdparams and, where the optimizer keeps state, ``path``.pdopt; with
        ``training=False`` the network as a program for inference. Only rank 0 writes.
        """
        if env.rank() == 0:
            (self._adapter.save if training else self._adapter.save_inference)(path)

    def load(self, path: str, skip_mismatch: bool = False, reset_optimizer: bool = False) -> None:
        """Read what ``save`` wrote, in either mode, or what Paddle's did.

        A parameter that the file lacks or has in another shape is an error; with
        ``skip_mismatch`` a warning, and then the optimizer's state is not read, as with
        ``reset_optimizer``.
        """
        prefix = _state_file.prefix_of(path)
        params, is_complete = _state_file.matched(self.network, prefix, skip_mismatch)
        keeps = is_complete and not reset_optimizer
        self._adapter.load(
            params,
            _state_file.read(f"{prefix}.pdopt") if keeps else None,
            _state_file.read(f"{prefix}.pdscaler") if self.setup.scaler is not None else None,
        )

    def parameters(self, *args: Any, **kwargs: Any) -> list[Any]:
        """The parameters of the network."""
        found: list[Any] = self.network.parameters(*args, **kwargs)
        return found

    def summary(self, input_size: Any = None, dtype: Any = None) -> ModelSummary:
        """Print the network's table of layers; without ``input_size`` for the inputs described."""
        sizes = self.setup.inputs if input_size is None else input_size
        if sizes is None:
            raise BadArgument("Model.summary: 'input_size' or 'self._input' must be set")
        return summary(self.network, sizes, dtypes=dtype)
