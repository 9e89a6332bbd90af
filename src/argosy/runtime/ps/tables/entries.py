"""What a program is told about a sparse table on parameter servers."""

from __future__ import annotations

from dataclasses import dataclass

TABLE_CLASSES = ("CommonSparseTable", "SSDSparseTable", "MemorySparseTable")


class EntryAttr:
    """Base class of the rules by which ids enter a table."""

    _name = ""

    def _to_attr(self) -> str:
        """The rule as text."""
        raise NotImplementedError(f"{type(self).__name__} does not define _to_attr()")


@dataclass(frozen=True)
class EmbeddingTable:
    """What ``sparse_embedding`` was told about its table."""

    entry: EntryAttr | None
    table_class: str
    slot: int
    is_test: bool

    def described(self) -> dict[str, object]:
        """The same as attributes of a lookup in a program."""
        return {
            "entry": "none" if self.entry is None else self.entry._to_attr(),
            "is_distributed": True,
            "is_test": self.is_test,
            "slot": self.slot,
            "table_class": self.table_class,
        }
