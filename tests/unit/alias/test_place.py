"""An environment in which ``import paddle`` is argosy."""

from pathlib import Path

import pytest

import argosy
from argosy.alias import FOLDER, first


def test_the_folder_has_the_package_and_nothing_else():
    assert [entry.name for entry in Path(FOLDER).iterdir()] == ["paddle"]
    assert Path(FOLDER).is_relative_to(Path(argosy.__file__).parent)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, FOLDER),
        ({"PYTHONPATH": ""}, FOLDER),  # a separator at the end would mean the current folder
        ({"PYTHONPATH": "/a:/b"}, f"{FOLDER}:/a:/b"),
        ({"PYTHONPATH": f"{FOLDER}:/a"}, f"{FOLDER}:/a"),
        ({"PYTHONPATH": f"/a:{FOLDER}"}, f"{FOLDER}:/a:{FOLDER}"),
    ],
)
def test_the_folder_leads_the_path_and_the_rest_stays(given, expected):
    given = {"HOME": "/h", **given}
    before = dict(given)
    assert first(given) == {"HOME": "/h", "PYTHONPATH": expected}
    assert given == before
