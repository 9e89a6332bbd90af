"""Tests of clusters run in namespaces that ``run.py`` makes, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest

from clusters import one_model
from clusters.slurm_cluster import Cluster, cluster

if "ARGOSY_TEST_CLUSTERS" not in os.environ:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two nodes, for all tests that want one."""
    with cluster(tmp_path_factory.mktemp("slurm")) as found:
        yield found


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[np.ndarray]:
    """What one process trains with the whole of each batch (see ``one_model.py``)."""
    return one_model.alone(tmp_path_factory.mktemp("alone"))
