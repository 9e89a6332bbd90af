"""Decorators that read ahead or work in threads or processes.

Whatever one of these starts ends with its iterator: when it is exhausted, fails, is closed or is
dropped. An exception in a thread or process is raised to whoever iterates.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_connections
from typing import Any

from argosy.foundation.errors import ChildFailed, UsageError
from argosy.reader.channel import Channel

Reader = Callable[[], Any]
_END_S = 10.0  # for a reader that is asked for no more
_GRACE_S = 5.0  # between SIGTERM and SIGKILL


def buffered(reader: Reader, size: int) -> Reader:
    """Read up to ``size`` samples ahead in a thread."""

    def fill(channel: Channel) -> None:
        try:
            for sample in reader():
                if not channel.put((sample, None)):
                    return
        except BaseException as error:
            channel.put((None, error))
        finally:
            channel.close()

    def serve() -> Iterator[Any]:
        channel = Channel(max(int(size), 1))
        thread = threading.Thread(
            target=fill, args=(channel,), name="paddle.reader.buffered", daemon=True
        )
        thread.start()
        try:
            while (entry := channel.get()) is not None:
                sample, error = entry
                if error is not None:
                    raise error
                yield sample
        finally:
            channel.close()
            thread.join(_END_S)
            if thread.is_alive():
                warnings.warn(
                    f"paddle.reader.buffered: the reader has not returned for {_END_S:g} s after "
                    "the end of the loop; "
                    "its thread is left to itself",
                    RuntimeWarning,
                    stacklevel=2,
                )

    return serve


def xmap_readers(
    mapper: Callable[[Any], Any],
    reader: Reader,
    process_num: int,
    buffer_size: int,
    order: bool = False,
) -> Reader:
    """Apply ``mapper`` in ``process_num`` threads, with up to ``buffer_size`` samples under way
    beside them.

    ``order=True`` keeps the order of the reader; otherwise a sample is served as soon as it is
    done.
    """

    def serve() -> Iterator[Any]:
        samples = iter(reader())
        limit = int(process_num) + max(int(buffer_size), 0)
        running: deque[Future[Any]] = deque()
        executor = ThreadPoolExecutor(int(process_num), thread_name_prefix="paddle.reader.xmap")
        try:
            while True:
                while len(running) < limit:
                    try:
                        running.append(executor.submit(mapper, next(samples)))
                    except StopIteration:
                        limit = 0
                if not running:
                    return
                done = (
                    running[0]
                    if order
                    else next(iter(wait(running, return_when=FIRST_COMPLETED).done))
                )
                running.remove(done)
                yield done.result()
        finally:
            executor.shutdown(wait=True, cancel_futures=True)

    return serve


def multiprocess_reader(
    readers: Sequence[Reader], use_pipe: bool = True, queue_size: int = 1000
) -> Reader:
    """Run each reader in a process of its own and serve samples as they come.

    ``use_pipe`` and ``queue_size`` choose the transport in Paddle; here it is always a pipe per
    process.
    """
    if not isinstance(readers, (list, tuple)) or not readers:
        raise UsageError(
            f"multiprocess_reader: expected a list of readers, but received {readers!r}"
        )

    def serve() -> Iterator[Any]:
        context = multiprocessing.get_context(
            "fork" if "fork" in multiprocessing.get_all_start_methods() else None
        )
        open_ends: list[Connection] = []
        processes = []
        try:
            for number, reader in enumerate(readers):
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(
                    target=_send_samples,
                    args=(reader, sender),
                    daemon=True,
                    name=f"reader-{number}",
                )
                process.start()
                sender.close()
                open_ends.append(receiver)
                processes.append(process)
            yield from _merge(open_ends, processes)
        finally:
            for receiver in open_ends:
                receiver.close()
            for process in processes:
                _end(process)

    return serve


def _send_samples(reader: Reader, sender: Connection) -> None:
    """What a process does: (True, sample) for each, (False, None) at the end or (False, traceback)
    on failure.
    """
    try:
        for sample in reader():
            if sample is None:
                raise UsageError("multiprocess_reader: a sample is None")
            sender.send((True, sample))
        sender.send((False, None))
    except BrokenPipeError:
        pass
    except Exception:
        sender.send((False, traceback.format_exc()))


def _end(process: Any) -> None:
    if process.is_alive():
        process.terminate()
        process.join(_GRACE_S)
    if process.is_alive():
        process.kill()
    process.join()
    process.close()


def _merge(receivers: Sequence[Connection], processes: Sequence[Any]) -> Iterator[Any]:
    waiting = list(receivers)
    # a pipe ends only when the children of a reader's process have closed it too
    receiver_by_end = {
        os.pidfd_open(p.pid): receiver for p, receiver in zip(processes, receivers, strict=True)
    }
    try:
        while waiting:
            ready: list[Any] = wait_for_connections([*waiting, *receiver_by_end])
            ended = []
            for end in [end for end in ready if end in receiver_by_end]:
                os.close(end)
                ended.append(receiver_by_end.pop(end))
            for receiver in [
                receiver for receiver in waiting if receiver in ready or receiver in ended
            ]:
                yield from _received(
                    receiver, receivers.index(receiver), receiver in ended, waiting
                )
    finally:
        for end in receiver_by_end:
            os.close(end)


def _received(
    receiver: Connection, number: int, is_all: bool, waiting: list[Connection]
) -> Iterator[Any]:
    """The next sample of a reader's process, or with ``is_all`` all that the process, which has
    ended, has left.
    """
    while receiver.poll():
        try:
            is_sample, value = receiver.recv()
        except EOFError:
            break
        if is_sample:
            yield value
        elif value is None:
            waiting.remove(receiver)
            return
        else:
            raise ChildFailed(
                f"multiprocess_reader: reader {number} failed in its process:\n{value}"
            )
        if not is_all:
            return
    raise ChildFailed(f"multiprocess_reader: the process of reader {number} died before its end")
