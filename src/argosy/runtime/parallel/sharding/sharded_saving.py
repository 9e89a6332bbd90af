"""What autograd keeps of a forward, where some tensors can be had again: a note instead of their
memory.

The engine asks hooks what to keep of each tensor that backward will need. While a ``Saving`` is
open, it answers for tensors that are watched, and for their views, with a note of which part of the
memory they are; backward gets them from ``Restorable.restored()``. All others are kept as they are,
or as the hooks say under which it was opened.
"""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from argosy.foundation import torch_private as private


class Restorable(abc.ABC):
    """Knows how to get back a tensor whose memory was given up."""

    @abc.abstractmethod
    def count_saved(self) -> None:
        """Called for each time that ``restored`` will be called in one backward."""

    @abc.abstractmethod
    def restored(self) -> torch.Tensor:
        """The tensor, laid out in memory as it was."""


class _Note:
    """What is kept in place of a tensor that is watched, or of a view of it."""

    __slots__ = ("offset", "shape", "stride", "use")

    def __init__(self, use: Restorable, tensor: torch.Tensor) -> None:
        use.count_saved()
        self.use = use
        self.shape, self.stride, self.offset = (
            tensor.shape,
            tensor.stride(),
            tensor.storage_offset(),
        )

    def tensor(self) -> torch.Tensor:
        return self.use.restored().as_strided(self.shape, self.stride, self.offset)


class Saving:
    """Decides what autograd keeps while it is open: notes of what is watched, and everything else
    as before.

    It may be opened inside itself and inside other hooks for saved tensors (recomputation has
    some); tensors that are not its own are theirs.
    """

    def __init__(self) -> None:
        self._by_memory: dict[int, tuple[Restorable, torch.dtype]] = {}
        self._open: list[bool] = []  # for each opening, whether hooks were pushed for it

    @property
    def depth(self) -> int:
        return len(self._open)

    def open(self) -> None:
        outer = private.top_saved_tensors_hooks(True)
        is_needed = torch.is_grad_enabled() and not (
            outer is not None and getattr(outer[0], "saving", None) is self
        )
        if is_needed:
            private.push_saved_tensors_hooks(_Pack(self, outer), _unpack)
        self._open.append(is_needed)

    def close(self) -> None:
        if self._open.pop():
            private.pop_saved_tensors_hooks()

    @contextlib.contextmanager
    def around(self) -> Iterator[None]:
        """Open for the block; what failed inside without closing is closed too."""
        depth = self.depth
        self.open()
        try:
            yield
        finally:
            while self.depth > depth:
                self.close()

    def watch(self, use: Restorable, whole: torch.Tensor) -> None:
        """Know ``whole``, which must stay alive, when it is to be saved, until ``unwatch``."""
        self._by_memory[whole.untyped_storage().data_ptr()] = use, whole.dtype

    def unwatch(self, whole: torch.Tensor) -> None:
        self._by_memory.pop(whole.untyped_storage().data_ptr(), None)

    def note(self, tensor: torch.Tensor) -> _Note | None:
        if tensor.layout is not torch.strided or type(tensor) is not torch.Tensor:
            return None
        use, dtype = self._by_memory.get(tensor.untyped_storage().data_ptr(), (None, None))
        return _Note(use, tensor) if use is not None and dtype is tensor.dtype else None


class _Pack:
    """The engine's hook for a tensor to be saved; ``outer`` are the hooks under which ours were
    opened.
    """

    __slots__ = ("outer", "saving")

    def __init__(self, saving: Saving, outer: Any) -> None:
        self.saving = saving
        self.outer = outer

    def __call__(self, tensor: torch.Tensor) -> Any:
        note = self.saving.note(tensor)
        if note is not None:
            return note
        if self.outer is not None:
            return _Elsewhere(self.outer[1], self.outer[0](tensor))
        # the engine does not compare versions where hooks are at work
        return tensor.detach(), tensor._version


class _Elsewhere:
    """What other hooks made of a tensor, and how they get it back."""

    __slots__ = ("kept", "unpack")

    def __init__(self, unpack: Any, kept: Any) -> None:
        self.unpack = unpack
        self.kept = kept


def _unpack(kept: Any) -> torch.Tensor:
    if type(kept) is _Note:
        return kept.tensor()
    if type(kept) is _Elsewhere:
        restored: torch.Tensor = kept.unpack(kept.kept)
        return restored
    tensor: torch.Tensor
    tensor, version = kept
    if tensor._version != version:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an "
            f"inplace operation: {tensor.dtype} {list(tensor.shape)} "
            f"is at version {tensor._version}; expected version {version} instead."
        )
    return tensor
