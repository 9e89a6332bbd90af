"""Random tensors, drawn from torch's default generator, which ``paddle.seed`` seeds."""

from __future__ import annotations

import numbers
from typing import Any

import torch

from argosy.foundation.dtypes import to_torch
from argosy.foundation.errors import NotSupported, UsageError
from argosy.foundation.places import to_place
from argosy.ops.array import creation as creation_ops
from argosy.ops.array import sampling as ops
from argosy.ops.table import Op
from argosy.tensor._core.arguments import store
from argosy.tensor._core.defaults import defaults, float_dtype
from argosy.tensor._core.face import unary
from argosy.tensor._core.inplace import redraw
from argosy.tensor._core.tensor import Tensor, apply
from argosy.tensor._shapes import int_attr, like, packs_shape, shape_attr

__all__ = [
    "bernoulli", "bernoulli_", "binomial", "cauchy_", "geometric_", "log_normal", "log_normal_",
    "multinomial", "normal",
    "normal_", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like",
    "randperm",
    "standard_gamma", "standard_normal", "uniform",
]  # fmt: skip


def _made(tensor: Any, out: Any, requires_grad: bool, call: str) -> Any:
    tensor = store(out, tensor, call)
    if requires_grad:
        tensor.stop_gradient = False
    return tensor


def _draw(
    op: Op, shape: Any, a: float, b: float, dtype: torch.dtype, device: Any, seed: int, call: str
) -> Any:
    place = defaults.device if device is None else to_place(device).device
    return apply(op, shape_attr(shape, call), a, b, dtype, place, seed)


