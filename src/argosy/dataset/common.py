"""Where the files of datasets are kept."""

from __future__ import annotations

from argosy.utils.dataset_file import data_home, locate, md5file

__all__ = ["md5file", "download"]


def __getattr__(name: str) -> str:
    """``DATA_HOME`` follows the environment, so it is looked up at each use."""
    if name == "DATA_HOME":
        return data_home()
    raise AttributeError(f"module 'paddle.dataset.common' has no attribute {name!r}")


def download(url: str, module_name: str, md5sum: str | None, save_name: str | None = None) -> str:
    """The path of a dataset's file.

    Differs from Paddle: nothing is fetched; a file that is missing or has another checksum is an
    error that says what to put where.
    """
    return locate(url, module_name, md5sum, save_name)
