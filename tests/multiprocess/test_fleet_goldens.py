"""Losses and last parameters of two workers against those of real Paddle's Fleet, step by step and
rank by rank.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from goldens import fleet_training as trainings
from multiprocess.fleet_golden_workers import SWITCHED
from support.job import run_job

HERE = "multiprocess.fleet_golden_workers"
DATA = Path(__file__).resolve().parents[1] / "goldens" / "data"


@pytest.fixture(scope="module")
def goldens():
    found = {}
    for name in ("fleet_layers.npz", "fleet_programs.npz"):
        with np.load(DATA / name) as stored:
            found |= {key: stored[key] for key in stored.files}
    return found


@pytest.fixture(scope="module")
def found(pool):
    """Every training once: three jobs for all tests of this file."""
    return {
        kind: run_job(pool, f"{HERE}:{kind}", 2, deadline_s=120.0)
        for kind in ("layers", "switched_layers", "programs")
    }


CASES = [
    *[("layers", name) for name in trainings.DYGRAPH],
    *[("switched_layers", name) for name in SWITCHED],
    *[("programs", name) for name in trainings.PROGRAMS],
]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_equals_paddle(found, goldens, kind, name):
    for rank, result in enumerate(found[kind]):
        ours = result[name]
        assert set(ours) == {"losses", *trainings.PARAMETERS}
        for key, value in ours.items():
            np.testing.assert_allclose(
                value, goldens[f"{rank}/{name}/{key}"], rtol=1e-5, atol=1e-6, err_msg=key
            )


def test_goldens_are_of_different_trainings(goldens):
    """A switch that did nothing in Paddle either would prove nothing here."""
    same_rule = [
        ("decayed", "buckets"),
        ("program_merged", "program_lars"),
        ("program_localsgd", "buckets"),
        ("merged", "buckets"),
    ]
    for first, second in same_rule:
        assert not np.allclose(goldens[f"0/{first}/w0"], goldens[f"0/{second}/w0"], rtol=1e-3), (
            first,
            second,
        )
