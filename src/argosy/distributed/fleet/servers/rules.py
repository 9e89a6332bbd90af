"""What servers do with gradients: the update rules of sparse tables, and of dense ones, from the
optimizer that the script names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.foundation.errors import NotSupported
from argosy.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from argosy.optimizer import LBFGS, SGD, Adagrad, Adam, AdamW, Momentum, Optimizer
from argosy.optimizer.state import Clock
from argosy.optimizer.update_group import rate_of as rate_of_param
from argosy.regularizer import L2Decay
from argosy.runtime.ps.tables.dense_table import DenseSpec, MakeState, MakeUpdate, Update
from argosy.runtime.ps.tables.rules import Rule
from argosy.tensor.engine import Tensor, wrap

__all__ = [
    "dense_update",
    "multiplier_of",
    "needs_all_in_one_place",
    "needs_whole",
    "rate_of",
    "sparse_rule",
]


# -- sparse
# --------------------------------------------------------------------------------------------------


def sparse_rule(optimizer: Any, param: Any) -> Rule:
    """The rule by which servers update the rows of ``param``; NotSupported for optimizers that have
    none.

    As for other parameters, its own regularizer takes the place of the optimizer's, and
    ``need_clip`` may exempt it from clipping.
    """
    if isinstance(optimizer, torch.optim.Optimizer):
        return _torch_rule(optimizer)
    rule = optimizer.row_rule(param)
    if rule is None:
        raise NotSupported(
            f"{type(optimizer).__name__}: rows on servers are updated by SGD, Momentum, Adagrad, "
            "Adam or AdamW"
        )
    regularizer, decay = getattr(param, "regularizer", None) or optimizer.regularization, 0.0
    if regularizer is not None:
        if type(regularizer) is not L2Decay:
            raise NotSupported(
                f"{type(optimizer).__name__}: rows on servers decay by L2Decay, not by "
                f"{type(regularizer).__name__}"
            )
        decay = regularizer.coeff
    clip = optimizer.clip if _is_clipped(param, optimizer.clip) else None
    if clip is not None and not isinstance(clip, ClipGradByValue):
        raise NotSupported(
            f"{type(clip).__name__}: the gradients of rows on servers can be clipped by value "
            "only; their norm is not known in one place. In a program the worker clips them"
        )
    bounds = {"clip": (clip.min, clip.max)} if clip is not None else {}
    return Rule(
        rule.name,
        float(rate_of(optimizer)) * multiplier_of(param),
        rule.settings,
        decay,
        initial_state=rule.initial_state,
        **bounds,
    )


def multiplier_of(param: Any) -> float:
    """What ``ParamAttr.learning_rate`` multiplies the rate of a table's rows by."""
    return float(rate_of_param(param))


def _is_clipped(param: Any, clip: Any) -> bool:
    chooses = getattr(clip, "_need_clip", None)
    return bool(getattr(param, "need_clip", True)) and (chooses is None or bool(chooses(param)))


def _torch_rule(optimizer: torch.optim.Optimizer) -> Rule:
    if len({_key(group) for group in optimizer.param_groups}) > 1:
        raise NotSupported(
            f"{type(optimizer).__name__}: parameter groups with different settings cannot be "
            "trained on servers"
        )
    options = optimizer.param_groups[0]
    kind, rate = type(optimizer), float(options["lr"])
    if options.get("maximize"):
        raise NotSupported(f"{kind.__name__}: maximize is not supported for rows on servers")
    decay = float(options.get("weight_decay", 0.0))
    if kind is torch.optim.SGD and not options["dampening"]:
        if not options["momentum"]:
            return Rule("sgd", rate, weight_decay=decay)
        settings = {"momentum": options["momentum"], "use_nesterov": float(options["nesterov"])}
        return Rule("momentum", rate, settings, decay)
    if kind is torch.optim.Adagrad and not options["lr_decay"]:
        return Rule(
            "adagrad",
            rate,
            {"epsilon": options["eps"]},
            decay,
            initial_state=options["initial_accumulator_value"],
        )
    if kind in (torch.optim.Adam, torch.optim.AdamW, torch.optim.SparseAdam) and not options.get(
        "amsgrad"
    ):
        betas = options["betas"]
        settings = {"beta1": float(betas[0]), "beta2": float(betas[1]), "epsilon": options["eps"]}
        if kind is torch.optim.AdamW:
            return Rule("adam", rate, {**settings, "decoupled_decay": decay})
        return Rule("adam", rate, settings, decay)
    raise NotSupported(
        f"{kind.__name__}: rows on servers are updated by torch's SGD (without dampening), "
        "Adagrad, Adam, SparseAdam or AdamW"
    )


