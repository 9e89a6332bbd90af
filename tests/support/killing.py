"""A server's death in the test's own process: an exception at a fault point, after which nobody
touches what is in the table's files.

What a table has written lies in its files, whoever dies; ``faults/test_ps_server.py`` kills real
processes at the same points.
"""

import contextlib

import pytest

from argosy.runtime.ps.tables import journal, sparse_table


class Killed(BaseException):
    pass


@contextlib.contextmanager
def killed_at(place, nth):
    """What runs in here ends at the ``nth`` time that it comes to ``place``."""
    left = [nth]

    def reach(name):
        left[0] -= name == place
        if left[0] == 0:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "reach", reach)
        patch.setattr(sparse_table, "reach", reach)
        patch.setattr(journal.Journal, "recover", lambda self: None)  # the dead take nothing back
        with pytest.raises(Killed):
            yield
