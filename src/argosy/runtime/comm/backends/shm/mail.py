"""Point-to-point messages: one mailbox for each ordered pair of ranks (see ``layout.py``).

A mailbox has two buffers, so the sender fills one while the receiver empties the other; a larger
message goes through in pieces, each with a header that the receiver compares with what it expects.
Different peers and directions are independent and may be used by different threads at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from argosy.foundation.errors import CollectiveMismatch
from argosy.runtime.comm import fingerprint
from argosy.runtime.comm.arguments import describe
from argosy.runtime.comm.backends.shm import layout
from argosy.runtime.comm.backends.shm.compiled import sync
from argosy.runtime.comm.backends.shm.segment import Segment
from argosy.runtime.comm.backends.shm.steps import Steps


class Mail:
    """This rank's ends of the mailboxes of its group."""

    def __init__(self, segment: Segment, places: layout.Layout, rank: int, steps: Steps) -> None:
        self._segment = segment
        self._layout = places
        self._rank = rank
        self._steps = steps
        self._num_sent = [0] * places.world_size
        self._num_taken = [0] * places.world_size

    def send(self, tensor: torch.Tensor, flat: torch.Tensor, dst: int) -> None:
        """Hand over ``flat``, the contiguous memory of ``tensor``, piece by piece."""
        raw = _raw(flat)
        box = self._layout.mailbox(self._rank, dst)
        for low, high in self._pieces(raw.numel()):
            self._num_sent[dst] += 1
            number = self._num_sent[dst]
            self._await(box + layout.MAIL_TAKEN, number - 2, dst, f"send to rank {dst}")
            self._header(box, number)[:3] = (
                high - low,
                fingerprint.CODE_BY_DTYPE[tensor.dtype],
                tensor.numel(),
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
            found = sync.wait_for(
                address, address + layout.MAIL_SLEEPERS, number, self._steps.timespec_address
            )
            return [] if found else [peer]

        if look():
            self._steps.wait_with_care(look, activity)


def _raw(flat: torch.Tensor) -> torch.Tensor:
    return flat.view(torch.uint8) if flat.numel() else flat.new_empty(0, dtype=torch.uint8)
