"""Types of the update operators of Adam and its relatives for ``Block.append_op``."""

from __future__ import annotations

from typing import Any

import torch

from argosy.ops.training import pure_updates
from argosy.static.record.op_types import define, listed
from argosy.static.record.update_types import by_slot, number_in
from argosy.tensor.engine import apply

_STATES = ("ParamOut", "Moment1Out", "Moment2Out", "Beta1PowOut", "Beta2PowOut")
_OUTPUTS = (*_STATES, "MasterParamOut")


def _over_master(op: Any, param: Any, master: Any, *args: Any) -> tuple[Any, ...]:
    """The results of ``op``, and the master that a parameter follows, if it has one."""
    with torch.no_grad():
        made, *others = apply(op, param if master is None else master, *args)
        if master is None:
            return made, *others, None
        [narrow] = apply(pure_updates.narrowed, [made], [param])
        return narrow, *others, made


@define("adam", outputs=_OUTPUTS)
def _adam(
    Param: Any,
    Grad: Any,
    LearningRate: Any,
    Moment1: Any,
    Moment2: Any,
    Beta1Pow: Any,
    Beta2Pow: Any,
    Beta1Tensor: Any = None,
    Beta2Tensor: Any = None,
    EpsilonTensor: Any = None,
    MasterParam: Any = None,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    lazy_mode: bool = False,
    min_row_size_to_use_multithread: int = 1000,
    multi_precision: bool = False,
    use_global_beta_pow: bool = False,
) -> Any:
    return _adamw(
        Param, Grad, LearningRate, Moment1, Moment2, Beta1Pow, Beta2Pow, Beta1Tensor, Beta2Tensor,
        EpsilonTensor, MasterParam, beta1, beta2, epsilon, lazy_mode,
        min_row_size_to_use_multithread, multi_precision, use_global_beta_pow, with_decay=False,
    )  # fmt: skip


@define("adamw", outputs=_OUTPUTS)
def _adamw(
    Param: Any,
    Grad: Any,
    LearningRate: Any,
    Moment1: Any,
    Moment2: Any,
    Beta1Pow: Any,
    Beta2Pow: Any,
    Beta1Tensor: Any = None,
    Beta2Tensor: Any = None,
    EpsilonTensor: Any = None,
    MasterParam: Any = None,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    lazy_mode: bool = False,
    min_row_size_to_use_multithread: int = 1000,
    multi_precision: bool = False,
    use_global_beta_pow: bool = False,
    lr_ratio: float = 1.0,
    coeff: float = 0.01,
    with_decay: bool = False,
) -> Any:
    betas = (
        beta1 if Beta1Tensor is None else number_in(Beta1Tensor),
        beta2 if Beta2Tensor is None else number_in(Beta2Tensor),
        epsilon if EpsilonTensor is None else number_in(EpsilonTensor),
    )
    rate = LearningRate if lr_ratio == 1.0 else LearningRate * lr_ratio
    *made, master = _over_master(
        pure_updates.adam_by_powers, Param, MasterParam if multi_precision else None, Grad,
        Moment1, Moment2, Beta1Pow, Beta2Pow, rate, *betas, coeff if with_decay else 0.0,
        lazy_mode,
    )  # fmt: skip
    if use_global_beta_pow:  # which another operator advances
        made[3:] = [Beta1Pow, Beta2Pow]
    return *made, master


@define(
    "merged_adam",
    outputs=_OUTPUTS,
    lists=(
        "Param", "Grad", "LearningRate", "Moment1", "Moment2", "Beta1Pow", "Beta2Pow",
        "MasterParam", *_OUTPUTS,
    ),
)  # fmt: skip
def _merged_adam(
    Param: Any,
    Grad: Any,
    LearningRate: Any,
    Moment1: Any,
    Moment2: Any,
    Beta1Pow: Any,
    Beta2Pow: Any,
    MasterParam: Any = None,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    multi_precision: bool = False,
    use_global_beta_pow: bool = False,
) -> Any:
    params, rates = listed(Param), listed(LearningRate)
    states = zip(*map(listed, (Moment1, Moment2, Beta1Pow, Beta2Pow)), strict=True)
    masters = listed(MasterParam) if MasterParam is not None else [None] * len(params)
    made = [
        _adam(
            param, grad, rates[i if len(rates) > 1 else 0], *state, MasterParam=masters[i],
            beta1=beta1, beta2=beta2, epsilon=epsilon, multi_precision=multi_precision,
            use_global_beta_pow=use_global_beta_pow,
        )
        for i, (param, grad, state) in enumerate(zip(params, listed(Grad), states, strict=True))
    ]  # fmt: skip
    return by_slot(made)


@define("adamax", outputs=("ParamOut", "MomentOut", "InfNormOut", "MasterParamOut"))
def _adamax(
    Param: Any,
    Grad: Any,
    LearningRate: Any,
    Moment: Any,
    InfNorm: Any,
    Beta1Pow: Any,
    MasterParam: Any = None,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    multi_precision: bool = False,
) -> Any:
    return _over_master(
        pure_updates.adamax_by_power, Param, MasterParam if multi_precision else None, Grad,
        Moment, InfNorm, Beta1Pow, LearningRate, beta1, beta2, epsilon,
    )  # fmt: skip


@define("lamb", outputs=_OUTPUTS)
def _lamb(
    Param: Any,
    Grad: Any,
    LearningRate: Any,
    Moment1: Any,
    Moment2: Any,
    Beta1Pow: Any,
    Beta2Pow: Any,
    weight_decay: float,
    MasterParam: Any = None,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    always_adapt: bool = False,
    multi_precision: bool = False,
) -> Any:
    return _over_master(
        pure_updates.lamb_by_powers, Param, MasterParam if multi_precision else None, Grad,
        Moment1, Moment2, Beta1Pow, Beta2Pow, LearningRate, beta1, beta2, epsilon, weight_decay,
        always_adapt,
    )  # fmt: skip
