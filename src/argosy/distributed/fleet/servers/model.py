"""Models in a parameter-server job, of ``paddle.nn`` and of plain PyTorch: sparse embeddings become
tables on the servers, the rest is trained there as a whole.

A table begins with the weights that the model was made with, so that training equals that of one
process; the worker keeps no copy of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MethodType
from typing import Any

import numpy as np
import torch

from argosy.distributed.entry_attr import ShowClickEntry
from argosy.distributed.fleet.servers.lookup import Lookups, RowSource, rows_at
from argosy.distributed.fleet.servers.rules import dense_update, multiplier_of, sparse_rule
from argosy.distributed.fleet.servers.runtime import Model, PsRuntime
from argosy.distributed.fleet.servers.tables import check_names, configured, with_entry
from argosy.foundation.account import account
from argosy.foundation.errors import NotSupported
from argosy.foundation.witness import seat
from argosy.nn import Embedding, Layer
from argosy.runtime.ps.tables.spec import SparseSpec
from argosy.tensor.engine import Tensor, set_value, wrap

__all__ = [
    "PsOptimizer",
    "ServerEmbedding",
    "TorchServerEmbedding",
    "TorchServerEmbeddingBag",
    "convert",
    "torch_optimizer",
]


class ServerEmbedding(Layer):
    """``nn.Embedding`` whose rows live on the servers."""

    def __init__(self, source: RowSource) -> None:
        super().__init__()
        self._source = source

    def forward(self, x: Tensor) -> Tensor:
        rows, places = self._source.fetch(x.raw, self.training and torch.is_grad_enabled())
        return wrap(rows_at(rows, [places])[0])

    def _collect_state(
        self, destination: Any, include_sublayers: bool, prefix: str, *options: Any
    ) -> Any:
        destination[f"{prefix}weight"] = _AllRows(self._source)
        return destination

    def extra_repr(self) -> str:
        return f"table={self._source.spec.name}, dim={self._source.spec.dim}"


class _AllRows(Tensor):
    """All rows of a table, in a state dict: a copy, which loading a state dict writes back."""

    __slots__ = ()

    def __init__(self, source: RowSource) -> None:
        self.raw = source.all_rows()
        self._name = source.spec.name
        self._source = source

    def set_value(self, value: Any) -> None:
        set_value(self, value)
        self._source.replace(self.raw)


class _TorchTable(torch.nn.Module):
    """A module whose weight lives on the servers; state dicts have it as if it were here."""

    def __init__(self, source: RowSource) -> None:
        super().__init__()
        self._source = source

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        destination[f"{prefix}weight"] = self._source.all_rows()

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        *lists: Any,
    ) -> None:
        if f"{prefix}weight" in state_dict:
            self._source.replace(state_dict[f"{prefix}weight"])
        elif strict:
            missing_keys.append(f"{prefix}weight")


class TorchServerEmbedding(_TorchTable):
    """``torch.nn.Embedding`` whose rows live on the servers."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        rows, places = self._source.fetch(input, self.training and torch.is_grad_enabled())
        return rows_at(rows, [places])[0]


class TorchServerEmbeddingBag(_TorchTable):
    """``torch.nn.EmbeddingBag`` whose rows live on the servers."""

    def __init__(self, source: RowSource, original: torch.nn.EmbeddingBag) -> None:
        super().__init__(source)
        self._mode = original.mode
        self._include_last_offset = original.include_last_offset
        self._padding = original.padding_idx

    def forward(
        self,
        input: torch.Tensor,
        offsets: torch.Tensor | None = None,
        per_sample_weights: torch.Tensor | None = None,
    ) -> torch.Tensor:
        rows, places = self._source.fetch(input, self.training and torch.is_grad_enabled())
        padding = None
        if self._padding is not None:
            # padding is left out of means and maxima, so the bag must know which of the fetched
            # rows it is
            found = places[input == self._padding]
            padding = int(found[0]) if found.numel() else None
        return torch.nn.functional.embedding_bag(
            places,
            rows,
            offsets,
            mode=self._mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self._include_last_offset,
            padding_idx=padding,
        )


