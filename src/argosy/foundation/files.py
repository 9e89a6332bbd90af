"""Files that are whole or not there, and names that stay in their folder."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from argosy.foundation.errors import CheckpointError

_DRIVE = re.compile(r"[A-Za-z]:")
_AT_FDCWD, _EXCHANGE = -100, 2  # of renameat2


def inside(folder: str | os.PathLike[str], name: str, what: str) -> Path:
    """The path of ``name``, which was read from a file, in ``folder``; CheckpointError if it would
    lie elsewhere.

    ``name`` may have folders of its own, separated by ``/``. ``what`` says where the name comes
    from, for the message. A symbolic link that leads out of ``folder`` counts as elsewhere.
    """
    parts = PurePosixPath(name).parts if isinstance(name, str) else ()
    is_plain = bool(parts) and not name.startswith("/") and ".." not in parts
    if not is_plain or "\0" in name or "\\" in name or _DRIVE.match(name):
        raise CheckpointError(
            f"{what}: the name {name!r} leads out of the folder {os.fspath(folder)!r}, so it is "
            "refused"
        )
    path = Path(folder).joinpath(*parts)
    if not os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), "")):
        raise CheckpointError(
            f"{what}: {name!r} is a link that leads out of the folder {os.fspath(folder)!r}, so "
            "it is refused"
        )
    return path


@contextlib.contextmanager
def replacing(target: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write, on disk and under the name ``target`` when the block ends well, gone when it
    does not.

    The folder is made if it is missing. A file that was there before keeps its mode; a device or a
    pipe is written to as it is.
    """
    path = os.path.realpath(target)
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        with open(path, "wb") as file:
            yield file
        return
    folder, name = os.path.split(path)
    os.makedirs(folder, exist_ok=True)
    draft = os.path.join(folder, f".{name[:100]}.{os.urandom(6).hex()}.tmp")
    try:
        with open(draft, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            os.chmod(draft, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
        raise


def replace_folder(fresh: Path, folder: Path) -> None:
    """Give ``fresh`` the name ``folder``, and remove the folder that had it.

    Where kernel and file system can exchange two names, one of the two is there at every instant.
    """
    if not folder.exists():
        fresh.rename(folder)
        return
    old = fresh
    if not _exchange(fresh, folder):
        old = fresh.with_suffix(".old")
        folder.rename(old)
        fresh.rename(folder)
    shutil.rmtree(old)


def _exchange(one: Path, other: Path) -> bool:
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    names = _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE
    return rename is not None and rename(*names) == 0
