"""What hosts send each other so that a tensor becomes its weighted sum over them.

Two hosts send each other everything, in one *leg*: that is no more than they would send in two.
More hosts take two legs: each gets its share of the tensor from all, adds it up and sends the sum
to all. ``2 S (h - 1) / h`` bytes leave a host either way. Sums are in the order of the hosts, so
all of them get the same bits.

A tensor travels in *parcels*: one is encoded while that before is on its way, and added up while
the next one comes, so neither the first byte nor the last waits for a whole bucket.

With a codec the body of the tensor travels in its form; each host decodes its own part as the
others do. The last ``num_exact`` elements travel as they are, each host's to all.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch

from argosy.runtime.comm import fingerprint
from argosy.runtime.comm.backends.doorway import bytes_of
from argosy.runtime.comm.backends.packing import PACKABLE
from argosy.runtime.comm.codec import Codec

_BLOCK = 16
# of a message: 4 ms of a wire of 1 Gb/s. Each costs a turn of the thread, some 0.1 ms.
_MESSAGE_BYTES = 512 << 10


class Cargo:
    """A bucket on its way, as parcels; ``place`` is its number in the group, ``form`` what hosts
    compare.
    """

    def __init__(
        self,
        place: int,
        values: torch.Tensor,
        host: int,
        weights: Sequence[float],
        codec: Codec | None = None,
        num_exact: int = 0,
    ) -> None:
        self.place = place
        self.form = [
            fingerprint.CODE_BY_DTYPE[values.dtype],
            values.numel(),
            -1 if codec is None else codec.code,
        ]
        ends = _ends(values, len(weights), codec, num_exact)
        self.parcels = [
            Parcel(values[start:end], host, weights, codec, num_exact if end == ends[-1] else 0)
            for start, end in itertools.pairwise([0, *ends])
        ]
        self.num_legs = self.parcels[0].num_legs
        # of the numbers on the wire, where they can be packed
        self.packable: torch.dtype | None = values.dtype if codec is None else codec.wire
        if self.packable not in PACKABLE:
            self.packable = None

    def drop(self) -> None:
        """Let go of all memory."""
        for parcel in self.parcels:
            parcel.drop()


def _ends(values: torch.Tensor, hosts: int, codec: Codec | None, num_exact: int) -> list[int]:
    """Where parcels end: at multiples of a block, and the last one behind what is exact."""
    if codec is None:
        block, block_bytes, num_exact = _BLOCK, _BLOCK * values.dtype.itemsize, 0
    else:
        block, block_bytes = codec.block, codec.num_bytes(codec.block)
    shares = 1 if hosts == 2 else hosts  # each is a message
    size = max(_MESSAGE_BYTES // block_bytes, 1) * block * shares
    return [*range(size, values.numel() - num_exact, size), values.numel()]


class Parcel:
    """The part of host ``host`` in a weighted sum. Legs come in their order: ``load`` begins one,
    its ``incoming`` may be filled from the end of the last round on, ``unload`` follows when all
    is there and sent.
    """

    def __init__(
        self,
        values: torch.Tensor,
        host: int,
        weights: Sequence[float],
        codec: Codec | None = None,
        num_exact: int = 0,
    ) -> None:
        self._host, self._weights, self._codec = host, list(weights), codec
        count = values.numel() - (num_exact if codec is not None else 0)
        self._body, self._tail = values[:count], values[count:]
        self._others = [h for h in range(len(weights)) if h != host]
        hosts = len(weights)
        self.num_legs = 1 if hosts == 2 else 2
        block = _BLOCK if codec is None else codec.block
        # two hosts: each adds everything up
        blocks = -(-count // block)
        bounds = [min(blocks * h // hosts * block, count) for h in range(hosts)] + [count]
        self._parts = (
            [self._body] * 2
            if hosts == 2
            else [self._body[bounds[h] : bounds[h + 1]] for h in range(hosts)]
        )
        self._mine = self._parts[host]
        self._make_room(values)

    def _make_room(self, values: torch.Tensor) -> None:
        codec, tail_bytes = self._codec, self._tail.numel() * values.dtype.itemsize
        share_bytes = self._num_bytes(self._mine)
        self._came = {
            h: torch.empty(share_bytes + tail_bytes, dtype=torch.uint8) for h in self._others
        }
        self._sent: list[torch.Tensor] = []  # encoded, for each host
        self._sums: list[torch.Tensor] = []  # encoded, of each host's share
        self._residual = self._sum_residual = None
        self._total = self._mine
        if codec is not None:
            sizes = [self._num_bytes(part) for part in self._parts]
            shared = torch.empty(sizes[0], dtype=torch.uint8) if self.num_legs == 1 else None
            self._sent = [
                torch.empty(n, dtype=torch.uint8) if shared is None else shared for n in sizes
            ]
            if self.num_legs == 2:
                self._sums = [torch.empty(n, dtype=torch.uint8) for n in sizes]
                self._total = torch.empty_like(self._mine)
            if codec.keeps_residual:
                self._residual = torch.zeros_like(self._body)
                self._sum_residual = torch.zeros_like(self._total)

    def _num_bytes(self, part: torch.Tensor) -> int:
        count = part.numel()
        return count * part.dtype.itemsize if self._codec is None else self._codec.num_bytes(count)

    # -- sending
    # ----------------------------------------------------------------------------------------------

    def load(self, leg: int) -> None:
        """Encode what goes to the other hosts."""
        if self._codec is None:
            return
        if leg == 0:
            self._encode(self._codec)
        else:
            self._codec.encode(self._total, self._sums[self._host], self._sum_residual)

    def outgoing(self, leg: int, host: int) -> list[memoryview]:
        """What goes to ``host``; it must not change until it is sent."""
        if leg == 1:
            return [bytes_of(self._mine if self._codec is None else self._sums[self._host])]
        parts = self._parts if self._codec is None else self._sent
        return [bytes_of(parts[host]), bytes_of(self._tail)]

    def _encode(self, codec: Codec) -> None:
        done, start = set(), 0
        for part, out in zip(self._parts, self._sent, strict=True):
            if id(out) in done:
                continue
            done.add(id(out))
            stop = start + part.numel()
            residual = None if self._residual is None else self._residual[start:stop]
            codec.encode(part, out, residual)
            start = stop

    def plain_out(self, leg: int, host: int) -> tuple[int, int]:
        """How many of the first and of the last bytes of what goes to ``host`` are not numbers that
        may be packed.
        """
        return self._plain(leg, self._parts[host] if leg == 0 else self._mine)

    def _plain(self, leg: int, part: torch.Tensor) -> tuple[int, int]:
        before = 0 if self._codec is None else self._codec.plain_bytes(part.numel())
        return before, self._tail.nbytes if leg == 0 else 0

    # -- receiving
    # ----------------------------------------------------------------------------------------------

    def incoming(self, leg: int, host: int) -> memoryview:
        """Where that which comes from ``host`` is to be."""
        if leg == 0:
            return bytes_of(self._came[host])
        return bytes_of(self._parts[host] if self._codec is None else self._sums[host])

    def plain_in(self, leg: int, host: int) -> tuple[int, int]:
        """As ``plain_out``, of what comes from ``host``."""
        return self._plain(leg, self._mine if leg == 0 else self._parts[host])

    def expects(self, leg: int, host: int, num_bytes: int) -> bool:
        """Whether a message that is not packed may have ``num_bytes``."""
        return num_bytes == self.incoming(leg, host).nbytes

    def reads(self, leg: int, host: int) -> bool:
        """Whether what has come from ``host`` is what a host sends: any bytes are numbers."""
        return True

    def unload(self, leg: int) -> None:
        """Add up what came."""
        if leg == 0:
            self._add_up()
        elif self._codec is not None:
            for part, encoded in zip(self._parts, self._sums, strict=True):
                self._codec.add_up([encoded], [1.0], part)

    def _add_up(self) -> None:
        size, dtype = self._num_bytes(self._mine), self._body.dtype
        came = {h: bytes_[:size] for h, bytes_ in self._came.items()}
        if self._codec is None:
            came = {h: bytes_.view(dtype) for h, bytes_ in came.items()}
            _sum_into(self._total, self._in_order(came, self._mine), self._weights)
        else:
            parts = self._in_order(came, self._sent[self._host])
            self._codec.add_up(parts, self._weights, self._total)
        if self._tail.numel():
            # a copy begins where the dtype can: that of the bytes may not
            tails = {h: bytes_[size:].clone().view(dtype) for h, bytes_ in self._came.items()}
            _sum_into(self._tail, self._in_order(tails, self._tail), self._weights)

    def _in_order(self, by_host: dict[int, torch.Tensor], own: torch.Tensor) -> list[torch.Tensor]:
        return [own if h == self._host else by_host[h] for h in range(len(self._weights))]

    def drop(self) -> None:
        """Let go of all memory."""
        self._body = self._tail = self._mine = self._total = torch.empty(0)
        self._came, self._parts, self._sent, self._sums = {}, [], [], []
        self._residual = self._sum_residual = None


def _sum_into(out: torch.Tensor, parts: Sequence[torch.Tensor], weights: Sequence[float]) -> None:
    """The weighted sum of ``parts`` in their order; ``out`` may be one of them."""
    from argosy.runtime.comm.backends import sums  # numba takes its time to be loaded

    arrays = [part.numpy() for part in parts]
    total = out.numpy() if len(parts) == 2 else out.new_empty(out.numel()).numpy()
    sums.add_two(arrays[0], arrays[1], weights[0], weights[1], total)
    for array, weight in zip(arrays[2:], weights[2:], strict=True):
        sums.add_to(total, array, weight)
    if len(parts) > 2:
        out.copy_(torch.from_numpy(total))
