"""What accounting for the time of steps costs: a step with as many waits as a training step has,
reported to a launcher's ring, in microseconds of the process; the same while a trace is recorded;
and what it costs to note a collective, by an empty one with and without a log of them, in turns.

    python benchmarks/bench_account.py [--rounds 21]
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch

from argosy.foundation import account as process
from argosy.foundation import call_log
from argosy.foundation.account import COMMUNICATION, DATA, Account
from argosy.foundation.call_log import CallLog
from argosy.foundation.trace import trace
from argosy.runtime.comm.work import CommQueue
from argosy.runtime.observe.ring import RING_BYTES, RingWriter
from figures import Figures

WAITS = 4  # a batch, the buckets of a small model, a collective of the script
STEPS = 2000
MOST_US = 5.0  # 0.5 % of a step of 1 ms
MOST_TRACED_US = 20.0  # 2 %, while somebody records


def step(account: Account) -> None:
    for kind in (DATA, *[COMMUNICATION] * (WAITS - 1)):
        account.leave(kind, account.enter())
    account.end_step()


class Transport:
    def all_reduce(self, tensor: torch.Tensor) -> None:
        """Moves nothing."""


def collectives(log: CallLog | None) -> float:
    """Microseconds of one that does nothing."""
    process.account.calls = log
    queue, call, tensor = CommQueue("world"), Transport().all_reduce, torch.zeros(16)
    began = time.process_time()
    for _ in range(STEPS):
        queue.run(call, tensor)
    taken_us = (time.process_time() - began) / STEPS * 1e6
    process.account.calls = None
    return taken_us


def measured(account: Account, rounds: int) -> float:
    """The median of rounds, in microseconds a step."""
    taken = []
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(STEPS):
            step(account)
        taken.append((time.process_time() - began) / STEPS * 1e6)
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    account = Account()
    account.listener = RingWriter(memoryview(bytearray(RING_BYTES)), 1, 0, 1)
    figures = Figures()
    what = f"account of a step with {WAITS} waits"
    kept = measured(account, rounds)
    figures.add(what, kept, "us", most=MOST_US, beside="a step of 1 ms: 0.5 %")
    log = CallLog(memoryview(bytearray(call_log.BYTES)))
    pairs = [(collectives(log), collectives(None)) for _ in range(rounds)]
    noted, plain = (statistics.median(side) for side in zip(*pairs, strict=True))
    figures.add("noting a collective", noted - plain, "us")
    both = kept + (WAITS - 1) * (noted - plain)
    figures.add(f"both, with {WAITS - 1} collectives", both, "us", most=MOST_US)
    recording = trace.start()
    traced = measured(account, rounds)
    trace.stop(recording)
    what = f"{what}, recorded as a trace"
    figures.add(what, traced, "us", most=MOST_TRACED_US, beside="a step of 1 ms: 2 %")
    figures.exit()


if __name__ == "__main__":
    main()
