"""Forked children: what each owner lets go of. The parent's side and the whole are in
``faults/test_sessions.py``.
"""

from __future__ import annotations

import gc
import os
import socket
import threading
import weakref

import numpy as np
import pytest

from argosy.foundation.endpoints import bind_listener
from argosy.foundation.errors import UsageError
from argosy.runtime.comm import forks
from argosy.runtime.comm.backends import connections
from argosy.runtime.comm.backends.shm.segment import Segment
from argosy.runtime.comm.work import CommQueue


def status_of_child(act) -> int:
    """The exit code of a child that is forked here and runs ``act``: 0 if that went well."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            act()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_what_a_child_writes_stays_its_own():
    segment = Segment.create("forked", 8192)
    values = segment.array(0, (1024,), np.int64)
    values[:] = 7

    def act():
        assert (values == 7).all()
        values[:] = 8
        assert (values == 8).all()

    assert status_of_child(act) == 0
    assert (values == 7).all()
    segment.close()
    # a view that outlives its segment is no exception
    assert status_of_child(lambda: values.fill(9)) == 0
    assert (values == 7).all()


def test_a_segment_keeps_no_file_open_after_its_end():
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    segment = Segment.create("files", 4096)
    assert len(os.listdir("/proc/self/fd")) == before + 1
    segment.close()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_queue_in_a_child_refuses_and_ends_what_was_pending():
    gate, began = threading.Event(), threading.Event()

    class Owner:
        def __init__(self, queue):
            self.queue = queue

        def on_forked(self):
            self.queue.refuse_in_child(lambda what: UsageError(f"{what} in a child"))

    with CommQueue("forked") as queue:
        owner = Owner(queue)
        forks.register(owner)
        running = queue.submit(lambda: (began.set(), gate.wait(20)), what="running")
        waiting = queue.submit(int, what="waiting")
        assert began.wait(20)

        def act():
            for work in (running, waiting):
                with pytest.raises(UsageError, match=f"{work.what} in a child"):
                    work.wait(0)
            with pytest.raises(UsageError, match="int in a child"):
                queue.run(int)
            with pytest.raises(UsageError, match="int in a child"):
                queue.submit(int)
            queue.close()

        try:
            assert status_of_child(act) == 0
            assert not running.is_completed()
        finally:
            gate.set()
        assert waiting.wait(20) == 0


def test_owners_are_not_kept_alive_and_all_are_told():
    told = []

    class Owner:
        def __init__(self, name):
            self.name = name

        def on_forked(self):
            told.append(self.name)
            raise ValueError(self.name)

    owners = [Owner("a"), Owner("b")]
    gone = weakref.ref(Owner("c"))
    for owner in owners:
        forks.register(owner)
    gc.collect()
    assert gone() is None
    with pytest.raises(ValueError, match=r"a|b"):
        forks._in_child_of(owners)
    assert sorted(told) == ["a", "b"]


def test_a_child_lets_go_of_a_server_and_of_connections_to_it():
    listener = bind_listener()
    port = listener.getsockname()[1]
    client = socket.create_connection(("127.0.0.1", port))
    server, _ = listener.accept()
    other = bind_listener()
    places = connections.connected_to(port)
    assert places == {("127.0.0.1", port)}

    def act():
        connections.forget_server(places)
        for sock in (client, server, listener):
            with pytest.raises(OSError, match="socket"):
                sock.getsockname()
            sock.close()
        assert other.getsockname()  # nothing else

    assert status_of_child(act) == 0
    client.sendall(b"x")
    assert server.recv(1) == b"x"
    for sock in (client, server, listener, other):
        sock.close()
