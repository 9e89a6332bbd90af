"""The manifests of deploy/kubernetes: what they run exists, and the check against schemas finds
what does not fit.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from argosy.runtime.launch import spec

TOP = Path(__file__).resolve().parents[2]
MANIFESTS = sorted((TOP / "deploy" / "kubernetes").glob("*.yaml"))
KINDS = {"ClusterTrainingRuntime", "TrainJob", "JobSet", "PaddleJob"}


def commands(text: str) -> list[list[str]]:
    """The lists under ``command:``."""
    return [
        re.findall(r"- (\S+)\n", block)
        for block in re.findall(r"command:\n((?:\s+- \S+\n)+)", text)
    ]


def test_there_is_one_of_each_kind():
    found = [re.search(r"^kind: (\w+)$", p.read_text(), re.MULTILINE)[1] for p in MANIFESTS]
    assert sorted(found) == sorted(KINDS)


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_commands_are_launches_of_scripts_that_exist(path):
    found = commands(path.read_text())
    assert found
    for program, *argv in found:
        assert program == "fleetrun"
        read = spec.parse(argv, {}, 0)
        assert (TOP / read.script).is_file()
        assert "\t" not in path.read_text()


def test_the_hosts_of_the_job_set_are_as_many_as_they_say():
    text = (TOP / "deploy" / "kubernetes" / "jobset.yaml").read_text()
    pods = sum(map(int, re.findall(r"parallelism: (\d+)", text)))
    assert {spec.parse(argv, {}, 0).max_nodes for _, *argv in commands(text)} == {pods}


def test_the_check_finds_what_does_not_fit():
    place = TOP / "tests" / "manifests" / "check.py"
    module = importlib.util.module_from_spec(
        made := importlib.util.spec_from_file_location("check_manifests", place)
    )
    made.loader.exec_module(module)
    schema = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "sizes": {"type": "array", "items": {"type": "integer", "minimum": 1}},
            "when": {"type": "string", "enum": ["now", "later"]},
        },
    }
    assert list(module.problems(schema, {"name": "a", "sizes": [1], "when": "now"})) == []
    found = list(module.problems(schema, {"sizes": [0, "x"], "when": "soon", "more": 1}))
    assert found == [
        ": name is missing",
        ".sizes[0]: 0 is below 1",
        ".sizes[1]: 'x' is not of type integer",
        ".when: 'soon' is not one of ['now', 'later']",
        ": there is no field more",
    ]
