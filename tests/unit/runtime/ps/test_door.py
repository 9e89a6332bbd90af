import socket
import threading

import pytest

from argosy.runtime.ps.server.door import address_of
from argosy.runtime.ps.wire import sockets


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:127.0.0.1:50", "127.0.0.1:50"),
        ("ipv6:%5B::1%5D:50", "[::1]:50"),
        ("ipv6:[fe80::1]:7", "[fe80::1]:7"),
    ],
)
def test_addresses_of_peers(peer, address):
    assert address_of(peer) == address


def test_a_connection_is_found_watched_and_cut():
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as mine,
        listener.accept()[0] as theirs,
    ):
        [found] = [(c.here.port, c.peer.port) for c in sockets.accepted(listener.getsockname()[1])]
        assert found == (theirs.getsockname()[1], mine.getsockname()[1])
        for connection in sockets.accepted(listener.getsockname()[1]):
            connection.keep_watch()
            assert not connection.is_lost()
        assert theirs.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        waiting = threading.Thread(target=mine.recv, args=(1,), name="waiting")
        waiting.start()
        for connection in sockets.accepted(listener.getsockname()[1]):
            connection.cut()
        waiting.join(10)
        assert not waiting.is_alive()
