"""The command ``argosy``."""

import importlib.util
import subprocess
import sys

import pytest

from argosy import command, version
from argosy._release import VERSION


def test_there_is_one_version(capsys):
    assert command.main(["--version"]) == 0
    assert capsys.readouterr().out == f"argosy {VERSION}\n"
    assert version.argosy_version() == VERSION


def test_help_names_every_command_with_an_example(capsys):
    assert command.main(["--help"]) == 0
    shown = capsys.readouterr().out
    for name, row in command.SUBCOMMANDS.items():
        assert row.example.startswith(f"argosy {name}")
        assert row.example in shown
        assert row.summary in shown


@pytest.mark.parametrize("name", command.SUBCOMMANDS)
def test_a_command_is_a_module_that_python_runs(name):
    module = command.SUBCOMMANDS[name].module
    if importlib.util.find_spec(module).submodule_search_locations is not None:
        module += ".__main__"
    assert importlib.util.find_spec(module) is not None


@pytest.mark.parametrize("name", command.SUBCOMMANDS)
def test_the_help_of_a_command_begins_with_its_example(name):
    done = subprocess.run(
        [sys.executable, "-m", "argosy", name, "--help"],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == f"example: {command.SUBCOMMANDS[name].example}"
    assert "usage: " in done.stdout


def test_a_command_gets_its_arguments_and_gives_its_exit_code(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "argosy", "ps", "inspect", str(tmp_path / "nowhere")],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 1
    assert "nowhere" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["lanch"]])
def test_a_wrong_call_is_told_and_exits_with_2(arguments, capsys):
    assert command.main(arguments) == 2
    shown = capsys.readouterr().err
    assert "usage: argosy" in shown
    assert not arguments or "launch" in shown.splitlines()[0]


def test_the_version_is_told_without_torch():
    code = """if True:
        import sys
        from argosy.command import main
        main(["--version"])
        print(sorted({"torch", "numpy"} & set(sys.modules)))
    """
    said = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=100)
    assert said == f"argosy {VERSION}\n[]\n"
