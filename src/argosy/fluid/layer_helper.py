"""``fluid.layer_helper``: of LayerHelper, what dygraph layers use."""

from __future__ import annotations

from typing import Any, NoReturn

from argosy.fluid._activation import activate
from argosy.fluid._missing import refuse

__all__ = ["LayerHelper"]


class LayerHelper:
    """Applies the activation that it was made with; what records ops belongs to static graphs."""

    def __init__(self, layer_type: str, **kwargs: Any) -> None:
        self.name = kwargs.get("name") or layer_type
        self.kwargs = kwargs

    def append_activation(self, input_var: Any) -> Any:
        """``act(input_var)``"""
        act = self.kwargs.get("act")
        return activate(input_var, act["type"] if isinstance(act, dict) else act)

    def __getattr__(self, name: str) -> NoReturn:
        refuse(f"paddle.fluid.layer_helper.LayerHelper.{name}")
