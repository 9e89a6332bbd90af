"""Running a program on several places at once: lower it for each, give out the feeds, run one
thread per place.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.foundation.account import account
from argosy.foundation.errors import UsageError
from argosy.foundation.places import Place
from argosy.foundation.witness import seat
from argosy.static.ir.lod import LoDTensor
from argosy.static.ir.program import Program
from argosy.static.lower import fusion
from argosy.static.lower.fetch import joined
from argosy.static.lower.lowered import Lowered
from argosy.static.lower.lowering import lower
from argosy.static.parallel import trainers
from argosy.static.parallel.adapt import PlaceAdaptation, Shared
from argosy.static.parallel.exchange import Exchange
from argosy.static.parallel.replicas import Replicas
from argosy.static.parallel.rewrite import has_training, is_of_loss, loss_gradient
from argosy.static.parallel.strategy import RunSpec
from argosy.static.parallel.thread_pool import Abandoned, ThreadPool
from argosy.static.run.call import (
    known_feeds,
    run_lowered,
    seeded,
    split_fetches,
    write_rates,
)
from argosy.static.run.contract import Part
from argosy.static.run.shown import show_step

Feed = dict[str, Any]
Fetched = list[torch.Tensor | LoDTensor]


class DataParallelRun:
    """A program on its places. ``replicas`` keeps its variables there; ``close()`` ends the
    threads.
    """

    def __init__(
        self,
        program: Program,
        places: Sequence[Place],
        replicas: Replicas,
        spec: RunSpec,
        exchange: Exchange,
    ) -> None:
        self.program = program
        self.places = list(places)
        self.replicas = replicas
        self.spec = spec
        self.trainers = trainers.find(spec.num_trainers, spec.trainer_id)
        self._pool = ThreadPool(len(self.places), f"program-{program.id}")
        self._lowered: dict[Any, list[tuple[PlaceAdaptation, Lowered]]] = {}
        self._lowered_version = -1
        fuses = spec.compiles and fusion.has_compiler()
        self._shared = Shared(
            len(self.places), spec, self.trainers, self._pool.barrier, fuses, exchange
        )
        self._runs = 0
        self.is_empty = True  # no memory is kept for temporary values

    def run(
        self, feeds: list[Feed], fetches: tuple[Any, ...], prunes: bool, part: Part
    ) -> list[Fetched]:
        """Run with a feed for each place, or for the first of them; returns what was fetched on
        each. ``part`` gives what is to run where it ``prunes``, or ``fetches`` has updates.
        """
        lowered = self._lowered_for(feeds[0], fetches, prunes, part)[: len(feeds)]
        given = [
            each.given(feed, device)
            for (_, each), feed, device in zip(lowered, feeds, self.replicas.devices, strict=False)
        ]
        if self.program.rates:
            write_rates(self.program, self.replicas.scopes[0])
        result: list[Fetched] = []
        for _ in range(self.spec.runs_per_call):
            result = self._run_once(lowered, given)
        self._runs += 1
        self.is_empty = False
        if self._runs % self.spec.runs_per_drop == 0:
            self.drop()
        return result

    def drop(self) -> None:
        """Give back the memory that is kept for temporary values between runs."""
        self.is_empty = True
        for totals in self._shared.totals.values():
            totals.drop()

    def close(self) -> None:
        """End the threads and give all memory for temporary values back."""
        self._pool.close()
        self._forget_totals()

    def _forget_totals(self) -> None:
        for totals in self._shared.totals.values():
            totals.close()

    # -- one run
    # ----------------------------------------------------------------------------------------------

    def _run_once(
        self,
        lowered: list[tuple[PlaceAdaptation, Lowered]],
        feeds: list[tuple[torch.Tensor | None, ...]],
    ) -> list[Fetched]:
        reads = lowered[0][1].reads
        if self.trainers is not None and has_training(self.program.global_block().ops):
            self.replicas.agree(reads, self.trainers, self._shared.exchange)
        self.replicas.refresh(reads)
        with self._random():
            self._seed([adaptation for adaptation, _ in lowered])
            calls = [self._call(i, lowered[i][1], feeds[i]) for i in range(len(lowered))]
            if threading.get_ident() == account.thread:
                calls[0] = _counted(calls[0])
            idle = [_nothing] * (len(self.places) - len(calls))
            outcomes = self._pool.run([*calls, *idle])[: len(calls)]
        if any(error is not None for _, error in outcomes):
            self.replicas.forget()
            raise self._told([error for _, error in outcomes])
        self.replicas.note([*reads, *lowered[0][1].writes])
        if lowered[0][1].trains:
            if seat.witness is not None:
                results = [fetched for fetched, _ in outcomes]
                scopes = self.replicas.scopes[: len(results)]
                show_step(seat.witness, self.program, lowered[0][1], scopes, feeds, results)
            account.end_step()
        return [
            joined(fetched, each.lods)
            for (fetched, _), (_, each) in zip(outcomes, lowered, strict=True)
        ]

    def _call(
        self, place: int, lowered: Lowered, feeds: tuple[torch.Tensor | None, ...]
    ) -> Callable[[], Any]:
        scope, device = self.replicas.scopes[place], self.replicas.devices[place]
        return lambda: run_lowered(lowered, feeds, scope, device)

    def _random(self) -> contextlib.AbstractContextManager[None]:
        """The program's seed for a single place; several have streams of their own."""
        seed = self.program.seed
        return (
            seeded(seed + self.spec.trainer_id)
            if seed and len(self.places) == 1
            else contextlib.nullcontext()
        )

    def _seed(self, adaptations: list[PlaceAdaptation]) -> None:
        if len(adaptations) > 1 and any(a.draws for a in adaptations):
            # Without a seed of the program, trainers differ if their processes were seeded
            # differently.
            seed = self.program.seed or int(torch.randint(2**62, ()))
            first = seed + self.spec.trainer_id * len(adaptations)
            for adaptation in adaptations:
                adaptation.seed(first + adaptation.place)

    def _told(self, errors: list[BaseException | None]) -> BaseException:
        """The error of the first place that failed by itself, with the place in its message."""
        place, error = next(
            (i, e) for i, e in enumerate(errors) if e is not None and not isinstance(e, Abandoned)
        )
        if len(self.places) == 1 or not isinstance(error, Exception):
            return error
        where = f"place {place} ({self.places[place]!r}) of {len(self.places)}"
        try:
            told = type(error)(f"{where}: {error}")
        except Exception:  # an error class that is made of something else than a message
            error.add_note(f"raised on {where}")
            return error
        told.__cause__ = error
        return told

    # -- lowering
    # ----------------------------------------------------------------------------------------------

    def _lowered_for(
        self, feed: Feed, fetches: tuple[Any, ...], prunes: bool, part: Part
    ) -> list[tuple[PlaceAdaptation, Lowered]]:
        if self._lowered_version != self.program.version:
            self._lowered.clear()
            self._forget_totals()
            self._shared.totals.clear()
            self._lowered_version = self.program.version
        key = (tuple(feed), fetches, prunes)
        if key not in self._lowered:
            names = known_feeds(self.program, feed)
            self._check_loss_gradients(feed)
            wanted, updates = split_fetches(fetches)
            program = self.program
            if prunes or updates:
                program = part(program, feed, wanted, updates)
            made = [self._lower(i, program, names, wanted) for i in range(len(self.places))]
            self._lowered[key] = made
        return self._lowered[key]

    def _lower(
        self, place: int, program: Program, feed: list[str], fetches: list[str]
    ) -> tuple[PlaceAdaptation, Lowered]:
        device = self.replicas.devices[place]
        adaptation = PlaceAdaptation(place, device, self._shared)
        lowered = lower(program, feed, fetches, device, adaptation)
        if self._shared.fuses:
            fusion.fuse(lowered)
        return adaptation, lowered

    def _check_loss_gradients(self, feed: Feed) -> None:
        if not self.spec.feeds_loss_gradient:
            return
        for operator in self.program.global_block().ops:
            if is_of_loss(operator) and (wanted := loss_gradient(operator).name) not in feed:
                raise UsageError(
                    "ParallelExecutor.run: with GradientScaleStrategy.Customized the gradient "
                    "of the loss is fed: "
                    f"{wanted!r}, a value for each of {len(self.places)} places"
                )


def _counted(call: Callable[[], Any]) -> Callable[[], Any]:
    """The call of the first place, which talks to the other trainers for all: what it waits for
    there is what the step waits for.
    """

    def run() -> Any:
        with account.taken_over():
            return call()

    return run


def _nothing() -> None:
    return None
