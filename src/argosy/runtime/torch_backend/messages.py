"""Messages from rank to rank: with tags, and from any source.

A message is received by the first call that asks for its tag, whatever the order in which messages
of other tags come. In shared memory a mailbox keeps messages in their order: whoever reads it gives
each to the call that waits for it, and puts aside what nobody has asked for yet. Between hosts gloo
does all that.
"""

from __future__ import annotations

import abc
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import CollectiveMismatch, UsageError
from argosy.runtime.comm import arguments
from argosy.runtime.comm.backend import Backend
from argosy.runtime.comm.backends.hierarchical import HierarchicalBackend
from argosy.runtime.comm.backends.shm.backend import ShmBackend
from argosy.runtime.comm.backends.torch_pg import TorchBackend
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.work import Work

_log = logging.getLogger(__name__)

_CLOSE_S = 10.0  # longer than a transport waits for its calls when it is closed


class Messages(abc.ABC):
    """The messages of one group. Calls return at once; tensors stay untouched until the work is
    done.
    """

    @abc.abstractmethod
    def send(self, tensor: torch.Tensor, dst: int, tag: int) -> Work: ...

    @abc.abstractmethod
    def recv(self, tensor: torch.Tensor, src: int, tag: int) -> Work: ...

    @abc.abstractmethod
    def recv_any(self, tensor: torch.Tensor, tag: int) -> Work:
        """The result of the work is the rank that the message came from."""

    def close(self) -> None:  # noqa: B027 - most have none
        """End the threads that this object has started; call it when the transport is closed,
        which ends what they wait for.
        """


def messages_of(group: Group) -> Messages:
    """Those of ``group``, by its transport."""
    transport = group.transport
    if isinstance(transport, ShmBackend):
        return Postbox(group, transport)
    if isinstance(transport, HierarchicalBackend):
        return GlooMessages(group, transport.tagged)
    return NoMessages(transport)


class NoMessages(Messages):
    """Of a group of one rank, which has nobody to write to."""

    def __init__(self, backend: Backend) -> None:
        self._transport = backend

    def send(self, tensor: torch.Tensor, dst: int, tag: int) -> Work:
        return Work.completed(self._transport.send(tensor, dst))

    def recv(self, tensor: torch.Tensor, src: int, tag: int) -> Work:
        return Work.completed(self._transport.recv(tensor, src))

    def recv_any(self, tensor: torch.Tensor, tag: int) -> Work:
        raise UsageError("recv: a group of one rank has no other to receive from")


class GlooMessages(Messages):
    """Through a gloo group, which tells tags and sources apart; a queue for each, so that no wait
    holds up another.
    """

    def __init__(self, group: Group, backend: TorchBackend) -> None:
        self._group = group
        self._transport = backend

    def send(self, tensor: torch.Tensor, dst: int, tag: int) -> Work:
        call = self._transport.send_tagged
        return self._group.message(f"send-{tag}", dst, True, call, tensor, dst, tag)

    def recv(self, tensor: torch.Tensor, src: int, tag: int) -> Work:
        call = self._transport.recv_tagged
        return self._group.message(f"recv-{tag}", src, True, _from, call, tensor, src, tag)

    def recv_any(self, tensor: torch.Tensor, tag: int) -> Work:
        return self._group.message(f"recv-{tag}", -1, True, self._transport.recv_any, tensor, tag)


def _from(call: object, tensor: torch.Tensor, src: int, tag: int) -> int:
    assert callable(call)
    call(tensor, src, tag)
    return src


@dataclass(eq=False)
class _Receipt:
    """A call that waits for a message of ``src``, or of any rank if that is -1."""

    tensor: torch.Tensor
    src: int
    tag: int
    work: Work = field(default_factory=lambda: Work("recv"))

    def takes(self, src: int, tag: int) -> bool:
        return self.tag == tag and self.src in (src, -1)


