"""What all datasets share: their settings, and how batches become feeds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from argosy.distributed.fleet.dataset._description import Description, Use
from argosy.distributed.fleet.dataset.inner import Inner
from argosy.foundation import dtypes
from argosy.foundation.errors import BadArgument, DtypeError, NotSupported, UsageError

__all__ = ["DatasetBase"]

_REMOTE = ("hdfs:", "afs:")


class DatasetBase:
    """Files, the command they are piped through, and the variables that their lines hold values
    for.
    """

    _feed_type = ""

    def __init__(self) -> None:
        self.proto_desc = Description(self._feed_type)
        self.thread_num = 1
        self.filelist: list[str] = []
        self.use_ps_gpu = False
        self.trainer_num = -1
        self.hdfs_config = ("", "")
        self.download_command = "cat"
        self.dataset = Inner(self)

    def init(
        self,
        batch_size: int = 1,
        thread_num: int = 1,
        use_var: Sequence[Any] = (),
        pipe_command: str = "cat",
        input_type: int = 0,
        fs_name: str = "",
        fs_ugi: str = "",
        download_cmd: str = "cat",
    ) -> None:
        """Set everything at once: the size of a batch, how many files are read at a time, the
        variables in the order of the slots of a line, and the command.

        Each file is read as ``cat file | pipe_command``; with ``download_cmd`` that command prints
        it.
        """
        self._set_batch_size(batch_size)
        self._set_thread(thread_num)
        self._set_use_var(use_var)
        self._set_pipe_command(pipe_command)
        self._set_input_type(input_type)
        self._set_hdfs_config(fs_name, fs_ugi)
        self._set_download_cmd(download_cmd)

    def set_filelist(self, filelist: Sequence[str]) -> None:
        """Say which files this worker reads; in a job each gets its own, see
        ``fleet.util.get_file_shard``.
        """
        if isinstance(filelist, str) or not all(isinstance(path, str) for path in filelist):
            raise DtypeError(
                f"set_filelist: a list of names of files is needed, but received {filelist!r}"
            )
        self.filelist = list(filelist)

    def _set_batch_size(self, batch_size: int) -> None:
        if not isinstance(batch_size, int) or batch_size < 1:
            raise UsageError(f"batch_size must be a positive integer, but is {batch_size!r}")
        self.proto_desc.batch_size = batch_size

    def _set_thread(self, thread_num: int) -> None:
        self.thread_num = int(thread_num)

    def _set_use_var(self, var_list: Sequence[Any]) -> None:
        from argosy.runtime.data.records import check_slots

        uses = [Use.of(variable) for variable in var_list]
        check_slots([use.slot for use in uses])
        self.proto_desc.uses = uses

    def _set_pipe_command(self, pipe_command: str) -> None:
        if not isinstance(pipe_command, str):
            raise DtypeError(
                f"pipe_command must be a string, but is a {type(pipe_command).__name__}"
            )
        self.proto_desc.pipe_command = pipe_command

    def _set_input_type(self, input_type: int) -> None:
        if input_type not in (0, 1):
            raise UsageError(
                "input_type must be 0 (a line is a sample) or 1 (a line is a batch), but is "
                f"{input_type!r}"
            )
        self.proto_desc.input_type = input_type

    def _set_hdfs_config(self, fs_name: str, fs_ugi: str) -> None:
        """Take note of the name and the account of a file system; its files are read by a
        ``download_cmd`` that prints them.
        """
        self.hdfs_config = (fs_name, fs_ugi)

    def _set_download_cmd(self, download_cmd: str) -> None:
        self.download_command = download_cmd

    def _set_uid_slot(self, uid_slot: str) -> None:
        """Name the slot that says whose sample it is, see ``_set_shuffle_by_uid``."""
        self.proto_desc.uid_slot = uid_slot

    def _set_trainer_num(self, trainer_num: int) -> None:
        self.trainer_num = trainer_num

    def _set_enable_pv_merge(self, enable_pv_merge: bool) -> None:
        if enable_pv_merge:
            raise NotSupported("dataset: merging of the samples of a page view")

    def _set_use_ps_gpu(self, use_ps_gpu: Any) -> None:
        if use_ps_gpu:
            raise NotSupported("dataset._set_use_ps_gpu(True): tables live on servers, not on GPUs")

    def _desc(self) -> str:
        """The settings in Paddle's text format."""
        return str(self.proto_desc)

    # -- reading
    # ----------------------------------------------------------------------------------------------

    def _reading(self, num_threads: int, files: Sequence[str] | None = None) -> Any:
        """The records of all files, or of ``files``, several files at a time."""
        from argosy.runtime.data.reading import Reading

        for path in self.filelist:
            is_plain = self.download_command.strip() in ("", "cat")
            if path.startswith(_REMOTE) and is_plain and not os.path.isfile(path):
                raise NotSupported(
                    f"dataset: {path} is not local; give a download_cmd that prints it, e.g. "
                    "'hdfs dfs -cat'"
                )
        return Reading(
            self._layout(),
            self.filelist if files is None else files,
            self.proto_desc.pipe_command,
            self.download_command,
            num_threads,
        )

    def _layout(self) -> Any:
        from argosy.runtime.data.slots import Layout

        if not self.proto_desc.uses:
            raise UsageError(
                "dataset: no variables are set; pass use_var to init (set_use_var in fluid)"
            )
        return Layout(tuple(use.slot for use in self.proto_desc.uses))

    def _batches(self, num_threads: int) -> Iterator[Any]:
        """Records of one batch each."""
        raise BadArgument(
            f"{type(self).__name__} reads nothing: use QueueDataset or InMemoryDataset"
        )

    @property
    def batch_size(self) -> int:
        return self.proto_desc.batch_size or 1

    def new_loader(self, places: Any, drop_last: bool) -> Any:
        """What ``DataLoader.from_dataset`` gives."""
        from argosy.distributed.fleet.dataset._loader import DatasetLoader

        return DatasetLoader(self, places, drop_last)

    def feeds(self, num_threads: int) -> Iterator[dict[str, Any]]:
        """What programs are fed with, batch by batch; closing the iterator ends what reads."""
        for records in self._batches(num_threads):
            yield self._feed(records)

    def readers(self, count: int) -> list[Iterator[tuple[dict[str, Any], int]]]:
        """Feeds and their numbers of samples, from ``count`` readers that share the data."""
        return [
            ((self._feed(records), len(records)) for records in part) for part in self._parts(count)
        ]

    def _parts(self, count: int) -> list[Iterator[Any]]:
        """The batches of each of ``count`` readers."""
        return [self._batches(1)]

    def _feed(self, records: Any) -> dict[str, Any]:
        from argosy.runtime.data.records import batch_of
        from argosy.static.lower.dataset_feed import feed_of

        uses = self.proto_desc.uses
        columns = self._columns(batch_of(records, [use.slot for use in uses]))
        return {
            u.name: feed_of(values, offsets, u.shape)
            for u, (values, offsets) in zip(uses, columns, strict=True)
        }

    def _columns(self, columns: list[Any]) -> list[Any]:
        """The values and offsets of each slot of a batch, as the kind of dataset wants them."""
        return columns

    # -- checks
    # ----------------------------------------------------------------------------------------------

    def _check_use_var_with_data_generator(
        self, var_list: Sequence[Any], data_generator_class: Any, test_file: str
    ) -> None:
        """Compare the samples that a data generator makes of ``test_file`` with the variables:
        their number, that no field is empty, types.
        """
        with open(test_file) as file:
            for number, line in enumerate(file, 1):
                for sample in data_generator_class.generate_sample(line)():
                    _check_sample(list(sample), var_list, f"{test_file}, line {number}")


def _check_sample(sample: list[Any], variables: Sequence[Any], where: str) -> None:
    if len(sample) != len(variables):
        raise UsageError(
            f"{where}: var length mismatch error: var_list = {len(variables)} vs data_generator "
            f"= {len(sample)}"
        )
    for (name, values), variable in zip(sample, variables, strict=True):
        if not len(values):
            raise UsageError(
                f"{where}: var length error: var {name}'s length in data_generator is 0"
            )
        dtype = dtypes.name_of(variable.raw.dtype)
        wanted: type = float if dtype == "float32" else int
        if not all(
            isinstance(v, (wanted, np.floating if wanted is float else np.integer)) for v in values
        ):
            raise DtypeError(
                f"{where}: var dtype mismatch error: var name = {name}, var type in var_list = "
                f"{wanted.__name__}, but the data generator "
                f"gives {values}. Are var_list and the data generator in the same order?"
            )
