"""Types of Paddle's update operators for ``Block.append_op``: their slots and attributes, over the
ops that optimizers call. Adam and its relatives are in ``adam_types``.
"""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation.errors import NotSupported
from argosy.ops.table import Op
from argosy.ops.training import older_updates, pure_updates, updates
from argosy.static.ir.operator import Number
from argosy.static.ir.variable import Variable
from argosy.static.record.op_types import define, listed
from argosy.tensor.engine import apply


def number_in(value: Any) -> Any:
    """A learning rate as the number that ops take."""
    return Number(value.name) if isinstance(value, Variable) else float(value.item())


def _updated(op: Op, Param: Any, Grad: Any, states: list[Any], *settings: Any) -> tuple[Any, ...]:
    """Parameters and states, one each or lists, after a step with ``op``."""
    lists = [listed(v) for v in (Param, *states)]
    # A program must not follow gradients through an update.
    with torch.no_grad():
        made = apply(
            pure_updates.updated, op.name, lists[0], listed(Grad), lists[1:], list(settings)
        )
    return tuple(out if isinstance(Param, list) else out[0] for out in made)


def _with_master(
    op: Op, Param: Any, Grad: Any, states: list[Any], master: Any, *settings: Any
) -> tuple[Any, ...]:
    """As ``_updated``; parameters that have masters follow these, which come last."""
    if master is None:
        return (*_updated(op, Param, Grad, states, *settings), None)
    made, *others = _updated(op, master, Grad, states, *settings)
    with torch.no_grad():
        params = apply(pure_updates.narrowed, listed(made), listed(Param))
    return params if isinstance(Param, list) else params[0], *others, made


def chosen_master(given: Any, multi_precision: bool) -> Any:
    return given if multi_precision else None


@define("sgd", outputs=("ParamOut", "MasterParamOut"))
def _sgd(
    Param: Any,
    LearningRate: Any,
    Grad: Any,
    MasterParam: Any = None,
    multi_precision: bool = False,
) -> Any:
    master = chosen_master(MasterParam, multi_precision)
    return _with_master(updates.sgd_, Param, Grad, [], master, number_in(LearningRate))


@define("momentum", outputs=("ParamOut", "VelocityOut", "MasterParamOut"))
def _momentum(
    Param: Any,
    Grad: Any,
    Velocity: Any,
    LearningRate: Any,
    mu: float,
    MasterParam: Any = None,
    use_nesterov: bool = False,
    regularization_method: str = "",
    regularization_coeff: float = 0.0,
    multi_precision: bool = False,
    rescale_grad: float = 1.0,
) -> Any:
    decay = regularization_coeff if regularization_method == "l2_decay" else 0.0
    master = chosen_master(MasterParam, multi_precision)
    rate = number_in(LearningRate)
    return _with_master(
        updates.momentum_, Param, Grad, [Velocity], master, rate, mu, use_nesterov, decay,
        rescale_grad,
    )  # fmt: skip


_MERGED = ("Param", "Grad", "Velocity", "MasterParam", "LearningRate")


@define(
    "merged_momentum",
    outputs=("ParamOut", "VelocityOut", "MasterParamOut"),
    lists=(*_MERGED, "ParamOut", "VelocityOut", "MasterParamOut"),
)
def _merged_momentum(
    Param: Any,
    Grad: Any,
    Velocity: Any,
    LearningRate: Any,
    mu: float,
    MasterParam: Any = None,
    use_nesterov: bool = False,
    regularization_method: Any = (),
    regularization_coeff: Any = (),
    multi_precision: bool = False,
    rescale_grad: float = 1.0,
) -> Any:
    params, rates = listed(Param), listed(LearningRate)
    masters = listed(MasterParam) if MasterParam is not None else [None] * len(params)
    made = [
        _momentum(
            param, grad, velocity, rates[i if len(rates) > 1 else 0], mu, masters[i], use_nesterov,
            regularization_method[i] if regularization_method else "",
            regularization_coeff[i] if regularization_coeff else 0.0,
            multi_precision, rescale_grad,
        )
        for i, (param, grad, velocity) in enumerate(
            zip(params, listed(Grad), listed(Velocity), strict=True)
        )
    ]  # fmt: skip
    return by_slot(made)


