"""The report and the page of a running job in a real browser: they render without an error, and
show the figures that are in the Parquet file.

Needs Debian's package ``chromium``. Part of ``make browser``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree
from dataclasses import asdict

import pyarrow.parquet as pq
import pytest

from argosy.runtime.launch.page_server import PageServer
from argosy.runtime.observe import report
from argosy.runtime.observe.parquet import finish
from argosy.runtime.observe.run_folder import TABLES, RunFolder
from argosy.runtime.observe.summary import PARTS
from unit.runtime.observe.test_report import folder, table  # noqa: F401

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Debian's chromium is not installed")
_QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--enable-logging=stderr", "--v=0", "--virtual-time-budget=4000",
)  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_left():
    """Chromium is a child of each test and has ended when it returns."""


def rendered(address, tmp_path):
    """The page after its script has run."""
    done = subprocess.run(
        [CHROMIUM, *_QUIET, f"--user-data-dir={tmp_path / 'browser'}", "--dump-dom", address],
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr, done.stderr
    return done.stdout


def seconds(text):
    number, unit = text.split()
    return float(number) * {"ms": 0.001, "s": 1.0, "min": 60.0}[unit]


def test_the_report_shows_the_figures_of_the_parquet_file(folder, tmp_path):  # noqa: F811
    page = rendered(report.write(folder).as_uri(), tmp_path)
    finish(folder)
    rows = pq.read_table(folder / "steps.parquet").to_pylist()
    assert "fleetrun train.py &lt;/script&gt;" in page
    assert page.count("<polyline") == 4  # loss and pace of two ranks
    titles = re.findall(r"<title>(rank \d): (\w+) ([^(]+) \(([\d.]+) %\)</title>", page)
    assert {(rank, part) for rank, part, _, _ in titles} == {
        (f"rank {n}", part) for n in (0, 1) for part in PARTS
    }
    for rank, part, shown, share in titles:
        own = [row for row in rows if row["process"] == rank]
        total, wall = (sum(row[f"{name}_s"] for row in own) for name in (part, "wall"))
        assert seconds(shown) == pytest.approx(total, abs=0.05 if total >= 1 else 0.0001)
        assert float(share) == pytest.approx(100 * total / wall, abs=0.05)
    table = re.search(r'id="slowest">(.*?)</div>', page, re.DOTALL).group(1)
    assert len(xml.etree.ElementTree.fromstring(table).findall(".//tr")) == 13
    assert "rank 1 was killed" in page
    assert "70 % of 14.3 steps/s, the limit if it only computed" in page
    assert re.search(r'<section id="servers" hidden=""', page)


def test_the_report_shows_tables_and_the_plan(tmp_path):
    made = RunFolder(
        tmp_path / "run",
        {
            "command": ["train.py"],
            "plan": "Plan for 2 workers\n  1. <b>",
            "commit": "a" * 40,
            "changed": {"num_files": 1, "files": ["train.py"]},
        },
    )
    made.expect(["server 0"], 5)
    for rows in (1000, 250_000):
        tables = [asdict(table(rows)), asdict(table(5, "bias"))]
        made.add_sample(TABLES, {"tables": tables})
    made.add_event("round", "round 2 begins with 2 hosts")
    made.close()
    page = rendered(report.write(made.path).as_uri(), tmp_path)
    assert "1. &lt;b&gt;" in page
    assert "1 file changed since (train.py)" in page
    shown = re.search(r'id="tables">(.*?)</div>', page, re.DOTALL).group(1)
    cells = [td.text for td in xml.etree.ElementTree.fromstring(shown).iter("td")]
    assert cells[:5] == ["emb", "sparse", "8", "250,000", "16.0 MB"]
    assert page.count("<polyline") == 2  # the rows of two tables
    assert "round 2 begins with 2 hosts" in page


def test_the_live_page_asks_for_more(folder, tmp_path, monkeypatch):  # noqa: F811
    asked, data_of = [], report.Report.data

    def newer(shown):
        asked.append(shown)
        data = data_of(shown)
        data["facts"]["command"] = [f"answer {min(len(asked), 2)}"]
        return data

    monkeypatch.setattr(report.Report, "data", newer)
    server = PageServer(folder, lambda accept: ("text/plain", ""))
    try:
        page = rendered(server.address, tmp_path)
    finally:
        server.close()
    assert len(asked) >= 2
    assert page.count("<polyline") == 4
    assert re.search(r'id="title">(.*?)</h1>', page).group(1).startswith("fleetrun answer 2")
