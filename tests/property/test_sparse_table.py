"""A sparse table behaves like a dictionary, whatever the order of calls, however often it is closed and opened."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from argosy.runtime.ps.initial import Initial
from argosy.runtime.ps.rules import Rule
from argosy.runtime.ps.sparse_table import SparseTable
from argosy.runtime.ps.spec import ShowClick, SparseSpec

IDS = st.lists(st.integers(-3, 40) | st.integers(-(2**63), 2**63 - 1), max_size=30)
SPEC = SparseSpec(
    name="t",
    dim=1,
    rule=Rule("sgd", 1.0),
    initial=Initial("constant", 0.5),
    show_click=ShowClick(nonclick_weight=1.0, delete_below=2.0),
    max_rows=1 << 14,
)


class Table(RuleBasedStateMachine):
    """``values`` and ``shows`` are what the table must hold."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.values, self.shows, self.sequence = {}, {}, 0

    @initialize()
    def open(self):
        self.table = SparseTable(SPEC, self.folder / "t")

    @rule(ids=IDS)
    def pull(self, ids):
        for i in ids:
            self.values.setdefault(i, 0.5)
            self.shows.setdefault(i, 0)
        got = self.table.pull(np.array(ids, np.int64))
        assert got[:, 0].tolist() == [self.values[i] for i in ids]

    @rule(ids=IDS, step=st.integers(-4, 4), is_repeated=st.booleans())
    def push(self, ids, step, is_repeated):
        self.sequence += 1
        grads = np.full((len(ids), 1), step, np.float32)
        for _ in range(1 + is_repeated):
            self.table.push(np.array(ids, np.int64), grads, worker=0, sequence=self.sequence)
        for i in ids:
            self.values[i] = self.values.get(i, 0.5) - step
            self.shows[i] = self.shows.get(i, 0) + 1

    @rule()
    def shrink(self):
        gone = [i for i, count in self.shows.items() if count < 2]
        assert self.table.shrink() == len(gone)
        for i in gone:
            del self.values[i], self.shows[i]

    @rule()
    def open_again(self):
        self.table.close()
        self.open()

    @invariant()
    def same(self):
        if hasattr(self, "table"):
            assert len(self.table) == len(self.values)
            held = {}
            for part in self.table.snapshot():
                held.update(zip(part.ids.tolist(), part.rows[:, 0].tolist(), strict=True))
            assert held == self.values

    def teardown(self):
        self.table.close()
        shutil.rmtree(self.folder)


Table.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None, derandomize=True)
TestTable = Table.TestCase
