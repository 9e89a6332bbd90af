"""Dropout as 1.x has it: ``downgrade_in_infer`` by default, and a seed that fixes the choice."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import BadArgument
from argosy.nn import functional as F
from argosy.ops.nn.dropout import seeded_dropout
from argosy.tensor.engine import apply

_MODES = {"downgrade_in_infer": "downscale_in_infer", "upscale_in_train": "upscale_in_train"}


def dropout(x: Any, p: float, is_training: bool, seed: int | None, implementation: str) -> Any:
    """Zero elements of ``x`` with probability ``p``; a seed other than 0 chooses the same ones in
    each call.
    """
    if implementation not in _MODES:
        raise BadArgument(
            f"dropout: dropout_implementation must be one of {list(_MODES)}, but received "
            f"{implementation!r}"
        )
    if not seed:
        return F.dropout(x, p, training=is_training, mode=_MODES[implementation])
    return apply(
        seeded_dropout, x, p, not is_training, implementation == "upscale_in_train", int(seed)
    )
