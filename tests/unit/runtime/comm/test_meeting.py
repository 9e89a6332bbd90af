"""Ranks that another launcher has started: how they learn where their store is."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import torch.distributed as dist

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import bind_listener, endpoint_of
from argosy.foundation.errors import CollectiveTimeout, ConfigError
from argosy.runtime.comm import meeting as module
from argosy.runtime.comm.meeting import Meeting
from argosy.runtime.comm.store_server import StoreServer


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ARGOSY_TOKEN", raising=False)
    monkeypatch.delenv("ARGOSY_TOKEN_FILE", raising=False)
    return tmp_path / "argosy"


class Agent:
    """A store such as torchrun's agent has."""

    def __init__(self):
        self.store = dist.TCPStore(
            "127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=20)
        )
        self.place = f"127.0.0.1:{self.store.port}"


@pytest.fixture(scope="module", autouse=True)
def _first_store():
    """The first store of a process leaves descriptors of torch's own."""
    Agent()


@pytest.fixture
def agent():
    made = Agent()
    yield made
    made.store = None  # which closes it


def notices(folder):
    return list(folder.glob("meeting-*"))


def meet(text: str, seconds: float = 20.0) -> None:
    """Two ranks meet and tell each other something."""
    with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as stack:
        other = pool.submit(Meeting(text).connect, 1, Deadline.after(seconds))
        first = Meeting(text)
        store = first.connect(0, Deadline.after(seconds))
        stack.callback(store.close)
        store.set("key", "from rank 0")
        joined = other.result(timeout=seconds)
        stack.callback(joined.close)
        assert joined.get("key") == b"from rank 0"
        first.adjourn()


def test_ranks_of_one_host_meet_by_a_private_file(folder):
    meet("job 4711")
    assert notices(folder) == []


def test_the_notice_is_private(folder):
    with contextlib.closing(Meeting("job 4711").connect(0, Deadline.after(20))):
        [notice] = notices(folder)
        assert stat.S_IMODE(notice.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_jobs_of_different_names_do_not_meet(folder):
    with (
        contextlib.closing(Meeting("job one").connect(0, Deadline.after(20))),
        pytest.raises(CollectiveTimeout, match="rank 0 has put up no notice"),
    ):
        Meeting("job two").connect(1, Deadline.after(0.1))


def test_ranks_below_one_launcher_meet(folder, monkeypatch):
    monkeypatch.setenv("SOME_RANK", "0")
    meet("below SOME_RANK")


def test_a_launcher_is_found_above_a_shell():
    """Tasks are below a process without the variable, however many are between."""
    code = (
        "from argosy.runtime.comm.meeting import _launcher_without\n"
        "print(_launcher_without('SOME_RANK'))"
    )
    environment = os.environ | {"SOME_RANK": "1"}
    shell = [["bash", "-c", f'{sys.executable} -c "$0"; true'], [sys.executable, "-c"]]
    found = {
        subprocess.run(
            [*words, code], env=environment, check=True, text=True, capture_output=True
        ).stdout
        for words in shell
    }
    assert len(found) == 1
    assert f"SOME_RANK-{os.getpid()}-" in found.pop()


def test_an_old_notice_is_not_followed_for_long(folder, monkeypatch):
    """Its port is closed by now, or belongs to the store of another job of the same user."""
    monkeypatch.setattr(module, "_FOLLOW_S", 0.2)
    with StoreServer(bind_listener(), "the token of another job") as another:
        old = Meeting("job 4711")
        old.connect(0, Deadline.after(20)).close()
        [notice] = notices(folder)
        for place in (notice.read_text().split()[0], str(another.endpoint)):
            notice.write_text(f"{place} 0123456789abcdef")
            meet("job 4711")
            module.publish(notice, f"{place} 0123456789abcdef", replaces=True)
    with pytest.raises(CollectiveTimeout, match="was not found within"):
        Meeting("job 4711").connect(1, Deadline.after(0.3))


@pytest.mark.parametrize("kind", ["here", "hosts"])
def test_the_store_of_torchruns_agent_carries_the_address(folder, monkeypatch, agent, kind):
    monkeypatch.setenv("ARGOSY_TOKEN", "0123456789abcdef")
    meet(f"agent {kind} {agent.place} 0")
    assert not agent.store.check(["argosy/meeting/0"])


def test_the_agents_store_learns_no_token(folder, monkeypatch, agent):
    monkeypatch.setenv("ARGOSY_TOKEN", "0123456789abcdef")
    with contextlib.closing(Meeting(f"agent here {agent.place} 3").connect(0, Deadline.after(20))):
        place, nonce = agent.store.get("argosy/meeting/3").decode().split()
        assert place.startswith("127.0.0.1:")
        assert "0123456789abcdef" != nonce


def test_ranks_of_several_hosts_need_a_token(folder, monkeypatch, agent):
    monkeypatch.setattr(module, "towards", lambda where: "10.0.0.1")
    with pytest.raises(ConfigError, match="ARGOSY_TOKEN"):
        Meeting(f"agent hosts {agent.place} 0").connect(0, Deadline.after(20))


def test_an_address_that_all_know_needs_no_notice(folder):
    with bind_listener() as listener:
        where = endpoint_of(listener)
    meet(f"at {where}")
    assert notices(folder) == []


@pytest.mark.parametrize("text", ["somewhere", "job", "agent here", "at 127.0.0.1"])
def test_another_text_is_refused(folder, text):
    with pytest.raises(ConfigError, match="ARGOSY_MEETING"):
        Meeting(text)
