"""Files by their address, out of a folder; nothing is fetched."""

from __future__ import annotations

import os
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from argosy.foundation import env
from argosy.foundation.errors import BadArgument, DtypeError, UsageError
from argosy.utils.dataset_file import check_file, md5file

__all__ = ["get_path_from_url", "get_weights_path_from_url", "is_url"]


def __getattr__(name: str) -> Any:
    # where weights are looked for; a script may set it
    if name == "WEIGHTS_HOME":
        return os.path.join(env.home(), "hapi", "weights")
    raise AttributeError(f"module 'paddle.utils.download' has no attribute {name!r}")


def is_url(path: str) -> bool:
    """Whether a text is an address."""
    return path.startswith(("http://", "https://"))


def get_weights_path_from_url(url: str, md5sum: str | None = None) -> str:
    """The path of the file with the weights of a model, below the cache folder.

    Differs from Paddle: nothing is fetched; a file that is missing or has another checksum is an
    error that says what to put where.
    """
    folder = globals().get("WEIGHTS_HOME") or __getattr__("WEIGHTS_HOME")
    return get_path_from_url(url, folder, md5sum)


def get_path_from_url(
    url: str,
    root_dir: str,
    md5sum: str | None = None,
    check_exist: bool = True,
    decompress: bool = True,
    method: str = "get",
) -> str:
    """The path in ``root_dir`` of the file that ``url`` ends with; of an archive, what it was
    unpacked to, unless ``decompress`` is False.

    Differs from Paddle: nothing is fetched, not even with ``check_exist=False``; a file that is
    missing or has another checksum is an error that says what to put where.
    """
    if not is_url(url):
        raise BadArgument(
            f"get_path_from_url: {url!r} is not an address; expected http:// or https://"
        )
    path = _map_path(url, root_dir)
    check_file(path, url, md5sum)
    if decompress and (tarfile.is_tarfile(path) or zipfile.is_zipfile(path)):
        return _decompress(path)
    return path


def _map_path(url: str, root_dir: str) -> str:
    """Where the file of an address lies in a folder."""
    return os.path.join(root_dir, url.rsplit("/", 1)[-1])


def _md5check(fullname: str, md5sum: str | None = None) -> bool:
    """Whether a file has the checksum; with None any has."""
    return md5sum is None or md5file(fullname) == md5sum


def _get_unique_endpoints(trainer_endpoints: list[str]) -> set[str]:
    """One endpoint of each host: the first in the order of texts. The list is sorted in place, as
    in Paddle.
    """
    trainer_endpoints.sort()
    first_by_host: dict[str, str] = {}
    for endpoint in trainer_endpoints:
        first_by_host.setdefault(endpoint.split(":")[0], endpoint)
    return set(first_by_host.values())


class _Member(NamedTuple):
    name: str
    is_plain: bool  # a file or a folder


class _Archive(NamedTuple):
    file: Any
    members: list[_Member]


@contextmanager
def _opened(fname: str) -> Iterator[_Archive]:
    if tarfile.is_tarfile(fname):
        with tarfile.open(fname) as tar:
            yield _Archive(tar, [_Member(m.name, m.isfile() or m.isdir()) for m in tar])
    elif zipfile.is_zipfile(fname):
        with zipfile.ZipFile(fname) as zipped:
            rows = zipped.infolist()
            links = [stat.S_ISLNK(row.external_attr >> 16) for row in rows]
            plain = zip(rows, links, strict=True)
            yield _Archive(zipped, [_Member(row.filename, not link) for row, link in plain])
    else:
        raise DtypeError(f"{fname} is no archive; expected one of tar or zip")


def _refuse_escapes(fname: str, members: Iterable[_Member]) -> None:
    """An archive of a stranger writes inside its folder or not at all."""
    for member in members:
        paths = PurePosixPath(member.name), PureWindowsPath(member.name)
        if any(path.is_absolute() or path.drive or ".." in path.parts for path in paths):
            raise UsageError(
                f"{fname} is refused: its member {member.name!r} would be written outside of the "
                "folder that it is unpacked in"
            )
        if not member.is_plain:
            raise UsageError(
                f"{fname} is refused: its member {member.name!r} is a link or a device; only "
                "files and folders are unpacked"
            )


def _decompress(fname: str) -> str:
    """Unpack an archive beside itself, once; returns the one file or folder in it, or the folder
    named after the archive that holds them all.
    """
    folder = os.path.dirname(os.path.abspath(fname))
    with _opened(fname) as archive:
        _refuse_escapes(fname, archive.members)
        tops = {PurePosixPath(member.name).parts[:1] for member in archive.members} - {()}
        single = tops.pop()[0] if len(tops) == 1 else None
        target = os.path.join(folder, single or _stem(fname))
        if os.path.lexists(target):
            return target
        # aside first: what was unpacked by half is never taken for the whole
        with tempfile.TemporaryDirectory(dir=folder, prefix=".unpack-") as aside:
            inner = os.path.join(aside, "inner")
            is_tar = isinstance(archive.file, tarfile.TarFile)
            archive.file.extractall(inner, **({"filter": "data"} if is_tar else {}))
            os.replace(os.path.join(inner, single) if single else inner, target)
    return target


def _stem(fname: str) -> str:
    name = os.path.basename(fname)
    for ending in (".tar.gz", ".tgz", ".tar", ".zip"):
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name + "_unpacked"
