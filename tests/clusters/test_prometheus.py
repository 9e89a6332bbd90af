"""Debian's Prometheus scrapes the launcher of a running job."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

from support.launcher import Launcher, script, until

TRAIN = """
import paddle, paddle.distributed as dist

dist.init_parallel_env()
model = paddle.DataParallel(paddle.nn.Linear(8, 1))
optimizer = paddle.optimizer.SGD(0.01, parameters=model.parameters())
for step in range(100_000):
    loss = model(paddle.ones([2, 8])).mean() * 0 + 0.25
    dist.fleet.log(step, loss=loss)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    time.sleep(0.01)
"""
CONFIG = """
scrape_configs:
  - job_name: argosy
    scrape_interval: 500ms
    scrape_timeout: 500ms
    metrics_path: {path}metrics
    static_configs: [{{targets: ["{host}"]}}]
"""


@pytest.fixture
def page(tmp_path):
    """The address of a running job's page."""
    flags = ("--nproc_per_node", "2", "--page")
    launcher = Launcher(tmp_path, *flags, script(tmp_path, TRAIN))
    try:
        said = until(lambda: re.search(r"page is (http://\S+)", launcher.stderr), "the address")
        yield urllib.parse.urlsplit(said.group(1))
        launcher.signal(signal.SIGTERM)
        launcher.wait()
    finally:
        launcher.close()


@pytest.fixture
def prometheus(tmp_path, page):
    """The address of a Prometheus that scrapes it."""
    config = tmp_path / "prometheus.yml"
    config.write_text(CONFIG.format(path=page.path, host=page.netloc))
    command = [
        *("prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'series'}"),
        "--web.listen-address=127.0.0.1:0",
    ]
    log = tmp_path / "prometheus.log"
    with open(log, "wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=tmp_path)
    try:
        listens = re.compile(r'msg="Listening on" .*address=(\S+)')
        found = until(lambda: listens.search(log.read_text()), f"Prometheus: {log}")
        until(lambda: is_ready(found.group(1)), "Prometheus, which reads its series first")
        yield found.group(1)
    finally:
        process.terminate()
        process.wait(30)


def is_ready(where: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{where}/-/ready", timeout=10):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return False


def query(where: str, text: str) -> dict[str, float]:
    """The last value of each series, by its process."""
    words = urllib.parse.urlencode({"query": text})
    with urllib.request.urlopen(f"http://{where}/api/v1/query?{words}", timeout=10) as answer:
        found = json.load(answer)
    assert found["status"] == "success"
    return {
        each["metric"].get("process", each["metric"].get("instance")): float(each["value"][1])
        for each in found["data"]["result"]
    }


def test_series_arrive_with_their_values(prometheus, page):
    until(lambda: len(query(prometheus, "argosy_loss")) == 2, "losses of two ranks")
    assert query(prometheus, "up") == {page.netloc: 1.0}
    assert query(prometheus, "argosy_loss") == {"rank 0": 0.25, "rank 1": 0.25}
    before = query(prometheus, "argosy_steps_total")
    assert set(before) == {"rank 0", "rank 1"}
    after = until(
        lambda: (found := query(prometheus, "argosy_steps_total")) != before and found, "more steps"
    )
    assert all(after[rank] > before[rank] for rank in before)
    for rank, share in query(prometheus, "sum by (process) (argosy_time_share)").items():
        assert share == pytest.approx(1.0, abs=1e-3), rank
    # a step sleeps for 10 ms
    for rate in query(prometheus, "argosy_steps_per_second").values():
        assert 5 < rate < 100


def test_promtool_finds_nothing_wrong(page):
    def text():
        with urllib.request.urlopen(page.geturl() + "metrics", timeout=10) as answer:
            found = answer.read()
        return found if b"argosy_loss{" in found else None

    done = subprocess.run(
        ["promtool", "check", "metrics"],
        input=until(text, "losses"), capture_output=True, timeout=30, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
