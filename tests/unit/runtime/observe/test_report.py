"""Run folders and their report: what was kept is what is shown."""

from __future__ import annotations

import io
import json
import math
import os
import platform
import re
from dataclasses import asdict, replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from argosy.foundation.errors import CheckpointError
from argosy.runtime.observe import metrics, report
from argosy.runtime.observe.jobs import is_over, started_at
from argosy.runtime.observe.panel import cells, line, panel
from argosy.runtime.observe.parquet import finish, is_unfinished
from argosy.runtime.observe.report import Report
from argosy.runtime.observe.ring import STEPS
from argosy.runtime.observe.run_folder import (
    OTHERS,
    TABLES,
    RunFolder,
    read_facts,
    read_lines,
    read_steps,
    remove_old,
)
from argosy.runtime.observe.summary import PARTS, Pace
from argosy.runtime.observe.tables import TableState
from argosy.runtime.observe.tables import line as table_line

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


def table(rows=1000, name="emb"):
    return TableState(
        name=name, kind="sparse", dim=8, rows=rows, num_bytes=64 * rows, growth=10.0, pulls=50,
        pushes=40, pull_rate=5.0, push_rate=4.0, staleness=1,
    )  # fmt: skip


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
    assert [len(rows) for rows in read_steps(folder, 2)] == [119]
    raw.write_bytes(b"\xff" * len(whole))
    with pytest.raises(CheckpointError, match="does not have"):
        Report(folder).data()


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
    assert Report(made.path).data()["processes"][0]["num_steps"] == 0
    assert report.write(made.path).exists()


def test_a_page_reads_only_what_is_new(tmp_path):
    made = RunFolder(tmp_path / "run", {"command": []})
    made.expect(["rank 0"], 5)
    clock_s = read_facts(made.path)["clock_s"]
    shown = Report(made.path)
    made.add_steps("rank 0", steps(1, 30, clock_s, 2.0))
    assert shown.data()["processes"][0]["num_steps"] == 30
    raw = made.path / "steps.raw"
    before = raw.read_bytes()
    made.add_steps("rank 0", steps(31, 30, clock_s, 1.0))
    made.add_event("restart", "again")
    with open(raw, "r+b") as file:  # what was read once is not read again
        file.write(b"\xff" * len(before))
    data = shown.data()
    assert data["processes"][0]["num_steps"] == 60
    assert data["processes"][0]["loss"][-1] == 1.0
    assert [event["kind"] for event in data["events"]] == ["restart"]
    made.close()


def test_a_million_steps_make_a_small_page(tmp_path):
    made = RunFolder(tmp_path / "run", {"command": []})
    made.expect(["rank 0", "rank 1"], 5)
    clock_s = read_facts(made.path)["clock_s"]
    count = 500_000
    for number in (0, 1):
        rows = steps(1, count, clock_s, 0.5)
        rows["wall"][count // 2] = (1 + number) * S  # one that is slow, in the middle
        made.add_steps(f"rank {number}", rows)
    made.close()
    text = report.write(made.path).read_text()
    assert len(text) < 1_000_000
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))
    for number, process in enumerate(data["processes"]):
        assert process["num_steps"] == count
        assert process["wall_s"] == pytest.approx((count - 1) / 10 + 1 + number)
        assert len(process["at_s"]) <= 400
        assert process["at_s"][-1] == pytest.approx(count / 10, rel=0.02)
    assert [step["process"] for step in data["slowest"][:2]] == ["rank 1", "rank 0"]
    assert data["slowest"][0]["step"] == count // 2 + 1
    finish(made.path)
    found = pq.read_metadata(made.path / "steps.parquet")
    assert found.num_rows == 2 * count


def test_the_limit_is_what_computing_alone_would_allow(folder):
    # a step of 0.1 s, of which 0.02 is data and 0.01 waiting
    assert Report(folder).data()["limit"] == pytest.approx({"share": 0.7, "steps_per_s": 10 / 0.7})


def test_tables_are_kept_and_drawn(tmp_path):
    made = RunFolder(tmp_path / "run", {"command": []})
    made.expect(["server 0"], 5)
    for rows in (1000, 3000):
        sample = [asdict(table(rows)), asdict(table(5, "bias"))]
        made.add_sample(TABLES, {"tables": sample})
    made.close()
    shown = Report(made.path).data()["tables"]
    assert [each["label"] for each in shown] == ["emb", "bias"]
    assert shown[0]["rows"] == [1000, 3000]
    report.write(made.path)
    finish(made.path)
    kept = pq.read_table(made.path / "tables.parquet").to_pylist()
    assert [(row["name"], row["rows"]) for row in kept] == [
        ("emb", 1000), ("bias", 5), ("emb", 3000), ("bias", 5)
    ]  # fmt: skip
    assert not (made.path / TABLES).exists()


