"""Readers: functions that return an iterator over samples, and decorators that make new ones of
them.
"""

from argosy.reader._decorators import (
    ComposeNotAligned,
    cache,
    chain,
    compose,
    firstn,
    map_readers,
    shuffle,
)
from argosy.reader._parallel import buffered, multiprocess_reader, xmap_readers

__all__ = [
    "cache",
    "map_readers",
    "buffered",
    "compose",
    "chain",
    "shuffle",
    "ComposeNotAligned",
    "firstn",
    "xmap_readers",
    "multiprocess_reader",
]
