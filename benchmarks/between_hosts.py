"""A script on two hosts, which are network namespaces of this machine; it takes root's rights."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULT = "result.json"  # what the script leaves in its working folder


def run(script: str, arguments: list[str], rate: str | None = None) -> Any:
    """Start ``script`` on both hosts, one process each, joined by a cable of ``rate``, as ``tc``
    writes it; returns what it wrote to RESULT. It gets ``--address`` and ``--cable`` besides.
    """
    sys.path.insert(0, str(HERE.parent / "tests"))
    from support.hosts import ADDRESSES, cable_of, held_to, joined_hosts, launchers_on

    with tempfile.TemporaryDirectory() as place, joined_hosts(2) as hosts:
        if rate is not None:
            held_to(rate, hosts)
        lines = [
            ["--nnodes", "2", "--master", f"{ADDRESSES[0]}:29400", "--rank", str(number),
             "--nproc_per_node", "1", "--log_dir", f"log{number}",
             script, *arguments, "--address", ADDRESSES[0], "--cable", cable_of(host)]
            for number, host in enumerate(hosts)
        ]  # fmt: skip
        # the script runs in another folder
        given = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(":") if p]
        folders = [str(HERE), str(HERE.parent / "examples"), *given]
        os.environ["PYTHONPATH"] = ":".join(folders)
        with launchers_on(hosts, Path(place), lines) as launchers:
            outputs = [launcher.communicate()[0] for launcher in launchers]
        found = Path(place) / RESULT
        if not found.exists():
            raise SystemExit("\n".join(outputs))
        return json.loads(found.read_text())
