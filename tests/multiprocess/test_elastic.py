"""Launchers that meet at a master, here all on one machine."""

from __future__ import annotations

import base64
import os
import pickle
import re
import signal
import time

import pytest

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import bind_listener, endpoint_of, parse
from argosy.runtime.comm.store import StoreClient, TokenRefused
from argosy.runtime.launch.hosts import Host, Rendezvous
from argosy.runtime.launch.rendezvous import make_handler, state_key
from support.launcher import Launcher, script, until

TOKEN = "the token of this test"
AUDITED = "faults.store_acts:launch_and_note_pickles"


@pytest.fixture
def master() -> str:
    """An endpoint that was free a moment ago; launchers on several hosts cannot be handed a bound
    one.
    """
    with bind_listener() as listener:
        return str(endpoint_of(listener))


@pytest.fixture
def start(tmp_path, master):
    started = []

    def launch(number, *argv, **options):
        folder = tmp_path / str(number)
        folder.mkdir()
        started.append(
            Launcher(folder, "--master", master, *argv, **({"ARGOSY_TOKEN": TOKEN} | options))
        )
        return started[-1]

    yield launch
    for launcher in started:
        launcher.close()


def test_a_failure_restarts_all_hosts(tmp_path, start):
    """Rank 2 fails in the first round, when others may have ended well; every launcher names it,
    and the second round succeeds.

    Nothing is unpickled in a launcher meanwhile.
    """
    text = f"""
marker = {str(tmp_path / "failed")!r}
if rank == 2 and not os.path.exists(marker):
    open(marker, "w").close()
    sys.exit(5)
print("rank", rank, "of", os.environ["PADDLE_TRAINERS_NUM"], os.environ["PADDLE_LOCAL_RANK"],
    os.environ["PADDLE_NNODES"])
"""
    name = str(tmp_path / script(tmp_path, text))
    second = start(1, "--nnodes=2", "--rank=1", "--max_restart=1", name, entry=AUDITED)
    first = start(
        0, "--nnodes=2", "--rank=0", "--nproc_per_node=2", "--max_restart=1", name, entry=AUDITED
    )
    assert (first.wait(), second.wait()) == (0, 0)
    assert not any((launcher.folder / "pickles").exists() for launcher in (first, second))
    assert re.search(r"rank 2 on 127\.0\.0\.1 exited with code 5", first.stderr)
    assert "rank 2 exited with code 5; it was the first to fail" in second.stderr
    assert first.stdout.splitlines()[-1] == "rank 0 of 3 0 2"
    assert second.stdout.splitlines()[-1] == "rank 2 of 3 0 2"
    for launcher in (first, second):
        until(lambda launcher=launcher: not launcher.descendants(), "the end of all processes")


def test_without_restarts_the_job_ends_everywhere(tmp_path, start):
    name = str(tmp_path / script(tmp_path, "sys.exit(6) if rank == 1 else time.sleep(600)\n"))
    launchers = [start(rank, "--nnodes=2", f"--rank={rank}", name) for rank in range(2)]
    assert [launcher.wait() for launcher in launchers] == [6, 6]
    assert "rank 1 on 127.0.0.1 exited with code 6" in launchers[0].stderr
    for launcher in launchers:
        until(lambda launcher=launcher: not launcher.descendants(), "the end of all processes")


def test_an_elastic_job_starts_with_the_least_number_of_hosts(tmp_path, start):
    name = str(tmp_path / script(tmp_path, "print(os.environ['PADDLE_TRAINERS_NUM'])\n"))
    launcher = start(0, "--nnodes=1:2", "--elastic_timeout=1", name)
    assert launcher.wait() == 0
    assert launcher.stdout == "1\n"


def test_a_host_that_joins_restarts_the_workers(tmp_path, start):
    name = str(
        tmp_path
        / script(
            tmp_path,
            "n = os.environ['PADDLE_TRAINERS_NUM']\nprint(n)\nnote(n)\nif n == '1': "
            "time.sleep(600)\n",
        )
    )
    elastic = ["--nnodes=1:2", "--elastic_timeout=1"]
    first = start(0, *elastic, name)
    until((first.folder / "1.0").exists, "the first worker")
    second = start(1, *elastic, name)
    assert (first.wait(), second.wait()) == (0, 0)
    assert (first.stdout, second.stdout) == ("1\n2\n", "2\n")


