"""``fluid.io``: the loader and the reader decorators; saving and loading programs belongs to static graphs."""

from argosy.batch import batch
from argosy.fluid._missing import missing_names
from argosy.io import DataLoader
from argosy.reader import (
    ComposeNotAligned,
    buffered,
    cache,
    chain,
    compose,
    firstn,
    map_readers,
    multiprocess_reader,
    shuffle,
    xmap_readers,
)

__all__ = [
    "ComposeNotAligned",
    "DataLoader",
    "batch",
    "buffered",
    "cache",
    "chain",
    "compose",
    "firstn",
    "map_readers",
    "multiprocess_reader",
    "shuffle",
    "xmap_readers",
]

__getattr__ = missing_names(__name__, globals())
