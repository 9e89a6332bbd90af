"""StaticModelRunner: an inference model of 1.x as a Layer that trains on."""

from __future__ import annotations

from argosy.fluid.core import loaded_var_suffix
from argosy.jit.translated_layer import TranslatedLayer, read_model

__all__ = ["StaticModelRunner"]


class StaticModelRunner(TranslatedLayer):
    """The model that ``fluid.io.save_inference_model`` wrote to a folder; its parameters carry the
    names of the files with a suffix.
    """

    def __init__(
        self,
        model_dir: str,
        model_filename: str | None = None,
        params_filename: str | None = None,
    ) -> None:
        methods, tensors = read_model(model_dir, model_filename, params_filename)
        for tensor in tensors.values():
            tensor.name += loaded_var_suffix()
        super().__init__(methods, tensors)
