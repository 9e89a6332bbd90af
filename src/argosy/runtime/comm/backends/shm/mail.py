"""Point-to-point messages: one mailbox for each ordered pair of ranks (see ``layout.py``).

A mailbox has two buffers, so the sender fills one while the receiver empties the other; a larger
message goes through in pieces, each with a header that the receiver compares with what it expects.
Different peers and directions are independent and may be used by different threads at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from argosy.foundation.errors import CollectiveMismatch
from argosy.runtime.comm import fingerprint
from argosy.runtime.comm.arguments import describe
from argosy.runtime.comm.backends.shm import layout
from argosy.runtime.comm.backends.shm.care import poll
from argosy.runtime.comm.backends.shm.compiled import kernels, sync
from argosy.runtime.comm.backends.shm.segment import Segment
from argosy.runtime.comm.backends.shm.steps import Steps

_FIRST_NAP_S = 5e-5  # of a wait for any rank, which has no flag to sleep on


@dataclass(frozen=True)
class Letter:
    """What a message says about itself."""

    dtype: torch.dtype
    count: int
    tag: int


class Mail:
    """This rank's ends of the mailboxes of its group."""

    def __init__(self, segment: Segment, places: layout.Layout, rank: int, steps: Steps) -> None:
        self._segment = segment
        self._layout = places
        self._rank = rank
        self._steps = steps
        self._num_sent = [0] * places.world_size
        self._num_taken = [0] * places.world_size

    def send(self, tensor: torch.Tensor, flat: torch.Tensor, dst: int, tag: int) -> None:
        """Hand over ``flat``, the contiguous memory of ``tensor``, piece by piece."""
        raw = _raw(flat)
        box = self._layout.mailbox(self._rank, dst)
        for low, high in self._pieces(raw.numel()):
            self._num_sent[dst] += 1
            number = self._num_sent[dst]
            self._await(box + layout.MAIL_TAKEN, number - 2, dst, f"send to rank {dst}")
            self._header(box, number)[:4] = (
                high - low,
                fingerprint.CODE_BY_DTYPE[tensor.dtype],
                tensor.numel(),
                tag,
            )
            self._buffer(self._rank, dst, number)[: high - low].copy_(raw[low:high])
            self._publish(box + layout.MAIL_SENT, number)

    def recv(self, tensor: torch.Tensor, flat: torch.Tensor, src: int) -> None:
        """Fill ``flat``, the contiguous memory of ``tensor``."""
        raw = _raw(flat)
        box = self._layout.mailbox(src, self._rank)
        for low, high in self._pieces(raw.numel()):
            self._num_taken[src] += 1
            number = self._num_taken[src]
            self._await(box + layout.MAIL_SENT, number, src, f"recv from rank {src}")
            size, dtype, count = self._header(box, number)[:3].tolist()
            if (size, dtype, count) != (
                high - low,
                fingerprint.CODE_BY_DTYPE[tensor.dtype],
                tensor.numel(),
            ):
                raise CollectiveMismatch(
                    f"recv from rank {src}: rank {self._rank} expects {describe(tensor)}, but "
                    f"rank {src} sent "
                    f"{fingerprint.tensor_text(dtype, count)}"
                )
            raw[low:high].copy_(self._buffer(src, self._rank, number)[: high - low])
            self._publish(box + layout.MAIL_TAKEN, number)

    def has_room(self, num_bytes: int, dst: int) -> bool:
        """Whether a message of that size can be sent to ``dst`` without waiting."""
        taken = self._segment.address + self._layout.mailbox(self._rank, dst) + layout.MAIL_TAKEN
        return num_bytes <= self._layout.mail_bytes and (
            sync.load_flag(taken) >= self._num_sent[dst] - 1
        )

    def has_letter(self, src: int) -> bool:
        """Whether a message of ``src`` has come that was not received yet."""
        sent = self._segment.address + self._layout.mailbox(src, self._rank) + layout.MAIL_SENT
        return bool(sync.load_flag(sent) > self._num_taken[src])

    def letter(self, src: int) -> Letter:
        """What the next message of ``src`` is; waits for it."""
        box = self._layout.mailbox(src, self._rank)
        number = self._num_taken[src] + 1
        self._await(box + layout.MAIL_SENT, number, src, f"recv from rank {src}")
        _, dtype, count, tag = self._header(box, number)[:4].tolist()
        return Letter(fingerprint.dtype_of(dtype), count, tag)

    def await_any(self, is_there: Callable[[], bool]) -> None:
        """Wait until ``is_there()``; PeerLost when no other rank is left."""
        others = [r for r in range(self._layout.world_size) if r != self._rank]

        def look() -> list[int]:
            if poll(is_there, _FIRST_NAP_S):
                return []
            fates = self._steps.fates_here()
            return [r for r in others if r not in fates] or others

        if not is_there():
            self._steps.wait_with_care(look, "recv from any rank")

    def _pieces(self, num_bytes: int) -> list[tuple[int, int]]:
        size = self._layout.mail_bytes
        return [(low, min(low + size, num_bytes)) for low in range(0, num_bytes, size)] or [(0, 0)]

    def _header(self, box: int, number: int) -> npt.NDArray[Any]:
        return self._segment.array(
            box + layout.MAIL_HEADER + (number & 1) * layout.MAIL_HEADER_BYTES, (8,), np.int64
        )

    def _buffer(self, sender: int, receiver: int, number: int) -> torch.Tensor:
        offset = self._layout.mail_buffer(sender, receiver, number & 1)
        return torch.from_numpy(self._segment.array(offset, (self._layout.mail_bytes,), np.uint8))

    def _publish(self, flag: int, number: int) -> None:
        base = self._segment.address
        sync.publish(base + flag, base + flag + layout.MAIL_SLEEPERS, number)

    def _await(self, flag: int, number: int, peer: int, activity: str) -> None:
        address = self._segment.address + flag

        def look() -> list[int]:
            moves = kernels.moves_from(peer, self._steps.mover)
            sleepers, timespec = address + layout.MAIL_SLEEPERS, self._steps.timespec_address
            found = sync.wait_for(address, sleepers, number, timespec, moves)
            return [] if found else [peer]

        if look():
            self._steps.wait_with_care(look, activity)


def _raw(flat: torch.Tensor) -> torch.Tensor:
    return flat.view(torch.uint8) if flat.numel() else flat.new_empty(0, dtype=torch.uint8)
