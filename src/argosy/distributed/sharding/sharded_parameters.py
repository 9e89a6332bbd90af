"""Parameters of a Layer that are split over ranks, and the layers that make them whole while they
run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from argosy.foundation import torch_private
from argosy.foundation.errors import BadArgument, NotSupported, UsageError
from argosy.foundation.process_state import register
from argosy.nn import Layer
from argosy.nn.layer.common import Embedding
from argosy.nn.layer.norm import NormWithStatistics
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.sharding.sharded_parameters import Order, SplitTensor
from argosy.runtime.parallel.sharding.sharded_saving import Saving
from argosy.tensor.engine import Parameter, Tensor, set_value, wrap


class SplitParameter(Parameter):
    """A parameter whose values are spread over ranks: whole while a layer that it belongs to runs,
    or after ``hold()``, and absent otherwise.

    ``share`` is the parameter that the optimizer updates in its place, with the same name and
    settings.
    """

    __slots__ = ()

    parts: SplitTensor
    _num_users: int
    _whole: torch.Tensor | None
    _seen_version: int  # of the whole value when it was gathered
    share: Parameter

    @classmethod
    def split(
        cls, param: Parameter, name: str, group: Group, order: Order, replicas: Group | None
    ) -> SplitParameter:
        """Turn ``param`` itself, called ``name`` in messages, into one that is split. Its values
        must be the same on every rank.
        """
        raw = param.raw
        if any(torch_private.num_gradient_hooks(raw)):
            raise NotSupported(
                f"sharding stage 3: parameter {name!r} has hooks on its gradient, which no rank "
                "has as a whole; keep its layer whole by exclude_layer"
            )
        share = object.__new__(Parameter)
        share.__dict__.update(param.__dict__)
        share.name = param.name
        split = SplitTensor(name, raw, group, order, replicas)
        share.raw = split.share
        param.__class__ = cls
        assert isinstance(param, cls)
        param.parts, param.share, param._num_users, param._whole = split, share, 0, None
        param.raw = split.absent
        return param

    @property
    def is_absent(self) -> bool:
        return self.raw is self.parts.absent

    # -- values
    # ----------------------------------------------------------------------------------------------

    def enter(self, saving: Saving, is_synchronised: bool) -> None:
        """Become whole until as many calls of ``leave``."""
        if self._num_users == 0:
            self.release()
            # it may have been frozen, or the other way round
            needs_gradient = self.parts.absent.requires_grad
            if self.parts.share.requires_grad is not needs_gradient:
                self.parts.share.requires_grad_(needs_gradient)
            self._whole = self.raw = self.parts.whole(saving, is_synchronised)
            self._seen_version = self._whole._version
        self._num_users += 1

    def leave(self, saving: Saving) -> None:
        self._num_users -= 1
        if self._num_users == 0:
            whole, self._whole, self.raw = self._whole, None, self.parts.absent
            assert whole is not None
            saving.unwatch(whole)
            if whole._version != self._seen_version:  # the layer wrote into it
                self._keep(whole)

    def whole(self, dst: int | None = None) -> Tensor | None:
        """The whole value in memory of its own; only on rank ``dst`` of the group, if given. Every
        rank calls it.
        """
        part = self.parts.share
        raw = self.parts.gather(part) if dst is None else self.parts.gather_to(dst, part)
        if raw is None:
            return None
        value = wrap(raw)
        value.name, value.persistable = self.name, True
        return value

    def hold(self, on_host: bool) -> None:
        """Become whole until ``release()`` or the next use."""
        if not self.is_absent:
            return
        raw = self.parts.gather(self.parts.share)
        self.raw = (raw.cpu() if on_host else raw).requires_grad_(self.parts.absent.requires_grad)
        self._seen_version = self.raw._version

    def release(self) -> None:
        """End ``hold()``; what was written into the parameter since then stays."""
        if self.is_absent or self._num_users:
            return
        held, self.raw = self.raw, self.parts.absent
        self.parts.absent.requires_grad_(held.requires_grad)
        if held._version != self._seen_version:
            self._keep(held)

    @torch.no_grad()
    def _keep(self, whole: torch.Tensor) -> None:
        self.parts.share.copy_(self.parts.cut(whole.detach()))

    def set_value(self, value: Any) -> None:
        """Copy a whole value in; each rank keeps its part."""
        if self._num_users:
            raise UsageError(
                f"sharding stage 3: parameter {self.parts.name!r} cannot be set while its layer "
                "runs"
            )
        if not self.is_absent:
            set_value(self, value)
            return
        self.raw = self.parts.share.detach().new_empty(self.parts.shape)
        try:
            set_value(self, value)
            self._keep(self.raw)
        finally:
            self.raw = self.parts.absent

    # -- gradients
    # ----------------------------------------------------------------------------------------------

    @property
    def grad(self) -> Tensor | None:
        """None; an error once there is one, for it is split as soon as it is there: see
        ``share.grad``.
        """
        self.parts.absent.grad  # noqa: B018
        return None

    @grad.setter
    def grad(self, value: Any) -> None:
        self.parts.absent.grad = value
        self.share.grad = None
        self.parts.forget_waiting()

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        self.parts.forget_waiting()
        self.share.clear_gradient(set_to_zero)

    clear_grad = clear_gradient

    def register_hook(self, hook: Any) -> Any:
        raise NotSupported(
            f"sharding stage 3: a hook on the gradient of {self.parts.name!r}, which no rank "
            "has as a whole; keep its layer whole by exclude_layer"
        )


class Gate:
    """Hooks of one layer that make ``params`` whole while it runs."""

    # the layers that run at the moment, outermost first
    running: list[Gate] = register("running sharded layers", [])

    def __init__(self, params: Sequence[SplitParameter], split: SplitLayers) -> None:
        self._params = list(params)
        self._split = split

    def enter(self, layer: Any = None, inputs: Any = None) -> None:
        self._split.saving.open()
        self._come()
        Gate.running.append(self)

    def leave(self, layer: Any = None, inputs: Any = None, outputs: Any = None) -> None:
        Gate.running.pop()
        self._go()
        self._split.saving.close()

    def _come(self) -> None:
        for param in self._params:
            param.enter(self._split.saving, self._split.is_synchronised)

    def _go(self) -> None:
        for param in self._params:
            param.leave(self._split.saving)

    @staticmethod
    @contextlib.contextmanager
    def reopened(gates: Sequence[Gate]) -> Iterator[None]:
        """Have the parameters of ``gates`` whole again, for a computation that was inside them and
        is repeated.

        What is saved meanwhile is left to the hooks of whoever repeats it.
        """
        for gate in gates:
            gate._come()
        try:
            yield
        finally:
            for gate in gates:
                gate._go()


class SplitLayers:
    """A Layer whose parameters of more than ``segment_size`` elements are split over ``group``.

    ``excluded`` names layers, by class or ``id()``, whose parameters stay whole, as do those with
    fewer elements than would give every rank two.
    """

    def __init__(
        self,
        layer: Layer,
        group: Group,
        replicas: Group | None,
        segment_size: int,
        excluded: Sequence[str | int],
    ) -> None:
        _check_options(layer, segment_size, excluded)
        self.saving, self.order = Saving(), Order()
        self.is_synchronised = True
        kept = {
            id(p)
            for part in layer.sublayers(include_self=True)
            if id(part) in excluded or type(part).__name__ in excluded
            for p in _read_by(part)
        }
        # each rank has running statistics of its own, which parts of several ranks would mix
        kept |= {
            id(p)
            for part in layer.sublayers(True)
            if isinstance(part, NormWithStatistics)
            for p in _frozen_in(part)
        }
        least = max(segment_size, group.nranks)
        sparse = {
            id(p.weight) for p in layer.sublayers(True) if isinstance(p, Embedding) and p.is_sparse
        }
        self.params: list[SplitParameter] = []
        for name, param in layer.named_parameters():
            if isinstance(param, SplitParameter):
                raise UsageError(f"sharding stage 3: parameter {name!r} is split already")
            if id(param) in kept or param.raw.numel() <= least or getattr(param, "no_sync", False):
                continue
            if id(param) in sparse:
                raise NotSupported(
                    f"sharding stage 3: parameter {name!r} has row-sparse gradients; keep its "
                    "layer whole by exclude_layer, or use stage 1"
                )
            self.params.append(SplitParameter.split(param, name, group, self.order, replicas))
        self._install(layer, frozenset())

    def _install(self, layer: Layer, above: frozenset[int]) -> None:
        """Put gates on the layers that read split parameters; ``above`` are those that a layer
        around makes whole.
        """
        if _has_forward(layer):
            params = [
                p for p in _read_by(layer) if isinstance(p, SplitParameter) and id(p) not in above
            ]
            if params:
                gate = Gate(params, self)
                layer.register_forward_pre_hook(gate.enter, prepend=True)
                layer.register_forward_post_hook(gate.leave, always_call=True)
                above = above | {id(p) for p in params}
        for child in layer.children():
            self._install(child, above)

    def run(self, forward: Any, inputs: Any, kwargs: Any, is_synchronised: bool) -> Any:
        """Call ``forward``; if it fails, layers that it did not leave are left."""
        self.is_synchronised = is_synchronised
        num_running = len(Gate.running)
        try:
            return forward(*inputs, **kwargs)
        except BaseException:
            for gate in reversed(Gate.running[num_running:]):
                gate.leave()
            raise

    def hold(self, on_host: bool = False) -> None:
        for param in self.params:
            param.hold(on_host)

    def release(self) -> None:
        for param in self.params:
            param.release()


def _frozen_in(layer: Layer) -> list[Any]:
    return [p for p in layer.parameters(include_sublayers=False) if not p.trainable]


def _has_forward(layer: Layer) -> bool:
    return type(layer).forward is not Layer.forward


def _read_by(layer: Layer) -> list[Any]:
    """The parameters that the forward of ``layer`` reads itself: its own, ``extra_parameters``, and
    those of parts that have no forward (a ParameterList).
    """
    found = [
        *layer.parameters(include_sublayers=False), *getattr(layer, "extra_parameters", ())
    ]  # fmt: skip
    for child in layer.children():
        if not _has_forward(child):
            found += _read_by(child)
    return list({id(p): p for p in found}.values())


def _check_options(layer: Layer, segment_size: int, excluded: Sequence[str | int]) -> None:
    if segment_size < 0:
        raise BadArgument(f"segment_size must be GE than 0, but is {segment_size}.")
    ids = {id(part) for part in layer.sublayers(include_self=True)}
    for item in excluded:
        if not isinstance(item, (str, int)):
            raise BadArgument(
                "exclude_layer must be a list with layers' names or layers' ids, but has a "
                f"{type(item).__name__}"
            )
        if isinstance(item, int) and item not in ids:
            raise UsageError(f"exclude_layer: the model has no layer with id {item}")
