"""Arrays as such: making them, their shape, parts and order."""

from argosy.ops.array import (
    creation,
    gathering,
    graphs,
    indexing,
    initialization,
    joining,
    manipulation,
    messages,
    sampling,
    search,
)
