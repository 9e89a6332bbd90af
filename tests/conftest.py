"""Fixtures that several folders share."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator

import pytest

from multiprocess.pool import Pool


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The secret of processes that are started by hand goes to a folder of the tests, not to the
    user's.
    """
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """Warm worker processes; see ``multiprocess/pool.py``."""
    with Pool() as workers:
        yield workers


@pytest.fixture(scope="session")
def rendezvous() -> Iterator[dict[str, object]]:
    """A store for the workers of the pool; pass it on as ``rendezvous=`` and open it with
    ``multiprocess.join.open_store``.
    """
    from argosy.foundation.endpoints import bind_listener
    from argosy.runtime.comm.store import StoreServer

    token = secrets.token_hex(16)
    with StoreServer(bind_listener(), token) as server:
        yield {"port": server.port, "token": token}
