"""The page of benchmarks: figures as benchmarks add them, and the page as ``make bench`` writes
it.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def modules(monkeypatch):
    """The modules ``figures``, ``page`` and ``run`` of the folder of benchmarks."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    names = ("figures", "page", "run")
    yield [importlib.import_module(name) for name in names]
    for name in names:
        sys.modules.pop(name, None)


def test_a_figure_is_printed_kept_and_judged(modules, tmp_path, monkeypatch, capsys):
    figures, page, _ = modules
    kept = tmp_path / "kept"
    monkeypatch.setenv(figures.KEPT_IN, str(kept))
    found = figures.Figures()
    found.add("fast", 12.345, "times gloo", least=10.0, beside="1 us against 12")
    found.add("slow", 1.5, "of torch", most=1.2)
    found.add("plain", 1234.5, "rows/s")
    assert found.missed == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.endswith("MISSED") for line in lines] == [False, True, False]
    assert "12.3 times gloo (at least 10.0)   1 us against 12" in lines[0]
    section = {
        "date": "2026-01-01",
        "machine": "2 cores",
        "paddle": False,
        "code": 1,
        "figures": [json.loads(line) for line in kept.read_text().splitlines()],
    }
    text = page.render({"jit": section}, ["static", "jit"])
    assert "| fast | 12.3 times gloo | at least 10.0 | 1 us against 12 |" in text
    assert "| slow | 1.50 of torch | **at most 1.20: missed** |  |" in text
    assert "| plain | 1,234 rows/s |  |  |" in text
    assert "static" not in text


def test_the_page_is_what_was_kept(modules):
    _, page, run = modules
    kept = json.loads(run.KEPT.read_text())
    assert run.PAGE.read_text() == page.render(kept, run.NAMES)
    assert set(run.NAMES) == {
        path.stem.removeprefix("bench_")
        for path in (ROOT / "benchmarks").glob("bench_*.py")
        if "figures" in path.read_text()
    }
