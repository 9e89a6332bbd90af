"""Two runs of a job, step by step: where they first differ, and where each life of a process went
on. Pure.

After a fault a process begins at an earlier step and repeats some. Each of its lives must be a
piece of the undisturbed sequence, the first from its beginning, each from where one before has been
or earlier, the last to its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from argosy.runtime.prove.records import Life, Record

SAMPLES, LOSS = "samples", "loss"


@dataclass(frozen=True)
class Difference:
    """The first thing that is not as it was. ``step`` counts from 1; ``life`` is which of the lives
    of ``label`` shows it, from 0 on.
    """

    label: str
    step: int
    what: str
    life: int = 0
    told: int | None = None  # the script's own number of the step
    is_left_over: bool = False  # the first life did not begin at the first step
    is_end: bool = False  # after the last step

    def __str__(self) -> str:
        if self.is_end:
            return f"the end, {self.label}: {self.what}"
        own = "" if self.told is None else f" (the script calls it {self.told})"
        return f"step {self.step}{own}, {self.label}: {self.what}"


@dataclass(frozen=True)
class Comparison:
    """``first`` is the earliest difference, None if there is none. ``starts`` has for each life of
    each process the number of its first step, None if it made none.
    """

    first: Difference | None
    starts: Mapping[str, Sequence[int | None]]


def compare(
    whole: Mapping[str, Life], found: Mapping[str, Sequence[Life]], last_start_s: float = 0.0
) -> Comparison:
    """``found`` against the undisturbed run, by label. The ends of processes count that began since
    the job was started for the last time.
    """
    differences: list[Difference] = []
    starts: dict[str, list[int | None]] = {}
    for label, undisturbed in whole.items():
        lives = found.get(label, ())
        starts[label] = []
        differences += _of_process(undisturbed, lives, starts[label])
        differences += _of_end(undisturbed, lives, last_start_s)
    differences.sort(key=lambda d: (d.is_end, d.life, d.step, d.label))
    return Comparison(differences[0] if differences else None, starts)


def _of_process(
    whole: Life, lives: Sequence[Life], starts: list[int | None]
) -> Iterator[Difference]:
    """The differences of one process, the first of each life; fills ``starts``."""
    label, reached = whole.label, 0
    for number, life in enumerate(lives):
        if not life.records:
            starts.append(None)
            continue
        start = start_of(life.records, whole.records, reached)
        starts.append(start + 1)
        if start > reached:
            what = f"it was left out: the job went on with step {start + 1}"
            told = whole.records[reached].told
            yield Difference(label, reached + 1, what, number, told, is_left_over=not reached)
        for at, record in enumerate(life.records, start):
            what = of_steps(whole.records, at, record, is_first=at == start)
            if what:
                yield Difference(label, at + 1, what, number, record.told)
                break
        reached = max(reached, start + len(life.records))
    if reached < len(whole.records):
        what = f"the job ended before this step; undisturbed it has {len(whole.records)}"
        told, last = whole.records[reached].told, max(len(lives) - 1, 0)
        yield Difference(label, reached + 1, what, last, told, is_left_over=not reached)


def start_of(records: Sequence[Record], whole: Sequence[Record], reached: int) -> int:
    """Which undisturbed step (from 0 on) the first of ``records`` is. Its own number says so, or
    the state that it left, or what most speaks for.
    """
    first = records[0]
    steps = range(len(whole))
    told = [n for n in steps if first.told is not None and whole[n].told == first.told]
    same = [n for n in told or steps if whole[n].identity == first.identity]
    # the same state in several steps: as far as it holds, and no farther on than the job was
    if same:
        return max(same, key=lambda n: (_run_of(records, whole, n), n <= reached, n))
    if told:
        return told[0]
    return max(
        range(min(reached, len(whole) - 1) + 1), key=lambda n: (_likeness(first, whole[n]), n)
    )


def _run_of(records: Sequence[Record], whole: Sequence[Record], start: int) -> int:
    """How many of ``records`` are as they were, from ``start`` on."""
    pairs = zip(records, whole[start:], strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a.identity != b.identity), len(records))


def _likeness(one: Record, other: Record) -> int:
    values = sum(other.values.get(name) == value for name, value in one.values.items())
    return (
        values + _ends_alike(one.batches, other.batches) + _ends_alike(one.results, other.results)
    )


def _ends_alike(one: Sequence[str], other: Sequence[str]) -> bool:
    return bool(one) and list(one[-1:]) == list(other[-1:])


def of_steps(whole: Sequence[Record], at: int, record: Record, *, is_first: bool) -> str:
    """What of a step differs, empty if nothing does. The first of a life may have seen more or less
    before it, while it looked for its place; what it ends with counts.
    """
    if at >= len(whole):
        return f"undisturbed the job ends after {len(whole)} steps, and this one was done"
    expected = whole[at]
    for name, one, other in (
        (SAMPLES, record.batches, expected.batches),
        (LOSS, record.results, expected.results),
    ):
        if is_first and one and other:
            least = min(len(one), len(other))
            one, other = one[-least:], other[-least:]
        if list(one) != list(other):
            return f"{name} differ" if name == SAMPLES else f"{name} differs"
    if record.loss != expected.loss:
        return f"{LOSS} differs: {_number(expected.loss)} undisturbed, {_number(record.loss)} here"
    return _of_values(expected.values, record.values)


def _of_values(expected: Mapping[str, str], found: Mapping[str, str]) -> str:
    different = [name for name, value in expected.items() if found.get(name) != value]
    different += [name for name in found if name not in expected]
    if not different:
        return ""
    name, others = different[0], len(different) - 1
    if name not in found:
        return f"tensor {name!r} is not there"
    if name not in expected:
        return f"tensor {name!r} is there, and is not undisturbed"
    return f"tensor {name!r} differs" + (f", and {others} more" if others else "")


def _of_end(whole: Life, lives: Sequence[Life], last_start_s: float) -> Iterator[Difference]:
    """What differs after the last step."""
    if whole.end_values is None:
        return
    ends = [
        (number, life.end_values)
        for number, life in enumerate(lives)
        if life.began_s >= last_start_s and life.end_values is not None
    ]
    # a life without steps has nothing to show; its state was shown by the one before
    number, what = 0, "" if whole.records else "what it has in the end was not seen"
    if ends:
        number, found = ends[-1]
        what = _of_values(whole.end_values, found)
    if what:
        yield Difference(whole.label, len(whole.records), what, number, is_end=True)


def _number(text: str | None) -> str:
    return "none" if text is None else repr(float.fromhex(text))
