"""What is kept of one run of a job: a folder with its facts, its steps and its cards.

::

    run.json        who, what, where: command line, versions, hosts, processes, state of git
    steps.parquet   a row for each step of each process; while the job runs, steps.raw
    events.jsonl    starts, failures, restarts and the end, each with its time
    card-N.json     what was found when something failed or hung (see card.py)

The launcher appends to ``steps.raw`` while the job runs, rows of RAW as they are in memory, so that
a launcher that is killed loses nothing; ``finish`` turns it into Parquet.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from argosy.foundation.account import NAMES, UNTOLD
from argosy.foundation.errors import CheckpointError
from argosy.foundation.files import replacing
from argosy.runtime.observe.ring import STEPS

RAW = np.dtype([("process", "<i8"), *((name, STEPS[name]) for name in STEPS.names or ())])
_FACTS, _RAW_NAME, _STEPS_NAME, _EVENTS = "run.json", "steps.raw", "steps.parquet", "events.jsonl"


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

    @property
    def is_made(self) -> bool:
        return self._steps is not None

    def expect(self, labels: Sequence[str], account_fd: int) -> None:
        """These processes run now; their rings are in a file of this process."""
        if self._steps is None:
            self.path.mkdir(parents=True)
            self._steps = open(self.path / _RAW_NAME, "ab")  # noqa: SIM115  closed by close()
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
        line = json.dumps({"at_s": round(time.time(), 3), "kind": kind, "text": text})
        with open(self.path / _EVENTS, "a") as file:
            file.write(line + "\n")

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
        self._facts.update(running=[], account_fd=-1)
        _write(self.path / _FACTS, self._facts)


def _write(path: Path, value: Mapping[str, Any]) -> None:
    with replacing(path) as file:
        file.write(json.dumps(value, indent=1).encode())


def is_unfinished(path: Path) -> bool:
    """Whether the steps of a run are still raw: it runs, or its launcher was killed."""
    return (path / _RAW_NAME).exists()


def finish(path: Path) -> None:
    """Turn the raw steps of a run that is over into Parquet."""
    raw = path / _RAW_NAME
    if not raw.exists():
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    facts, rows = read_facts(path), read_raw(path)
    labels = np.array([each["label"] for each in facts["processes"]] or [""])
    seconds = {name: rows[name] / 1e9 for name in ("wall", *NAMES)}
    named = sum(seconds[name] for name in NAMES)
    table = pa.table(
        {
            "process": pa.array(labels[rows["process"]]).dictionary_encode(),
            "step": rows["number"],
            "began_s": rows["began"] / 1e9 - facts["clock_s"],
            "wall_s": seconds.pop("wall"),
            "compute_s": rows["wall"] / 1e9 - named,
            **{f"{name}_s": values for name, values in seconds.items()},
            "latest_rank": rows["latest"],
            "loss": pa.array(rows["loss"], mask=np.isnan(rows["loss"])),
            "script_step": pa.array(rows["told"], mask=rows["told"] == UNTOLD),
        }
    )
    with replacing(path / _STEPS_NAME) as file:
        pq.write_table(table, file, compression="zstd")
    raw.unlink()


def read_raw(path: Path) -> npt.NDArray[Any]:
    """The steps of a run that is not finished, rows of RAW; the last one may be torn and is left
    out.
    """
    raw = path / _RAW_NAME
    data = raw.read_bytes() if raw.exists() else b""
    rows = np.frombuffer(data[: len(data) // RAW.itemsize * RAW.itemsize], RAW)
    count = len(read_facts(path)["processes"])
    if len(rows) and not 0 <= rows["process"].min() <= rows["process"].max() < count:
        raise CheckpointError(f"{raw} names processes that {path / _FACTS} does not have")
    return rows


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


def read_events(path: Path) -> list[dict[str, Any]]:
    """events.jsonl of a folder; a last line that is torn is left out."""
    file = path / _EVENTS
    found = []
    for line in file.read_text(errors="replace").splitlines() if file.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def runs_in(folder: Path) -> Sequence[Path]:
    """The folders of runs below the log folder of jobs, the newest last."""
    return sorted(path.parent for path in (folder / "runs").glob(f"*/{_FACTS}"))


def new_run(folder: Path) -> Path:
    """Where the next run is kept below a log folder: by time and launcher."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return folder / "runs" / f"{stamp}-{os.getpid()}"
