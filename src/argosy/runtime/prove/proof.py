"""The proof: the job undisturbed, then under faults, and whether both are the same."""

from __future__ import annotations

import enum
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from argosy.runtime.observe.label import is_server
from argosy.runtime.prove import plan, records
from argosy.runtime.prove.comparison import Comparison, Difference, compare
from argosy.runtime.prove.faults import Fired
from argosy.runtime.prove.plan import CHECKPOINT, SERVER, Course, Fault
from argosy.runtime.prove.records import Life
from argosy.runtime.prove.run import PLACEHOLDER, Limits, NotProved, Run, Told

_FAULTS = 5
_MOST_PER_RUN = 8
_PATIENCE_S = 60.0


class Verdict(enum.IntEnum):
    """The exit codes of ``argosy prove``; 2 is for what could not be judged."""

    PASS = 0
    FAIL = 1
    NOT_DETERMINISTIC = 3


@dataclass(frozen=True)
class Row:
    """A fault that came: how long it took until the next step was done, from which step the victim
    went on (None if it has not stopped), and whether what followed was as undisturbed.
    """

    fault: Fault
    recovered_s: float | None
    went_on_at: int | None
    is_same: bool


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What came of it. ``whole`` is the undisturbed run, by process."""

    verdict: Verdict
    whole: Mapping[str, Life]
    whole_s: float
    rows: Sequence[Row] = ()
    not_come: Sequence[Fault] = ()
    difference: Difference | None = None


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Which run is under way, for who waits."""

    name: str
    num_steps: int  # of all processes of the undisturbed run; 0 while it is not known
    faults: Sequence[Fault] = ()
    told: Told = field(default_factory=lambda: Told(0, ()))


