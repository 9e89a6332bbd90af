"""Random numbers. Every op draws from torch's default generator unless ``seed`` gives it one of its
own.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, OutOfRange, UsageError
from argosy.ops.array.shape import ints
from argosy.ops.table import op


def _generator(seed: int, device: torch.device | None) -> torch.Generator | None:
    """A generator for a seed other than 0, which stands for the default one."""
    return torch.Generator(device or torch.device("cpu")).manual_seed(seed) if seed else None


def _require_float(dtype: torch.dtype, call: str) -> None:
    if not dtype.is_floating_point:
        raise DtypeError(
            f"{call}: the dtype must be floating-point, but is {dtypes.name_of(dtype)}"
        )


@op(
    "uniform",
    layer="uniform",
    is_random=True,
    types=("uniform_random(shape/ShapeTensorList, min, max, dtype:dtype, -, seed)",),
)
def uniform(
    shape: Any,
    low: float,
    high: float,
    dtype: torch.dtype,
    device: torch.device | None = None,
    seed: int = 0,
) -> Tensor:
    _require_float(dtype, "uniform")
    out = torch.empty(ints(shape), dtype=dtype, device=device)
    # .data: what is new was never changed, and says so
    return out.uniform_(min(low, high), max(low, high), generator=_generator(seed, device)).data


@op(
    "gaussian",
    layer="gaussian",
    is_random=True,
    types=("gaussian_random(shape/ShapeTensorList, mean, std, dtype:dtype, -, seed)",),
)
def gaussian(
    shape: Any,
    mean: float,
    std: float,
    dtype: torch.dtype,
    device: torch.device | None = None,
    seed: int = 0,
) -> Tensor:
    _require_float(dtype, "gaussian")
    out = torch.empty(ints(shape), dtype=dtype, device=device)
    return out.normal_(mean, std, generator=_generator(seed, device)).data


@op("randint", is_random=True, types=("randint(low, high, shape/ShapeTensorList, dtype:dtype, -)",))
def randint(
    low: int, high: int, shape: Any, dtype: torch.dtype, device: torch.device | None = None
) -> Tensor:
    if low >= high:
        raise UsageError(f"randint: low must be less than high, but low = {low} and high = {high}")
    return torch.randint(low, high, ints(shape), dtype=dtype, device=device)


@op("randperm", is_random=True, types=("randperm(n, dtype:dtype, -)",))
def randperm(n: int, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
    return torch.randperm(n, dtype=dtype, device=device)


@op("multinomial", is_random=True)
def multinomial(x: Tensor, num_samples: int = 1, replacement: bool = False) -> Tensor:
    _require_float(x.dtype, "multinomial")
    if not replacement and x.device.type == "cpu" and bool(((x > 0).sum(-1) < num_samples).any()):
        raise UsageError(
            f"multinomial: {num_samples} samples without replacement need as many categories "
            "with a probability above 0"
        )
    return torch.multinomial(x.detach(), num_samples, replacement)


@op("bernoulli", is_random=True)
def bernoulli(x: Tensor) -> Tensor:
    """1 with the probability that each element gives, else 0."""
    _require_float(x.dtype, "bernoulli")
    try:
        return torch.bernoulli(x.detach())
    except RuntimeError as error:
        raise OutOfRange(f"bernoulli: probabilities must lie in [0, 1]: {error}") from error


@op("poisson", is_random=True)
def poisson(x: Tensor) -> Tensor:
    return torch.poisson(x.detach().clamp(min=0))


@op("binomial", is_random=True)
def binomial(count: Tensor, prob: Tensor) -> Tensor:
    shape = torch.broadcast_shapes(count.shape, prob.shape)  # type: ignore[no-untyped-call]
    trials, chance = count.detach().to(prob.dtype).expand(shape), prob.detach().expand(shape)
    return torch.binomial(trials.contiguous(), chance.contiguous()).to(torch.int64)


@op("standard_gamma", is_random=True)
def standard_gamma(x: Tensor) -> Tensor:
    return torch._standard_gamma(x.detach())


@op("exponential", is_random=True)
def exponential(x: Tensor, lam: float = 1.0) -> Tensor:
    """Exponential draws of rate ``lam`` in the shape of ``x``."""
    return torch.empty_like(x).exponential_(lam)


@op("cauchy", is_random=True)
def cauchy(x: Tensor, loc: float = 0.0, scale: float = 1.0) -> Tensor:
    return torch.empty_like(x).cauchy_(loc, scale)


@op("geometric", is_random=True)
def geometric(x: Tensor, probs: Any) -> Tensor:
    """``log(u) / log(1 - probs)`` for uniform u: the continuous form, which Paddle does not round
    up.
    """
    tiny = torch.finfo(x.dtype).tiny
    draws = torch.empty_like(x).uniform_(tiny, 1.0).log_()
    return draws / torch.log1p(-torch.as_tensor(probs, dtype=x.dtype, device=x.device))
