"""The traces that the processes of a job have left, each its own, joined into one file."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from argosy.foundation.errors import CheckpointError
from argosy.runtime.observe import chrome


def join(folder: Path, labels: Sequence[str], target: Path) -> list[str]:
    """Write ``target`` from the files in ``folder``, which goes; returns those of ``labels`` that
    are missing. Without any file there is none to write.
    """
    traces, damaged = [], []
    for path in sorted(folder.glob("*.json")):
        try:
            traces.append(chrome.read(path))
        except CheckpointError:
            damaged.append(path.name)
    if damaged:
        raise CheckpointError(f"{folder}: damaged: {', '.join(damaged)}")
    found = {each["label"] for trace in traces for each in trace["otherData"]["processes"]}
    missing = [label for label in labels if label not in found]
    if traces:
        chrome.write(target, chrome.join(traces, missing))
    shutil.rmtree(folder, ignore_errors=True)
    return missing


def said(target: Path, missing: Sequence[str]) -> str:
    """What a user is told."""
    if not target.exists():
        return f"there is none: {', '.join(missing)} have recorded nothing"
    return f"{target}{', without ' + ', '.join(missing) if missing else ''}"
