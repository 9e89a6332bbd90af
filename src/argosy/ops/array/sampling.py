"""Random numbers. Every op draws from torch's default generator unless ``seed`` gives it one of its
own.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.foundation import dtypes
from argosy.foundation import torch_private as private
from argosy.foundation.errors import DtypeError, OutOfRange, UsageError
from argosy.ops.array.shape import ints, number
from argosy.ops.table import op


def _generator(seed: int, device: torch.device | None) -> torch.Generator | None:
    """A generator for a seed other than 0, which stands for the default one; none where nothing is
    drawn.
    """
    if not seed or (device is not None and device.type == "meta"):
        return None
    return torch.Generator(device or torch.device("cpu")).manual_seed(seed)


def _require_float(dtype: torch.dtype, call: str) -> None:
    if not dtype.is_floating_point:
        raise DtypeError(
            f"{call}: the dtype must be floating-point, but is {dtypes.name_of(dtype)}"
        )


@op(
    "uniform",
    layer="uniform",
    is_random=True,
    types=("uniform_random(shape/ShapeTensorList/ShapeTensor, min, max, dtype:dtype, -, seed)",),
)
def uniform(
    shape: Any,
    low: Any,
    high: Any,
    dtype: torch.dtype,
    device: torch.device | None = None,
    seed: int = 0,
) -> Tensor:
    _require_float(dtype, "uniform")
    low, high = number(low, 0.0), number(high, 1.0)
    out = torch.empty(ints(shape), dtype=dtype, device=device)
    # .data: what is new was never changed, and says so
    return out.uniform_(min(low, high), max(low, high), generator=_generator(seed, device)).data


@op(
    "gaussian",
    layer="gaussian",
    is_random=True,
    types=("gaussian_random(shape/ShapeTensorList/ShapeTensor, mean, std, dtype:dtype, -, seed)",),
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


@op("sampling_id", is_random=True, types=("sampling_id(X, min, max, seed)",), layer="sampling_id")
def sampling_id(x: Tensor, low: float, high: float, seed: int) -> Tensor:
    """For each row of probabilities an index: the first at which their sum exceeds a number drawn
    from [low, high).
    """
    if x.ndim != 2:
        raise UsageError(f"sampling_id: x must have 2 dimensions, but its shape is {list(x.shape)}")
    drawn = torch.empty([x.shape[0], 1], dtype=x.dtype, device=x.device)
    drawn.uniform_(low, high, generator=_generator(seed, x.device))
    return (x.cumsum(1) <= drawn).sum(1).clamp(max=x.shape[1] - 1)


@op(
    "randint",
    is_random=True,
    types=("randint(low, high, shape/ShapeTensorList/ShapeTensor, dtype:dtype, -)",),
)
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
    return private.standard_gamma(x.detach())


@op("exponential", types=("exponential(X, lambda)",), is_random=True)
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


@op("top_p_sampling", is_random=True)
def top_p_sampling(
    x: Tensor, ps: Tensor, threshold: Tensor | None, row_seeds: Tensor | None, seed: int
) -> tuple[Tensor, Tensor]:
    """Draw a column of each row of probabilities ``x``, among the likeliest that reach ``ps``
    together; its probability and its number, [rows, 1] each.

    What is below ``threshold`` is left out, but for the likeliest. ``row_seeds`` or ``seed``, if it
    is not -1, make the draw repeatable.
    """
    ordered, columns = x.detach().sort(-1, descending=True)
    before = ordered.cumsum(-1) - ordered
    is_kept = before < ps.reshape(-1, 1)
    if threshold is not None:
        is_kept &= ordered >= threshold.reshape(-1, 1)
    is_kept[:, 0] = True
    weights = torch.where(is_kept, ordered, 0.0).float()
    if row_seeds is not None:
        rows = zip(weights, row_seeds.flatten().tolist(), strict=True)
        drawn = torch.stack([row.multinomial(1, generator=_seeded(number)) for row, number in rows])
    else:
        drawn = weights.multinomial(1, generator=None if seed == -1 else _seeded(seed))
    return ordered.gather(-1, drawn), columns.gather(-1, drawn)


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
