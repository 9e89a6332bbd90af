"""What accounting for the time of steps costs: a step with as many waits as a training step has,
reported to a launcher's ring, in microseconds of the process; and the same while a trace is
recorded.

    python benchmarks/bench_account.py [--rounds 21]
"""

from __future__ import annotations

import argparse
import statistics
import time

from argosy.foundation.account import COMMUNICATION, DATA, Account
from argosy.foundation.trace import trace
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
    plain = measured(account, rounds)
    figures.add(what, plain, "us", most=MOST_US, beside="a step of 1 ms: 0.5 %")
    recording = trace.start()
    traced = measured(account, rounds)
    trace.stop(recording)
    what = f"{what}, recorded as a trace"
    figures.add(what, traced, "us", most=MOST_TRACED_US, beside="a step of 1 ms: 2 %")
    figures.exit()


if __name__ == "__main__":
    main()
