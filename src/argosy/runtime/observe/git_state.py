"""Which commit a folder has checked out, and which of its files differ from it, read from git's own
files: the program ``git`` would run what a repository's settings name.

A file differs if it is gone, or if its size, or else its time and its content, are not those that
git has noted when it was last added. What was added and not committed, and files that git does not
know, are not told: the first would need git's objects, the second its rules of what to ignore.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_HEAD = struct.Struct(">4s2I")
_ENTRY = struct.Struct(">10I20sH")
_EXTENDED, _STAGE, _SKIPPED = 0x4000, 0x3000, 0x4000
_MOST_BYTES = 64 << 20  # of an index, and of files that are read
_MOST_S = 0.5
_SHOWN = 10
_SHA1_DIGITS = 40
_SUBMODULE = 0o160000


@dataclass(frozen=True)
class GitState:
    """``commit`` is empty where there is none, ``num_changed`` None if it cannot be told; some of
    the files that differ are in ``changed``.
    """

    commit: str = ""
    num_changed: int | None = None
    changed: tuple[str, ...] = ()


def git_state(folder: Path) -> GitState:
    """Of the repository that ``folder`` is in."""
    for parent in (folder, *folder.parents):
        git = _folder_of(parent / ".git")
        if git is not None:
            break
    else:
        return GitState()
    try:
        commit = _commit(git)
    except (OSError, UnicodeDecodeError):
        return GitState()
    if len(commit) != _SHA1_DIGITS:  # an index with other digests is laid out otherwise
        return GitState(commit)
    try:
        changed = sorted(_changed(parent, git))
    except (OSError, ValueError, struct.error):
        return GitState(commit)
    return GitState(commit, len(changed), tuple(changed[:_SHOWN]))


def _folder_of(path: Path) -> Path | None:
    """The folder of a repository, or of one of its work trees, whose ``.git`` is a file."""
    if path.is_dir():
        return path
    try:
        text = path.read_text() if path.is_file() else ""
    except (OSError, UnicodeDecodeError):
        return None
    found = path.parent / text.removeprefix("gitdir: ").strip()
    return found if text.startswith("gitdir: ") and found.is_dir() else None


def _commit(git: Path) -> str:
    head = (git / "HEAD").read_text().strip()
    name = head.removeprefix("ref: ")
    if name == head:
        found = head
    elif ".." in name or name.startswith("/"):
        return ""
    else:
        found = _reference(git, name)
    return found if _COMMIT.fullmatch(found) else ""


def _reference(git: Path, name: str) -> str:
    common = git / "commondir"  # a work tree has the branches of its repository
    for place in (git, git / common.read_text().strip()) if common.is_file() else (git,):
        if (place / name).is_file():
            return (place / name).read_text().strip()
        if (place / "packed-refs").is_file():
            for line in (place / "packed-refs").read_text().splitlines():
                if line.endswith(f" {name}"):
                    return line.split()[0]
    return ""


def _changed(root: Path, git: Path) -> Iterator[str]:
    """The names of files that differ from the index; ValueError if it takes too long to tell."""
    end_s, left = time.monotonic() + _MOST_S, _MOST_BYTES
    for name, size, changed_ns, mode, digest in _entries(git / "index"):
        if time.monotonic() > end_s:
            raise ValueError
        path = os.path.join(root, name)
        try:
            found = os.lstat(path)
        except OSError:
            yield name
            continue
        if stat.S_IFMT(found.st_mode) != stat.S_IFMT(mode):
            yield name
        elif not stat.S_ISREG(mode) or (found.st_size, found.st_mtime_ns) == (size, changed_ns):
            continue
        elif found.st_size & 0xFFFFFFFF != size:
            yield name
        else:
            left -= found.st_size
            if left < 0:
                raise ValueError
            data = Path(path).read_bytes()
            if hashlib.sha1(b"blob %d\0" % len(data) + data).digest() != digest:
                yield name


def _entries(index: Path) -> Iterator[tuple[str, int, int, int, bytes]]:
    """Name, size, time, mode and digest of the files of an index of version 2 or 3."""
    if index.stat().st_size > _MOST_BYTES:
        raise ValueError
    data = index.read_bytes()
    magic, version, count = _HEAD.unpack_from(data)
    if magic != b"DIRC" or version not in (2, 3):
        raise ValueError
    at = _HEAD.size
    for _ in range(count):
        fields = _ENTRY.unpack_from(data, at)
        flags, name_at = fields[11], at + _ENTRY.size
        more = 0
        if flags & _EXTENDED:
            (more,) = struct.unpack_from(">H", data, name_at)
            name_at += 2
        end = data.index(b"\0", name_at)
        at += (end - at + 8) // 8 * 8  # padded with one to eight zeros
        if not more & _SKIPPED and not flags & _STAGE and fields[6] != _SUBMODULE:
            name = os.fsdecode(data[name_at:end])
            if ".." not in name.split("/") and not name.startswith("/"):
                changed_ns = fields[2] * 10**9 + fields[3]
                yield name, fields[9], changed_ns, fields[6], fields[10]
