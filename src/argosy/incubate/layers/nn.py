"""Functions of models that recommend: parts of columns, layers side by side, shuffled rows."""

from __future__ import annotations

import math
import warnings
from typing import Any, NoReturn

import torch

from argosy import tensor as T
from argosy.foundation.errors import BadArgument, NotSupported, UsageError
from argosy.framework.mode import switch
from argosy.nn.parameter import create_parameter
from argosy.static.record.activation import activate
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import unique_name

__all__ = [
    "batch_fc",
    "partial_concat",
    "partial_sum",
    "pow2_decay_with_linear_warmup",
    "rank_attention",
    "shuffle_batch",
]


def shuffle_batch(x: Any, seed: int | None = None) -> Any:
    """The rows of ``x``, which are all but its last dimension, in another order at every call.

    Example:
        >>> x = paddle.arange(6).reshape([3, 2])
        >>> sorted(paddle.incubate.layers.shuffle_batch(x).tolist())
        [[0, 1], [2, 3], [4, 5]]
    """
    if seed is not None:
        raise NotSupported(
            "shuffle_batch: seed; set the random_seed of the program, or call paddle.seed"
        )
    rows = T.reshape(x, [-1, x.shape[-1]])
    keys = T.uniform([T.shape(rows)[0]] if x.shape[0] < 0 else [math.prod(x.shape[:-1])])
    return T.reshape(T.gather(rows, T.argsort(keys)), T.shape(x) if x.shape[0] < 0 else x.shape)


def _columns(call: str, input: Any, start_index: int, length: int) -> list[Any]:
    """The same columns of every matrix."""
    if not isinstance(input, (list, tuple)):
        warnings.warn(
            f"The type of input in {call} should be list, but received {type(input)}.",
            stacklevel=3,
        )
        input = [input]
    width = input[0].shape[1]
    start = start_index + width if start_index < 0 else start_index
    end = width if length < 0 else start + length
    if not 0 <= start < width or end > width:
        raise UsageError(
            f"{call}: start_index={start_index} and length={length} leave the {width} columns"
        )
    return [T.slice(x, [1], [start], [end]) for x in input]


def partial_concat(input: Any, start_index: int = 0, length: int = -1) -> Any:
    """``length`` columns from ``start_index`` on of each matrix, side by side.

    Example:
        >>> x, y = paddle.to_tensor([[0, 1, 2]]), paddle.to_tensor([[3, 4, 5]])
        >>> paddle.incubate.layers.partial_concat([x, y], 0, 2).tolist()
        [[0, 1, 3, 4]]
    """
    return T.concat(_columns("partial_concat", input, start_index, length), axis=1)


def partial_sum(input: Any, start_index: int = 0, length: int = -1) -> Any:
    """The sum of ``length`` columns from ``start_index`` on of each matrix.

    Example:
        >>> x, y = paddle.to_tensor([[0, 1, 2]]), paddle.to_tensor([[3, 4, 5]])
        >>> paddle.incubate.layers.partial_sum([x, y], 1).tolist()
        [[5, 7]]
    """
    return T.add_n(_columns("partial_sum", input, start_index, length))


def batch_fc(
    input: Any, param_size: Any, param_attr: Any, bias_size: Any, bias_attr: Any, act: Any = None
) -> Any:
    """A linear layer of its own for each of the slots in the first dimension."""
    slots, _, width = input.shape
    if [slots, width] != list(param_size[:2]) or [slots, param_size[2]] != list(bias_size):
        raise BadArgument(
            f"batch_fc: the input is {list(input.shape)}, the weight {list(param_size)}, "
            f"the bias {list(bias_size)}; they must be [slots, n, in], [slots, in, out], [slots, "
            "out]"
        )
    weight = create_parameter(param_size, input.dtype, attr=param_attr)
    bias = create_parameter(bias_size, input.dtype, attr=bias_attr)
    return activate(T.bmm(input, weight) + T.unsqueeze(bias, [1]), act)


def rank_attention(*args: Any, **kwargs: Any) -> NoReturn:
    """Not supported: Paddle computes it on GPUs only."""
    raise NotSupported("paddle.incubate.layers.rank_attention")


def pow2_decay_with_linear_warmup(
    warmup_steps: int,
    total_steps: int,
    base_lr: float,
    end_lr: float,
    dtype: str = "float32",
    name: str | None = None,
) -> Any:
    """The learning rate of a program: grows with its runs from 0 to ``base_lr`` over
    ``warmup_steps``, then falls as a parabola to ``end_lr`` at ``total_steps``.

    Example:
        >>> paddle.enable_static()
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     lr = paddle.incubate.layers.pow2_decay_with_linear_warmup(2, 4, 1.0, 0.0)
        >>> exe = paddle.static.Executor()
        >>> _ = exe.run(startup)
        >>> [exe.run(main, fetch_list=[lr])[0].item() for _ in range(5)]
        [0.5, 1.0, 0.25, 0.0, 0.0]
        >>> paddle.disable_static()
    """
    call = "pow2_decay_with_linear_warmup"
    if not switch.is_static:
        raise NotSupported(
            f"{call}: eagerly; use paddle.optimizer.lr.LinearWarmup around PolynomialDecay(power=2)"
        )
    if warmup_steps > total_steps:
        raise BadArgument(
            f"{call}: warmup_steps={warmup_steps} is larger than total_steps={total_steps}"
        )
    count = recorder.new_state(unique_name.generate(f"{call}.step"), [1], torch.int64, 0)
    step = T.cast(T.increment(count, 1), dtype)
    left = T.clip((total_steps - step) / max(total_steps - warmup_steps, 1), min=0.0)
    falling = (base_lr - end_lr) * left * left + end_lr
    return T.where(step <= warmup_steps, step * (base_lr / max(warmup_steps, 1)), falling)
