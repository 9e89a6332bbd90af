"""Fixtures that several folders share."""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import argosy
import paddle
from argosy.foundation import process_state
from support import leftovers
from support.hosts import joined_hosts
from support.pool import Pool
from support.stale import forget_stale_kernels

# What calls of Paddle's API leave behind, which has no call to undo it: counters go on, the last
# call is remembered. The guard puts it back and does not complain.
EVERYDAY = {
    *("fleet", "fleet of 1.x without servers", "fleet of 1.x with servers", "level of the log"),
    "latest HybridCommunicateGroup",
    *("fallbacks that were announced", "mixed precision", "parallel environment"),
    *("random numbers", "requests to save and leave", "unique names"),
}
PROGRAMS = {"default programs", "global scope", "mode of ops", "static mode"}


def pytest_configure() -> None:
    forget_stale_kernels(Path(argosy.__file__).parent)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """A test draws the same random numbers whenever it runs, and leaves the process as it found it;
    see README.md.
    """
    for seed in (random.seed, np.random.seed, paddle.seed):
        seed(0)
    with leftovers.quick_guard(EVERYDAY):
        yield


@pytest.fixture
def fresh_programs() -> Iterator[None]:
    """Default programs, the global scope and static mode, if the test enables it, are the test's
    own.
    """
    yield
    process_state.reset(PROGRAMS)


@pytest.fixture
def static_mode(fresh_programs: None) -> None:
    """Ops are recorded, into programs of the test's own."""
    paddle.enable_static()


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


@pytest.fixture(scope="session", autouse=True)
def nothing_native() -> None:
    """Whether somebody has run ``argosy build`` here makes no difference to the tests, but to those
    of what it compiles.
    """
    os.environ["ARGOSY_NATIVE"] = "0"


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """Warm worker processes; see ``multiprocess/pool.py``."""
    with Pool() as workers:
        yield workers


@pytest.fixture(scope="session")
def rendezvous() -> Iterator[dict[str, object]]:
    """A store for the workers of the pool; pass it on as ``rendezvous=`` and open it with
    ``support.join.open_store``.
    """
    from argosy.foundation.endpoints import bind_listener
    from argosy.runtime.comm.store import StoreServer

    token = secrets.token_hex(16)
    with StoreServer(bind_listener(), token) as server:
        yield {"port": server.port, "token": token}


@pytest.fixture
def hosts() -> Iterator[list[str]]:
    """The names of two network namespaces that reach each other at ``support.hosts.ADDRESSES``."""
    with joined_hosts(2) as names:
        yield names


@pytest.fixture
def three_hosts() -> Iterator[list[str]]:
    """The same with three."""
    with joined_hosts(3) as names:
        yield names