def _key(group: dict[str, Any]) -> str:
    return repr({name: value for name, value in group.items() if name != "params"})


def rate_of(optimizer: Any) -> float:
    """The learning rate now."""
    if isinstance(optimizer, torch.optim.Optimizer):
        return float(optimizer.param_groups[0]["lr"])
    given = optimizer.rate
    # in a program the rate may be a variable, which every push carries
    return float(optimizer.get_lr()) if isinstance(given, (int, float)) or callable(given) else 0.0


# -- dense
# --------------------------------------------------------------------------------------------------


def needs_whole(optimizer: Any) -> bool:
    """Whether the optimizer looks at a parameter as a whole, so that it must not be cut."""
    if isinstance(optimizer, torch.optim.Optimizer):
        return False
    is_elementwise = isinstance(optimizer, (SGD, Momentum, Adagrad, Adam, AdamW))
    return not is_elementwise or isinstance(optimizer.clip, (ClipGradByNorm, ClipGradByGlobalNorm))


def needs_all_in_one_place(optimizer: Any) -> bool:
    """Whether the optimizer looks at all parameters together, so that one server must hold them."""
    return isinstance(optimizer, Optimizer) and isinstance(optimizer.clip, ClipGradByGlobalNorm)


def dense_update(optimizer: Any, params: Sequence[Any]) -> MakeUpdate:
    """What makes the optimizer of a server's dense parameters. ``params`` are the script's own;
    their rates, decays and exemptions are kept.
    """
    if isinstance(optimizer, torch.optim.Optimizer):
        _check_torch(optimizer)
        return lambda spec, values, make_state: _torch_update(optimizer, spec, values, make_state)
    if isinstance(optimizer, LBFGS):
        raise NotSupported(
            "LBFGS: it evaluates the loss several times per step, which servers cannot"
        )
    if optimizer.has_groups:
        raise NotSupported(
            f"{type(optimizer).__name__}: parameter groups cannot be trained on servers"
        )
    given = {p.name: p for p in params}
    return lambda spec, values, make_state: _face_update(optimizer, given, spec, values, make_state)


def _face_update(
    optimizer: Any,
    given: dict[str, Any],
    spec: DenseSpec,
    values: list[torch.Tensor],
    make_state: MakeState,
) -> Update:
    params = [
        _parameter(value, given.get(piece.name), piece.name)
        for piece, value in zip(spec.pieces, values, strict=True)
    ]
    own = optimizer.over(params)
    kept: list[tuple[Tensor, torch.Tensor]] = []
    clocks: list[tuple[Any, torch.Tensor]] = []
    for piece, param in zip(spec.pieces, params, strict=True):
        state = own.state_of(param)
        for name, tensor in state.tensors.items():
            first = float(tensor.raw.reshape(-1)[0]) if tensor.raw.numel() else 0.0
            tensor.raw = make_state(piece, name, tensor.raw.shape, first)
        kept += [
            (power, make_state(piece, name, power.raw.shape, power.raw.item()))
            for name, power in state.powers.items()
        ]
        steps = make_state(piece, "@steps", (1,), 0.0)
        state.clock = Clock(float(steps[0]), steps.device)
        clocks.append((state, steps))

    def update(grads: list[torch.Tensor], learning_rate: float | None) -> None:
        own.use_rate(float(optimizer.get_lr()) if learning_rate is None else learning_rate)
        for param, grad in zip(params, grads, strict=True):
            param.raw.grad = grad
        # a checkpoint may have been loaded, a push taken back
        for power, held in kept:
            power.raw.copy_(held)
        for state, steps in clocks:
            state.clock.tensor.copy_(steps[0])
        own.step()
        for power, held in kept:
            held.copy_(power.raw)
        for state, steps in clocks:
            steps.fill_(state.clock.count)

    return update


