"""Cards: what the terminal shows of a job that failed, and what is never shown."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from argosy.runtime.observe import memory_kills
from argosy.runtime.observe.card import Card, Collective, Member, innermost, masked, who_waits

STACKS = """Thread 0x00007f (most recent call first):
  File "/lib/threading.py", line 320 in wait
  File "/lib/queue.py", line 10 in get

Current thread 0x00007e (most recent call first):
  File "/job/train.py", line 12 in forward
  File "/job/train.py", line 30 in step
  File "/job/train.py", line 40 in main
  File "/job/train.py", line 50 in <module>
"""


def test_the_text_says_who_waits_where():
    card = Card(
        at="2026-01-01 00:00:00",
        cause="rank 1 was killed by SIGKILL",
        members=(
            Member(label="rank 0", pid=5, state="runs", num_steps=7, waits_s=1.25,
                   waits_at="barrier #3 of group 'world' for rank 1", stacks=STACKS,
                   awaits=("rank 1",), collectives=(
                       Collective(what="all_reduce of group 'world'", num_bytes=4_200_000,
                                  ago_s=2.0, took_s=0.0012),
                       Collective(what="barrier of group 'world'", num_bytes=-1, ago_s=1.25,
                                  took_s=None),
                   )),
            Member(label="rank 1", pid=6, state="was killed by SIGKILL", loss=0.5),
        ),
        about={"argosy": "1"},
    )  # fmt: skip
    assert card.text().splitlines() == [
        "card: rank 1 was killed by SIGKILL",
        "  rank 0  runs, 7 steps, waits for 1.2 s in barrier #3 of group 'world' for rank 1",
        "            /job/train.py:12 in forward",
        "            /job/train.py:30 in step",
        "            /job/train.py:40 in main",
        "            barrier of group 'world': under way for 1.2 s",
        "            all_reduce of group 'world', 4.2 MB: 2.0 s ago, took 1.2 ms",
        "  rank 1  was killed by SIGKILL",
        "  rank 0 waits for rank 1, which was killed by SIGKILL",
    ]
    kept = json.loads(json.dumps(card.as_json(), allow_nan=False))
    assert [member["loss"] for member in kept["members"]] == [None, 0.5]
    assert kept["members"][0]["stacks"] == STACKS
    assert kept["members"][0]["collectives"][1]["took_s"] is None
    assert kept["who_waits"] == ["rank 0 waits for rank 1, which was killed by SIGKILL"]


def test_who_waits_for_whom():
    def member(rank, *awaits):
        labels = tuple(f"rank {r}" for r in awaits)
        return Member(label=f"rank {rank}", pid=1, state="runs", awaits=labels)

    assert who_waits([member(0, 2), member(1, 2), member(2, 3), member(3)]) == [
        "rank 0, rank 1 wait for rank 2, which waits for rank 3",
        "rank 2 waits for rank 3, which waits for no rank",
    ]
    assert who_waits([member(0, 9)]) == ["rank 0 waits for rank 9, which is not on this host"]
    assert who_waits([member(0), member(1)]) == []


def test_the_main_thread_is_read_from_real_stacks():
    code = (
        "import faulthandler, sys, threading\n"
        "stop = threading.Event()\n"
        "t = threading.Thread(target=stop.wait); t.start()\n"
        "def here(): faulthandler.dump_traceback(sys.stdout, all_threads=True)\n"
        "here(); stop.set(); t.join()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert innermost(done.stdout)[0] == "<string>:4 in here"


def test_secrets_of_a_command_line_are_masked():
    argv = ["train.py", "--token", "abc", "--lr=0.1", "--api-key=k", "--db_password", "x", "token"]
    assert masked(argv) == [
        "train.py", "--token", "***", "--lr=0.1", "--api-key=***", "--db_password", "***", "token"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [(None, 3, "no counter"), (2, 3, "for want of memory: "), (3, 3, "not for want of memory")],
)
def test_kills_for_want_of_memory(before, after, words):
    assert words in memory_kills.explain(before, after)


def test_the_kernels_counter_is_read():
    found = memory_kills.count()
    assert found is None or found >= 0
