"""``paddle.incubate.hapi.model``: a Model that is itself the network.

What it does is done by a ``paddle.Model`` over it, which ``prepare`` makes; losses take lists of
outputs and labels, and the network says at ``prepare`` what it is given.
"""

from __future__ import annotations

from typing import Any

from argosy.device import set_device
from argosy.foundation.errors import BadArgument, DtypeError
from argosy.hapi import model as hapi
from argosy.incubate.hapi.loss import Loss, as_list
from argosy.nn import Layer
from argosy.static import InputSpec, data

__all__ = ["Model", "Input", "set_device"]


class Input(InputSpec):
    """Shape, dtype and name of an input or label."""

    def __init__(self, shape: Any = None, dtype: Any = None, name: str | None = None) -> None:
        super().__init__([None] if shape is None else shape, dtype or "float32", name)

    def forward(self) -> Any:
        """The variable of a program that is fed."""
        return data(str(self.name), self.shape, self.dtype)


class _Trainer(hapi.Model):
    """A Model whose loss takes outputs and labels apart."""

    def __init__(self, network: Layer, inputs: Any, labels: Any, loss: Loss | None) -> None:
        super().__init__(network, inputs, labels)
        self._of_lists = loss
        self._num_labels = len(as_list(labels))

    def losses(self, *values: Any) -> list[Any]:
        assert self._of_lists is not None  # else this is nobody's loss
        end = len(values) - self._num_labels
        return self._of_lists(list(values[:end]), list(values[end:]))

    def train_batch(self, inputs: Any, labels: Any = None, update: bool = True) -> Any:
        self._num_labels = len(as_list(labels))
        return super().train_batch(inputs, labels, update)

    def eval_batch(self, inputs: Any, labels: Any = None) -> Any:
        self._num_labels = len(as_list(labels))
        return super().eval_batch(inputs, labels)


class Model(Layer):
    """Base of networks that train themselves; a subclass defines ``forward``.

    Example:
        >>> from paddle.incubate.hapi import loss, model
        >>> class Net(model.Model):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.fc = paddle.nn.Linear(4, 2)
        ...     def forward(self, x):
        ...         return self.fc(x)
        >>> net = Net()
        >>> sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        >>> inputs = model.Input([None, 4], "float32", "x")
        >>> net.prepare(sgd, loss.SoftmaxWithCrossEntropy(), inputs=inputs)
        >>> x, y = np.ones((3, 4), "float32"), np.zeros((3, 1), "int64")
        >>> [float(loss) > 0 for loss in net.train_batch([x], [y])]
        [True]
    """

    def __init__(self) -> None:
        super().__init__(type(self).__name__.lower())
        self.mode = "train"
        self._trainer: _Trainer | None = None

    def prepare(
        self,
        optimizer: Any = None,
        loss_function: Loss | None = None,
        metrics: Any = None,
        inputs: Any = None,
        labels: Any = None,
        device: Any = None,
    ) -> None:
        """Say what to train with, what the network takes and where it runs."""
        if loss_function is not None and not isinstance(loss_function, Loss):
            raise DtypeError(
                "Model.prepare: 'loss_function' must be sub classes of 'Loss', but is a "
                f"{type(loss_function).__name__}"
            )
        if device is not None:
            set_device(device)
        self._trainer = _Trainer(self, inputs, labels, loss_function)
        loss = self._trainer.losses if loss_function else None
        self._trainer.prepare(optimizer, loss, metrics)

    @property
    def _ready(self) -> _Trainer:
        if self._trainer is None:
            raise BadArgument("model not ready, please call `model.prepare()` first")
        return self._trainer

    def train_batch(self, inputs: Any, labels: Any = None) -> Any:
        """As ``train_batch`` of ``paddle.Model``."""
        return self._ready.train_batch(inputs, labels)

    def eval_batch(self, inputs: Any, labels: Any = None) -> Any:
        """As ``eval_batch`` of ``paddle.Model``."""
        return self._ready.eval_batch(inputs, labels)

    def test_batch(self, inputs: Any) -> Any:
        """As ``predict_batch`` of ``paddle.Model``."""
        return self._ready.predict_batch(inputs)

    def fit(self, *args: Any, **kwargs: Any) -> None:
        """As ``fit`` of ``paddle.Model``."""
        self._ready.fit(*args, **kwargs)

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """As ``evaluate`` of ``paddle.Model``."""
        return self._ready.evaluate(*args, **kwargs)

    def predict(self, *args: Any, **kwargs: Any) -> Any:
        """As ``predict`` of ``paddle.Model``."""
        return self._ready.predict(*args, **kwargs)

    def save(self, path: str) -> None:
        """As ``save`` of ``paddle.Model``."""
        self._ready.save(path)

    def load(self, path: str, skip_mismatch: bool = False, reset_optimizer: bool = False) -> None:
        """As ``load`` of ``paddle.Model``."""
        self._ready.load(path, skip_mismatch, reset_optimizer)
