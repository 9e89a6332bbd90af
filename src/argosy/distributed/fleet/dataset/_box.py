"""BoxPSDataset: a dataset in memory whose page views can be merged, where Baidu's BoxPS is."""

from __future__ import annotations

from typing import Any

from argosy.distributed.fleet.dataset._memory import InMemoryDataset
from argosy.foundation.errors import NotSupported

__all__ = ["BoxPSDataset"]


class BoxPSDataset(InMemoryDataset):
    """As InMemoryDataset. BoxPS itself is not public: rows are on servers, so that a pass has
    nothing to load or to write back, and page views are not merged.
    """

    _feed_type = "PaddleBoxDataFeed"

    def __init__(self) -> None:
        super().__init__()
        self.rank_offset = ""
        self.pv_batch_size = 1
        self.parse_logkey = self.merge_by_sid = self.enable_pv_merge = False

    def init(self, **kwargs: Any) -> None:  # type: ignore[override]
        """As ``InMemoryDataset.init``, with the settings of page views."""
        for name in ("rank_offset", "pv_batch_size", "parse_logkey", "merge_by_sid",
            "enable_pv_merge"):  # fmt: skip
            if name in kwargs:
                setattr(self, name, kwargs.pop(name))
        super().init(**kwargs)

    def _set_rank_offset(self, rank_offset: str) -> None:
        self.rank_offset = rank_offset

    def _set_pv_batch_size(self, pv_batch_size: int) -> None:
        self.pv_batch_size = pv_batch_size

    def _set_parse_logkey(self, parse_logkey: bool) -> None:
        self.parse_logkey = parse_logkey

    def _set_merge_by_sid(self, merge_by_sid: bool) -> None:
        self.merge_by_sid = merge_by_sid

    def _set_enable_pv_merge(self, enable_pv_merge: bool) -> None:
        self.enable_pv_merge = enable_pv_merge

    def _read(self, num_threads: int) -> Any:
        if self.parse_logkey or self.merge_by_sid or self.enable_pv_merge:
            raise NotSupported(
                "BoxPSDataset: parse_logkey, merge_by_sid and enable_pv_merge (page views)"
            )
        return super()._read(num_threads)

    def begin_pass(self) -> None:
        """Nothing: rows stay on the servers."""

    def end_pass(self, need_save_delta: bool) -> None:
        """Nothing: rows stay on the servers; ``fleet.save_persistables`` saves them."""
