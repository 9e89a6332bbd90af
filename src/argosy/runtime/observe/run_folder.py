"""What is kept of one run of a job: a folder with its facts, its steps and its cards.

::

    run.json        who, what, where: command line, versions, hosts, processes, plan, state of git
    steps.parquet   a row for each step of each process; while the job runs, steps.raw
    tables.parquet  the tables of parameter servers now and then; while it runs, tables.jsonl
    others.jsonl    sums of the steps of other hosts' processes now and then
    now.json        while the job runs: tables and processes of other hosts, as last seen
    events.jsonl    failures, restarts, requests to leave, each with its time
    card-N.json     what was found when something failed or hung (see card.py)

The launcher appends to ``steps.raw`` while the job runs, rows of RAW as they are in memory, so that
a launcher that is killed loses nothing; ``parquet.finish`` turns it into Parquet.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from argosy.foundation.errors import CheckpointError
from argosy.foundation.files import replacing
from argosy.runtime.observe.ring import STEPS

RAW = np.dtype([("process", "<i8"), *((name, STEPS[name]) for name in STEPS.names or ())])
RAW_NAME, TABLES, OTHERS, EVENTS = "steps.raw", "tables.jsonl", "others.jsonl", "events.jsonl"
_FACTS, _NOW = "run.json", "now.json"
_ROWS_AT_ONCE = 1 << 16
_SAMPLES = 2000  # of the first half hour; 4600 for each time that a run becomes ten times as old
_NAME = re.compile(r"\d{8}-\d{6}-\d+")


class RunFolder:
    """The folder while the job runs, owned by its launcher. It is made when the first process is
    expected; until then, and for jobs that are none of ours, there is nothing to keep.
    """

    def __init__(self, path: Path, facts: Mapping[str, Any]) -> None:
        self.path = path
        self._num_cards = 0
        self._facts = {
            **facts,
            "time_s": time.time(),
            "clock_s": time.perf_counter(),  # the same instant on the clock of the steps
            "processes": [],
        }
        self._number_by_label: dict[str, int] = {}
        self._steps: IO[bytes] | None = None
        self._next_s = {TABLES: 0.0, OTHERS: 0.0}  # when another sample is worth its place

    @property
    def is_made(self) -> bool:
        return self._steps is not None

    def expect(self, labels: Sequence[str], account_fd: int) -> None:
        """These processes run now; their rings are in a file of this process."""
        if self._steps is None:
            self.path.mkdir(parents=True)
            self._steps = open(self.path / RAW_NAME, "ab")  # noqa: SIM115  closed by close()
        for label in labels:
            self._number_by_label.setdefault(label, len(self._number_by_label))
        self._facts["processes"] = [{"label": label} for label in self._number_by_label]
        self._facts["running"] = list(labels)
        self._facts["round"] = self._facts.get("round", 0) + 1
        self._facts["account_fd"] = account_fd
        _write(self.path / _FACTS, self._facts)

    def add_steps(self, label: str, steps: npt.NDArray[Any]) -> None:
        """Keep steps of a process that was expected."""
        rows = np.empty(len(steps), RAW)
        rows["process"] = self._number_by_label[label]
        for name in STEPS.names or ():
            rows[name] = steps[name]
        assert self._steps is not None
        self._steps.write(rows.tobytes())
        self._steps.flush()

    def add_event(self, kind: str, text: str) -> None:
        """Keep what has happened, now."""
        self._append(EVENTS, {"at_s": round(time.time(), 3), "kind": kind, "text": text})

    def add_sample(self, name: str, value: Mapping[str, Any]) -> None:
        """Keep one more line of TABLES or OTHERS, with its time; many become rarer."""
        now_s = time.perf_counter() - self._facts["clock_s"]
        if self.is_made and now_s >= self._next_s[name]:
            self._next_s[name] = now_s * (1 + 1 / _SAMPLES)
            self._append(name, {"at_s": round(now_s, 3), **value})

    def _append(self, name: str, value: Mapping[str, Any]) -> None:
        with open(self.path / name, "a") as file:
            file.write(json.dumps(value) + "\n")

    def tell_now(self, value: Mapping[str, Any]) -> None:
        """Show others what is known now that is not in the rings of this host."""
        if self.is_made:
            draft = self.path / f".{_NOW}"
            draft.write_text(json.dumps(value))
            draft.replace(self.path / _NOW)

    def tell_plan(self, text: str) -> None:
        """Keep how the job trains, if that has changed."""
        if text and text != self._facts.get("plan"):
            self._facts["plan"] = text
            _write(self.path / _FACTS, self._facts)

    def add_card(self, card: Mapping[str, Any]) -> Path:
        self._num_cards += 1
        path = self.path / f"card-{self._num_cards}.json"
        _write(path, card)
        return path

    def close(self) -> None:
        """The job is over: no process is there any more."""
        if self._steps is None:
            return
        self._steps.close()
        (self.path / _NOW).unlink(missing_ok=True)
        self._facts.update(running=[], account_fd=-1)
        _write(self.path / _FACTS, self._facts)


def _write(path: Path, value: Mapping[str, Any]) -> None:
    with replacing(path) as file:
        file.write(json.dumps(value, indent=1).encode())


def read_steps(path: Path, num_processes: int, start: int = 0) -> Iterator[npt.NDArray[Any]]:
    """The steps of a run that is not finished from row ``start`` on, some rows of RAW at a time;
    the last one may be torn and is left out.
    """
    raw = path / RAW_NAME
    if not raw.exists():
        return
    with open(raw, "rb") as file:
        file.seek(start * RAW.itemsize)
        while data := file.read(_ROWS_AT_ONCE * RAW.itemsize):
            rows = np.frombuffer(data[: len(data) // RAW.itemsize * RAW.itemsize], RAW)
            if not len(rows):
                return
            if not 0 <= rows["process"].min() <= rows["process"].max() < num_processes:
                raise CheckpointError(f"{raw} names processes that {path / _FACTS} does not have")
            yield rows


def read_facts(path: Path) -> dict[str, Any]:
    """run.json of a folder; an error that says so if it is none."""
    try:
        found = json.loads((path / _FACTS).read_bytes())
        if not isinstance(found["processes"], list):
            raise TypeError
        return {**found, "clock_s": float(found["clock_s"]), "time_s": float(found["time_s"])}
    except FileNotFoundError:
        raise CheckpointError(f"{path} is not the folder of a run: it has no {_FACTS}") from None
    except (ValueError, KeyError, TypeError):
        raise CheckpointError(f"{path / _FACTS} is damaged") from None


class Lines:
    """EVENTS, TABLES or OTHERS of a folder, read once each; a line that is torn is left out."""

    def __init__(self, path: Path, name: str) -> None:
        self._file = path / name
        self._at = 0

    def new(self) -> list[dict[str, Any]]:
        """Those that have come since the last call."""
        if not self._file.exists():
            return []
        with open(self._file, "rb") as file:
            file.seek(self._at)
            whole, newline, _ = file.read().rpartition(b"\n")
        self._at += len(whole) + len(newline)
        found = []
        for line in whole.splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                found.append(value)
        return found


def read_lines(path: Path, name: str) -> list[dict[str, Any]]:
    """All lines of EVENTS, TABLES or OTHERS."""
    return Lines(path, name).new()


def read_now(path: Path) -> dict[str, Any]:
    """What a launcher shows of now; empty if there is nothing."""
    try:
        found = json.loads((path / _NOW).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def runs_in(folder: Path) -> Sequence[Path]:
    """The folders of runs below the log folder of jobs, the newest last."""
    return sorted(path.parent for path in (folder / "runs").glob(f"*/{_FACTS}"))


def new_run(folder: Path) -> Path:
    """Where the next run is kept below a log folder: by time and launcher."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return folder / "runs" / f"{stamp}-{os.getpid()}"


def remove_old(folder: Path, keep: int, is_over: Callable[[Mapping[str, Any]], bool]) -> list[Path]:
    """Remove all but the ``keep`` (at least one) newest runs below a log folder, and return what
    was removed. What does not look like one of ours, is a link, or is not over by its facts stays.
    """
    removed = []
    ours = [p for p in runs_in(folder) if _NAME.fullmatch(p.name) and not p.is_symlink()]
    for path in ours[:-keep]:
        try:
            if is_over(read_facts(path)):
                shutil.rmtree(path)  # which follows no links
                removed.append(path)
        except (CheckpointError, OSError):
            continue
    return removed