def _parameter(value: torch.Tensor, given: Any, name: str) -> Tensor:
    """A parameter over a table's memory with the traits of the script's."""
    param = wrap(value.requires_grad_())
    param.name = name
    for trait in ("optimize_attr", "regularizer", "need_clip"):
        if given is not None and hasattr(given, trait):
            setattr(param, trait, getattr(given, trait))
    return param


# what each torch optimizer keeps of a parameter, and how it begins; "step" counts from 0
_TORCH_STATES: dict[type, Callable[[dict[str, Any]], dict[str, float]]] = {
    torch.optim.SGD: lambda o: {"momentum_buffer": 0.0} if o["momentum"] else {},
    torch.optim.Adam: lambda o: {"step": 0.0, "exp_avg": 0.0, "exp_avg_sq": 0.0},
    torch.optim.AdamW: lambda o: {"step": 0.0, "exp_avg": 0.0, "exp_avg_sq": 0.0},
    torch.optim.Adagrad: lambda o: {"step": 0.0, "sum": o["initial_accumulator_value"]},
    torch.optim.RMSprop: lambda o: {
        "step": 0.0, "square_avg": 0.0,
        **({"momentum_buffer": 0.0} if o["momentum"] else {}),
        **({"grad_avg": 0.0} if o["centered"] else {}),
    },
    torch.optim.Adadelta: lambda o: {"step": 0.0, "square_avg": 0.0, "acc_delta": 0.0},
    torch.optim.Adamax: lambda o: {"step": 0.0, "exp_avg": 0.0, "exp_inf": 0.0},
}  # fmt: skip


def _check_torch(optimizer: torch.optim.Optimizer) -> None:
    kind, options = type(optimizer), optimizer.param_groups[0]
    if kind not in _TORCH_STATES or options.get("amsgrad") or options.get("dampening"):
        known = ", ".join(k.__name__ for k in _TORCH_STATES)
        raise NotSupported(
            f"{kind.__name__}: dense parameters on servers are trained by torch's {known} (no "
            "amsgrad, no dampening)"
        )
    if len({_key(group) for group in optimizer.param_groups}) > 1:
        raise NotSupported(
            f"{kind.__name__}: parameter groups with different settings cannot be trained on "
            "servers"
        )


def _torch_update(
    optimizer: torch.optim.Optimizer,
    spec: DenseSpec,
    values: list[torch.Tensor],
    make_state: MakeState,
) -> Update:
    kind, options = type(optimizer), dict(optimizer.param_groups[0])
    options.pop("params")
    params = [torch.nn.Parameter(value) for value in values]
    known_options = {
        k: v
        for k, v in options.items()
        if k in optimizer.defaults and k != "decoupled_weight_decay"
    }
    own: torch.optim.Optimizer = kind(params, **known_options)
    for piece, param in zip(spec.pieces, params, strict=True):
        for name, first in _TORCH_STATES[kind](options).items():
            shape = () if name == "step" else tuple(param.shape)
            own.state[param][name] = make_state(piece, name, shape, first)

    def update(grads: list[torch.Tensor], learning_rate: float | None) -> None:
        own.param_groups[0]["lr"] = rate_of(optimizer) if learning_rate is None else learning_rate
        for param, grad in zip(params, grads, strict=True):
            param.grad = grad
        own.step()

    return update
