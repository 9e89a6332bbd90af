"""A Model in dygraph mode: batches run at once."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from typing import Any

from argosy import amp
from argosy.device import is_compiled_with_cuda
from argosy.distributed.parallel import DataParallel, init_parallel_env
from argosy.foundation.errors import AutogradError, BadArgument
from argosy.framework.io import save
from argosy.hapi._adapter import Adapter, gather
from argosy.hapi._setup import Setup, as_list, inferred_specs, to_array
from argosy.jit import api as jit
from argosy.tensor import add_n, to_tensor
from argosy.tensor.engine import Tensor


class DynamicGraphAdapter(Adapter):
    """With several processes every rank has a replica, whose gradients are averaged."""

    def __init__(self, setup: Setup, has_specs: bool) -> None:
        super().__init__(setup)
        self._has_specs = has_specs
        self._is_inferred = False  # the inputs that are described are those of the first batch
        self._replica: Any = None
        if self.world_size > 1:
            init_parallel_env()
            self._replica = DataParallel(setup.network)

    def prepare(self) -> None:
        setup = self.setup
        if setup.precision.level == "O2" and setup.mode == "train" and is_compiled_with_cuda():
            setup.network, setup.optimizer = amp.decorate(
                models=setup.network, optimizers=setup.optimizer, level="O2"
            )
        setup.scaler = None

    def train_batch(self, inputs: Any, labels: Any, update: bool) -> Any:
        setup, mixed = self.setup, self.setup.precision
        if not setup.optimizer:
            raise BadArgument("Model.train_batch: model not ready, please call `model.prepare()` "
                              "with an optimizer first")  # fmt: skip
        setup.network.train()
        setup.mode = "train"
        if mixed.is_mixed and setup.scaler is None:
            setup.scaler = amp.GradScaler(**mixed.scaling)
        tensors, truth = self._tensors(inputs), _as_tensors(labels)
        forward = setup.network if self._replica is None else self._replica
        waits = self._replica is not None and not update
        with self._replica.no_sync() if waits else contextlib.nullcontext():
            with amp.auto_cast(enable=mixed.is_mixed, level=mixed.level, **mixed.lists):
                outputs = as_list(forward(*tensors))
            losses = self._losses(outputs, truth)
            self._descend(add_n(losses), update)
        metrics = setup.update_metrics(outputs, truth)
        return setup.result([to_array(loss) for loss in losses], metrics)

    def _losses(self, outputs: list[Any], labels: list[Any]) -> list[Any]:
        return as_list(self.setup.loss(*outputs, *labels)) if self.setup.loss else []

    def _descend(self, loss: Any, update: bool) -> None:
        setup = self.setup
        if setup.scaler is None:
            loss.backward()
        else:
            loss = setup.scaler.scale(loss)
            loss.backward()
        if not update:
            return
        if setup.scaler is None:
            setup.optimizer.minimize(loss)
        else:
            setup.scaler.minimize(setup.optimizer, loss)
        setup.network.clear_gradients()

    def eval_batch(self, inputs: Any, labels: Any) -> Any:
        setup = self.setup
        setup.network.eval()
        setup.mode = "eval"
        truth = _as_tensors(labels)
        outputs = as_list(setup.network(*self._tensors(inputs)))
        losses = self._losses(outputs, truth)
        if self.world_size > 1:
            rows = self.without_padding([gather(x) for x in (*outputs, *truth)])
            outputs, truth = rows[: len(outputs)], rows[len(outputs) :]
        metrics = setup.update_metrics(outputs, truth)
        return setup.result([to_array(loss) for loss in losses], metrics)

    def predict_batch(self, inputs: Any) -> Any:
        setup = self.setup
        setup.network.eval()
        setup.mode = "test"
        outputs = as_list(setup.network(*self._tensors(inputs)))
        # as in Paddle, on CPUs every rank keeps the rows of its own
        if self.world_size > 1 and setup.place.is_gpu_place():
            outputs = [gather(output) for output in outputs]
        return [to_array(output) for output in outputs]

    def _tensors(self, inputs: Any) -> list[Tensor]:
        tensors = _as_tensors(inputs)
        if not self._has_specs:
            self.setup.inputs = inferred_specs(self.setup.network, tensors)
            self._has_specs = self._is_inferred = True
        return tensors

    def save(self, path: str) -> None:
        setup = self.setup
        save(setup.network.state_dict(), f"{path}.pdparams")
        for part, ending in ((setup.optimizer, "pdopt"), (setup.scaler, "pdscaler")):
            state = part.state_dict() if part is not None else None
            if state:
                save(state, f"{path}.{ending}")

    def load(self, params: list[tuple[Any, Any]], optimizer: Any, scaler: Any) -> None:
        for param, value in params:
            param.set_value(value)
        if scaler and self.setup.scaler is not None:
            self.setup.scaler.load_state_dict(scaler)
        if optimizer and self.setup.optimizer is not None:
            self.setup.optimizer.set_state_dict(optimizer)

    def save_inference(self, path: str) -> None:
        if not self._has_specs:
            raise AutogradError(
                "Model.save: Saving inference model needs 'inputs' or running before saving. "
                "Please specify 'inputs' in Model initialization or input training data and "
                "perform a training for shape derivation."
            )
        specs = self.setup.inputs or []
        if self._is_inferred:
            warnings.warn(
                "Model.save: 'inputs' was not specified when Model initialization, so the input "
                "shape to be saved will be the shape derived from the user's actual inputs: "
                f"{[list(spec.shape) for spec in specs]}. For saving correct input shapes, please "
                "provide 'inputs' for Model initialization.",
                stacklevel=3,
            )
        jit.save(self.setup.network, path, input_spec=specs)


def _as_tensors(values: Any) -> list[Tensor]:
    found: Sequence[Any] = as_list(values)
    return [value if isinstance(value, Tensor) else to_tensor(value) for value in found]
