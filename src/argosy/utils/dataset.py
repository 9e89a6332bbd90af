"""The base of datasets by index. It stands below ``io``, which exports it, so that ``vision`` can
build on it too.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Dataset(Generic[T]):
    """Samples by index: a subclass defines ``__getitem__`` and ``__len__``."""

    def __init__(self) -> None:
        pass

    def __getitem__(self, idx: Any) -> T:
        raise NotImplementedError(
            f"{type(self).__name__} does not define __getitem__; a Dataset must"
        )

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} does not define __len__; a Dataset must")
