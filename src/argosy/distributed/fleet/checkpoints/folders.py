"""Folders that are there as a whole or not at all.

``folder_replaced`` is for one writer. ``Checkpoints`` is a directory of ``step-<n>`` folders, each
written by all ranks of a job: they write into a draft, which takes its name when all have finished,
so that a job that ends at any instant leaves the earlier ones.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from argosy.distributed.fleet.checkpoints import state_file
from argosy.foundation import manifest
from argosy.foundation.errors import CheckpointError, UsageError
from argosy.foundation.faultpoint import reach
from argosy.foundation.files import inside, replace_folder
from argosy.foundation.manifest import Fact
from argosy.foundation.progress import progress
from argosy.foundation.witness import own_folder

LAYOUT = manifest.Layout("argosy checkpoint", {"step": int, "world_size": int}, {})
MANIFEST = manifest.NAME
TABLES = f"tables/{MANIFEST}"  # where servers keep what is trained: the manifest of their part
_NAME = re.compile(r"step-([0-9]{10})")
_DRAFT = re.compile(r"\.step-[0-9]{10}\.(writing|old)")


# -- one writer
# --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def folder_replaced(name: str) -> Iterator[str]:
    """A folder to write files into; when the block ends well, ``name`` has them, and what else it
    had before, in one instant.

    If the block fails or the process ends, ``name`` stays as it was. A folder that this process
    works in cannot be replaced: there only each file is whole.
    """
    target = Path(os.path.realpath(name))
    if target.exists() and not target.is_dir():
        raise UsageError(f"{name!r} is a file, not a folder")
    if Path.cwd().is_relative_to(target):
        yield str(target)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(f".{_escaped(target.name)}.*.writing"):
        shutil.rmtree(left, ignore_errors=True)
    draft = target.parent / f".{target.name}.{os.urandom(6).hex()}.writing"
    try:
        if target.exists():
            shutil.copytree(target, draft, copy_function=linked)
        else:
            draft.mkdir()
        yield str(draft)
        reach("checkpoint.folder")
        sync_folder(draft)
        replace_folder(draft, target)
        sync_folder(target.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _escaped(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def linked(source: str, copy: str) -> None:
    """Files are replaced, never written over, so a second name serves as a copy."""
    try:
        os.link(source, copy)
    except OSError:
        shutil.copy2(source, copy)


def sync_folder(folder: Path) -> None:
    """Have the names in ``folder`` on disk."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


# -- all ranks
# --------------------------------------------------------------------------------------------------


def state_name(rank: int) -> str:
    """What the file of a rank is called."""
    return f"rank-{rank:05d}.state"


def write_state(folder: Path, name: str, state: Any) -> Fact:
    """Write a state file, to disk; returns what the manifest needs to know of it."""
    found, pieces = hashlib.sha256(), state_file.dumps(state)
    size = sum(map(len, pieces))
    with (folder / name).open("xb") as file, progress(f"saving {folder / name}", size) as told:
        for piece in pieces:
            file.write(piece)
            found.update(piece)
            told(len(piece))
        file.flush()
        os.fsync(file.fileno())
    reach("checkpoint.file")
    return {"file": name, "bytes": size, "sha256": found.hexdigest()}


def read_state(folder: Path, fact: Fact) -> Any:
    """What ``write_state`` wrote; CheckpointError if the file is missing or another."""
    path = inside(folder, fact["file"], str(folder / MANIFEST))
    with progress(f"loading {path}", fact["bytes"]) as told:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise CheckpointError(f"{path}: {error.strerror}") from error
        if len(data) != fact["bytes"] or hashlib.sha256(data).hexdigest() != fact["sha256"]:
            raise CheckpointError(
                f"{path} is not the file that the checkpoint was written with: it is cut short or "
                "damaged"
            )
        told(len(data))
        return state_file.loads(data, str(path))


class Checkpoints:
    """The complete checkpoints in ``directory``, by number of steps. One process makes, completes
    and removes them.
    """

    def __init__(self, directory: str | os.PathLike[str], keep: int) -> None:
        self.directory = Path(os.path.abspath(own_folder(directory)))
        self._keep = keep

    def steps(self) -> list[int]:
        """The checkpoints that there are, the newest first."""
        found = (_NAME.fullmatch(entry.name) for entry in self._folders())
        return sorted((int(match[1]) for match in found if match), reverse=True)

    def misnamed(self) -> list[Path]:
        """Folders with a manifest that have no checkpoint's name: somebody or something has renamed
        them.
        """
        strange = [
            entry
            for entry in self._folders()
            if not _NAME.fullmatch(entry.name) and not _DRAFT.match(entry.name)
        ]
        return sorted(entry for entry in strange if (entry / MANIFEST).exists())

    def _folders(self) -> list[Path]:
        return (
            [entry for entry in self.directory.iterdir() if entry.is_dir()]
            if self.directory.is_dir()
            else []
        )

    def folder(self, step: int) -> Path:
        return self.directory / f"step-{step:010d}"

    def draft(self, step: int) -> Path:
        return self.directory / f".step-{step:010d}.writing"

    def begin(self, step: int) -> None:
        """Make an empty draft, and remove what an interrupted save left."""
        self.directory.mkdir(parents=True, exist_ok=True)
        for left in self.directory.glob(".step-*.writing"):
            shutil.rmtree(left)
        self.draft(step).mkdir()

    def complete(self, step: int, facts: list[Fact], more: Sequence[Fact] = ()) -> None:
        """Make the draft, whose files are all on disk, a checkpoint; remove those beyond the last
        ``keep``.

        ``facts``: of the files of the ranks, ``more``: of others.
        """
        draft = self.draft(step)
        manifest.write(draft, LAYOUT, {"step": step, "world_size": len(facts)}, [*facts, *more])
        sync_folder(draft)
        reach("checkpoint.rename")
        replace_folder(draft, self.folder(step))
        sync_folder(self.directory)
        reach("checkpoint.remove")
        self.thin_out()

    def thin_out(self) -> None:
        """Remove the checkpoints beyond the last ``keep``."""
        for old in self.steps()[self._keep :]:
            gone = self.draft(old)  # a name that is no checkpoint's, before its files go one by one
            self.folder(old).rename(gone)
            shutil.rmtree(gone)

    def manifest(self, step: int) -> list[Fact]:
        """The files of a checkpoint, by rank; CheckpointError if it is no checkpoint of this kind
        and step.
        """
        folder = self.folder(step)
        found = manifest.read(folder, LAYOUT)
        if found.fields["step"] != step:
            raise CheckpointError(
                f"{folder / MANIFEST} is that of step {found.fields['step']}, not of {step}"
            )
        world_size, names = found.fields["world_size"], [fact["file"] for fact in found.files]
        own, more = names[:world_size], names[world_size:]
        if (
            not own
            or own != [state_name(rank) for rank in range(len(own))]
            or len(own) != world_size
            or set(more) - {TABLES}
        ):
            raise CheckpointError(
                f"{folder / MANIFEST} lists {names[:5]}, not the files of {world_size} ranks"
            )
        for fact in found.files[world_size:]:
            manifest.verified(folder, fact)
        for path in sorted(folder.glob("*.state")):
            if path.name not in names:
                raise CheckpointError(
                    f"{path} does not belong to the checkpoint: {MANIFEST} does not list it"
                )
        return found.files[:world_size]
