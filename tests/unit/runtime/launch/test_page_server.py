"""The page of a running job: who gets it, and who does not."""

from __future__ import annotations

import http.client
import json
from urllib.parse import urlparse

import pytest

from argosy.runtime.launch.page_server import PageServer
from argosy.runtime.observe.metrics import answer
from argosy.runtime.observe.run_folder import RunFolder
from argosy.runtime.observe.summary import Pace


@pytest.fixture
def served(tmp_path):
    folder = RunFolder(tmp_path / "run", {"command": ["train.py"]})
    folder.expect(["rank 0"], 3)
    paces = [Pace(label="rank 0", rank=0, num_steps=3)]
    server = PageServer(folder.path, lambda accept: answer(paces, [], accept))
    yield urlparse(server.address)
    server.close()
    folder.close()


def ask(where, path, method="GET", **headers):
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=10)
    try:
        connection.request(method, path, headers=headers)
        found = connection.getresponse()
        return found.status, found.read().decode(), dict(found.getheaders())
    finally:
        connection.close()


def test_who_knows_the_address_sees_the_job(served):
    code, text, headers = ask(served, served.path)
    assert code == 200
    assert "train.py" in text
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "DENY"
    code, text, _ = ask(served, served.path + "data")
    assert (code, json.loads(text)["is_running"]) == (200, True)
    wanted = {"Accept": "application/openmetrics-text"}
    code, text, headers = ask(served, served.path + "metrics", **wanted)
    assert 'argosy_steps_total{process="rank 0"} 3' in text
    assert headers["Content-Type"].startswith("application/openmetrics-text")
    own = {"Origin": f"http://{served.netloc}"}
    assert ask(served, served.path, **own)[0] == 200


def test_nobody_else_does(served):
    token = served.path.strip("/")
    assert len(token) >= 20
    for path in ("/", "/data", f"/{token[:-1]}/", f"/{token}x/", f"/x/{token}/", f"/{token}/../"):
        assert ask(served, path)[0] == 404, path
    assert ask(served, served.path + "run.json")[0] == 404
    for headers in (
        {"Host": "evil.example"},
        {"Host": f"evil.example:{served.port}"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ):
        assert ask(served, served.path, **headers)[0] == 403, headers
    for method in ("POST", "PUT", "DELETE"):
        assert ask(served, served.path, method)[0] == 501