def test_hosts_notice_that_the_master_is_gone(tmp_path, start):
    name = str(tmp_path / script(tmp_path, "note('ready')\ntime.sleep(600)\n"))
    launchers = [start(rank, "--nnodes=2", f"--rank={rank}", name) for rank in range(2)]
    until(
        lambda: all((launchers[rank].folder / f"ready.{rank}").exists() for rank in range(2)),
        "the workers",
    )
    serving = next(n for n in range(2) if "serves" in launchers[n].stderr)
    launchers[serving].signal(signal.SIGKILL)
    other = launchers[1 - serving]
    assert other.wait() == 1
    assert "lost the other hosts" in other.stderr
    for launcher in launchers:
        until(lambda launcher=launcher: not launcher.descendants(), "the end of all processes")


def test_two_hosts_with_one_number(tmp_path, start):
    name = str(tmp_path / script(tmp_path, ""))
    launchers = [start(i, "--nnodes=2", "--rank=1", name) for i in range(2)]
    assert [launcher.wait() for launcher in launchers] == [2, 2]
    assert all("were both started with --rank 1" in launcher.stderr for launcher in launchers)


# -- strangers and members who mean harm
# --------------------------------------------------------------------------


class Harm:
    """What runs in a process that unpickles this."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def member(master, token=TOKEN):
    where = parse(master)
    return StoreClient(where.host, where.port, token, Deadline.after(20), timeout_s=20)


def store_harm(store, marker):
    """A pickle in every place where a launcher, ours or torch's, looks for the state of the
    hosts.
    """
    harm = pickle.dumps(Harm(marker))
    store.set(state_key("default"), harm)
    store.set("torch.rendezvous.default", base64.b64encode(harm))


@pytest.mark.attack("a member stores a pickle as the state of the hosts")
def test_a_pickled_state_of_a_member_is_refused_and_runs_nothing(
    tmp_path, start, master, record_property
):
    """The launcher waits for a second host when somebody who knows the token stores the state."""
    launcher = start(0, "--nnodes=2", str(tmp_path / script(tmp_path, "")), entry=AUDITED)
    with member(master) as store:
        store.wait([state_key("default")])
        began_s = time.monotonic()
        store_harm(store, tmp_path / "harm")
        assert launcher.wait() == 1
        record_property("named_s", time.monotonic() - began_s)
    assert (
        "launch: the meeting point of the hosts holds something that is not JSON under the key"
        in launcher.stderr
    )
    assert f"'{state_key('default')}'; it is refused" in launcher.stderr
    assert not (tmp_path / "harm").exists()
    assert not (launcher.folder / "pickles").exists()


@pytest.mark.attack("a stranger who knows only the address stores a pickle")
def test_a_stranger_cannot_guess_the_token_of_a_meeting_point(tmp_path, start, master):
    """On one machine, without ARGOSY_TOKEN: what can be derived from the address is refused, and
    the user's own launchers meet.
    """
    name = str(tmp_path / script(tmp_path, "print(os.environ['PADDLE_TRAINERS_NUM'])\n"))
    first = start(0, "--nnodes=2", name, ARGOSY_TOKEN="", entry=AUDITED)
    until(lambda: "serves the meeting point" in first.stderr, "the meeting point")
    for guess in (f"started by hand, meeting at {master}", master, "default"):
        with pytest.raises(TokenRefused), member(master, guess) as store:
            store_harm(store, tmp_path / "harm")
    second = start(1, "--nnodes=2", name, ARGOSY_TOKEN="")
    assert (first.wait(), second.wait()) == (0, 0)
    assert (first.stdout, second.stdout) == ("2\n", "2\n")
    assert not (tmp_path / "harm").exists()
    assert not (first.folder / "pickles").exists()
    assert "ARGOSY_TOKEN=" not in first.stderr + second.stderr


NODE = Host("10.0.0.9", 0, ("10.0.0.9:5",)).to_json()
MEETING = Rendezvous("127.0.0.1:5", "a-token-that-nobody-asks-for").to_json()


@pytest.mark.attack("a member describes its host, its store or its failure as something else")
@pytest.mark.parametrize(
    ("told", "key"),
    [
        ({"node": "[]"}, "node/"),
        ({"node": '{"address": 7}'}, "node/"),
        ({"node": NODE, "job": '["127.0.0.1", 7]'}, "job"),
        ({"node": NODE, "job": MEETING, "failed": '["rank", "code", "host", ""]'}, "failed"),
    ],
)
def test_what_a_member_tells_is_read_strictly(tmp_path, start, master, told, key, monkeypatch):
    """This process is the second host, and says it is the first."""
    monkeypatch.setenv("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")
    launcher = start(0, "--nnodes=2", str(tmp_path / script(tmp_path, "time.sleep(600)\n")))
    with member(master) as store:
        handler = make_handler(store, "default", "255.255.255.255", (2, 2), 30, 1)
        try:
            place = handler.next_rendezvous()
            for name, value in told.items():
                place.store.set(f"node/{place.rank}" if name == "node" else name, value)
            assert launcher.wait() == 1
        finally:
            handler._stop_heartbeats()
    assert re.search(rf"under the key '{key}\d?'; it is refused", launcher.stderr)
    assert "Traceback" not in launcher.stderr


@pytest.mark.attack("several hosts without a token")
def test_a_host_that_has_no_token_and_cannot_make_one_is_refused(tmp_path, start):
    """192.0.2.1 is nobody's address."""
    name = str(tmp_path / script(tmp_path, ""))
    meeting = ["--nnodes=2", "--master=192.0.2.1:29400", name]
    launcher = start(0, *meeting, ARGOSY_TOKEN="")
    assert launcher.wait() == 2
    assert (
        "the hosts that meet at 192.0.2.1:29400 need one secret, and this one was given none"
        in launcher.stderr
    )
    listed = start(
        1, "--ips=192.0.2.1,192.0.2.2", "--host=192.0.2.2", name, ARGOSY_TOKEN="", PADDLE_MASTER=""
    )
    assert listed.wait() == 2
    assert "the hosts that meet at 192.0.2.1:6070 need one secret" in listed.stderr
    short = start(2, *meeting, ARGOSY_TOKEN="secret")
    assert short.wait() == 2
    assert "ARGOSY_TOKEN has 6 characters, but at least 16 are needed" in short.stderr
    open_to_all = tmp_path / "token"
    open_to_all.write_text(TOKEN)
    open_to_all.chmod(0o644)
    readable = start(3, *meeting[:2], f"--token_file={open_to_all}", name, ARGOSY_TOKEN="")
    assert readable.wait() == 2
    assert "(mode 0644); chmod 600 it" in readable.stderr