def uniform(
    shape: Any,
    dtype: Any = None,
    min: float = 0,
    max: float = 1.0,
    seed: int = 0,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Draw uniformly from [``min``, ``max``); a ``seed`` other than 0 gives the same numbers every
    time.
    """
    result = _draw(ops.uniform, shape, min, max, float_dtype(dtype), device, seed, "uniform")
    return _made(result, out, requires_grad, "uniform")


def gaussian(
    shape: Any,
    mean: float = 0.0,
    std: float = 1.0,
    seed: int = 0,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Draw from a normal distribution; a ``seed`` other than 0 gives the same numbers every
    time.
    """
    result = _draw(ops.gaussian, shape, mean, std, float_dtype(dtype), device, seed, "gaussian")
    return _made(result, out, requires_grad, "gaussian")


@packs_shape
def rand(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Draw uniformly from [0, 1)."""
    return uniform(shape, dtype, 0.0, 1.0, out=out, device=device, requires_grad=requires_grad)


@packs_shape
def randn(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Draw from the standard normal distribution."""
    return gaussian(shape, dtype=dtype, out=out, device=device, requires_grad=requires_grad)


def standard_normal(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Draw from the standard normal distribution."""
    return gaussian(shape, dtype=dtype, out=out, device=device, requires_grad=requires_grad)


def rand_like(
    input: Any,
    name: str | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Draw uniformly from [0, 1) in the shape and dtype of ``input``."""
    shape, place = like(input, device)
    return uniform(
        shape,
        input.dtype if dtype is None else dtype,
        device=place,
        requires_grad=requires_grad,
    )


def randn_like(
    x: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Draw from the standard normal distribution in the shape and dtype of ``x``."""
    shape, place = like(x, device)
    return gaussian(
        shape,
        dtype=x.dtype if dtype is None else dtype,
        device=place,
        requires_grad=requires_grad,
    )


def normal(
    mean: Any = 0.0, std: Any = 1.0, shape: Any = None, name: str | None = None, *, out: Any = None
) -> Any:
    """Draw from normal distributions; mean and std are numbers, with a ``shape``, or Tensors that
    give it.

    Example:
        >>> import paddle
        >>> paddle.normal(mean=paddle.zeros([3]), std=paddle.ones([3])).shape
        [3]
    """
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        like = mean if isinstance(mean, Tensor) else std
        result = randn_like(like) * std + mean
    elif shape is None:
        raise UsageError("normal: shape is missing; it is needed when mean and std are numbers")
    elif isinstance(mean, numbers.Real):
        result = gaussian(shape, float(mean), float(std))
    elif isinstance(mean, numbers.Complex):
        raise NotSupported(f"normal: a complex mean ({mean}) is not supported")
    else:
        result = gaussian(shape, float(mean), float(std))
    return store(out, result, "normal")


def log_normal(mean: Any = 1.0, std: Any = 2.0, shape: Any = None, name: str | None = None) -> Any:
    """Draw numbers whose logarithms are normal with the given mean and standard deviation."""
    return normal(mean, std, shape).exp()


def randint(
    low: int = 0,
    high: int | None = None,
    shape: Any = [1],  # noqa: B006
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """Draw integers uniformly from [``low``, ``high``), or from [0, ``low``) when only one bound is
    given.
    """
    wanted = torch.int64 if dtype is None else to_torch(dtype)
    low, high = _bounds(low, high, "randint")
    if wanted not in (torch.int32, torch.int64):
        raise UsageError(f"randint: dtype must be int32 or int64, but received {dtype}")
    return apply(ops.randint, low, high, shape_attr(shape, "randint"), wanted, defaults.device)


def randint_like(
    x: Any, low: int = 0, high: int | None = None, dtype: Any = None, name: str | None = None
) -> Any:
    """Draw integers in the shape of ``x``, stored in its dtype unless another is given."""
    wanted = x.raw.dtype if dtype is None else to_torch(dtype)
    low, high = _bounds(low, high, "randint_like")
    return apply(ops.randint, low, high, x.shape, wanted, x.raw.device)


def _bounds(low: int, high: int | None, call: str) -> tuple[int, int]:
    if high is not None:
        return low, high
    if low <= 0:
        raise UsageError(
            f"{call}: If high is None, low must be greater than 0, but received low = {low}."
        )
    return 0, low


def randperm(
    n: Any,
    dtype: Any = "int64",
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """The integers from 0 to ``n - 1`` in random order."""
    place = defaults.device if device is None else to_place(device).device
    result = apply(ops.randperm, int_attr(n, "randperm"), to_torch(dtype), place)
    return _made(result, out, requires_grad, "randperm")


def multinomial(
    x: Any,
    num_samples: Any = 1,
    replacement: bool = False,
    name: str | None = None,
    *,
    out: Any = None,
) -> Any:
    """Draw category numbers with probabilities in proportion to the last axis of ``x``."""
    count = int_attr(num_samples, "multinomial")
    return store(out, apply(ops.multinomial, x, count, replacement), "multinomial")


def bernoulli(x: Any, p: float | None = None, name: str | None = None) -> Any:
    """1 with the probability that each element gives (or ``p`` for all), else 0."""
    return apply(ops.bernoulli, x if p is None else apply(creation_ops.full_like, x, p))


poisson = unary(
    ops.poisson, "Draw from Poisson distributions whose rates are the elements of ``x``."
)
standard_gamma = unary(
    ops.standard_gamma, "Draw from gamma distributions of scale 1 with the shapes given by ``x``."
)


def binomial(count: Any, prob: Any, name: str | None = None) -> Any:
    """Draw how many of ``count`` trials succeed with probability ``prob``, as int64."""
    return apply(ops.binomial, count, prob)


# -- in place
# --------------------------------------------------------------------------------------------------


def _refill(x: Any, op: Op, call: str, *args: Any) -> Any:
    """Overwrite ``x`` with the draws of an op that takes it for its shape and dtype."""
    return redraw(x, apply(op, x, *args), call)


def _redraw(x: Any, op: Op, a: float, b: float, seed: int, call: str) -> Any:
    return redraw(x, apply(op, x.shape, a, b, x.raw.dtype, x.raw.device, seed), call)


def uniform_(
    x: Any, min: float = 0, max: float = 1.0, seed: int = 0, name: str | None = None
) -> Any:
    """Overwrite with uniform draws from [``min``, ``max``)."""
    return _redraw(x, ops.uniform, min, max, seed, "uniform_")


def gaussian_(
    x: Any, mean: float = 0.0, std: float = 1.0, seed: int = 0, name: str | None = None
) -> Any:
    """Overwrite with draws from a normal distribution."""
    return _redraw(x, ops.gaussian, mean, std, seed, "gaussian_")


def normal_(x: Any, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> Any:
    """Overwrite with draws from a normal distribution."""
    return _redraw(x, ops.gaussian, mean, std, 0, "normal_")


def log_normal_(x: Any, mean: float = 1.0, std: float = 2.0, name: str | None = None) -> Any:
    """Overwrite with numbers whose logarithms are normal."""
    return redraw(
        x, gaussian(x.shape, mean, std, dtype=x.dtype, device=x.place).exp(), "log_normal_"
    )


def bernoulli_(x: Any, p: Any = 0.5, name: str | None = None) -> Any:
    """Overwrite with 1 with probability ``p``, else 0."""
    chances = (
        p.astype(x.dtype).expand_as(x)
        if isinstance(p, Tensor)
        else apply(creation_ops.full_like, x, p)
    )
    return redraw(x, apply(ops.bernoulli, chances), "bernoulli_")


def exponential_(x: Any, lam: float = 1.0, name: str | None = None) -> Any:
    """Overwrite with draws from an exponential distribution of rate ``lam``."""
    return _refill(x, ops.exponential, "exponential_", lam)


def cauchy_(x: Any, loc: float = 0, scale: float = 1, name: str | None = None) -> Any:
    """Overwrite with draws from a Cauchy distribution."""
    return _refill(x, ops.cauchy, "cauchy_", loc, scale)


def geometric_(x: Any, probs: Any, name: str | None = None) -> Any:
    """Overwrite with the waiting times of trials that succeed with probability ``probs``, not
    rounded to integers.
    """
    return _refill(x, ops.geometric, "geometric_", probs)


def random_(x: Any, from_: int = 0, to: int | None = None, *, generator: Any = None) -> Any:
    """Overwrite with integers drawn uniformly from [``from_``, ``to``), by default all that the
    dtype can hold.
    """
    if generator is not None:
        raise NotSupported(
            "Tensor.random_: argument generator is not supported; seed the default one with "
            "paddle.seed"
        )
    dtype = x.raw.dtype
    end = _largest(dtype) if to is None else to
    return redraw(x, apply(ops.randint, from_, end, x.shape, dtype, x.raw.device), "random_")


def _largest(dtype: torch.dtype) -> int:
    """One more than the integers that ``random_`` draws: all of an integer dtype, the exact ones of
    a floating dtype.
    """
    if dtype.is_floating_point:
        return int(2 / torch.finfo(dtype).eps) + 1
    return int(torch.iinfo(dtype).max)


TENSOR_METHODS = [
    "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "multinomial", "normal_",
    "random_", "uniform_",
]  # fmt: skip
