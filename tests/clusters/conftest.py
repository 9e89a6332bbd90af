"""Tests of clusters run in namespaces that ``run.py`` makes, and nowhere else."""

from __future__ import annotations

import os

if "ARGOSY_TEST_CLUSTERS" not in os.environ:
    collect_ignore_glob = ["test_*.py"]
