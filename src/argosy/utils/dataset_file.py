"""Where the files of datasets are kept. argosy opens no connection to fetch them."""

from __future__ import annotations

import hashlib
import os

from argosy.foundation import env
from argosy.foundation.errors import UsageError


class MissingFile(UsageError, RuntimeError):
    """A dataset's file is not in its folder, or is not the right one."""


def data_home() -> str:
    """The folder under which each dataset has its own."""
    return os.path.join(env.home(), "dataset")


def md5file(fname: str) -> str:
    """The MD5 sum of a file, in hexadecimal."""
    with open(fname, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def locate(url: str, module_name: str, md5sum: str | None, save_name: str | None = None) -> str:
    """The path of a dataset's file; one that is missing or has another checksum is an error that
    says what to put where.
    """
    path = os.path.join(data_home(), module_name, save_name or url.rsplit("/", 1)[-1])
    if not os.path.isfile(path):
        raise MissingFile(
            f"the dataset {module_name!r} needs the file {path}, which is not there.\n  Fetch it "
            f"from {url}"
        )
    if md5sum is not None and (found := md5file(path)) != md5sum:
        raise MissingFile(
            f"the file {path} is torn or another version: its MD5 sum is {found}, expected "
            f"{md5sum}.\n  Fetch it from {url}"
        )
    return path
