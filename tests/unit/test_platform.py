"""Where argosy runs."""

import pytest

from argosy import _platform


@pytest.mark.parametrize("platform", ["linux", "linux2"])
def test_linux_is_fine(platform):
    _platform.require(platform)


@pytest.mark.parametrize(
    ("platform", "words"),
    [
        ("darwin", ("macOS", "container")),
        ("win32", ("Windows", "WSL 2")),
        ("freebsd14", ("freebsd14",)),
    ],
)
def test_elsewhere_the_import_says_what_is_missing_and_what_to_do(platform, words):
    with pytest.raises(ImportError, match="runs on Linux only") as caught:
        _platform.require(platform)
    assert all(word in str(caught.value) for word in words)


def test_the_first_thing_that_argosy_does_is_to_look_where_it_is(tmp_path):
    import subprocess
    import sys

    code = "import sys; sys.platform = 'darwin'; import argosy"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 1
    assert "this is macOS" in done.stderr.splitlines()[-1]