def convert(model: Any, optimizer: Any, runtime: PsRuntime) -> tuple[Any, Lookups]:
    """Replace the sparse embeddings of ``model``, a Layer or a torch module, in place and tell
    ``runtime`` what there is to train.

    Embeddings that share a weight share a table.
    """
    is_torch = isinstance(model, torch.nn.Module)
    found = list(_sparse_embeddings(model, is_torch))
    specs: dict[int, SparseSpec] = {}
    own_rates: set[str] = set()
    multipliers: dict[str, float] = {}
    rows: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for _, _, path, layer in found:
        weight = layer.weight
        if id(weight) in specs:
            continue
        raw = weight.detach() if is_torch else weight.raw.detach()
        _refuse(layer, path)
        padding = layer.padding_idx
        name = f"{path}.weight" if is_torch else weight.name
        rule = sparse_rule(optimizer, weight)
        padding_id = None if padding is None or padding < 0 else int(padding)
        spec, has_own_rate = configured(
            SparseSpec(name, raw.shape[1], rule, padding_id=padding_id), runtime.strategy
        )
        specs[id(weight)] = with_entry(spec, _entry(layer, path), runtime.mode)
        if has_own_rate:
            own_rates.add(name)
        multipliers[name] = 1.0 if is_torch else multiplier_of(weight)
        rows[name] = np.arange(raw.shape[0]), raw.float().numpy()
    lookups = Lookups({spec.name: spec.dim for spec in specs.values()})
    check_names(runtime.strategy, list(rows))
    sources = {
        key: RowSource(runtime, spec, lookups, len(rows[spec.name][0]))
        for key, spec in specs.items()
    }
    for parent, name, _, layer in found:
        setattr(parent, name, _replacement(layer, sources[id(layer.weight)]))
    dense = {
        n: p
        for n, p in model.named_parameters()
        if (p.requires_grad if is_torch else not p.stop_gradient)
    }

    def tensors() -> dict[str, torch.Tensor]:
        return {
            n if is_torch else p.name: (p if is_torch else p.raw).detach() for n, p in dense.items()
        }

    if dense and not runtime.mode.trains_locally:
        # what servers cannot do is said in every process
        dense_update(optimizer, list(dense.values()))
    runtime.model = Model(
        sparse=tuple(specs.values()),
        shapes={name: tuple(t.shape) for name, t in tensors().items()},
        tensors=tensors,
        params=list(dense.values()),
        optimizer=optimizer,
        rows=rows,
        own_rates=frozenset(own_rates),
        multipliers=multipliers,
    )
    return model, lookups


def _entry(layer: Any, path: str) -> Any:
    """Which ids get a row: ``layer.entry``, if the script has set it."""
    entry = getattr(layer, "entry", None)
    if isinstance(entry, ShowClickEntry):
        raise NotSupported(
            f"{path}: ShowClickEntry names variables of a program, which a model does not have"
        )
    return entry


def _sparse_embeddings(model: Any, is_torch: bool) -> Iterator[tuple[Any, str, str, Any]]:
    """Every embedding that belongs on servers: its parent, its name there, its path and itself."""
    walk = model.named_modules() if is_torch else model.named_sublayers(include_self=True)
    for path, parent in list(walk):
        children = parent.named_children()
        for name, child in list(children):
            if is_torch:
                is_sparse = isinstance(child, torch.nn.EmbeddingBag) or (
                    isinstance(child, torch.nn.Embedding) and child.sparse
                )
            else:
                is_sparse = isinstance(child, Embedding) and child.is_sparse
            if is_sparse:
                yield parent, name, f"{path}.{name}" if path else name, child


