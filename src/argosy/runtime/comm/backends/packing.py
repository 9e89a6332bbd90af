"""Messages of numbers in fewer bytes, without loss, for connections that are slower than packing.

A sender decides message by message; the message says whether it is packed. What the bytes are is in
``packing_kernels.py`` for float32, in ``halves_kernels.py`` for 16 bits and in
``levels_kernels.py`` for 8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

PACKABLE = (torch.float32, torch.float16, torch.bfloat16, torch.int8)
# Packing and unpacking these takes 1.5 ns for each byte and saves a twelfth of them, which is a
# gain only while there is something else to send.
DEAR = (torch.int8,)
# Packing and unpacking take half a nanosecond for each byte, and save a seventh of them: on a
# faster connection than this (2 Gb/s) that is no gain, on one of 1 Gb/s it is a tenth of the time.
_SLOW_BYTES_PER_S = 250e6
_WORDS: dict[int, Any] = {4: np.uint32, 2: np.uint16, 1: np.uint8}  # by the bytes of a number
_LEAST_BYTES = 4 << 10  # of a message: less is gone in no time
_FULL_SHARE = 0.25  # of the time: a connection that is full less often waits for its host
_TELLING_BYTES = 1 << 20  # that a full connection took: fewer may be what its buffers let through


class Pace:
    """How a connection takes what it is given."""

    def __init__(self) -> None:
        self.is_slow = False  # it was, when it was last full
        self._full_at_s: float | None = None  # when it took no more, until it does again
        self._forget()

    def _forget(self) -> None:
        self._since_s: float | None = None  # when it first was full
        self._full_s = 0.0  # that it was full since then
        self._num_bytes = 0  # that it has taken since then

    def note(
        self, began_s: float, ended_s: float, num_bytes: int, is_full: bool, is_last: bool
    ) -> None:
        """From ``began_s`` to ``ended_s`` the connection took ``num_bytes``; then it was full, or
        those were the last for now.
        """
        if self._full_at_s is not None:
            self._full_s += began_s - self._full_at_s
        self._full_at_s = ended_s if is_full else None
        if self._since_s is None:
            self._since_s = self._full_at_s
            return
        self._num_bytes += num_bytes
        if is_last:
            took_s = ended_s - self._since_s
            if self._num_bytes >= _TELLING_BYTES:
                is_cause = self._full_s > _FULL_SHARE * took_s
                self.is_slow = is_cause and self._num_bytes < _SLOW_BYTES_PER_S * took_s
            self._forget()


class Packer:
    """Memory for one packed message at a time, which grows with them."""

    def __init__(self) -> None:
        self._memory: Any = np.empty(0, np.uint8)

    def pack(self, view: memoryview, dtype: torch.dtype) -> memoryview | None:
        """The bytes of numbers of ``dtype``, one of PACKABLE, packed, until the next call; None if
        that saves nothing.
        """
        # they load numba
        from argosy.runtime.comm.backends import halves_kernels, levels_kernels, packing_kernels

        if view.nbytes < _LEAST_BYTES:
            return None
        words = _words(view, dtype)
        if dtype is torch.float32:
            self._grow(packing_kernels.most_bytes(words.size))
            size = packing_kernels.pack(words, self._memory)
        elif dtype is torch.int8:
            self._grow(levels_kernels.most_bytes(words.size))
            size = levels_kernels.pack(words, self._memory)
        else:
            self._grow(halves_kernels.most_bytes(words.size))
            size = halves_kernels.pack(words, dtype is torch.bfloat16, self._memory)
        return memoryview(self._memory)[:size] if size < view.nbytes else None

    def unpack(
        self, num_bytes: int, view: memoryview, dtype: torch.dtype, before: int, after: int
    ) -> bool:
        """Turn the first ``num_bytes`` of ``view``, a packed message, into what it was made of,
        which fills ``view``; so many bytes before the numbers and after them were not packed. False
        if it is no message of that length.
        """
        from argosy.runtime.comm.backends import halves_kernels, levels_kernels, packing_kernels

        self._grow(num_bytes)
        plain = memoryview(self._memory)[:num_bytes]
        plain[:] = view[:num_bytes]
        packed = self._memory[before : num_bytes - after]
        words = _words(view[before : view.nbytes - after], dtype)
        if dtype is torch.float32:
            used = packing_kernels.unpack(packed, words)
        elif dtype is torch.int8:
            used = levels_kernels.unpack(packed, words)
        else:
            used = halves_kernels.unpack(packed, dtype is torch.bfloat16, words)
        view[:before] = plain[:before]
        view[view.nbytes - after :] = plain[num_bytes - after :]
        return bool(used == packed.size)

    def _grow(self, num_bytes: int) -> None:
        if self._memory.size < num_bytes:
            self._memory = np.empty(num_bytes, np.uint8)


def _words(view: memoryview, dtype: torch.dtype) -> Any:
    return np.frombuffer(view, _WORDS[dtype.itemsize])
