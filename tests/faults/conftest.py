"""Every test of faults leaves the machine as it found it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest

from support import leftovers


@pytest.fixture(scope="session", autouse=True)
def own_temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Temporary files of this run in a folder of their own, so that those of others are not taken
    for ours.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("tmp")))
        patch.setattr(tempfile, "tempdir", None)
        leftovers.mark_children()
        yield
        patch.setattr(tempfile, "tempdir", None)


@pytest.fixture(autouse=True)
def nothing_left_behind(
    own_temporary_folder: None, record_property: pytest.RecordProperty
) -> Iterator[None]:
    with leftovers.guard(record_property):
        yield
