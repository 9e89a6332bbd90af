"""Channel: a bounded queue that either side can close."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any


class Channel:
    """A bounded queue between threads that either side can close."""

    def __init__(self, size: int) -> None:
        self._items: deque[Any] = deque()  # guarded by _changed
        self._size = size
        self._is_closed = False  # guarded by _changed
        self._changed = threading.Condition()

    def put(self, item: Any) -> bool:
        """Wait for room and add; False when the channel was closed instead."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or len(self._items) < self._size)
            if not self._is_closed:
                self._items.append(item)
                self._changed.notify_all()
            return not self._is_closed

    def get(self) -> Any:
        """Wait for the next item; None once the channel is closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._items)
            item = self._items.popleft() if self._items else None
            self._changed.notify_all()
            return item

    def __len__(self) -> int:
        with self._changed:
            return len(self._items)

    @property
    def is_closed(self) -> bool:
        with self._changed:
            return self._is_closed

    def reopen(self) -> None:
        """Be empty and open again."""
        with self._changed:
            self._items.clear()
            self._is_closed = False

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
