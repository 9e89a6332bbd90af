"""How far a job has come, posted where Kubeflow's Trainer v2 wants to hear it.

Its controller (feature TrainJobStatus) gives the pods the address of the job's status, a file with
a token that it renews, and one with the certificate of its server. A post says how many percent are
done and how many seconds are left. Whatever goes wrong with it is told once, in the log: the job
does not depend on it.
"""

from __future__ import annotations

import datetime
import json
import logging
import ssl
import threading
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_log = logging.getLogger(__name__)

URL, TOKEN, CERTIFICATE = VARIABLES = (
    "KUBEFLOW_TRAINER_SERVER_URL",
    "KUBEFLOW_TRAINER_SERVER_TOKEN",
    "KUBEFLOW_TRAINER_SERVER_CA_CERT",
)
_EVERY_S = 10.0
_LIMIT_S = 5.0


def status(done: float, total: float, spent_s: float, begun: float, now: str) -> dict[str, Any]:
    """What is posted after ``done`` of ``total``, when everything after ``begun`` has taken
    ``spent_s``. Pure.
    """
    share = min(1.0, done / total) if total else 1.0
    found: dict[str, Any] = {"progressPercentage": int(100 * share), "lastUpdatedTime": now}
    if done > begun:
        left_s = spent_s / (done - begun) * max(0.0, total - done)
        found["estimatedRemainingSeconds"] = int(left_s + 0.5)
    return {"trainerStatus": found}


class Progress:
    """Posts for one loop that starts at ``begun`` of ``total``. ``tell`` returns at once; a thread
    posts what was told last, every ten seconds at most.
    """

    def __init__(self, environment: Mapping[str, str], begun: float, total: float) -> None:
        self._url, self._token, self._certificate = (environment.get(v, "") for v in VARIABLES)
        self._begun, self._total = begun, total
        self._start_s = time.monotonic()
        self._next_s = self._start_s
        self._thread: threading.Thread | None = None
        self._has_complained = False

    def tell(self, done: float, is_last: bool = False) -> None:
        """``done`` of the total are complete; the last post is waited for, for some seconds."""
        if not self._url:
            return
        now_s = time.monotonic()
        if self._thread is not None and (is_last or not self._thread.is_alive()):
            self._thread.join(_LIMIT_S)
            self._thread = None
        if self._thread is not None or (now_s < self._next_s and not is_last):
            return
        self._next_s = now_s + _EVERY_S
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = status(done, self._total, now_s - self._start_s, self._begun, now)
        self._thread = threading.Thread(
            target=self._post, args=(body,), name="argosy-progress", daemon=True
        )
        self._thread.start()
        if is_last:
            self._thread.join(_LIMIT_S)

    def _post(self, body: Mapping[str, Any]) -> None:
        try:
            headers = {"Content-Type": "application/json"}
            if self._token:  # read each time: it is renewed
                headers["Authorization"] = f"Bearer {Path(self._token).read_text().strip()}"
            request = urllib.request.Request(
                self._url, json.dumps(body).encode(), headers, method="POST"
            )
            trust = ssl.create_default_context(cafile=self._certificate or None)
            with urllib.request.urlopen(request, timeout=_LIMIT_S, context=trust) as answer:
                answer.read(1 << 16)
        except (OSError, ValueError) as error:
            if not self._has_complained:
                self._has_complained = True
                _log.warning("the progress of the job could not be posted: %s", error)