class Postbox(Messages):
    """Through the mailboxes of a shared-memory group. A mailbox is read by one thread at a time,
    which there is while somebody waits for its messages; ``close`` joins those.
    """

    def __init__(self, group: Group, backend: ShmBackend) -> None:
        self._group = group
        self._transport = backend
        self._sources = [r for r in range(backend.world_size) if r != backend.rank]
        self._lock = threading.Lock()
        # all guarded by _lock
        self._waiting: list[_Receipt] = []
        self._aside: dict[int, list[tuple[int, torch.Tensor]]] = {r: [] for r in self._sources}
        self._read: set[int] = set()  # mailboxes that a thread reads
        self._num_any_threads = 0
        self._readers: list[threading.Thread] = []  # those that read and have not ended

    def send(self, tensor: torch.Tensor, dst: int, tag: int) -> Work:
        backend = self._transport
        arguments.check_peer("send", "dst", dst, backend.rank, backend.world_size)
        # what fits into the mailbox goes there now; the queue, if it is used, keeps the order
        is_later = self._group.num_pending > 0 or not backend.has_room(tensor.nbytes, dst)
        return self._group.message("send", dst, is_later, backend.send, tensor, dst, tag)

    def recv(self, tensor: torch.Tensor, src: int, tag: int) -> Work:
        backend = self._transport
        arguments.check_peer("recv", "src", src, backend.rank, backend.world_size)
        receipt = _Receipt(tensor, src, tag)
        self._take_what_is_there(receipt, [src])
        with self._lock:
            if receipt.work.is_completed() or src in self._read:
                return receipt.work
            self._read.add(src)
        self._start(f"recv-{src}", self._read_mailbox, src)
        return receipt.work

    def recv_any(self, tensor: torch.Tensor, tag: int) -> Work:
        receipt = _Receipt(tensor, -1, tag)
        self._take_what_is_there(receipt, self._sources)
        with self._lock:
            if receipt.work.is_completed() or self._num_any_threads:
                return receipt.work
            self._num_any_threads += 1
        self._start("recv-any", self._read_all)
        return receipt.work

    # -- reading
    # ----------------------------------------------------------------------------------------------

    def _take_what_is_there(self, receipt: _Receipt, sources: list[int]) -> None:
        """Give ``receipt`` a message that lies here, or else let it wait."""
        with self._lock:
            for src in sources:
                for i, (tag, kept) in enumerate(self._aside[src]):
                    if tag == receipt.tag:
                        del self._aside[src][i]
                        _deliver(receipt, kept, src)
                        return
            self._waiting.append(receipt)
        for src in sources:
            self._drain(src, receipt)

    def _drain(self, src: int, receipt: _Receipt | None) -> bool:
        """Hand out the messages of ``src`` that lie here, unless another thread does so; until
        ``receipt`` has its own. Whether there was one.
        """
        found = False
        while receipt is None or not receipt.work.is_completed():
            with self._lock:
                if src in self._read or not self._transport.has_letter(src):
                    return found
                self._read.add(src)
            try:
                self._hand_out_next(src)
                found = True
            finally:
                self._release(src)
            if receipt is None:
                return found
        return found

    def _release(self, src: int) -> None:
        """Read a mailbox no longer; if somebody has come to wait for its messages, a thread goes
        on.
        """
        with self._lock:
            if not any(r.src == src for r in self._waiting):
                self._read.discard(src)
                return
        self._start(f"recv-{src}", self._read_mailbox, src)

    def _hand_out_next(self, src: int) -> None:
        """Receive the next message of ``src``, for whoever waits for it; the caller is the
        mailbox's only reader.
        """
        letter = self._transport.letter(src)
        with self._lock:
            receipt = next((r for r in self._waiting if r.takes(src, letter.tag)), None)
            if receipt is not None:
                self._waiting.remove(receipt)
        if receipt is None:
            kept = torch.empty(letter.count, dtype=letter.dtype)
            self._transport.recv(kept, src)
            with self._lock:
                # somebody may have asked for it meanwhile
                receipt = next((r for r in self._waiting if r.takes(src, letter.tag)), None)
                if receipt is None:
                    self._aside[src].append((letter.tag, kept))
                    return
                self._waiting.remove(receipt)
            _deliver(receipt, kept, src)
            return
        try:
            self._transport.recv(receipt.tensor, src)
        except BaseException as error:
            receipt.work.finish(None, error)
            raise
        receipt.work.finish(src)

    def _read_mailbox(self, src: int) -> None:
        """Read the messages of ``src`` while somebody waits for one of them."""
        try:
            while True:
                self._hand_out_next(src)
                with self._lock:
                    if not any(r.src == src for r in self._waiting):
                        self._read.discard(src)
                        return
        except Exception as error:
            self._fail(error, lambda receipt: receipt.src == src)
            with self._lock:
                self._read.discard(src)

    def _read_all(self) -> None:
        """Read the messages of all ranks while somebody waits for one of any."""

        def is_there() -> bool:
            found = [src for src in self._sources if self._drain(src, None)]
            return bool(found) or not self._wants_any()

        try:
            while True:
                self._transport.await_any(is_there)
                with self._lock:
                    if not any(r.src == -1 for r in self._waiting):
                        self._num_any_threads -= 1
                        return
        except Exception as error:
            self._fail(error, lambda receipt: receipt.src == -1)
            with self._lock:
                self._num_any_threads -= 1

    def _wants_any(self) -> bool:
        with self._lock:
            return any(r.src == -1 for r in self._waiting)

    def _fail(self, error: Exception, concerns: Callable[[_Receipt], bool]) -> None:
        with self._lock:
            failed = [r for r in self._waiting if concerns(r)]
            self._waiting = [r for r in self._waiting if not concerns(r)]
        for receipt in failed:
            receipt.work.finish(None, error)

    def _start(self, name: str, call: Callable[..., None], *args: object) -> None:
        label = f"argosy-{self._group.label}-{name}"
        thread = threading.Thread(target=call, args=args, name=label, daemon=True)
        with self._lock:
            self._readers = [each for each in self._readers if each.is_alive()]
            thread.start()
            self._readers.append(thread)

    def close(self) -> None:
        with self._lock:
            threads, self._readers = self._readers, []
        until = Deadline.after(_CLOSE_S)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(until.remaining_s())
                if thread.is_alive():
                    _log.warning("%s has not ended within %g s", thread.name, _CLOSE_S)


def _deliver(receipt: _Receipt, message: torch.Tensor, src: int) -> None:
    """Fill the tensor of ``receipt`` with a message that was put aside."""
    target = receipt.tensor.detach()
    if target.dtype is not message.dtype or target.numel() != message.numel():
        receipt.work.finish(
            None,
            CollectiveMismatch(
                f"recv from rank {src}: expected {arguments.describe(target)}, but rank {src} sent "
                f"{arguments.describe(message)}"
            ),
        )
        return
    target.copy_(message.view(target.shape))
    receipt.work.finish(src)
