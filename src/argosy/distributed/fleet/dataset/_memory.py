"""InMemoryDataset: loads its files, shuffles samples here or over all workers, and gives them out
as often as wanted.
"""

from __future__ import annotations

import dataclasses
import datetime
import threading
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from argosy.distributed.fleet.dataset._base import DatasetBase
from argosy.foundation.errors import NotSupported, UsageError
from argosy.foundation.progress import progress

__all__ = ["InMemoryDataset"]

_TUNING = ("fleet_send_batch_size", "fleet_send_sleep_seconds", "queue_num", "data_feed_type",
    "fs_name", "fs_ugi", "candidate_size")  # fmt: skip


class InMemoryDataset(DatasetBase):
    """Samples in memory. ``paddle.seed`` decides the shuffles.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> program = paddle.static.Program()
        >>> with paddle.static.program_guard(program):
        ...     x = paddle.static.data("x", [None, 2])
        >>> dataset = paddle.distributed.InMemoryDataset()
        >>> dataset.init(batch_size=2, use_var=[x])
        >>> dataset.set_filelist([])
        >>> dataset.load_into_memory()
        >>> dataset.get_memory_data_size()
        0
        >>> paddle.disable_static()
    """

    _feed_type = "MultiSlotInMemoryDataFeed"

    def __init__(self) -> None:
        super().__init__()
        self.queue_num: int | None = None
        self.parse_ins_id = False
        self.parse_content = False
        self.merge_by_lineid = False
        self._merge_size = 0
        self._shuffles_by_uid = False
        self.fea_eval = False
        self.fleet_send_batch_size: int | None = None
        self.fleet_send_sleep_seconds: int | None = None
        self._date = ""
        self._records: Any = None
        self._unshuffled: Any = None  # what slots_shuffle started from
        self._num_shuffled = 0
        self._loading: _Loading | None = None

    # -- settings
    # ----------------------------------------------------------------------------------------------

    def init(self, **kwargs: Any) -> None:  # type: ignore[override]
        """As ``DatasetBase.init``; ``data_feed_type`` and ``queue_num`` only tune."""
        tuning = {
            name: kwargs.pop(name) for name in ("data_feed_type", "queue_num") if name in kwargs
        }
        super().init(**kwargs)
        self.update_settings(**tuning)

    def _init_distributed_settings(self, **kwargs: Any) -> None:
        """Settings for jobs of several workers: ``parse_ins_id``, ``parse_content``, ``fea_eval``;
        sizes of messages only tune.
        """
        self.update_settings(**kwargs)

    def update_settings(self, **kwargs: Any) -> None:
        """Change some settings, those of ``init`` and of ``_init_distributed_settings``."""
        for name, value in kwargs.items():
            if name in self._setters:
                self._setters[name](self, value)
            elif name not in _TUNING:
                known = ", ".join(sorted([*self._setters, *_TUNING]))
                raise UsageError(
                    f"InMemoryDataset.update_settings: there is no setting {name!r}. There are "
                    f"{known}"
                )
        if kwargs.get("fs_name") or kwargs.get("fs_ugi"):
            self._set_hdfs_config(kwargs.get("fs_name", ""), kwargs.get("fs_ugi", ""))

    def _set_feed_type(self, data_feed_type: str) -> None:
        self.proto_desc.name = data_feed_type

    def _set_queue_num(self, queue_num: int) -> None:
        self.queue_num = queue_num

    def _set_parse_ins_id(self, parse_ins_id: bool) -> None:
        """Let each line start with the id of the sample, as ``1 id``: a global shuffle brings equal
        ids together.
        """
        self.parse_ins_id = bool(parse_ins_id)

    def _set_parse_content(self, parse_content: bool) -> None:
        """Let a text, as ``1 text``, come before the slots, after the id."""
        self.parse_content = bool(parse_content)

    def _set_fleet_send_batch_size(self, fleet_send_batch_size: int = 1024) -> None:
        self.fleet_send_batch_size = fleet_send_batch_size

    def _set_fleet_send_sleep_seconds(self, fleet_send_sleep_seconds: int = 0) -> None:
        self.fleet_send_sleep_seconds = fleet_send_sleep_seconds

    def _set_merge_by_lineid(self, merge_size: int = 2) -> None:
        """Let a global shuffle merge the samples with one id into one; groups that do not have
        ``merge_size`` samples are dropped, none for 0.
        """
        self.merge_by_lineid = self.parse_ins_id = True
        self._merge_size = merge_size

    def _set_fea_eval(self, record_candidate_size: int, fea_eval: bool = True) -> None:
        """Allow ``slots_shuffle``. It draws from all samples, whatever the number of candidates."""
        self.fea_eval = bool(fea_eval)

    def _set_shuffle_by_uid(self, enable_shuffle_uid: bool) -> None:
        """Let a global shuffle bring the samples with one value in the slot of ``_set_uid_slot`` to
        one worker.
        """
        self._shuffles_by_uid = bool(enable_shuffle_uid)

    def _set_generate_unique_feasigns(self, generate_uni_feasigns: bool, shard_num: int) -> None:
        """Only tunes, in Paddle: rows are fetched for each batch, from servers that share them out
        by themselves.
        """

    def _generate_local_tables_unlock(
        self,
        table_id: int,
        fea_dim: int,
        read_thread_num: int,
        consume_thread_num: int,
        shard_num: int,
    ) -> None:
        """As ``_set_generate_unique_feasigns``: there is nothing to fetch before a batch."""

    _setters: dict[str, Callable[[Any, Any], None]] = {
        "batch_size": lambda self, v: self._set_batch_size(v),
        "thread_num": lambda self, v: self._set_thread(v),
        "use_var": lambda self, v: self._set_use_var(v),
        "pipe_command": lambda self, v: self._set_pipe_command(v),
        "input_type": lambda self, v: self._set_input_type(v),
        "download_cmd": lambda self, v: self._set_download_cmd(v),
        "merge_size": lambda self, v: self._set_merge_by_lineid(v) if v > 0 else None,
        "parse_ins_id": lambda self, v: self._set_parse_ins_id(v),
        "parse_content": lambda self, v: self._set_parse_content(v),
        "fea_eval": lambda self, v: self._set_fea_eval(0, v),
    }

    def set_date(self, date: str) -> None:
        """Name the day that the data is of, as ``YYYYMMDD``."""
        try:
            datetime.datetime.strptime(date, "%Y%m%d")
        except (TypeError, ValueError):
            raise UsageError(
                f"InMemoryDataset.set_date: a date is YYYYMMDD, but received {date!r}"
            ) from None
        self._date = date

    def tdm_sample(self, *args: Any, **kwargs: Any) -> None:
        raise NotSupported("InMemoryDataset.tdm_sample: sampling of tree-based deep models")

    # -- memory
    # ----------------------------------------------------------------------------------------------

    def load_into_memory(self, is_shuffle: bool = False) -> None:
        """Read all files, ``thread_num`` at a time; what was there before is dropped. With
        ``is_shuffle`` shuffle them too.
        """
        self._loaded(self._read(self.thread_num))
        if is_shuffle:
            self.local_shuffle()

    def preload_into_memory(self, thread_num: int | None = None) -> None:
        """Start loading in the background, beside a training on other data; ``wait_preload_done``
        ends it.
        """
        if self._loading is not None:
            raise UsageError(
                "preload_into_memory: the last preload is not done; call wait_preload_done() first"
            )
        self._loading = _Loading(self._read, thread_num or self.thread_num)

    def wait_preload_done(self) -> None:
        """Wait for what ``preload_into_memory`` started, and raise its error if it failed."""
        loading, self._loading = self._loading, None
        if loading is None:
            raise UsageError("wait_preload_done: call preload_into_memory() first")
        self._loaded(loading.result())

    def release_memory(self) -> None:
        """Drop the samples."""
        self._records = self._unshuffled = None
        self._num_shuffled = 0

    def _read(self, num_threads: int) -> Any:
        from argosy.runtime.data.records import concatenated, without_zeros

        # As in Paddle, where a zero in a sequence is padding for this kind of dataset, and for it
        # alone.
        sequences = [use.lod_level > 0 for use in self.proto_desc.uses]
        with self._reading(num_threads) as reading:
            parts = []
            with progress("loading samples into memory", unit="samples") as told:
                for part in reading:
                    parts.append(without_zeros(part, sequences))
                    told(len(part))
            return concatenated(parts, reading.is_float)

    def _loaded(self, records: Any) -> None:
        self._records, self._unshuffled, self._num_shuffled = records, None, 0

    def _held(self, call: str) -> Any:
        if self._records is None:
            raise UsageError(f"{call}: nothing is in memory; call load_into_memory() first")
        return self._records

    def _layout(self) -> Any:
        from argosy.runtime.data.slots import Layout

        return Layout(super()._layout().slots, self.parse_ins_id, self.parse_content)

    def _batches(self, num_threads: int) -> Iterator[Any]:
        from argosy.runtime.data.reading import batches

        yield from batches([self._held("train_from_dataset")], self.batch_size)

    def _parts(self, count: int) -> list[Iterator[Any]]:
        from argosy.runtime.data.reading import batches

        records = self._held("DataLoader.from_dataset")
        ends = [len(records) * i // count for i in range(count + 1)]
        parts = [records.slice(a, b) for a, b in pairwise(ends)]
        return [batches([part], self.batch_size) for part in parts]

    def _columns(self, columns: list[Any]) -> list[Any]:
        if self.proto_desc.input_type != 1:
            return columns
        from argosy.runtime.data.lines import as_batches

        return [as_batches(values, offsets) for values, offsets in columns]

    # -- shuffles
    # ----------------------------------------------------------------------------------------------

    def local_shuffle(self) -> None:
        """Put this worker's samples in a random order."""
        records = self._held("local_shuffle")
        self._records = records.take(torch.randperm(len(records)).numpy())
        self._unshuffled = None

    def global_shuffle(self, fleet: Any = None, thread_num: int = 12) -> None:
        """Spread the samples of all workers over all workers at random; every worker of ``fleet``
        calls it. Without ``fleet`` it is a local shuffle.

        A sample goes to the worker that a hash of its number and the seed chooses, with
        ``parse_ins_id`` one of its id. ``thread_num`` only tunes.
        """
        records = self._held("global_shuffle")
        group = None if fleet is None else _role_maker(fleet).world("worker", "global_shuffle")
        if group is not None:
            from argosy.runtime.data.exchange import draw_workers, exchange, workers_of_keys

            if self._shuffles_by_uid:
                workers = workers_of_keys(self._uids(records), group.nranks)
            elif self.parse_ins_id:
                workers = workers_of_keys(records.keys, group.nranks)
            else:
                # workers often have the same seed
                seed = int(torch.randint(1 << 62, ())) + group.rank
                workers = draw_workers(len(records), group.nranks, seed)
            self._records = exchange(group, records, workers)
        self.local_shuffle()
        if self.merge_by_lineid:
            self.merge_lines()
        self._num_shuffled = len(self._records)

    def _uids(self, records: Any) -> Any:
        """The first value of each sample in the slot of users."""
        names = [use.name for use in self.proto_desc.uses]
        slot = self.proto_desc.uid_slot
        if slot not in names or records.is_float[names.index(slot)]:
            raise UsageError(
                f"_set_shuffle_by_uid: _set_uid_slot must name a slot of ids, but named {slot!r}; "
                f"there are {names}"
            )
        values, offsets = records.column(names.index(slot))
        return values[offsets[:-1]].view("uint64")

    def merge_lines(self) -> None:
        """Merge the samples with one id, if ``merge_size`` was set; says how many are dropped."""
        if not self.merge_by_lineid:
            return
        from argosy.runtime.data.merging import merged

        records = self._held("merge_by_lineid")
        if not len(records.keys):
            # samples without ids have one in common, the empty one
            records = dataclasses.replace(records, keys=np.zeros(len(records), np.uint64))
        is_dense = [use.lod_level == 0 for use in self.proto_desc.uses]
        self._records, num_dropped = merged(records, is_dense, self._merge_size)
        if num_dropped:
            warnings.warn(f"merge_by_lineid: {num_dropped} samples are dropped", stacklevel=2)
        self._unshuffled = None

    def slots_shuffle(self, slots: list[str]) -> None:
        """Give the values of ``slots`` to other samples at random, to see how much a model needs
        them. The next call starts from the unshuffled values.

        The setting ``fea_eval`` must be on.
        """
        if not self.fea_eval:
            raise UsageError(
                "slots_shuffle: switch it on first, with update_settings(fea_eval=True)"
            )
        if self._unshuffled is None:
            self._unshuffled = self._held("slots_shuffle")
        names = [use.name for use in self.proto_desc.uses]
        records = self._unshuffled
        for slot in slots:
            if slot not in names:
                raise UsageError(f"slots_shuffle: there is no slot {slot!r}; there are {names}")
            records = records.with_column(names.index(slot), torch.randperm(len(records)).numpy())
        self._records = records

    # -- sizes
    # ----------------------------------------------------------------------------------------------

    def get_memory_data_size(self, fleet: Any = None) -> int:
        """The number of samples in memory; with ``fleet`` of all workers, each of which calls
        it.
        """
        return _total(0 if self._records is None else len(self._records), fleet)

    def get_shuffle_data_size(self, fleet: Any = None) -> int:
        """The number of samples that the last global shuffle left here, 0 before one; with
        ``fleet`` of all workers.
        """
        return _total(self._num_shuffled, fleet)


class _Loading:
    """A load in a thread of its own, which whoever asks for the result joins."""

    def __init__(self, read: Callable[[int], Any], num_threads: int) -> None:
        self._result: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(
            target=self._run, args=(read, num_threads), name="argosy-data-preload", daemon=True
        )
        self._thread.start()

    def _run(self, read: Callable[[int], Any], num_threads: int) -> None:
        try:
            self._result = read(num_threads)
        except BaseException as error:  # raised again in result()
            self._error = error

    def result(self) -> Any:
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._result


def _role_maker(fleet: Any) -> Any:
    """Of the Fleet, of the module ``fleet``, or of fluid's."""
    maker = getattr(fleet, "_role_maker", None)
    return fleet.util.role_maker if maker is None else maker


def _total(count: int, fleet: Any) -> int:
    return count if fleet is None else int(_role_maker(fleet).all_reduce(count, "sum", "worker"))
