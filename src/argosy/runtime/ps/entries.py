"""Which ids a sparse table on parameter servers admits, and what else such a table is told."""

from __future__ import annotations

from dataclasses import dataclass

from argosy.foundation.errors import UsageError

TABLE_CLASSES = ("CommonSparseTable", "SSDSparseTable", "MemorySparseTable")


class EntryAttr:
    """Base class of the rules."""

    _name = ""

    def _to_attr(self) -> str:
        """The rule as text."""
        raise NotImplementedError(f"{type(self).__name__} does not define _to_attr()")


class ProbabilityEntry(EntryAttr):
    """Admit a new id with probability ``probability``."""

    _name = "probability_entry"

    def __init__(self, probability: float) -> None:
        if not isinstance(probability, float) or not 0 < probability < 1:
            raise UsageError(
                "ProbabilityEntry: probability must be a float in (0,1), but received "
                f"{probability!r}"
            )
        self._probability = probability

    def _to_attr(self) -> str:
        return f"{self._name}:{self._probability}"


class CountFilterEntry(EntryAttr):
    """Admit an id after it was seen ``count_filter`` times; until then its row is zeros."""

    _name = "count_filter_entry"

    def __init__(self, count_filter: int) -> None:
        if isinstance(count_filter, bool) or not isinstance(count_filter, int) or count_filter < 0:
            raise UsageError(
                "CountFilterEntry: count_filter must be a valid integer greater than 0, but "
                f"received {count_filter!r}"
            )
        self._count_filter = count_filter

    def _to_attr(self) -> str:
        return f"{self._name}:{self._count_filter}"


class ShowClickEntry(EntryAttr):
    """Names of the float32 variables that tell, per sample, how often it was shown and clicked."""

    _name = "show_click_entry"

    def __init__(self, show_name: str, click_name: str) -> None:
        if not isinstance(show_name, str) or not isinstance(click_name, str):
            raise UsageError(
                "ShowClickEntry: show_name and click_name must be strings, but received "
                f"{show_name!r}, {click_name!r}"
            )
        self._show_name = show_name
        self._click_name = click_name

    def _to_attr(self) -> str:
        return f"{self._name}:{self._show_name}:{self._click_name}"


@dataclass(frozen=True)
class EmbeddingTable:
    """What ``sparse_embedding`` was told about its table."""

    entry: EntryAttr | None
    table_class: str
    slot: int
    is_test: bool
