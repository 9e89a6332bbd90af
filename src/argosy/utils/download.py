"""Files by their address, out of a folder; nothing is fetched."""

from __future__ import annotations

import os
import tarfile
import zipfile

from argosy.foundation import env
from argosy.utils.dataset_file import check_file

__all__ = ["get_path_from_url", "get_weights_path_from_url", "is_url"]


def is_url(path: str) -> bool:
    """Whether a text is an address."""
    return path.startswith(("http://", "https://"))


def get_weights_path_from_url(url: str, md5sum: str | None = None) -> str:
    """The path of the file with the weights of a model, below the cache folder.

    Differs from Paddle: nothing is fetched; a file that is missing or has another checksum is an
    error that says what to put where.
    """
    return get_path_from_url(url, os.path.join(env.home(), "hapi", "weights"), md5sum)


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

    Differs from Paddle: nothing is fetched; a file that is missing or has another checksum is an
    error that says what to put where.
    """
    path = os.path.join(root_dir, url.rsplit("/", 1)[-1])
    check_file(path, url, md5sum)
    if decompress and (tarfile.is_tarfile(path) or zipfile.is_zipfile(path)):
        return _decompress(path)
    return path


def _decompress(fname: str) -> str:
    """Unpack an archive beside itself, once; returns the one file or folder in it, or the folder
    named after the archive that holds them all.
    """
    folder = os.path.dirname(fname)
    is_tar = tarfile.is_tarfile(fname)
    with tarfile.open(fname) if is_tar else zipfile.ZipFile(fname) as archive:
        names = archive.getnames() if is_tar else archive.namelist()  # type: ignore[union-attr]
        tops = {name.removeprefix("./").split("/", 1)[0] for name in names} - {"", "."}
        into = folder if len(tops) == 1 else os.path.join(folder, _stem(fname))
        target = os.path.join(folder, tops.pop()) if len(tops) == 1 else into
        if os.path.exists(target):
            return target
        if is_tar:
            archive.extractall(into, filter="data")  # type: ignore[call-arg]
        else:
            archive.extractall(into)
    return target


def _stem(fname: str) -> str:
    name = os.path.basename(fname)
    for ending in (".tar.gz", ".tgz", ".tar", ".zip"):
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name + "_unpacked"
