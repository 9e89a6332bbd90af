import shutil

import numpy as np
import pyarrow.flight as flight
import pytest

from argosy.foundation.errors import ConfigError, ServerUnavailable
from argosy.runtime.launch.servers import tls as ps_tls
from argosy.runtime.ps.server.service import Service
from argosy.runtime.ps.server.status import Observer
from argosy.runtime.ps.server.tables import Tables
from argosy.runtime.ps.wire import tls
from argosy.runtime.ps.worker.client import Client
from support.ps_service import SPEC, TOKEN, plain_sgd

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="makes certificates")


@pytest.fixture
def endpoint(tmp_path, monkeypatch):
    """A server with a certificate of the job's, and the variables that its workers get."""
    cert, key = ps_tls.make_certificate(tmp_path / "tls", ["127.0.0.1", "localhost"])
    for name, path in ((tls.CERT, cert), (tls.KEY, key), (tls.ROOT, cert)):
        monkeypatch.setenv(name, str(path))
    tables = Tables(tmp_path / "tables", 1, plain_sgd)
    service = Service(
        f"{tls.scheme()}://127.0.0.1:0",
        tables,
        TOKEN,
        1,
        tls_certificates=tls.server_certificates(),
    )
    yield f"127.0.0.1:{service.port}"
    service.shutdown()
    tables.close()


@needs_openssl
def test_with_the_certificate_everything_works(endpoint):
    with Client([endpoint], 0, TOKEN, 10.0, tls_root=tls.root_certificates()) as client:
        client.join()
        client.create_sparse(SPEC, "async")
        assert client.pull("emb", np.array([1, 2])).shape == (2, 3)
    with Observer([endpoint], TOKEN, 10.0, tls.root_certificates()) as observer:
        assert [t["rows"] for t in observer.ask(endpoint, "status")["tables"]] == [2]


@needs_openssl
def test_without_the_certificate_nobody_gets_in(endpoint, tmp_path):
    with (
        Client([endpoint], 0, TOKEN, 0.2) as plain,
        pytest.raises(ServerUnavailable, match="did not answer"),
    ):
        plain.act("status", {})
    other, _ = ps_tls.make_certificate(tmp_path / "other", ["127.0.0.1"])
    with (
        Client([endpoint], 0, TOKEN, 0.2, tls_root=other.read_bytes()) as stranger,
        pytest.raises(ServerUnavailable, match="did not answer"),
    ):
        stranger.act("status", {})


@needs_openssl
def test_the_token_is_needed_all_the_same(endpoint):
    connection = flight.connect(f"grpc+tls://{endpoint}", tls_root_certs=tls.root_certificates())
    with pytest.raises(flight.FlightUnauthenticatedError):
        list(connection.do_action(flight.Action("status", b"{}")))
    connection.close()


@needs_openssl
def test_the_key_is_for_its_owner_only(tmp_path):
    _, key = ps_tls.make_certificate(tmp_path / "tls", ["127.0.0.1"])
    assert key.stat().st_mode & 0o077 == 0


def test_without_openssl_the_message_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"needs the openssl program.*--tls_cert"):
        ps_tls.make_certificate(tmp_path / "tls", ["127.0.0.1"])


def test_no_variables_no_tls(monkeypatch):
    for name in (tls.CERT, tls.KEY, tls.ROOT):
        monkeypatch.delenv(name, raising=False)
    assert (tls.scheme(), tls.server_certificates(), tls.root_certificates()) == (
        "grpc",
        None,
        None,
    )


def test_a_file_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv(tls.ROOT, str(tmp_path / "missing.pem"))
    with pytest.raises(ConfigError, match="ARGOSY_TLS_ROOT must name a file"):
        tls.root_certificates()
