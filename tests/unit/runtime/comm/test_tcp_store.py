"""The store as Paddle's core shows it."""

import threading

import pytest

from argosy.foundation.endpoints import bind_listener
from argosy.runtime.comm.tcp_store import TCPStore


def free_port():
    with bind_listener() as listener:
        return listener.getsockname()[1]


def test_values_under_names():
    store = TCPStore("127.0.0.1", free_port(), True, 1, 5)
    store.set("name", "value")
    assert store.get("name") == b"value"
    assert [store.add("count", 3), store.add("count", 3)] == [3, 6]
    assert store.get("count") == b"6"
    store.close()


def test_the_master_waits_for_the_others():
    port, seen = free_port(), []

    def join():
        other = TCPStore("127.0.0.1", port, False, 2, 20)
        seen.append(other.get("from the master"))
        other.close()

    thread = threading.Thread(target=join)
    thread.start()
    master = TCPStore("127.0.0.1", port, True, 2, 20)
    master.set("from the master", b"1")
    thread.join(20)
    assert seen == [b"1"]
    master.close()


def test_a_wait_has_the_stores_timeout():
    store = TCPStore("127.0.0.1", free_port(), True, 1, 0.2)
    with pytest.raises(RuntimeError):
        store.wait("never")
    store.close()
