"""Progress is posted with the token and the certificate that the cluster gives, and never in the
way of the job.
"""

from __future__ import annotations

import http.server
import json
import threading

import pytest

from argosy.runtime.launch import progress
from argosy.runtime.launch.progress import Progress, status

NOW = "2026-01-01T00:00:00Z"


def test_the_status_has_percent_and_remaining_seconds():
    assert status(30, 40, 60.0, 10, NOW) == {
        "trainerStatus": {
            "progressPercentage": 75,
            "estimatedRemainingSeconds": 30,
            "lastUpdatedTime": NOW,
        }
    }


def test_nothing_done_yet_has_no_estimate():
    assert "estimatedRemainingSeconds" not in status(5, 10, 3.0, 5, NOW)["trainerStatus"]


def test_percent_never_exceed_a_hundred():
    assert status(12, 10, 1.0, 0, NOW)["trainerStatus"]["progressPercentage"] == 100


@pytest.fixture
def server():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posts.append((self.path, self.headers["Authorization"], json.loads(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Tests are quiet."""

    posts: list[tuple[str, str, dict]] = []
    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as serving:
        thread = threading.Thread(target=serving.serve_forever, name="status-server")
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}/jobs/one/status", posts
        serving.shutdown()
        thread.join()


def test_the_first_and_the_last_are_posted_with_the_token(server, tmp_path):
    url, posts = server
    (tmp_path / "token").write_text("secret\n")
    told = Progress({progress.URL: url, progress.TOKEN: str(tmp_path / "token")}, 0, 4)
    told.tell(1)
    told.tell(2)  # sooner than ten seconds after the first
    told.tell(4, is_last=True)
    assert [(path, proof) for path, proof, _ in posts] == [
        ("/jobs/one/status", "Bearer secret")
    ] * 2
    assert [body["trainerStatus"]["progressPercentage"] for *_, body in posts] == [25, 100]


def test_a_status_that_cannot_be_posted_is_told_once_and_harms_nothing(caplog):
    told = Progress({progress.URL: "http://127.0.0.1:9/status"}, 0, 2)
    told.tell(1, is_last=True)
    told.tell(2, is_last=True)
    assert caplog.text.count("the progress of the job could not be posted") == 1


def test_without_an_address_nothing_happens():
    before = threading.active_count()
    Progress({}, 0, 1).tell(1, is_last=True)
    assert threading.active_count() == before
