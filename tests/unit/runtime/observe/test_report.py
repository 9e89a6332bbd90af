"""Run folders and their report: what was kept is what is shown."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pyarrow.parquet as pq
import pytest

from argosy.foundation.errors import CheckpointError
from argosy.runtime.observe import metrics, report
from argosy.runtime.observe.panel import cells, line
from argosy.runtime.observe.ring import STEPS
from argosy.runtime.observe.run_folder import RunFolder, finish, is_unfinished, read_facts, read_raw
from argosy.runtime.observe.summary import PARTS, Pace

S = 10**9


def steps(first, count, clock_s, loss):
    found = np.zeros(count, STEPS)
    found["number"] = np.arange(first, first + count)
    found["began"] = clock_s * S + found["number"] * S // 10
    found["wall"] = S // 10
    found["data"] = S // 50
    found["waiting"] = S // 100
    found["latest"], found["told"] = 1, -1
    found["loss"] = loss
    return found


@pytest.fixture
def folder(tmp_path):
    made = RunFolder(tmp_path / "run", {"began": "now", "command": ["train.py", "</script>"]})
    made.expect(["rank 0", "rank 1"], 5)
    clock_s = read_facts(made.path)["clock_s"]
    for label in ("rank 0", "rank 1"):
        made.add_steps(label, steps(1, 30, clock_s, 2.0))
        made.add_steps(label, steps(31, 30, clock_s, 1.0))
    made.add_event("failure", "rank 1 was killed")
    made.close()
    return made.path


def test_the_report_has_the_figures_of_the_parquet_file(folder):
    path = report.write(folder)
    finish(folder)
    table = pq.read_table(folder / "steps.parquet").to_pydict()
    text = path.read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))
    for number, process in enumerate(data["processes"]):
        mine = [i for i, name in enumerate(table["process"]) if name == f"rank {number}"]
        assert process["num_steps"] == len(mine) == 60
        for part in PARTS:
            total = sum(table[f"{part}_s"][i] for i in mine)
            assert process["spent_s"][part] == pytest.approx(total, rel=1e-9, abs=1e-12)
        assert process["wall_s"] == pytest.approx(sum(table["wall_s"][i] for i in mine))
        assert process["loss"][0] == 2.0
        assert process["loss"][-1] == 1.0
        assert np.mean(process["steps_per_s"]) == pytest.approx(10, rel=0.02)
    assert data["facts"]["command"] == ["train.py", "</script>"]
    assert data["slowest"][0]["mostly"] == "compute"
    assert [event["text"] for event in data["events"]] == ["rank 1 was killed"]
    assert not is_unfinished(folder)
    # nothing is loaded from elsewhere
    assert not re.search(r"(src|href)=|@import|url\(", text)
    assert set(re.findall(r"https?://[^\"']+", text)) == {"http://www.w3.org/2000/svg"}


def test_a_torn_last_row_is_left_out_and_strange_rows_are_refused(folder):
    raw = folder / "steps.raw"
    whole = raw.read_bytes()
    raw.write_bytes(whole[:-7])
    assert len(read_raw(folder)) == 119
    raw.write_bytes(b"\xff" * len(whole))
    with pytest.raises(CheckpointError, match="does not have"):
        report.data_of(folder)


@pytest.mark.parametrize("text", ["", "[]", '{"processes": 3}', "\xff"])
def test_damaged_facts_are_an_error(folder, text):
    (folder / "run.json").write_text(text)
    with pytest.raises(CheckpointError, match="damaged"):
        read_facts(folder)
    (folder / "run.json").unlink()
    with pytest.raises(CheckpointError, match="not the folder of a run"):
        read_facts(folder)


def test_an_empty_run_has_a_report(tmp_path):
    made = RunFolder(tmp_path / "run", {"command": []})
    made.expect(["rank 0"], 3)
    made.close()
    assert report.data_of(made.path)["processes"][0]["num_steps"] == 0
    assert report.write(made.path).exists()


def test_bars_are_filled():
    assert cells({"compute": 0.5, "data": 0.5}, 7) == {**dict.fromkeys(PARTS, 0), "compute": 4,
                                                       "data": 3}  # fmt: skip
    assert sum(cells({"compute": 1 / 3, "data": 1 / 3, "waiting": 1 / 3}, 32).values()) == 32
    assert sum(cells({}, 32).values()) == 0


def test_a_job_in_a_line_and_for_prometheus():
    shares = {**dict.fromkeys(PARTS, 0.0), "compute": 0.8, "data": 0.2}
    paces = [
        Pace(label='rank "0"', rank=0, num_steps=7, steps_per_s=4.5, loss=0.25, shares=shares),
        Pace(label="rank 1", rank=1, num_steps=6, told=100),
    ]
    assert line(paces, 0) == (
        "step 100, 4.5 steps/s, loss 0.25; each process spends 20% of the time waiting for data"
    )
    kind, text = metrics.answer(paces, "application/openmetrics-text;version=1.0.0,*/*;q=0.1")
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    assert "# TYPE argosy_steps counter\n" in text
    assert 'argosy_steps_total{process="rank \\"0\\""} 7\n' in text
    assert 'argosy_time_share{process="rank \\"0\\"",part="data"} 0.2\n' in text
    assert 'argosy_loss{process="rank 1"}' not in text
    assert text.endswith("# EOF\n")


def test_the_older_format_is_for_who_does_not_ask():
    paces = [Pace(label="rank 0", rank=0, num_steps=12_345_678_901, loss=math.inf)]
    kind, text = metrics.answer(paces, "*/*")
    assert kind.startswith("text/plain; version=0.0.4")
    assert "# TYPE argosy_steps_total counter\n" in text
    assert 'argosy_steps_total{process="rank 0"} 12345678901\n' in text
    assert 'argosy_loss{process="rank 0"} +Inf\n' in text
    assert "EOF" not in text
