"""all_reduce between processes of one host: argosy through shared memory against torch's gloo, in
turns.

    python benchmarks/bench_collectives.py [--processes 2] [--rounds 21]

The last lines average a bucket that lies in the shared segment, as DataParallel's do, and compare
it with the time that its memory traffic takes at this machine's copy speed: with S bytes per rank
and n ranks, each byte of the n rows is read and written once, 2nS in all.
"""

from __future__ import annotations

import argparse
import statistics

import torch

import paddle
import paddle.distributed as dist
import pairing
from figures import Figures

# bytes -> (calls per block, how many times faster than gloo it must be)
SIZES = {4 << 10: (500, 50.0), 1 << 20: (100, 15.0), 25 << 20: (8, 4.0)}
BUCKET_BYTES, BUCKET_GAIN, BUCKET_LIMIT = 25 << 20, 15.0, 1.6


def copy_speed(rounds: int) -> float:
    """Bytes read and written per second when every rank copies at the same time, all ranks
    together.
    """
    source = torch.ones(BUCKET_BYTES // 4)
    target = torch.empty_like(source)
    seconds = pairing.alternate({"copy": lambda: target.copy_(source)}, rounds, 4)["copy"]
    return 2 * BUCKET_BYTES * dist.get_world_size() / statistics.median(seconds)


def worker(rounds: int) -> int:
    group = dist.init_parallel_env()
    torch.set_num_threads(1)
    pairing.join_torch()
    is_shown = dist.get_rank() == 0
    figures, n = Figures(), dist.get_world_size()
    for size, (repeats, wanted) in SIZES.items():
        x = paddle.zeros([size // 4])
        calls = {
            "argosy": lambda x=x: dist.all_reduce(x),
            "gloo": lambda x=x: torch.distributed.all_reduce(x.torch()),
        }
        seconds = pairing.alternate(calls, rounds, repeats)
        gain = pairing.ratio(seconds["gloo"], seconds["argosy"])
        if is_shown:
            mine, theirs = (statistics.median(seconds[name]) * 1e6 for name in calls)
            figures.add(
                f"all_reduce of {size >> 10} KB, {n} ranks",
                gain,
                "times gloo",
                least=wanted,
                beside=f"{mine:.0f} us against {theirs:.0f}",
            )
    bucket = group.transport.make_bucket(BUCKET_BYTES // 4, torch.float32)

    def average() -> None:
        bucket.publish()
        bucket.finish()

    x = paddle.zeros([BUCKET_BYTES // 4]).torch()
    seconds = pairing.alternate(
        {"bucket": average, "gloo": lambda: torch.distributed.all_reduce(x)}, rounds, 24
    )
    speed = copy_speed(rounds)
    least = 2 * dist.get_world_size() * BUCKET_BYTES / speed
    mine, theirs = (statistics.median(seconds[name]) for name in ("bucket", "gloo"))
    gain, over = pairing.ratio(seconds["gloo"], seconds["bucket"]), mine / least
    if is_shown:
        what = f"bucket of {BUCKET_BYTES >> 10} KB in place, {n} ranks"
        beside = f"{mine * 1e6:.0f} us against {theirs * 1e6:.0f}"
        figures.add(what, gain, "times gloo", least=BUCKET_GAIN, beside=beside)
        limit = f"memory traffic at {speed / 1e9:.1f} GB/s would take {least * 1e6:.0f} us"
        figures.add(what, over, "of the limit", most=BUCKET_LIMIT, beside=limit)
    bucket.close()
    torch.distributed.destroy_process_group()
    return figures.missed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=21)
    args = parser.parse_args()
    context = dist.spawn(worker, args=(args.rounds,), nprocs=args.processes)
    raise SystemExit(1 if context.return_queues[0].get() else 0)


if __name__ == "__main__":
    main()
