"""File systems under one interface: this machine's, and HDFS through the ``hadoop`` command."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from argosy.foundation import programs
from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import (
    ArgosyError,
    BadArgument,
    ConfigError,
    NotSupported,
    ProgramTimeout,
)

__all__ = ["FS", "ExecuteError", "FSFileExistsError", "FSFileNotExistsError", "FSShellCmdAborted",
    "FSTimeOut", "HDFSClient", "LocalFS"]  # fmt: skip

_COPIES = ("-put", "-get", "-cat")  # take as long as files are large, but not without a byte moving
_ATTEMPT_S = 300.0  # for a command that is to be tried once only, with a time_out of 0
_ABORTED_CODE = 128 + signal.SIGABRT  # as a shell script reports it


class ExecuteError(ArgosyError):
    """A command of the file system failed."""


class FSShellCmdAborted(ExecuteError):
    """A command was ended by a signal."""


class FSTimeOut(ArgosyError):
    """A command did not succeed in time."""


class FSFileExistsError(ArgosyError):
    """There is such a file already."""


class FSFileNotExistsError(ArgosyError):
    """There is no such file."""


def _lacking(fs: FS, method: str) -> NotSupported:
    return NotSupported(f"{type(fs).__name__} does not define {method}()")


class FS:
    """What scripts do with files, wherever these are. A class of one's own defines those methods
    that it needs; the others raise ``NotImplementedError``, as in Paddle.
    """

    def ls_dir(self, fs_path: str) -> tuple[list[str], list[str]]:
        """The names of the folders and of the files in a folder; none if it does not exist."""
        raise _lacking(self, "ls_dir")

    def is_file(self, fs_path: str) -> bool:
        raise _lacking(self, "is_file")

    def is_dir(self, fs_path: str) -> bool:
        raise _lacking(self, "is_dir")

    def is_exist(self, fs_path: str) -> bool:
        raise _lacking(self, "is_exist")

    def mkdirs(self, fs_path: str) -> None:
        """Make a folder and those above it; it may exist."""
        raise _lacking(self, "mkdirs")

    def delete(self, fs_path: str) -> None:
        """Remove a file, or a folder with all in it; it need not exist."""
        raise _lacking(self, "delete")

    def mv(
        self, src_path: str, dst_path: str, overwrite: bool = False, test_exists: bool = False
    ) -> None:
        """Rename; an existing ``dst_path`` is an error unless ``overwrite``."""
        raise _lacking(self, "mv")

    def touch(self, fs_path: str, exist_ok: bool = True) -> None:
        """Make an empty file; one that exists stays as it is, or is an error."""
        raise _lacking(self, "touch")

    def need_upload_download(self) -> bool:
        """Whether files must be copied to be opened."""
        raise _lacking(self, "need_upload_download")

    def list_dirs(self, fs_path: str) -> list[str]:
        """The names of the folders in a folder."""
        return self.ls_dir(fs_path)[0]

    def cat(self, fs_path: str) -> str:
        """The text of a file."""
        raise _lacking(self, "cat")

    def upload(self, local_path: str, fs_path: str) -> None:
        """Copy a local file or folder there."""
        raise _lacking(self, "upload")

    def download(self, fs_path: str, local_path: str) -> None:
        """Copy a file or folder here."""
        raise _lacking(self, "download")


class LocalFS(FS):
    """The files of this machine.

    Example:
        >>> from paddle.distributed.fleet.utils import LocalFS
        >>> LocalFS().is_dir("/")
        True
    """

    def ls_dir(self, fs_path: str) -> tuple[list[str], list[str]]:
        if not self.is_exist(fs_path):
            return [], []
        names = os.listdir(fs_path)
        folders = [name for name in names if os.path.isdir(os.path.join(fs_path, name))]
        return folders, [name for name in names if name not in set(folders)]

    def is_file(self, fs_path: str) -> bool:
        return os.path.isfile(fs_path)

    def is_dir(self, fs_path: str) -> bool:
        return os.path.isdir(fs_path)

    def is_exist(self, fs_path: str) -> bool:
        return os.path.exists(fs_path)

    def mkdirs(self, fs_path: str) -> None:
        if os.path.isfile(fs_path):
            raise BadArgument(f"mkdirs: {fs_path} is already a file")
        os.makedirs(fs_path, exist_ok=True)

    def rename(self, fs_src_path: str, fs_dst_path: str) -> None:
        os.rename(fs_src_path, fs_dst_path)

    def delete(self, fs_path: str) -> None:
        if os.path.isdir(fs_path) and not os.path.islink(fs_path):
            shutil.rmtree(fs_path)
        elif os.path.lexists(fs_path):
            os.remove(fs_path)

    def mv(
        self, src_path: str, dst_path: str, overwrite: bool = False, test_exists: bool = False
    ) -> None:
        if not self.is_exist(src_path):
            raise FSFileNotExistsError(f"mv: there is no {src_path}")
        if overwrite:
            self.delete(dst_path)
        if self.is_exist(dst_path):
            raise FSFileExistsError(f"mv: {dst_path} exists; pass overwrite=True to replace it")
        self.rename(src_path, dst_path)

    def touch(self, fs_path: str, exist_ok: bool = True) -> None:
        if not self.is_exist(fs_path):
            with open(fs_path, "a"):
                return
        if not exist_ok:
            raise FSFileExistsError(f"touch: {fs_path} exists")

    def need_upload_download(self) -> bool:
        return False

    def cat(self, fs_path: str) -> str:
        with open(fs_path, encoding="utf-8") as file:
            return file.read().rstrip("\n")

    def upload(self, local_path: str, fs_path: str) -> None:
        copy = shutil.copytree if os.path.isdir(local_path) else shutil.copy2
        copy(local_path, fs_path)

    def download(self, fs_path: str, local_path: str) -> None:
        self.upload(fs_path, local_path)


class HDFSClient(FS):
    """The files of a Hadoop cluster, through ``<hadoop_home>/bin/hadoop fs``.

    ``configs`` becomes ``-Dkey=value`` options, ``fs.default.name`` and ``hadoop.job.ugi`` for
    example. A failing command is tried again every ``sleep_inter`` milliseconds until ``time_out``
    milliseconds have passed; then FSTimeOut shows what it said. A command that does not end is
    ended, with FSTimeOut: after ``time_out`` milliseconds, and where it copies a file after as many
    in which it has neither read nor written anything.
    """

    def __init__(
        self,
        hadoop_home: str,
        configs: Mapping[str, str] | None,
        time_out: int = 5 * 60 * 1000,
        sleep_inter: int = 1000,
    ) -> None:
        self.pre_commands = [f"{hadoop_home}/bin/hadoop", "fs"]
        self.pre_commands += [f"-D{key}={value}" for key, value in (configs or {}).items()]
        self._time_out = time_out
        self._sleep_inter = sleep_inter

    def _attempt(self, *arguments: str) -> programs.Finished:
        allowed_s = self._time_out / 1000 or _ATTEMPT_S
        what = f"hadoop fs {' '.join(arguments)}"
        try:
            with programs.Program([*self.pre_commands, *arguments], what) as program:
                if arguments[0] in _COPIES:
                    done = program.outcome(idle_s=allowed_s)
                else:
                    done = program.outcome(Deadline.after(allowed_s))
        except FileNotFoundError:
            raise ConfigError(
                f"HDFSClient: there is no {self.pre_commands[0]}; hadoop_home must be the folder "
                "of a Hadoop client"
            ) from None
        except ProgramTimeout as error:
            raise FSTimeOut(str(error)) from None
        if done.code < 0 or done.code == _ABORTED_CODE:
            raise FSShellCmdAborted(
                f"{what}: ended by signal {-done.code if done.code < 0 else done.code - 128}"
            )
        return done

    def _run(self, *arguments: str) -> str:
        """What a command prints; tried again until it succeeds."""
        end = time.monotonic() + self._time_out / 1000
        while True:
            done = self._attempt(*arguments)
            if done.code == 0:
                return done.stdout
            if time.monotonic() >= end:
                raise FSTimeOut(
                    f"hadoop fs {' '.join(arguments)}: exit code {done.code} after "
                    f"{self._time_out} ms of attempts.{done.last_words}"
                )
            time.sleep(self._sleep_inter / 1000)

    def _test(self, flag: str, path: str) -> bool:
        return self._attempt("-test", flag, path).code == 0

    def is_exist(self, fs_path: str) -> bool:
        return self._test("-e", fs_path)

    def is_dir(self, fs_path: str) -> bool:
        return self._test("-d", fs_path)

    def is_file(self, fs_path: str) -> bool:
        return self.is_exist(fs_path) and not self.is_dir(fs_path)

    def ls_dir(self, fs_path: str) -> tuple[list[str], list[str]]:
        if not self.is_exist(fs_path):
            return [], []
        folders: list[str] = []
        files: list[str] = []
        for line in self._run("-ls", fs_path).splitlines():
            columns = line.split(maxsplit=7)
            if len(columns) == 8:
                (folders if columns[0].startswith("d") else files).append(
                    os.path.basename(columns[7])
                )
        return folders, files

    def mkdirs(self, fs_path: str) -> None:
        self._run("-mkdir", "-p", fs_path)

    def delete(self, fs_path: str) -> None:
        if self.is_exist(fs_path):
            self._run("-rm", "-r", "-f", fs_path)

    def mv(
        self, src_path: str, dst_path: str, overwrite: bool = False, test_exists: bool = True
    ) -> None:
        if overwrite:
            self.delete(dst_path)
        if test_exists:
            if not self.is_exist(src_path):
                raise FSFileNotExistsError(f"mv: there is no {src_path}")
            if self.is_exist(dst_path):
                raise FSFileExistsError(f"mv: {dst_path} exists; pass overwrite=True to replace it")
        self._run("-mv", src_path, dst_path)

    def touch(self, fs_path: str, exist_ok: bool = True) -> None:
        if not self.is_exist(fs_path):
            self._run("-touchz", fs_path)
        elif not exist_ok:
            raise FSFileExistsError(f"touch: {fs_path} exists")

    def cat(self, fs_path: str) -> str:
        return self._run("-cat", fs_path).rstrip("\n") if self.is_file(fs_path) else ""

    def upload(
        self, local_path: str, fs_path: str, multi_processes: int = 5, overwrite: bool = False
    ) -> None:
        """Copy a local file, or the files of a local folder at most ``multi_processes`` at a time,
        there.
        """
        if not os.path.exists(local_path):
            raise FSFileNotExistsError(f"upload: there is no {local_path}")
        if overwrite:
            self.delete(fs_path)
        sources = [local_path]
        if os.path.isdir(local_path):
            self.mkdirs(fs_path)
            sources = [os.path.join(local_path, name) for name in sorted(os.listdir(local_path))]
        with ThreadPoolExecutor(multi_processes, thread_name_prefix="hdfs-upload") as pool:
            list(pool.map(lambda source: self._run("-put", source, fs_path), sources))

    def upload_dir(self, local_dir: str, dest_dir: str, overwrite: bool = False) -> None:
        """Copy a local folder into the folder ``dest_dir``."""
        self.upload(
            local_dir.rstrip("/"),
            f"{dest_dir}/{os.path.basename(local_dir.rstrip('/'))}",
            overwrite=overwrite,
        )

    def download(
        self, fs_path: str, local_path: str, multi_processes: int = 5, overwrite: bool = False
    ) -> None:
        """Copy a file, or the entries of a folder at most ``multi_processes`` at a time, here."""
        if not self.is_exist(fs_path):
            raise FSFileNotExistsError(f"download: there is no {fs_path}")
        if overwrite:
            LocalFS().delete(local_path)
        sources = [fs_path]
        if self.is_dir(fs_path):
            os.makedirs(local_path, exist_ok=True)
            folders, files = self.ls_dir(fs_path)
            sources = [f"{fs_path}/{name}" for name in (*folders, *files)]
        with ThreadPoolExecutor(multi_processes, thread_name_prefix="hdfs-download") as pool:
            list(pool.map(lambda source: self._run("-get", source, local_path), sources))

    def need_upload_download(self) -> bool:
        return True