def _refuse(layer: Any, path: str) -> None:
    if getattr(layer, "max_norm", None) is not None:
        raise NotSupported(f"{path}: max_norm is not supported for rows on servers")
    if getattr(layer, "scale_grad_by_freq", False):
        raise NotSupported(f"{path}: scale_grad_by_freq is not supported for rows on servers")


def _replacement(layer: Any, source: RowSource) -> Any:
    if isinstance(layer, torch.nn.EmbeddingBag):
        return TorchServerEmbeddingBag(source, layer)
    return (
        TorchServerEmbedding(source)
        if isinstance(layer, torch.nn.Module)
        else ServerEmbedding(source)
    )


class PsOptimizer:
    """Steps through the servers: gradients are pushed, and the parameters become what the servers
    made of them. Everything else is the optimizer's own.
    """

    def __init__(self, optimizer: Any, runtime: PsRuntime) -> None:
        self._inner_opt = optimizer
        self._runtime = runtime
        self._lookups: Lookups | None = None

    def attach(self, lookups: Lookups) -> None:
        self._lookups = lookups

    def __getattr__(self, name: str) -> Any:
        if name in ("_inner_opt", "_runtime"):
            raise AttributeError(name)
        return getattr(self._inner_opt, name)

    def step(self) -> None:
        """Push the gradients of rows and of dense parameters; in ``geo`` the optimizer itself
        updates the dense ones.
        """
        _step(self._runtime, self._lookups, self._inner_opt)

    def minimize(
        self,
        loss: Any,
        startup_program: Any = None,
        parameters: Any = None,
        no_grad_set: Any = None,
    ) -> Any:
        """Update from the gradients that ``loss.backward()`` left."""
        pairs = self._inner_opt.backward(loss, startup_program, parameters, no_grad_set)
        self.step()
        return [], pairs

    def clear_grad(self, set_to_zero: bool = True) -> None:
        self._inner_opt.clear_grad(set_to_zero)
        if self._lookups is not None:
            self._lookups.clear_gradients()

    clear_gradients = clear_grad


def _step(runtime: PsRuntime, lookups: Lookups | None, optimizer: Any) -> None:
    if lookups is not None:
        lookups.push(runtime)
    model = runtime.known_model("step")
    if runtime.mode.trains_locally:
        optimizer.step()
        runtime.worker.end_step([])
        return
    grads = []
    for param in model.params:
        grad = param.grad if isinstance(param, torch.Tensor) else param.raw.grad
        raw = param.detach() if isinstance(param, torch.Tensor) else param.raw.detach()
        grads.append(
            torch.zeros_like(raw) if grad is None else grad.to_dense() if grad.is_sparse else grad
        )
    runtime.worker.end_step(grads, runtime.rate())
    if seat.witness is not None:
        seat.witness.end_step(runtime, lambda: model.tensors().items())
    account.end_step()


def torch_optimizer(optimizer: torch.optim.Optimizer, runtime: PsRuntime) -> torch.optim.Optimizer:
    """``optimizer`` with a ``step`` that goes through the servers; it stays a torch optimizer, for
    schedulers and scalers.
    """
    own = optimizer.step

    def step(self: torch.optim.Optimizer, closure: Any = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        local = _Local(own)
        _step(runtime, optimizer.__dict__.get("_lookups"), local)
        return loss

    zero_grad = optimizer.zero_grad

    def clear(self: torch.optim.Optimizer, set_to_none: bool = True) -> None:
        zero_grad(set_to_none)
        lookups = optimizer.__dict__.get("_lookups")
        if lookups is not None:
            lookups.clear_gradients()

    # methods, not functions: torch's schedulers look at what a bound method is bound to
    optimizer.step = MethodType(step, optimizer)  # type: ignore[method-assign]
    optimizer.zero_grad = MethodType(clear, optimizer)  # type: ignore[method-assign]
    return optimizer


class _Local:
    """The optimizer's own step, for ``geo``."""

    def __init__(self, step: Any) -> None:
        self.step = step
