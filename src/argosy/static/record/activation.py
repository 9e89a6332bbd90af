"""The activations that layers name with ``act="relu"``: by the type of Paddle's operator, with the
defaults of that operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy.foundation.errors import UsageError, nearest
from argosy.nn import functional as F
from argosy.tensor import math

_OF_NN = """
    celu elu gelu log_softmax logsigmoid mish relu relu6 selu sigmoid silu softmax softplus
    softshrink softsign swish tanh
    thresholded_relu
""".split()  # noqa: SIM905
_OF_MATH = """
    abs acos asin atan ceil cos cosh erf exp floor log log10 log1p log2 reciprocal round rsqrt sin
    sinh sqrt square stanh tan
""".split()  # noqa: SIM905

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(F, name) for name in _OF_NN},
    **{name: getattr(math, name) for name in _OF_MATH},
    # Operators have names and defaults of their own where the functions were renamed later.
    "hard_shrink": F.hardshrink,
    "hard_sigmoid": lambda x: F.hardsigmoid(x, 0.2, 0.5),
    "hard_swish": F.hardswish,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.02),
    "tanh_shrink": F.tanhshrink,
}


def activate(x: Any, act: str | None) -> Any:
    """Apply the activation that ``act`` names; None leaves ``x`` as it is."""
    if act is None:
        return x
    if act not in ACTIVATIONS:
        raise UsageError(f"unknown activation {act!r}.{nearest(str(act), ACTIVATIONS)}")
    return ACTIVATIONS[act](x)
