"""``core.eager.StringTensor``: an array of texts on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.foundation.errors import DtypeError
from argosy.foundation.places import CPUPlace, Place
from argosy.tensor.engine import Shape, unique_name


class StringTensor:
    """Texts in a shape: empty ones of the shape ``dims``, or those of an array, or of another.

    Example:
        >>> texts = paddle.base.core.eager.StringTensor([2], "words")
        >>> texts.name, texts.shape, texts.numpy().tolist()
        ('words', [2], ['', ''])
    """

    def __init__(self, value: Any = None, name: str | None = None, dims: Any = None) -> None:
        if isinstance(value, (list, tuple)):
            value, dims = None, value
        if value is None:
            self._texts = np.zeros(tuple(dims or ()), np.str_)
        elif isinstance(value, StringTensor):
            self._texts = value.numpy()
        else:
            self._texts = np.array(value)
            if self._texts.dtype.kind not in "US":
                raise DtypeError(
                    "StringTensor: the value must be an array of texts, but received dtype "
                    f"{self._texts.dtype}"
                )
        self.name = name or unique_name.generate("generated_string_tensor")

    @property
    def shape(self) -> Shape:
        return Shape(self._texts.shape)

    @property
    def place(self) -> Place:
        return CPUPlace()

    def numpy(self) -> np.ndarray:
        """A copy as an array of texts."""
        return self._texts.copy()

    def _is_initialized(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"StringTensor(name={self.name}, shape={list(self.shape)}, {self._texts!r})"
