"""argosy, argosy-paddle and the real Paddle in one environment, in whatever order they come and go:
each whole, never half of each.
"""

from __future__ import annotations

import pytest

from support.venvs import Venv

pytestmark = pytest.mark.timeout(900)  # pip, many times

ARGOSY, ALIAS, REAL = "argosy-", "argosy_paddle-", "paddlepaddle-"
ORDERS = {
    "real last": (ARGOSY, ALIAS, REAL),
    "real first": (REAL, ARGOSY, ALIAS),
    "real between": (ARGOSY, REAL, ALIAS),
    "alias first": (ALIAS, REAL, ARGOSY),
}
# bin/fleetrun is a file of both: whoever comes last writes it, whoever goes first removes it
SCRIPT = "bin/fleetrun"


def damage(venv: Venv) -> list[str]:
    return [one for one in venv.damage() if not one.endswith(SCRIPT)]


def fill(venv: Venv, order: tuple[str, ...]) -> None:
    for one in order:
        venv.install(f"{one}[0-9]*.whl")


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_removing_the_real_one_leaves_argosy_whole(venv, order):
    fill(venv, order)
    assert (venv.whose(), damage(venv)) == ("argosy", [])
    venv.remove("paddlepaddle")
    assert (venv.whose(), damage(venv)) == ("argosy", [])
    assert not (venv.packages / "paddle").exists()


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_removing_argosy_leaves_the_real_one_whole(venv, order):
    fill(venv, order)
    venv.remove("argosy-paddle")
    assert (venv.whose(), damage(venv)) == ("real", [])
    assert venv.run(
        "python", "-m", "argosy.alias", "-c", "import paddle; print(paddle)"
    ).startswith("<module 'argosy'")
    venv.remove("argosy")
    assert (venv.whose(), damage(venv)) == ("real", [])


def test_without_argosy_its_alias_steps_aside_or_says_what_is_missing(venv):
    fill(venv, (ALIAS, REAL))
    assert venv.whose() == "real"
    venv.remove("paddlepaddle")
    code = "try: import paddle\nexcept ModuleNotFoundError as error: print(error)"
    said = venv.run("python", "-c", code)
    assert "pip install argosy" in said
    assert "pip uninstall argosy-paddle" in said
    assert venv.run("python", "-c", "print('others import as ever')") == "others import as ever"


def test_argosy_alone_leaves_the_name_paddle_alone(venv):
    fill(venv, (ARGOSY,))
    code = "try: import paddle\nexcept ModuleNotFoundError as error: print(error)"
    assert venv.run("python", "-c", code) == "No module named 'paddle'"
    assert venv.run("argosy", "run", "-c", "import paddle; print(paddle.__name__)") == "argosy"
    assert {p.name for p in venv.packages.iterdir()} - {"__pycache__"} == {
        "argosy",
        "argosy_torch",
        next(venv.packages.glob("argosy-*.dist-info")).name,
    }


def test_commands_start_argosy_beside_the_real_one(venv, script):
    fill(venv, (REAL, ARGOSY))
    assert venv.whose() == "real"
    path = script("import os, paddle; print('worker', paddle.__name__, os.getpid() > 0)")
    options = ("--nproc_per_node", "1", "--log_dir", path + ".log", path)
    assert venv.run("argosy", "run", path) == "worker argosy True"
    for command in (
        ("fleetrun",),
        ("argosy", "launch"),
        ("python", "-m", "argosy.distributed.launch"),
    ):
        assert "worker argosy True" in venv.run(*command, *options, shares=True), command


def test_the_real_ones_command_is_argosys_where_the_alias_is_installed(venv, script):
    fill(venv, (ARGOSY, ALIAS, REAL))  # so fleetrun is the file of the real one
    path = script("import paddle; print('worker', paddle.__name__)")
    said = venv.run("fleetrun", "--log_dir", path + ".log", path, shares=True)
    assert "worker argosy" in said
