"""Runs of a program over a dataset: batches are read and parsed in the background while the program
computes.

There is one training thread, whatever ``thread`` says: batches come in the order of the dataset,
and a run can be repeated exactly. ``thread`` is the number of files that are read at a time.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from argosy.foundation.errors import BadArgument, DtypeError, NotSupported, UsageError
from argosy.reader import buffered
from argosy.static.ir.operator import FORWARD
from argosy.static.ir.program import Program
from argosy.static.ir.verify import check_pass, unwritten
from argosy.static.record.recorder import default_main_program
from argosy.static.run.call import fetch_names
from argosy.static.run.contract import Follows, ForwardPart, LookAhead, PreparedProgram
from argosy.static.run.fetch_handler import Watch

_BATCHES_AHEAD = 4


class NoDataset(UsageError, RuntimeError):
    """There is nothing to train on."""


class Timed:
    """The items of an iterator; ``waited_s`` is the time spent waiting for them."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items
        self.waited_s = 0.0

    def __iter__(self) -> Iterator[Any]:
        while True:
            began = time.perf_counter()
            item = next(self._items, None)
            self.waited_s += time.perf_counter() - began
            if item is None:
                return
            yield item


def run_from_dataset(
    executor: Any,
    program: Any,
    dataset: Any,
    scope: Any,
    thread: int,
    debug: bool,
    fetch_list: Any,
    fetch_info: Any,
    print_period: int,
    fetch_handler: Any,
    *,
    updates: bool,
) -> None:
    """What ``train_from_dataset`` and, without ``updates``, ``infer_from_dataset`` do."""
    call = "train_from_dataset" if updates else "infer_from_dataset"
    if dataset is None:
        raise NoDataset("dataset is need and should be initialized")
    if not hasattr(dataset, "feeds"):
        raise NoDataset(
            f"{call}: dataset is need and should be initialized, but received "
            f"{type(dataset).__name__}"
        )
    program = default_main_program() if program is None else program
    _check_options(program, call)
    if not updates:
        program = _without_updates(program)
    names = fetch_names(fetch_list)
    infos = _infos(names, fetch_info, call)
    if not isinstance(print_period, int) or print_period < 1:
        raise UsageError(
            f"{call}: print_period must be a positive integer, but is {print_period!r}"
        )
    place = _place(program) if updates else None
    if place is not None and place.is_over:
        return
    began, number = time.perf_counter(), 0
    batches = buffered(functools.partial(dataset.feeds, thread), _BATCHES_AHEAD)()
    feeds = Timed(batches)
    with Watch(fetch_handler) as watch, contextlib.closing(batches):
        ahead = program.attachments.get(LookAhead) if isinstance(program, Program) else None
        first = 1 if place is None else _skipped(feeds, place) + 1
        for number, feed in enumerate(
            feeds if ahead is None else _announced(feeds, ahead.look), first
        ):
            prints = bool(names) and number % print_period == 0
            fetches = [*names, *watch.names] if prints else list(watch.names)
            values = executor.run(
                program, feed=feed, fetch_list=fetches, scope=scope, return_numpy=False
            )
            if watch.names:
                watch.show(values[len(values) - len(watch.names) :])
            if prints:
                print(_line(number, infos, values), flush=True)
            if place is not None:
                place.advance()
        if place is not None:
            place.end()
    if debug:
        total = time.perf_counter() - began
        print(
            f"{call}: {number} batches in {total:.3f} s, of which {feeds.waited_s:.3f} s waiting "
            "for data",
            flush=True,
        )


def _place(program: Any) -> Any:
    """Where in its data a worker of a parameter-server job is; None for other programs."""
    recorded = program.recorded if isinstance(program, PreparedProgram) else program
    follows = recorded.attachments.get(Follows) if isinstance(recorded, Program) else None
    return None if follows is None else follows.begin()


def _skipped(feeds: Iterable[Any], place: Any) -> int:
    """Read the batches that a process before this one has trained on; how many."""
    found = sum(1 for _ in itertools.islice(feeds, place.num_done))
    if found < place.num_done:
        place.refuse(
            f"it had trained on {place.num_done} batches of this pass, but the dataset has "
            f"{found} now"
        )
    place.begin()
    return found


def _announced(feeds: Iterable[Any], look: Callable[[Any], None]) -> Iterator[Any]:
    """``feeds``; while one is used, ``look`` has been told the one after it, at the end None."""
    waiting: list[Any] = []
    try:
        for feed in feeds:
            waiting.append(feed)
            if len(waiting) == 2:
                look(feed)
                yield waiting.pop(0)
        look(None)
        yield from waiting
    finally:
        look(None)


def _check_options(program: Any, call: str) -> None:
    recorded = program.recorded if isinstance(program, PreparedProgram) else program
    options = recorded.run_options or {}
    for name in ("dump_fields", "dump_param"):
        if options.get(name):
            raise NotSupported(
                f"{call}: program._fleet_opt[{name!r}]; fetch these variables with a fetch_handler"
            )


def _infos(names: tuple[str, ...], fetch_info: Any, call: str) -> list[str]:
    if fetch_info is None:
        return list(names)
    infos = [fetch_info] if isinstance(fetch_info, str) else list(fetch_info)
    if len(infos) != len(names):
        raise BadArgument(
            f"{call}: fetch_list has {len(names)} variables, but fetch_info {len(infos)} texts"
        )
    for info in infos:
        if not isinstance(info, str):
            raise DtypeError(f"{call}: fetch_info holds strings, but received {info!r}")
    return infos


def _line(number: int, infos: list[str], values: list[Any]) -> str:
    parts = [f"time: [{time.strftime('%Y-%m-%d %H:%M:%S')}]", f"batch: [{number}]"]
    for info, value in zip(infos, values, strict=False):
        flat = np.asarray(value.numpy()).reshape(-1)
        shown = (
            [f"{v:g}" for v in flat.tolist()]
            if flat.dtype.kind == "f"
            else [str(int(v)) for v in flat]
        )
        parts.append(f"{info}[{flat.size}]:[{' '.join(shown)}]")
    return ", ".join(parts)


def _without_updates(program: Any) -> Any:
    """The operators of ``program`` that compute forward; dropout and the like stay as they are. One
    copy for each version of the program.
    """
    if isinstance(program, PreparedProgram):
        program = program.recorded
    if not isinstance(program, Program):
        raise UsageError(
            f"infer_from_dataset: program must be a Program, but received {type(program).__name__}"
        )
    known = program.attachments.get(ForwardPart)
    if known is None or known.version != program.version:
        out = program.clone()
        out.rates = []
        left_out = [o for block in out.blocks for o in block.ops if o.role != FORWARD]
        free = unwritten(out.global_block().ops).union(*(o.output_arg_names for o in left_out))
        for block in out.blocks:
            block.ops = [o for o in block.ops if o.role == FORWARD]
        check_pass(out.blocks, "infer_from_dataset", free)
        known = ForwardPart(program.version, out)
        program.attachments.put(ForwardPart, known)
    return known.program
