"""What the functions of ``static.nn`` share: names, parameters and the activation at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from argosy.foundation.errors import UsageError, nearest
from argosy.framework._mode import switch
from argosy.nn import functional as F
from argosy.nn.layer.layers import LayerHelper
from argosy.static._recorder import recorder
from argosy.static._variable import Variable
from argosy.tensor._naming import unique_name


@contextlib.contextmanager
def layer_call(kind: str, name: str | None, input: Any) -> Iterator[LayerHelper]:
    """Name what one call records: parameters ``fc_0.w_0``, variables ``fc_0.tmp_0``; refuse what is not part of a program."""
    if not switch.is_static:
        raise UsageError(f"static.nn.{kind}: call paddle.enable_static() first, or use the layers of paddle.nn")
    if not isinstance(input, Variable):
        raise UsageError(f"static.nn.{kind}: the input must be a Variable, but received {type(input).__name__}")
    helper = LayerHelper(name or unique_name.generate(kind))
    with recorder.in_layer(helper.name):
        yield helper


def activated(out: Any, act: str | None, call: str) -> Any:
    """Apply the activation of this name."""
    if act is None:
        return out
    found = getattr(F, act, None) or getattr(out, act, None)
    if not isinstance(act, str) or found is None:
        raise UsageError(f"static.nn.{call}: unknown activation {act!r}.{nearest(str(act), dir(F))}")
    return found(out) if hasattr(F, act) else found()
