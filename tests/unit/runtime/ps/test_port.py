import contextlib
import socket

import pytest

from argosy.foundation.endpoints import endpoint_of
from argosy.foundation.errors import ConfigError
from argosy.runtime.ps.server.port import given_way, keep
from argosy.runtime.ps.server.service import Service
from argosy.runtime.ps.server.tables import Tables


def can_be_taken(port, *options):
    """Whether another socket, with all the kernel offers for that, gets the port."""
    with socket.socket() as other, contextlib.suppress(OSError):
        for option in options:
            other.setsockopt(socket.SOL_SOCKET, option, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        return True
    return False


OPTIONS = [
    (),
    (socket.SO_REUSEADDR,),
    (socket.SO_REUSEPORT,),
    (socket.SO_REUSEADDR, socket.SO_REUSEPORT),
]


@pytest.mark.attack("Another process wants the port that a launcher keeps for a server")
@pytest.mark.parametrize("options", OPTIONS)
def test_a_port_that_is_kept_cannot_be_taken(tmp_path, options):
    with keep("127.0.0.1") as keeper:
        port = endpoint_of(keeper).port
        assert not can_be_taken(port, *options)
        for _ in range(2):  # a server that is started again finds it too
            tables = Tables(tmp_path / "tables", 1, lambda *_: None)
            service = Service(f"grpc://127.0.0.1:{port}", tables, "a token", 1)
            try:
                assert service.port == port
                assert not can_be_taken(port, *options)
            finally:
                tables.close()
                service.end()
            assert not can_be_taken(port, *options)


def test_only_the_socket_of_that_port_gives_way():
    with keep("127.0.0.1") as one, keep("127.0.0.1") as other:
        with given_way(endpoint_of(one)):
            assert can_be_taken(endpoint_of(one).port, socket.SO_REUSEADDR)
            assert not can_be_taken(endpoint_of(other).port, socket.SO_REUSEADDR)
        assert not can_be_taken(endpoint_of(one).port, socket.SO_REUSEADDR)


def test_a_port_that_somebody_has_is_an_error_that_names_it(tmp_path):
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        contextlib.closing(Tables(tmp_path / "tables", 1, lambda *_: None)) as tables,
    ):
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigError, match=rf"cannot listen on 127\.0\.0\.1:{port}: Address already in use"
        ):
            Service(f"grpc://127.0.0.1:{port}", tables, "a token", 1)
