"""Where the files of datasets are kept. argosy opens no connection to fetch them."""

from __future__ import annotations

import os

from argosy.foundation import env
from argosy.foundation.errors import UsageError
from argosy.utils import _dataset_file
from argosy.utils._dataset_file import md5file as md5file


class MissingFile(UsageError, RuntimeError):
    """A dataset's file is not in its folder, or is not the right one."""


def data_home() -> str:
    """The folder under which each dataset has its own."""
    return os.path.join(env.home(), "dataset")


def locate(url: str, module_name: str, md5sum: str | None, save_name: str | None = None) -> str:
    """The path of a dataset's file; one that is missing or has another checksum is an error that
    says what to put where.
    """
    path = os.path.join(data_home(), module_name, save_name or url.rsplit("/", 1)[-1])
    check_file(path, url, md5sum, f"the dataset {module_name!r}")
    return path


def check_file(path: str, url: str, md5sum: str | None, who: str = "the script") -> None:
    """Raise unless the file is there with its checksum."""
    if not os.path.isfile(path):
        raise MissingFile(
            f"{who} needs the file {path}, which is not there; argosy downloads nothing.\n"
            f"  Fetch it from {url}"
        )
    if md5sum is not None and (found := _dataset_file.md5file(path)) != md5sum:
        raise MissingFile(
            f"the file {path} is torn or another version: its MD5 sum is {found}, expected "
            f"{md5sum}.\n  Fetch it from {url}"
        )
