"""``fluid.input``: lookup and one-hot over ids of any shape."""

from __future__ import annotations

from typing import Any

from argosy import tensor as T
from argosy.nn import functional as F
from argosy.static.nn import common
from argosy.static.nn.layer import anywhere

embedding = anywhere(common.embedding)


def one_hot(input: Any, depth: int, allow_out_of_range: bool = False) -> Any:
    """Ones at the given columns of a new last axis; ids out of range give zeros where
    ``allow_out_of_range`` permits them.
    """
    if not allow_out_of_range:
        return F.one_hot(input, depth)
    return T.cast(T.equal(T.unsqueeze(input, [-1]), T.arange(0, depth, 1, input.dtype)), "float32")