def test_the_first_host_makes_a_token_and_shows_it_once(tmp_path, start):
    """Here it takes itself for the first by its number, and listens for an address that is
    forwarded to it.
    """
    with bind_listener("0.0.0.0") as listener:
        port = endpoint_of(listener).port
    name = str(tmp_path / script(tmp_path, ""))
    launcher = start(
        0,
        "--nnodes=2",
        "--rank",
        "0",
        f"--master=192.0.2.1:{port}",
        name,
        "--lr=1",
        ARGOSY_TOKEN="",
    )
    found = until(
        lambda: re.search(r"^  ARGOSY_TOKEN=([0-9a-f]{32}) (.*)$", launcher.stderr, re.M),
        "the line",
    )
    token, line = found.groups()
    assert line.startswith("python -m paddle.distributed.launch --master ")
    assert line.endswith(f"--nnodes=2 --master=192.0.2.1:{port} {name} --lr=1")
    with member(f"127.0.0.1:{port}", token) as store:
        store.set("a", "1")
    launcher.signal(signal.SIGTERM)
    assert launcher.wait() == 143
    assert launcher.stderr.count(token) == 1
    assert token not in launcher.stdout


def test_hosts_with_different_tokens(tmp_path, start):
    name = str(tmp_path / script(tmp_path, ""))
    first = start(0, "--nnodes=2", name)
    until(lambda: "serves the meeting point" in first.stderr, "the meeting point")
    second = start(1, "--nnodes=2", name, ARGOSY_TOKEN="another token than that")
    assert second.wait() == 2
    assert (
        "has another token than this one; start this host with the ARGOSY_TOKEN that it was given"
        in second.stderr
    )


def test_the_token_comes_from_a_file(tmp_path, start):
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    path.chmod(0o600)
    name = str(tmp_path / script(tmp_path, "print(os.environ['PADDLE_TRAINERS_NUM'])\n"))
    first = start(0, "--nnodes=2", f"--token_file={path}", name, ARGOSY_TOKEN="")
    second = start(1, "--nnodes=2", name)  # by the variable
    assert (first.wait(), second.wait()) == (0, 0)
    assert (first.stdout, second.stdout) == ("2\n", "2\n")
    assert TOKEN not in first.stderr + second.stderr
