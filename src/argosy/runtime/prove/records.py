"""What a process writes down of its steps while its job is being proved.

A file for each life of a process, of lines in JSON: who it is, a line for each step, one for its
end. A line is written at once, so what was killed leaves whole lines and perhaps a torn last one::

    {"label": "rank 0", "pid": 4711, "began_s": 1201.5}
    {"at_s": 1203.1, "told": 1, "loss": "0x1.8p+0", "batches": [...], "results": [...],
     "values": {"linear_0.w_0": "5f0c..."}, "places": {"data": 1, "backward": 1}}
    {"end_s": 1210.0, "values": {...}, "places": {"checkpoint.rename": 1}}
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from argosy.runtime.prove.digest import digest

_FOLDER = "records"


@dataclass(frozen=True, kw_only=True)
class Record:
    """One step. Times are of the monotonic clock; what was seen is there as digests. ``places`` are
    those that the process came by since the step before, with how often.
    """

    at_s: float = 0.0
    told: int | None = None  # the script's own number of the step
    loss: str | None = None  # what the script told, exactly
    batches: Sequence[str] = ()
    results: Sequence[str] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Equal for the same step of two runs: the state that it left."""
        if self.values:
            return digest([dict(sorted(self.values.items()))])
        return digest([list(self.batches), list(self.results)])


@dataclass(frozen=True, kw_only=True)
class Life:
    """One process from its start to its end; ``end_values`` is None if it was cut off."""

    label: str
    pid: int
    began_s: float
    records: Sequence[Record] = ()
    end_values: Mapping[str, str] | None = None
    end_places: Mapping[str, int] = field(default_factory=dict)


class Writer:
    """The file of this process; made with the first line."""

    def __init__(self, folder: Path, label: str, began_s: float) -> None:
        name = f"{label.replace(' ', '-')}.{os.getpid()}.{began_s:.6f}"
        self._path = folder / _FOLDER / name
        self._first = {"label": label, "pid": os.getpid(), "began_s": began_s}
        self._fd = -1

    def write(self, line: Mapping[str, Any]) -> None:
        """Add a line; afterwards it is there whatever happens to this process."""
        lines = [line]
        if self._fd < 0:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
            lines.insert(0, self._first)
        data = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in lines).encode()
        while data:
            data = data[os.write(self._fd, data) :]


def read(folder: Path) -> dict[str, list[Life]]:
    """The lives of the processes of a run, by label, in the order of their beginnings."""
    found: dict[str, list[Life]] = {}
    for path in sorted((folder / _FOLDER).glob("*")):
        life = _life(path.read_bytes())
        if life is not None:
            found.setdefault(life.label, []).append(life)
    for lives in found.values():
        lives.sort(key=lambda life: life.began_s)
    return dict(sorted(found.items()))


class Counter:
    """Counts the steps of a run while it is under way, reading each line once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / _FOLDER
        self._read: dict[str, tuple[int, int]] = {}  # bytes and lines, by file

    def count(self) -> int:
        """How many steps the processes have finished together, those done again included."""
        for path in self._folder.glob("*"):
            num_bytes, num_lines = self._read.get(path.name, (0, 0))
            with path.open("rb") as file:
                file.seek(num_bytes)
                data = file.read()
            self._read[path.name] = num_bytes + len(data), num_lines + data.count(b"\n")
        return sum(num_lines - 1 for _, num_lines in self._read.values())  # without the first


def _life(data: bytes) -> Life | None:
    first, *rest = [json.loads(line) for line in data.splitlines(True) if line.endswith(b"\n")] or [
        None
    ]
    if first is None:
        return None
    steps = [Record(**line) for line in rest if "at_s" in line]
    ends = [line for line in rest if "end_s" in line]
    end = ends[-1] if ends else {"values": None, "places": {}}
    return Life(**first, records=steps, end_values=end["values"], end_places=end["places"])
