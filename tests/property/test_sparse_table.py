"""A sparse table behaves like a dictionary, whatever the order of calls, however often it is
closed, or killed, and opened.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from argosy.runtime.ps.tables.initial import Initial
from argosy.runtime.ps.tables.rules import Rule
from argosy.runtime.ps.tables.sparse_table import SparseTable
from argosy.runtime.ps.tables.spec import ShowClick, SparseSpec

IDS = st.lists(st.integers(-3, 40) | st.integers(-(2**63), 2**63 - 1), max_size=30)
SPEC = SparseSpec(
    name="t",
    dim=1,
    rule=Rule("sgd", 1.0),
    initial=Initial("constant", 0.5),
    show_click=ShowClick(
        nonclick_weight=1.0, delete_below=2.0, decay=0.5, delete_after_unseen_days=3
    ),
    max_rows=1 << 14,
)


def fail(*args):
    raise MemoryError


class Table(RuleBasedStateMachine):
    """``values``, ``shows`` and ``unseen`` days are what the table must hold."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.values, self.shows, self.unseen, self.sequence, self.day = {}, {}, {}, 0, 0
        self.killed = []

    @initialize()
    def open(self):
        self.table = SparseTable(SPEC, self.folder / "t")

    @rule(ids=IDS)
    def pull(self, ids):
        self.make(ids)
        got = self.table.pull(np.array(ids, np.int64))
        assert got[:, 0].tolist() == [self.values[i] for i in ids]

    @rule(ids=IDS, step=st.integers(-4, 4), is_repeated=st.booleans())
    def push(self, ids, step, is_repeated):
        self.sequence += 1
        grads = np.full((len(ids), 1), step, np.float32)
        for _ in range(1 + is_repeated):
            self.table.push(np.array(ids, np.int64), grads, worker=0, sequence=self.sequence)
        self.make(ids)
        for i in ids:
            self.values[i] -= step
            self.shows[i] += 1
            self.unseen[i] = 0

    def make(self, ids):
        for i in ids:
            self.values.setdefault(i, 0.5)
            self.shows.setdefault(i, 0)
            self.unseen.setdefault(i, 0)

    @rule(ids=IDS, creates=st.booleans())
    def set_values(self, ids, creates):
        chosen = np.array(sorted(set(ids)), np.int64)
        if creates:
            self.make(ids)
            self.table.make(chosen)
        self.table.set_values(chosen, np.arange(len(chosen), dtype=np.float32)[:, None])
        for place, i in enumerate(chosen.tolist()):
            if i in self.values:
                self.values[i] = float(place)

    @rule(ids=IDS.filter(len))
    def a_push_that_fails_changes_nothing(self, ids):
        self.make(ids)  # rows are made before anything can fail
        ones = np.ones((len(ids), 1), np.float32)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.table, "_count", fail)  # when the values have changed
            with pytest.raises(MemoryError):
                self.table.push(np.array(ids, np.int64), ones, worker=0, sequence=self.sequence + 1)

    @rule(days=st.integers(-1, 2))
    def turn_to(self, days):
        self.table.end_day(self.day + days + 1)
        if self.day and days + 1 > 0:
            self.shows = {i: count * 0.5 ** (days + 1) for i, count in self.shows.items()}
            self.unseen = {i: count + days + 1 for i, count in self.unseen.items()}
        self.day = max(self.day, self.day + days + 1)

    @rule()
    def shrink(self):
        gone = [i for i, count in self.shows.items() if count < 2 or self.unseen[i] > 3]
        assert self.table.shrink() == len(gone)
        for i in gone:
            del self.values[i], self.shows[i], self.unseen[i]

    @rule()
    def open_again(self):
        self.table.close()
        self.open()

    @rule()
    def open_after_a_kill(self):
        # its memory is not written to any more, and nothing was closed
        self.killed.append(self.table)
        self.open()

    @invariant()
    def same(self):
        if hasattr(self, "table"):
            assert len(self.table) == len(self.values)
            held = {}
            for part in self.table.snapshot():
                held.update(zip(part.ids.tolist(), part.rows[:, [0, 1, 4]].tolist(), strict=True))
            assert held == {
                i: [value, self.shows[i], self.unseen[i]] for i, value in self.values.items()
            }

    def teardown(self):
        for table in (*self.killed, self.table):
            table.close()
        shutil.rmtree(self.folder)


Table.TestCase.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, derandomize=True
)
TestTable = Table.TestCase
