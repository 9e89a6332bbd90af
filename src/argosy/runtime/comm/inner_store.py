"""A store of torch around another: what each of its calls does can be changed in one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import torch.distributed as dist

T = TypeVar("T")


class InnerStore(dist.Store):  # type: ignore[name-defined,misc]
    """Passes every call on to ``inner``, through ``_ask``."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self._inner = inner

    def _ask(self, call: Callable[..., T], *args: Any) -> T:
        """Run a call of the inner store."""
        return call(*args)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._ask(self._inner.wait, list(keys), *(() if timeout is None else (timeout,)))

    def get(self, key: str) -> bytes:
        return bytes(self._ask(self._inner.get, key))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return list(self._ask(self._inner.multi_get, list(keys)))

    def set(self, key: str, value: str | bytes) -> None:
        self._ask(self._inner.set, key, value)

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        self._ask(self._inner.multi_set, list(keys), list(values))

    def add(self, key: str, value: int) -> int:
        return int(self._ask(self._inner.add, key, value))

    def check(self, keys: Sequence[str]) -> bool:
        return bool(self._ask(self._inner.check, list(keys)))

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        return bytes(self._ask(self._inner.compare_set, key, expected_value, desired_value))

    def append(self, key: str, value: str | bytes) -> None:
        self._ask(self._inner.append, key, value)

    def delete_key(self, key: str) -> bool:
        return bool(self._ask(self._inner.delete_key, key))

    def num_keys(self) -> int:
        return int(self._ask(self._inner.num_keys))

    def has_extended_api(self) -> bool:
        return True

    # the names under which torch's C++ code looks for these two
    deleteKey = delete_key
    getNumKeys = num_keys
