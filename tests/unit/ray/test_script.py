"""A script as a function."""

import os
import sys

import pytest

from argosy.foundation.errors import ChildFailed, ConfigError
from argosy.ray.script import Script


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch):
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(os.getcwd())


def test_a_script_runs_as_a_main_program_with_its_arguments(tmp_path):
    (tmp_path / "beside.py").write_text("WORD = 'beside'\n")
    path = tmp_path / "train.py"
    path.write_text(
        "import sys\nfrom beside import WORD\n"
        "if __name__ == '__main__':\n"
        "    with open('out', 'w') as file:\n        file.write(' '.join([WORD, *sys.argv[1:]]))\n"
    )
    folder = tmp_path / "begun"
    folder.mkdir()
    Script(str(path), ("--lr", "1"), str(folder))()
    assert (folder / "out").read_text() == "beside --lr 1"


@pytest.mark.parametrize("end", ["sys.exit()", "sys.exit(0)"])
def test_a_script_may_end_itself(tmp_path, end):
    path = tmp_path / "train.py"
    path.write_text(f"import sys\n{end}\n")
    Script(str(path), (), str(tmp_path))()


def test_the_exit_code_of_a_script_is_an_error(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("import sys\nsys.exit(3)\n")
    with pytest.raises(ChildFailed, match="3"):
        Script(str(path), (), str(tmp_path))()


def test_a_node_without_the_script_says_so(tmp_path):
    with pytest.raises(ConfigError, match="same path on all nodes"):
        Script(str(tmp_path / "gone.py"), (), str(tmp_path))()
