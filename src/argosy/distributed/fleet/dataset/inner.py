"""The object inside a dataset, ``dataset.dataset``, by the names that ``core.Dataset`` has for
settings and samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import NotSupported

__all__ = ["Inner"]


class Inner:
    """Settings and samples of ``owner``."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def set_filelist(self, filelist: Sequence[str]) -> None:
        self._owner.set_filelist(filelist)

    def get_filelist(self) -> list[str]:
        return list(self._owner.filelist)

    def set_thread_num(self, thread_num: int) -> None:
        self._owner.thread_num = int(thread_num)

    def get_thread_num(self) -> int:
        return int(self._owner.thread_num)

    def set_trainer_num(self, trainer_num: int) -> None:
        self._owner.trainer_num = trainer_num

    def get_trainer_num(self) -> int:
        return int(self._owner.trainer_num)

    def set_hdfs_config(self, fs_name: str, fs_ugi: str) -> None:
        self._owner.hdfs_config = (fs_name, fs_ugi)

    def get_hdfs_config(self) -> tuple[str, str]:
        name, ugi = self._owner.hdfs_config
        return name, ugi

    def set_download_cmd(self, download_cmd: str) -> None:
        self._owner.download_command = download_cmd

    def get_download_cmd(self) -> str:
        return str(self._owner.download_command)

    def set_enable_pv_merge(self, enable_pv_merge: bool) -> None:
        if enable_pv_merge:
            raise NotSupported("core.Dataset: merging of the samples of a page view")

    def load_into_memory(self) -> None:
        self._owner.load_into_memory()

    def release_memory(self) -> None:
        self._owner.release_memory()

    def local_shuffle(self) -> None:
        self._owner.local_shuffle()

    def merge_by_lineid(self) -> None:
        """Merge samples with one id, if the dataset was told to."""
        self._owner.merge_lines()

    def get_memory_data_size(self) -> int:
        return int(self._owner.get_memory_data_size())

    def get_shuffle_data_size(self) -> int:
        return int(self._owner.get_shuffle_data_size())