def by_slot(made: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Results of single updates as lists of those of a merged one."""
    slots = (list(slot) for slot in zip(*made, strict=True))
    return tuple(None if slot[0] is None else slot for slot in slots)


@define("lars_momentum", outputs=("ParamOut", "VelocityOut", "MasterParamOut"))
def _lars_momentum(
    Param: Any,
    Grad: Any,
    Velocity: Any,
    LearningRate: Any,
    mu: float,
    MasterParam: Any = None,
    lars_coeff: float = 0.001,
    lars_weight_decay: Any = 0.0005,
    epsilon: float = 0.0,
    multi_precision: bool = False,
    rescale_grad: float = 1.0,
) -> Any:
    [decay] = listed(lars_weight_decay)
    master = chosen_master(MasterParam, multi_precision)
    rate = number_in(LearningRate)
    return _with_master(
        updates.lars_momentum_, Param, Grad, [Velocity], master, rate, mu, lars_coeff, decay,
        epsilon, rescale_grad,
    )  # fmt: skip


@define("adagrad", outputs=("ParamOut", "MomentOut", "MasterParamOut"))
def _adagrad(
    Param: Any,
    Grad: Any,
    Moment: Any,
    LearningRate: Any,
    MasterParam: Any = None,
    epsilon: float = 1e-6,
    multi_precision: bool = False,
) -> Any:
    master = chosen_master(MasterParam, multi_precision)
    rate = number_in(LearningRate)
    return _with_master(updates.adagrad_, Param, Grad, [Moment], master, rate, epsilon)


@define("decayed_adagrad", outputs=("ParamOut", "MomentOut"))
def _decayed_adagrad(
    Param: Any,
    Grad: Any,
    Moment: Any,
    LearningRate: Any,
    decay: float = 0.95,
    epsilon: float = 1e-6,
) -> Any:
    op, rate = older_updates.decayed_adagrad_, number_in(LearningRate)
    return _updated(op, Param, Grad, [Moment], rate, decay, epsilon)


@define("adadelta", outputs=("ParamOut", "AvgSquaredGradOut", "AvgSquaredUpdateOut"))
def _adadelta(
    Param: Any,
    Grad: Any,
    AvgSquaredGrad: Any,
    AvgSquaredUpdate: Any,
    LearningRate: Any = None,
    rho: float = 0.95,
    epsilon: float = 1e-6,
) -> Any:
    rate = 1.0 if LearningRate is None else number_in(LearningRate)
    states = [AvgSquaredGrad, AvgSquaredUpdate]
    return _updated(updates.adadelta_, Param, Grad, states, rate, rho, epsilon)


@define("rmsprop", outputs=("ParamOut", "MomentOut", "MeanSquareOut", "MeanGradOut"))
def _rmsprop(
    Param: Any,
    Grad: Any,
    MeanSquare: Any,
    Moment: Any,
    LearningRate: Any,
    MeanGrad: Any = None,
    epsilon: float = 1e-10,
    decay: float = 0.9,
    momentum: float = 0.0,
    centered: bool = False,
) -> Any:
    if centered and MeanGrad is None:
        raise NotSupported("append_op(type='rmsprop'): centered needs the slot MeanGrad")
    states = [Moment, MeanSquare, MeanSquare if MeanGrad is None else MeanGrad]
    rate = number_in(LearningRate)
    *made, mean_grad = _updated(
        updates.rmsprop_, Param, Grad, states, rate, decay, epsilon, momentum, centered
    )
    return *made, None if MeanGrad is None else mean_grad


@define("ftrl", outputs=("ParamOut", "SquaredAccumOut", "LinearAccumOut"))
def _ftrl(
    Param: Any,
    SquaredAccumulator: Any,
    LinearAccumulator: Any,
    Grad: Any,
    LearningRate: Any,
    l1: float = 0.0,
    l2: float = 0.0,
    lr_power: float = -0.5,
) -> Any:
    states, rate = [SquaredAccumulator, LinearAccumulator], number_in(LearningRate)
    return _updated(older_updates.ftrl_, Param, Grad, states, rate, l1, l2, lr_power)


@define("dpsgd", outputs=("ParamOut",))
def _dpsgd(
    Param: Any,
    Grad: Any,
    LearningRate: Any,
    clip: float = 10.0,
    batch_size: float = 16.0,
    sigma: float = 1.0,
    seed: int = 0,
) -> Any:
    op, rate = older_updates.dpsgd_, number_in(LearningRate)
    return _updated(op, Param, Grad, [], rate, clip, batch_size, sigma, seed)