class Prover:
    """Runs the command line ``argv`` of the launcher in folders below ``folder``; ``show`` hears
    how it goes.
    """

    def __init__(self, argv: Sequence[str], folder: Path, show: Callable[[Stage], None]) -> None:
        self._argv = tuple(argv)
        self._folder = folder
        self._show = show
        self._num_steps = 0

    def prove(self, seed: int, num_faults: int | None, time_s: float | None) -> Proof:
        """Bear ``num_faults`` faults that ``seed`` draws, or as many as come in ``time_s`` seconds.
        NotProved if the job cannot be judged.
        """
        end_s = time.monotonic() + (math.inf if time_s is None else time_s)
        whole, whole_s, servers = self._undisturbed(end_s)
        courses = {
            label: Course([record.places for record in life.records], life.end_places)
            for label, life in whole.items()
            if life.records
        }
        rows: list[Row] = []
        left: list[Fault] = []
        is_new_start = False
        for faults in self._in_runs(seed, num_faults, time_s, courses, servers, end_s, whole_s):
            run = self._disturbed(faults, whole, end_s, whole_s)
            found, fired = records.read(run.folder), run.faults.fired()
            comparison = compare(whole, found, run.last_start_s)
            rows += _rows(faults, fired, found, comparison)
            is_new_start |= any((start or 1) > 1 for s in comparison.starts.values() for start in s)
            left += [f for f in faults if f.number not in {each.number for each in fired}]
            if comparison.first is not None:
                return self._differing(comparison.first, whole, whole_s, rows, left)
        _check_resumes(rows, courses, is_new_start)
        if not rows:
            raise NotProved(
                f"no fault has come: undisturbed the job takes {whole_s:.0f} s, so give it more "
                "time (--time)"
            )
        return Proof(verdict=Verdict.PASS, whole=whole, whole_s=whole_s, rows=rows, not_come=left)

    def _in_runs(
        self,
        seed: int,
        num_faults: int | None,
        time_s: float | None,
        courses: Mapping[str, Course],
        servers: Sequence[str],
        end_s: float,
        whole_s: float,
    ) -> Iterator[list[Fault]]:
        """The faults of each run, as long as there is time for one more."""
        count = num_faults or (_FAULTS if time_s is None else 1000)
        faults = plan.draw(seed, count, courses, servers)
        per_run = min(_MOST_PER_RUN, count)
        # each run has faults over the whole course
        num_runs = -(-len(faults) // per_run)
        for number in range(num_runs):
            if time.monotonic() + (2 if number else 1) * whole_s > end_s:
                return
            yield faults[number::num_runs]

    def _run(self, name: str, faults: Sequence[Fault] = ()) -> Run:
        folder = self._folder / name.replace(" ", "-")

        def tell(told: Told) -> None:
            self._show(Stage(name=name, num_steps=self._num_steps, faults=faults, told=told))

        return Run(self._argv, folder, tell)

    def _undisturbed(self, end_s: float) -> tuple[dict[str, Life], float, list[str]]:
        run = self._run("undisturbed")
        whole_s = run.go(Limits(end_at_s=end_s))
        whole = _single(records.read(run.folder))
        self._num_steps = sum(len(life.records) for life in whole.values())
        if not self._num_steps:
            raise NotProved(
                "the job has no steps: none of its processes has updated parameters with an "
                "optimizer of Paddle or torch, or run a program that trains, after `import paddle` "
                "or `import argosy`. A job that goes on from an earlier run's files has nothing "
                f"left to do: write {PLACEHOLDER} for their folder in its arguments"
            )
        return whole, whole_s, run.faults.known(SERVER)

    def _disturbed(
        self, faults: Sequence[Fault], whole: Mapping[str, Life], end_s: float, whole_s: float
    ) -> Run:
        run = self._run(f"disturbed {faults[0].number}", faults)
        run.faults.lay_down(faults, {label: life.records for label, life in whole.items()})
        run.go(Limits(quiet_at_s=end_s - whole_s, patience_s=_PATIENCE_S + 2 * whole_s))
        return run

    def _differing(
        self,
        difference: Difference,
        whole: Mapping[str, Life],
        whole_s: float,
        rows: Sequence[Row],
        left: Sequence[Fault],
    ) -> Proof:
        """Whose fault it is: the job's own, if undisturbed it is not the same twice."""
        if difference.is_left_over:
            raise NotProved(
                f"the disturbed run did not begin at the first step ({difference}): it went on "
                "from what the undisturbed one had kept. Keep checkpoints by "
                f"fleet.auto_checkpoint, or write {PLACEHOLDER} for their folder in the script's "
                "arguments; each run gets its own"
            )
        verdict = Verdict.FAIL
        run = self._run("undisturbed again")
        run.go(Limits(patience_s=_PATIENCE_S + 2 * whole_s))
        again = compare(whole, records.read(run.folder)).first
        if again is not None:
            verdict, difference = Verdict.NOT_DETERMINISTIC, again
        return Proof(
            verdict=verdict,
            whole=whole,
            whole_s=whole_s,
            rows=rows,
            not_come=left,
            difference=difference,
        )


def _single(found: Mapping[str, Sequence[Life]]) -> dict[str, Life]:
    """The only life of each process; NotProved if one was started again undisturbed."""
    for label, lives in found.items():
        if len(lives) > 1:
            raise NotProved(
                f"undisturbed, {label} was started {len(lives)} times: it fails by itself"
            )
    return {label: lives[0] for label, lives in found.items()}


def _check_resumes(rows: Sequence[Row], courses: Mapping[str, Course], is_new_start: bool) -> None:
    """NotProved if nothing is kept: beginning again from nothing gives the same numbers too."""
    saves = any(
        plan.phase_of(place) == CHECKPOINT
        for course in courses.values()
        for places in (*course.steps, course.end)
        for place in places
    )
    again = [row for row in rows if row.went_on_at == 1 and row.fault.step > 1]
    if again and not is_new_start and not saves:
        raise NotProved(
            f"the job keeps no checkpoints: after {again[0].fault.what} in step "
            f"{again[0].fault.step} it began again at step 1, and so after every fault. Train in "
            "the loop of fleet.auto_checkpoint (docs/checkpoints.md)"
        )


def _rows(
    faults: Sequence[Fault],
    fired: Sequence[Fired],
    found: Mapping[str, Sequence[Life]],
    comparison: Comparison,
) -> list[Row]:
    fault_by_number = {fault.number: fault for fault in faults}
    bad = comparison.first
    lives = () if bad is None else found.get(bad.label, ())[bad.life :]
    broken_s = lives[0].began_s if lives else None
    rows = []
    for each, next_s in zip(fired, [*(f.at_s for f in fired[1:]), math.inf], strict=False):
        fault = fault_by_number[each.number]
        seconds, start = _recovery(fault, each.at_s, next_s, found, comparison)
        is_same = broken_s is None or not each.at_s < broken_s <= next_s
        rows.append(Row(fault, seconds, start, is_same))
    return rows


def _recovery(
    fault: Fault,
    at_s: float,
    next_s: float,
    found: Mapping[str, Sequence[Life]],
    comparison: Comparison,
) -> tuple[float | None, int | None]:
    """Seconds from a fault to the next finished step of its victim, of all processes if that has no
    steps; and which step it was, if a new life has made it. ``next_s`` is when the next fault came.
    """
    trained = {label for label, lives in found.items() if any(life.records for life in lives)}
    # a server that is killed comes back alone; asked to leave, all of the job does
    is_new = not is_server(fault.victim) or any(
        at_s < life.began_s < next_s for label in trained for life in found[label]
    )
    seconds, starts = [], []
    for label in {fault.victim} & trained or trained:
        for life, start in zip(found[label], comparison.starts[label], strict=True):
            after = [record.at_s for record in life.records if record.at_s > at_s]
            if life.began_s <= at_s:
                # what was under way may have had its answers; a process that is to end has no next
                after = [] if is_new else after[1:]
            if after:
                seconds.append(after[0] - at_s)
                starts.append(start if life.began_s > at_s else None)
                break
    known = [start for start in starts if start is not None]
    return max(seconds, default=None), min(known, default=None)
