"""``fluid.incubate.fleet.utils.hdfs``: the files of a Hadoop cluster, with the names and the order
of arguments of 1.8.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from argosy.distributed.fleet.base.util_factory import _share
from argosy.distributed.fleet.utils.fs import HDFSClient as _Current

__all__ = ["HDFSClient"]


class HDFSClient:
    """A client of ``hadoop fs``. Calls that fail raise, where 1.8 returns False."""

    def __init__(self, hadoop_home: str, configs: Mapping[str, str] | None) -> None:
        self._client = _Current(hadoop_home, configs)

    def cat(self, hdfs_path: str) -> str:
        """The text of a file; empty if there is none."""
        return self._client.cat(hdfs_path)

    def is_exist(self, hdfs_path: str) -> bool:
        return self._client.is_exist(hdfs_path)

    def is_dir(self, hdfs_path: str) -> bool:
        return self._client.is_dir(hdfs_path)

    def is_file(self, hdfs_path: str) -> bool:
        return self._client.is_file(hdfs_path)

    def delete(self, hdfs_path: str) -> bool:
        """Remove a file or a folder, if it is there."""
        self._client.delete(hdfs_path)
        return True

    def rename(self, hdfs_src_path: str, hdfs_dst_path: str, overwrite: bool = False) -> bool:
        """Give a file or a folder another name."""
        self._client.mv(hdfs_src_path, hdfs_dst_path, overwrite=overwrite)
        return True

    def makedirs(self, hdfs_path: str) -> bool:
        """Make a folder, and those that it lies in."""
        self._client.mkdirs(hdfs_path)
        return True

    @staticmethod
    def make_local_dirs(local_path: str) -> None:
        """Make a local folder."""
        os.makedirs(local_path, exist_ok=True)

    def ls(self, hdfs_path: str) -> list[str]:
        """The paths in a folder."""
        folders, files = self._client.ls_dir(hdfs_path)
        return [f"{hdfs_path}/{name}" for name in sorted((*folders, *files))]

    def lsr(self, hdfs_path: str, excludes: Collection[str] = ()) -> list[str]:
        """The paths of the files below a folder, without those in ``excludes``."""
        folders, files = self._client.ls_dir(hdfs_path)
        found = [path for name in sorted(files) if (path := f"{hdfs_path}/{name}") not in excludes]
        for name in sorted(folders):
            found += self.lsr(f"{hdfs_path}/{name}", excludes)
        return found

    @staticmethod
    def split_files(files: list[str], trainer_id: int, trainers: int) -> list[str]:
        """The share of a trainer."""
        return _share(files, trainer_id, trainers, "split_files")

    def download(
        self,
        hdfs_path: str,
        local_path: str,
        multi_processes: int = 5,
        overwrite: bool = False,
        retry_times: int = 5,
    ) -> None:
        """Copy a file, or the files of a folder, here; tried again until it succeeds or five
        minutes have passed, whatever ``retry_times`` says.
        """
        self._client.download(hdfs_path, local_path, multi_processes, overwrite)

    def upload(
        self,
        hdfs_path: str,
        local_path: str,
        multi_processes: int = 5,
        overwrite: bool = False,
        retry_times: int = 5,
    ) -> None:
        """Copy a local file, or the files of a local folder, there; tried again as ``download``."""
        self._client.upload(local_path, hdfs_path, multi_processes, overwrite)

    def upload_dir(self, dest_dir: str, local_dir: str, overwrite: bool = False) -> bool:
        """Copy a local folder into the folder ``dest_dir`` there."""
        self._client.upload_dir(local_dir, dest_dir.rstrip("/"), overwrite)
        return True
