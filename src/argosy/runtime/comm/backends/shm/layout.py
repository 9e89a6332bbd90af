"""Where everything lies in a group's segment. Pure arithmetic.

::

    0                     control block of rank 0, 256 bytes
    256                   control block of rank 1
    ...
    data_offset           rank 0: buffer of even steps, buffer of odd steps
    + 2 * slot_bytes      rank 1: the same
    ...
    mail_offset           mailboxes, one for each ordered pair of ranks
    board_offset          the group's own board (see ``board.py``), where the job has none

A control block, one writer (its rank) but for ``sleepers``::

    0     arrived     steps this rank has published; grows by one per step, stored last
    8     sleepers    how many ranks sleep on ``arrived`` (any rank adds)
    16    pid
    24    departed    1 once the rank has closed the group, 2 once it gave up after an error
    32    cpu         the core on which the rank was when it last published
    40    when it did: seconds, nanoseconds of the monotonic clock
    64    fingerprint of even collectives: number, kind, dtype, count, detail, when it began
          (16 bytes), and the number of the shared tensor that it is about (see ``shared.py``)
    128   fingerprint of odd collectives

A step is: write your own buffer of that parity, publish, wait until all have published, read the
others' buffers. Nobody can publish step k+2 before all have published k+1, that is before all have
finished reading step k: so the buffer of k may be overwritten in k+2 without another wait.
Fingerprints alternate by the parity of the collective for the same reason.

A mailbox (one writer, one reader, two buffers)::

    0     sent        messages the sender has published
    8     sent_sleepers
    32    sent_cpu, then when it was sent
    64    taken       messages the receiver has consumed
    72    taken_sleepers
    96    taken_cpu, then when it was taken
    128   header of even messages: number of bytes, dtype, count, tag
    192   header of odd messages
    256   two buffers of mail_bytes
"""

from __future__ import annotations

from dataclasses import dataclass

CONTROL_BYTES = 256
ARRIVED, SLEEPERS, PID, DEPARTED = 0, 8, 16, 24
FLAG_CPU, FLAG_TIME = 32, 40  # from any flag that is waited for
CLOSED, GAVE_UP = 1, 2
FINGERPRINT = 64
FINGERPRINT_FIELDS, FINGERPRINT_TIME, FINGERPRINT_SHARED = 5, 40, 56

MAIL_SENT, MAIL_TAKEN = 0, 64
MAIL_SLEEPERS = 8  # from either flag
MAIL_HEADER, MAIL_HEADER_BYTES = 128, 64
MAIL_DATA = 256

PAGE = 4096


def _pages(n: int) -> int:
    return -(-n // PAGE) * PAGE


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Offsets in a segment for ``world_size`` ranks."""

    world_size: int
    slot_bytes: int = 1 << 20
    mail_bytes: int = 1 << 18
    board_bytes: int = 0

    @property
    def data_offset(self) -> int:
        return _pages(self.world_size * CONTROL_BYTES)

    @property
    def mail_offset(self) -> int:
        return self.data_offset + self.world_size * 2 * self.slot_bytes

    @property
    def mailbox_stride(self) -> int:
        return _pages(MAIL_DATA + 2 * self.mail_bytes)

    @property
    def board_offset(self) -> int:
        return self.mail_offset + self.world_size * self.world_size * self.mailbox_stride

    @property
    def total_bytes(self) -> int:
        return self.board_offset + self.board_bytes

    def control(self, rank: int) -> int:
        return rank * CONTROL_BYTES

    def slot(self, rank: int, parity: int) -> int:
        return self.data_offset + (rank * 2 + parity) * self.slot_bytes

    def mailbox(self, sender: int, receiver: int) -> int:
        return self.mail_offset + (sender * self.world_size + receiver) * self.mailbox_stride

    def mail_buffer(self, sender: int, receiver: int, parity: int) -> int:
        return self.mailbox(sender, receiver) + MAIL_DATA + parity * self.mail_bytes
