"""What a table is: plain data that servers and workers exchange as JSON."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from argosy.foundation.errors import BadArgument, TableError
from argosy.runtime.ps.tables.initial import Initial
from argosy.runtime.ps.tables.rules import Rule

DEFAULT_MAX_ROWS = 1 << 28
NUM_COUNTS = 4


@dataclass(frozen=True)
class Admission:
    """Which ids get a row: every one (``always``), one in 1/p of them, chosen by the id
    (``probability``), or those pulled n times (``count``).

    An id without a row reads as zeros and its gradients are dropped.
    """

    kind: str = "always"
    value: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in ("always", "probability", "count"):
            raise BadArgument(
                "Admission: kind must be 'always', 'probability' or 'count', but received "
                f"{self.kind!r}"
            )


@dataclass(frozen=True)
class ShowClick:
    """How often rows are shown and clicked decides which are kept: the settings of Paddle's
    accessors.
    """

    nonclick_weight: float = 0.1
    click_weight: float = 1.0
    decay: float = 1.0
    delete_below: float = 0.0
    delete_after_unseen_days: int = 30
    base_threshold: float = 0.0
    delta_threshold: float = 0.0
    delta_keep_days: int = 16

    def score(self, shows: Any, clicks: Any) -> Any:
        """What a row is worth."""
        return (shows - clicks) * self.nonclick_weight + clicks * self.click_weight


@dataclass(frozen=True)
class SparseSpec:
    """A table of rows of ``dim`` values by id. ``show_click`` None: shows and clicks are not kept,
    which saves 16 bytes per row.
    """

    name: str
    dim: int
    rule: Rule = field(default_factory=Rule)
    initial: Initial = field(default_factory=Initial)
    padding_id: int | None = None
    admission: Admission = field(default_factory=Admission)
    show_click: ShowClick | None = None
    max_rows: int = DEFAULT_MAX_ROWS

    def __post_init__(self) -> None:
        if self.dim < 1:
            raise BadArgument(
                f"table {self.name!r}: dim must be at least 1, but received {self.dim}"
            )

    @property
    def trained_width(self) -> int:
        """Numbers that the rule uses: values and its state."""
        return self.rule.row_width(self.dim)

    @property
    def row_width(self) -> int:
        """Numbers per row; shows, clicks, score since the last base and unseen days come last where
        they are kept.
        """
        return self.trained_width + (NUM_COUNTS if self.show_click else 0)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> SparseSpec:
        """Read what ``to_json`` wrote; TableError for anything else."""
        try:
            fields = json.loads(text)
            rule = fields["rule"]
            rule["bounds"], rule["clip"] = tuple(rule["bounds"]), tuple(rule["clip"])
            show_click = fields["show_click"]
            return cls(
                **{
                    **fields,
                    "rule": Rule(**rule),
                    "initial": Initial(**fields["initial"]),
                    "admission": Admission(**fields["admission"]),
                    "show_click": None if show_click is None else ShowClick(**show_click),
                }
            )
        except (ValueError, TypeError, KeyError) as error:
            raise TableError(f"this is no description of a sparse table: {error}") from error
