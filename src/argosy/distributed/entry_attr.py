"""``paddle.distributed.entry_attr``: the rules by which rows enter a sparse table."""

from __future__ import annotations

from argosy.foundation.errors import UsageError
from argosy.runtime.ps.tables.entries import EntryAttr

__all__ = ["CountFilterEntry", "EntryAttr", "ProbabilityEntry", "ShowClickEntry"]


class ProbabilityEntry(EntryAttr):
    """Admit a new id with probability ``probability``."""

    _name = "probability_entry"

    def __init__(self, probability: float) -> None:
        if not isinstance(probability, float) or not 0 < probability < 1:
            raise UsageError(
                "ProbabilityEntry: probability must be a float in (0,1), but received "
                f"{probability!r}"
            )
        self.probability = probability

    def _to_attr(self) -> str:
        return f"{self._name}:{self.probability}"


class CountFilterEntry(EntryAttr):
    """Admit an id after it was seen ``count_filter`` times; until then its row is zeros."""

    _name = "count_filter_entry"

    def __init__(self, count_filter: int) -> None:
        if isinstance(count_filter, bool) or not isinstance(count_filter, int) or count_filter < 0:
            raise UsageError(
                "CountFilterEntry: count_filter must be a valid integer greater than 0, but "
                f"received {count_filter!r}"
            )
        self.count_filter = count_filter

    def _to_attr(self) -> str:
        return f"{self._name}:{self.count_filter}"


class ShowClickEntry(EntryAttr):
    """Names of the float32 variables that tell, per sample, how often it was shown and clicked."""

    _name = "show_click_entry"

    def __init__(self, show_name: str, click_name: str) -> None:
        if not isinstance(show_name, str) or not isinstance(click_name, str):
            raise UsageError(
                "ShowClickEntry: show_name and click_name must be strings, but received "
                f"{show_name!r}, {click_name!r}"
            )
        self.show_name = show_name
        self.click_name = click_name

    def _to_attr(self) -> str:
        return f"{self._name}:{self.show_name}:{self.click_name}"
