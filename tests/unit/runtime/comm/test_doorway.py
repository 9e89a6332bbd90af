"""Connections between the ranks of a group."""

from __future__ import annotations

import socket

from argosy.runtime.comm.backends import doorway


def test_the_end_of_the_other_side_is_seen():
    here, there = socket.socketpair()
    with here, there:
        assert not doorway.has_ended(here)
        there.close()
        assert doorway.has_ended(here)
