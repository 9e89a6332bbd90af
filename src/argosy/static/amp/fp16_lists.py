"""Which operators of a program compute in low precision."""

from __future__ import annotations

from collections.abc import Iterable

from argosy.amp.amp_lists import (
    EXTRA_BLACK_LIST,
    FP16_BLACK_LIST,
    FP16_WHITE_LIST,
    types_of_precision,
)
from argosy.foundation.errors import UsageError
from argosy.ops import table
from argosy.ops.traits import Precision

black_list = FP16_BLACK_LIST
white_list = FP16_WHITE_LIST

# Safe in low precision, but not worth a cast: they follow the operators that feed them.
gray_list = types_of_precision(Precision.GRAY) | {
    "c_allreduce_sum", "c_concat", "c_identity", "flatten2", "fused_attention",
    "fused_bn_add_activation", "fused_feedforward", "fused_multi_transformer",
    "get_tensor_from_selected_rows", "pool2d", "pool3d", "soft_relu", "top_k",
    "uniform_random_batch_size_like",
}  # fmt: skip


def check_amp_dtype(dtype: object) -> str:
    """The name of a low-precision dtype."""
    name = dtype.lower() if isinstance(dtype, str) else str(getattr(dtype, "name", dtype))
    if name not in ("float16", "bfloat16"):
        raise UsageError(
            "static.amp: If enable AMP, dtype should be 'float16' or 'bfloat16', but received "
            f"{dtype!r}."
        )
    return name


class AutoMixedPrecisionLists:
    """Op types by what is done with them, changed by the caller's own sets.

    White ones compute in ``dtype``, black ones in float32, gray ones as what feeds them, others in
    float32. Operators that read or write a variable of ``custom_black_varnames`` stay in float32.
    ``unsupported_list`` holds the custom black ones: these stay in float32 at level O2 too.
    """

    def __init__(
        self,
        custom_white_list: Iterable[str] | None = None,
        custom_black_list: Iterable[str] | None = None,
        custom_black_varnames: Iterable[str] | None = None,
        dtype: str = "float16",
    ) -> None:
        self.amp_dtype = check_amp_dtype(dtype)
        more_white, more_black = set(custom_white_list or ()), set(custom_black_list or ())
        if more_white & more_black:
            raise UsageError(
                "static.amp: The given custom_white_list overlaps custom_black_list with "
                f"{sorted(more_white & more_black)}!"
            )
        self.white_list = (FP16_WHITE_LIST - more_black) | more_white
        self.black_list = ((FP16_BLACK_LIST | EXTRA_BLACK_LIST) - more_white) | more_black
        self.gray_list = gray_list - more_white - more_black
        self.unsupported_list = more_black
        self.black_varnames = set(custom_black_varnames or ())

    @property
    def all_list(self) -> set[str]:
        """Every op type."""
        return {name for op in map(table.get, table.names()) for name in op.known_names}


CustomOpLists = AutoMixedPrecisionLists
