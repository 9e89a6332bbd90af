"""``paddle.distributed.entry_attr``: the module path of the rules by which rows enter a sparse
table.
"""

from argosy.runtime.ps.entries import CountFilterEntry, ProbabilityEntry, ShowClickEntry

__all__ = ["CountFilterEntry", "ProbabilityEntry", "ShowClickEntry"]
