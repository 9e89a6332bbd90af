"""The page of a running job, for a browser on this machine: ``fleetrun --page``.

It listens on 127.0.0.1 only and shows nothing but to who knows the address, which has a random
part. It answers GET, takes nothing, and loads nothing from elsewhere. Requests that name another
host are refused: a page of a stranger in the same browser can neither read it nor have the browser
believe that it is the stranger's.

::

    /TOKEN/          the page
    /TOKEN/data      what it shows, as JSON
    /TOKEN/metrics   the pace of each process, for Prometheus
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from argosy.foundation.endpoints import LOOPBACK
from argosy.runtime.observe import report

_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_IDLE_S = 5.0
# of a header ``Accept``: the type of the text, and the text
Metrics = Callable[[str], tuple[str, str]]


class PageServer:
    """Serves the run in ``folder`` until ``close``; ``metrics`` gives what Prometheus is
    told.
    """

    def __init__(self, folder: Path, metrics: Metrics) -> None:
        self._server = _Server(folder, metrics)
        self.address = f"http://{self._server.hosts[0]}/{self._server.token}/"
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="argosy-page", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    """What its requests are answered from."""

    daemon_threads = True

    def __init__(self, folder: Path, metrics: Metrics) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.metrics = metrics
        self._report = report.Report(folder)
        self._reading = threading.Lock()  # of the report, which is read by one at a time
        self.token = secrets.token_urlsafe(16)
        port = self.server_address[1]
        self.hosts = (f"{LOOPBACK}:{port}", f"localhost:{port}")

    def data(self) -> dict[str, Any]:
        with self._reading:
            return self._report.data()


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: _Server
    timeout = _IDLE_S

    def do_GET(self) -> None:
        here = self.server
        if self.headers.get("Host", "") not in here.hosts or not self._is_own_origin():
            self._answer(403, "text/plain", b"this page is for 127.0.0.1 alone\n")
            return
        token, _, name = self.path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), here.token.encode()):
            self._answer(404, "text/plain", b"not found\n")
            return
        if name == "metrics":
            kind, text = here.metrics(self.headers.get("Accept", ""))
            self._answer(200, kind, text.encode())
        elif name in ("", "data"):
            data = here.data()
            if name:
                self._answer(200, "application/json", json.dumps(data, allow_nan=False).encode())
            else:
                text = report.page(data, feed=f"/{here.token}/data")
                self._answer(200, "text/html; charset=utf-8", text.encode())
        else:
            self._answer(404, "text/plain", b"not found\n")

    def _is_own_origin(self) -> bool:
        origin = self.headers.get("Origin")
        return origin is None or origin.removeprefix("http://") in self.server.hosts

    def _answer(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        for name, value in {**_HEADERS, "Content-Type": kind}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the address would be in the log."""

    def version_string(self) -> str:
        return "argosy"
