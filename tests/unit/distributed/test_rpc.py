"""``paddle.distributed.rpc`` in one process: results, errors, messages."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import paddle
from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import bind_listener
from argosy.foundation.errors import CollectiveTimeout, CommError, PeerLost
from argosy.runtime.comm.calls import Caller, CallServer
from paddle.distributed import rpc

never = threading.Event()


def add(a, b=1):
    return a + b


def fail():
    raise KeyError("what")


def call_back(name):
    return rpc.rpc_sync(name, add, (20,))


def wait_for(seconds):
    return never.wait(seconds)


@pytest.fixture
def worker():
    with bind_listener() as listener:  # the port is free again when rank 0 serves there
        port = listener.getsockname()[1]
    rpc.init_rpc("alone", 0, 1, f"127.0.0.1:{port}")
    yield "alone"
    rpc.shutdown()


def test_calls(worker, tmp_path):
    assert rpc.rpc_sync(worker, add, (2,)) == 3
    assert rpc.rpc_sync(worker, add, args=[2], kwargs={"b": 5}) == 7
    waiting = [rpc.rpc_async(worker, add, (n, 10)) for n in range(40)]
    assert [call.wait() for call in waiting] == list(range(10, 50))
    assert rpc.rpc_sync(worker, call_back, (worker,)) == 21
    out = rpc.rpc_sync(worker, add, (paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 4.0])))
    assert out.tolist() == [4.0, 6.0]
    mapped = np.memmap(tmp_path / "values", dtype="float32", mode="w+", shape=(3,))
    assert rpc.rpc_sync(worker, add, (mapped, 2)).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("module", "name", "reason"),
    [
        ("os", "system", "not called for others"),
        ("subprocess", "run", "not called for others"),
        ("builtins", "eval", "not called for others"),
        ("builtins", "exec", "not called for others"),
        ("importlib", "import_module", "not called for others"),
        ("antigravity", "geohash", "has not imported 'antigravity'"),
        (__name__, "threading.Thread", "is no function of its"),
        (__name__, "np", "is not defined in"),
        (__name__, "paddle.load", "is no function of its"),
        (__name__, "bind_listener", "is not defined in"),
    ],
)
def test_what_others_may_not_call(worker, module, name, reason):
    from argosy.distributed.rpc import _messages

    def named():
        """A function that says it is another."""

    named.__module__, named.__qualname__ = module, name
    answer = _messages.answer(_messages.request(named, (), {}))
    with pytest.raises(RuntimeError, match=reason):
        _messages.result(answer, worker)


def test_errors_are_the_callers(worker):
    with pytest.raises(RuntimeError, match="on worker 'alone': KeyError: 'what'"):
        rpc.rpc_sync(worker, fail)
    with pytest.raises(RuntimeError, match="KeyError"):
        rpc.rpc_async(worker, fail).wait()
    with pytest.raises(ValueError, match=r"no worker 'alome'\. Did you mean 'alone'"):
        rpc.rpc_sync("alome", add, (1,))
    with pytest.raises(ValueError, match="define it at the top"):
        rpc.rpc_sync(worker, lambda: 1)
    with pytest.raises(CollectiveTimeout, match=r"did not answer within 0\.05 s"):
        rpc.rpc_sync(worker, wait_for, (0.5,), timeout=0.05)
    assert rpc.rpc_sync(worker, add, (2,)) == 3
    with pytest.raises(ValueError, match="is worker 'alone' already"):
        rpc.init_rpc("again", 0, 1, "127.0.0.1:1")


def test_worker_infos(worker):
    info = rpc.get_worker_info(worker)
    assert info == rpc.get_current_worker_info()
    assert [info] == rpc.get_all_worker_infos()
    assert (info.name, info.rank, info.ip) == ("alone", 0, "127.0.0.1")
    assert repr(info) == f"{{name: alone, rank: 0, ip: 127.0.0.1, port: {info.port}}}"
    with pytest.raises(ValueError, match="no worker"):
        rpc.get_worker_info("other")


def test_outside_of_rpc():
    with pytest.raises(ValueError, match="init_rpc"):
        rpc.rpc_sync("alone", add, (1,))
    with pytest.raises(ValueError, match="rank is 2"):
        rpc.init_rpc("other", 2, 2, "127.0.0.1:1")


def test_a_caller_proves_its_token_and_notices_the_end():
    asked = []
    server = CallServer(
        bind_listener(), "right token", lambda request: asked.append(request) or b""
    )
    stranger = Caller(server.endpoint, "wrong token", "the server")
    with pytest.raises(CommError):
        stranger.call(b"steal", Deadline.after(10))
    assert asked == []
    caller = Caller(server.endpoint, "right token", "the server")
    assert caller.call(b"ask", Deadline.after(10)) == b""
    server.close()
    with pytest.raises(PeerLost, match="the server"):
        caller.call(b"ask", Deadline.after(10))
    caller.close()
