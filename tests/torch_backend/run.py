"""`make torch_backend`: torch's own tests of its backends with gloo and with argosy.

Prints how many of those that pass with gloo pass with argosy, and which do not. The ranks of a run
are started once: each test has a group and a store of its own in them. After a test that fails or
hangs they are started anew.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import sys
import tempfile
import time
import traceback
import unittest
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from torch_backend import torch_suite

# dist.monitored_barrier refuses every other backend by name, and these look for gloo's sentences
GLOO_ALONE = re.compile(r"test_monitored_barrier_(?!allreduce)")
PASSED, SKIPPED, FAILED, HUNG = "passed", "skipped", "failed", "hung"


def serve(rank: int, world_size: int, backend: str, folder: str, pipe: Connection) -> None:
    """A rank: run the tests that come through ``pipe``, answer with (status, text)."""
    module, tests = torch_suite.load(backend, world_size, folder)
    pipe.send(sorted(name for name in dir(tests) if name.startswith("test")))
    while (job := pipe.recv()) is not None:
        pipe.send(run_one(module, tests, rank, world_size, backend, *job))


def run_one(
    module: Any, tests: Any, rank: int, world_size: int, backend: str, name: str, file: str
) -> tuple[str, str]:
    import torch.distributed as dist
    from torch.testing._internal import common_utils

    test = tests(name)
    test.rank, test.file_name = rank, file
    timeout_s = module.CUSTOM_PG_TIMEOUT.get(name, module.default_pg_timeout)
    try:
        dist.init_process_group(
            backend,
            init_method=f"file://{file}",
            rank=rank,
            world_size=world_size,
            timeout=timedelta(seconds=timeout_s),
        )
        common_utils.set_rng_seed()
        test._barrier()  # through files, as torch has it
        getattr(test, name)()
        test._barrier()
        if dist.is_initialized():
            dist.destroy_process_group()
    except unittest.SkipTest as reason:
        if dist.is_initialized():
            dist.destroy_process_group()
        return SKIPPED, str(reason)
    except SystemExit as end:  # how torch's decorators skip
        if dist.is_initialized():
            dist.destroy_process_group()
        return (PASSED if not end.code else SKIPPED), f"exit code {end.code}"
    except BaseException:
        return FAILED, traceback.format_exc()
    return PASSED, ""


class Ranks:
    """The processes of a run, started anew when they are needed again."""

    def __init__(self, world_size: int, backend: str) -> None:
        self._world_size = world_size
        self._backend = backend
        self._processes: list[Any] = []
        self._pipes: list[Connection] = []
        self.names: list[str] = []

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._folder = tempfile.TemporaryDirectory(prefix="argosy-c10d-")
        for part in ("barrier", "test_dir", "init_dir"):
            (Path(self._folder.name) / part).mkdir()
        for rank in range(self._world_size):
            ours, theirs = context.Pipe()
            args = (rank, self._world_size, self._backend, self._folder.name, theirs)
            process = context.Process(target=serve, args=args, daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
            self._pipes.append(ours)
        for pipe in self._pipes:
            self.names = pipe.recv()

    def stop(self) -> None:
        for process in self._processes:
            process.kill()
            process.join()
        for pipe in self._pipes:
            pipe.close()
        if self._processes:
            self._folder.cleanup()
        self._processes, self._pipes = [], []

    def run(self, name: str, limit_s: float) -> tuple[str, str]:
        if not self._processes:
            self.start()
        file = f"{self._folder.name}/init_dir/{name}-{time.monotonic_ns()}"
        for pipe in self._pipes:
            pipe.send((name, file))
        answers: dict[int, tuple[str, str]] = {}
        until = time.monotonic() + limit_s
        while len(answers) < self._world_size:
            missing = [p for r, p in enumerate(self._pipes) if r not in answers]
            for pipe in wait(missing, max(0.0, until - time.monotonic())):
                rank = self._pipes.index(pipe)  # type: ignore[arg-type]
                try:
                    answers[rank] = self._pipes[rank].recv()
                except EOFError:
                    answers[rank] = (FAILED, "the process ended")
                if answers[rank][0] == FAILED:  # the others may wait for it for long
                    until = min(until, time.monotonic() + 20)
            if time.monotonic() >= until:
                break
        statuses = {status for status, _ in answers.values()}
        text = "\n".join(f"rank {r}: {text}" for r, (_, text) in sorted(answers.items()) if text)
        if FAILED in statuses:
            self.stop()
            return FAILED, text
        if len(answers) < self._world_size:
            self.stop()
            return HUNG, f"after {limit_s:g} s only ranks {sorted(answers)} were done\n{text}"
        return (PASSED if PASSED in statuses else SKIPPED), text


def run_all(backend: str, world_size: int, only: str, limit_s: float) -> dict[str, tuple[str, str]]:
    ranks = Ranks(world_size, backend)
    results = {}
    try:
        ranks.start()
        for name in ranks.names:
            if re.search(only, name):
                began = time.monotonic()
                results[name] = ranks.run(name, limit_s)
                took = time.monotonic() - began
                status, text = results[name]
                print(f"{backend} {world_size} {name}: {status} {took:.1f} s", flush=True)
                if status in (FAILED, HUNG):
                    print("  " + "\n  ".join(text.splitlines()[-25:]), flush=True)
    finally:
        ranks.stop()
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--world-size", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--backend", nargs="+", default=["gloo", "argosy"])
    parser.add_argument("--only", default="", help="a pattern of names")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for a test")
    parser.add_argument("--json", default="", help="a file for all results")
    args = parser.parse_args()
    found: dict[str, Any] = {}
    is_well = True
    for world_size in args.world_size:
        by_backend = {b: run_all(b, world_size, args.only, args.limit) for b in args.backend}
        found[str(world_size)] = by_backend
        if args.json:
            Path(args.json).write_text(json.dumps(found, indent=1))
        if len(by_backend) < 2:
            continue
        gloo, ours = by_backend["gloo"], by_backend["argosy"]
        passed = [name for name, (status, _) in gloo.items() if status == PASSED]
        expected = [name for name in passed if not GLOO_ALONE.match(name)]
        short = [name for name in expected if ours[name][0] != PASSED]
        for name in short:
            print(f"{name}: {ours[name][0]}")
        print(
            f"world size {world_size}: {len(expected) - len(short)} of {len(expected)} tests that "
            f"pass with gloo pass with argosy; {len(passed) - len(expected)} others of "
            "monitored_barrier, which torch has for gloo alone"
        )
        is_well = is_well and not short
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
