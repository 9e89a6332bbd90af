"""``paddle.onnx``: models are not written in ONNX's format; the call says what to do instead."""

from __future__ import annotations

from typing import Any, NoReturn

from argosy.foundation.errors import NotSupported

__all__ = ["export"]


class NoConverter(NotSupported, ImportError):
    """There is no converter; Paddle without paddle2onnx fails to import it here."""


def export(
    layer: Any, path: str, input_spec: Any = None, opset_version: int = 9, **configs: Any
) -> NoReturn:
    """Refuse to write a model in ONNX's format.

    Raises:
        NotSupported: always.
    """
    raise NoConverter(
        f"paddle.onnx.export({path!r}): ONNX files are not written. Save the model with "
        "paddle.jit.save, whose files paddle.jit.load and paddle.static.load_inference_model read; "
        "a torch.nn.Module is exported with torch.onnx.export"
    )
