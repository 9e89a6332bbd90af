import math

import pytest

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import CollectiveTimeout


def test_one_that_is_far_away():
    deadline = Deadline.after(100)
    assert not deadline.expired
    assert 99 < deadline.remaining_s() <= 100
    deadline.check("waiting")


def test_one_that_has_passed():
    deadline = Deadline.after(0)
    assert deadline.expired
    assert deadline.remaining_s() == 0
    with pytest.raises(CollectiveTimeout, match=r"waiting for rank 3: not done within 0 s"):
        deadline.check("waiting for rank 3")


def test_a_negative_time_has_passed():
    assert Deadline.after(-5).remaining_s() == 0


def test_never():
    assert Deadline.never().remaining_s() == math.inf
    assert not Deadline.never().expired
