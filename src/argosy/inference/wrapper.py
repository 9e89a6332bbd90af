"""``paddle.inference.wrapper``: methods of handles as functions, and models in other precisions."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import NotSupported
from argosy.inference.handle import Tensor
from argosy.inference.kinds import PaddlePlace, Precision


def tensor_copy_from_cpu(self: Tensor, data: Any) -> None:
    """``self.copy_from_cpu(data)``."""
    self.copy_from_cpu(data)


def tensor_share_external_data(self: Tensor, data: Any) -> None:
    """``self.share_external_data(data)``."""
    self.share_external_data(data)


def convert_to_mixed_precision(
    model_file: str,
    params_file: str,
    mixed_model_file: str,
    mixed_params_file: str,
    mixed_precision: Precision,
    backend: PaddlePlace,
    keep_io_types: bool = True,
    black_list: set[str] | None = None,
    **kwargs: Any,
) -> None:
    """Refuse: models are not converted after they were saved."""
    raise NotSupported(
        "convert_to_mixed_precision: a saved model is not converted here; train or load the "
        "network, decorate it with paddle.amp.decorate(net, level='O2') and save that"
    )