def test_samples_become_rarer(tmp_path, monkeypatch):
    made = RunFolder(tmp_path / "run", {"command": []})
    made.expect(["server 0"], 5)
    clock_s = read_facts(made.path)["clock_s"]
    for second in range(20_000):
        monkeypatch.setattr("time.perf_counter", lambda second=second: clock_s + second)
        made.add_sample(OTHERS, {"processes": []})
    monkeypatch.undo()
    made.close()
    at_s = [line["at_s"] for line in read_lines(made.path, OTHERS)]
    assert at_s[:3] == [0, 1, 2]
    assert 4000 < len(at_s) < 8000
    assert at_s[-1] > 19_980


@pytest.mark.parametrize("name", [TABLES, OTHERS, "events.jsonl"])
@pytest.mark.parametrize("text", ["[]", '{"at_s": 1}', '{"tables": [1], "processes": ["x"]}', "x"])
def test_damaged_lines_are_an_error_or_left_out(folder, name, text):
    (folder / name).write_text(text + "\n")
    try:
        Report(folder).data()
    except CheckpointError as error:
        assert "damaged" in str(error)  # noqa: PT017


def test_old_runs_are_removed(tmp_path):
    runs = tmp_path / "runs"

    def run(name, **facts):
        made = RunFolder(runs / name, {"command": []})
        made.expect(["rank 0"], 5)
        text = json.loads((runs / name / "run.json").read_text())
        made.close()
        if facts:  # it is as it was while the job ran
            (runs / name / "run.json").write_text(json.dumps({**text, **facts}))
        return runs / name

    here = {"pid": os.getpid(), "started": started_at(os.getpid())}
    alive = {"host": platform.node(), "launcher": here}
    lives = run("20260101-000000-1", **alive)
    killed = run("20260101-000000-2", **alive | {"launcher": {"pid": 1, "started": -5}})
    elsewhere = run("20260101-000000-3", **alive | {"host": "another"})
    over = run("20260101-000000-4")
    mine = run("my-run")
    (runs / "20260101-000000-5").mkdir()  # nothing of ours is in it
    target = run("../kept/20260101-000000-6")
    (runs / "20260101-000000-6").symlink_to(target)
    (over / "link").symlink_to(target)
    newest = [run(f"20260102-000000-{n}") for n in (1, 2)]
    assert sorted(remove_old(tmp_path, 2, is_over)) == [killed, over]
    for path in (lives, elsewhere, mine, runs / "20260101-000000-5", target, *newest):
        assert path.is_dir()
    assert (target / "run.json").is_file()
    assert (runs / "20260101-000000-6").is_symlink()


def test_the_panel_has_bars_tables_and_the_limit():
    from rich.console import Console

    shares = {**dict.fromkeys(PARTS, 0.0), "compute": 0.8, "data": 0.2}
    paces = [
        Pace(label=f"rank {n}", rank=n, num_steps=7, steps_per_s=4.0, shares=shares)
        for n in range(40)
    ]
    awaited = replace(paces[1], awaited={39: 0.05})
    console = Console(width=120, file=io.StringIO())
    shown = panel([paces[0], awaited, *paces[2:]], 0, [table()], "1 of 1 servers")
    console.print(shown)
    text = console.file.getvalue()
    assert "80% of 5.0 steps/s, the limit if it only computed" in text
    assert "1 of 1 servers" in text
    assert re.search(r"emb +sparse +8 +1.0k +10 +64.0 kB +5 +4 +1", text)
    assert text.count("rank ") == 24
    assert "rank 39" in text  # others wait for it


def test_tables_in_a_line():
    assert table_line([table(), table(2000, "b")]) == (
        "2 tables, 3.0k rows (+20/s), 192 kB, 10 pulls/s, 8 pushes/s"
    )


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
    accept = "application/openmetrics-text;version=1.0.0,*/*;q=0.1"
    kind, text = metrics.answer(paces, [table()], accept)
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    assert "# TYPE argosy_steps counter\n" in text
    assert 'argosy_table_rows{table="emb"} 1000\n' in text
    assert 'argosy_table_pulls_total{table="emb"} 50\n' in text
    assert 'argosy_steps_total{process="rank \\"0\\""} 7\n' in text
    assert 'argosy_time_share{process="rank \\"0\\"",part="data"} 0.2\n' in text
    assert 'argosy_loss{process="rank 1"}' not in text
    assert text.endswith("# EOF\n")


def test_the_older_format_is_for_who_does_not_ask():
    paces = [Pace(label="rank 0", rank=0, num_steps=12_345_678_901, loss=math.inf)]
    kind, text = metrics.answer(paces, [], "*/*")
    assert kind.startswith("text/plain; version=0.0.4")
    assert "# TYPE argosy_steps_total counter\n" in text
    assert 'argosy_steps_total{process="rank 0"} 12345678901\n' in text
    assert 'argosy_loss{process="rank 0"} +Inf\n' in text
    assert "EOF" not in text
