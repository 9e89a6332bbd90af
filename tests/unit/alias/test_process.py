"""``paddle`` is argosy in a process and in those it starts, beside a real Paddle; never half of
each.
"""

import os
import site
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import argosy

# what every kind of child says
TELL = "import paddle; print(getattr(paddle, 'REAL', paddle.__name__))"


@pytest.fixture
def beside(tmp_path):
    """An environment that has another ``paddle``, with a module that argosy has too."""
    real = tmp_path / "site" / "paddle"
    real.mkdir(parents=True)
    (real / "__init__.py").write_text("REAL = 'real'\nfrom paddle import nn\n")
    (real / "nn.py").write_text("REAL = 'real nn'\n")
    return {**os.environ, "PYTHONPATH": str(real.parent)}


@pytest.fixture
def bare(beside):
    """The same where argosy-paddle is not installed; for ``python -S``, which reads no .pth file,
    of which argosy-paddle is one.
    """
    folders = [beside["PYTHONPATH"], Path(argosy.__file__).parents[1], *site.getsitepackages()]
    return {**beside, "PYTHONPATH": os.pathsep.join(map(str, folders))}


def run(arguments, environment):
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=100, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(folder, code):
    script = folder / "script.py"
    script.write_text(textwrap.dedent(code))
    return str(script)


def test_plain_python_keeps_what_comes_first_on_its_path(bare):
    assert run(["-S", "-c", TELL], bare) == "real\n"


@pytest.mark.parametrize(
    "command", [["-m", "argosy.alias"], ["-margosy.alias"], ["-m", "argosy", "run"]]
)
def test_a_script_is_run_as_python_runs_it(tmp_path, beside, command):
    script = write(
        tmp_path,
        """
        import sys, paddle
        main = sys.modules["__main__"]
        print(paddle.__name__, __name__, sys.argv[1:], sys.path[0], main.__file__)
        sys.exit(0)
        """,
    )
    expected = f"argosy __main__ ['-m', 'b'] {tmp_path} {script}\n"
    assert run([*command, script, "-m", "b"], beside) == expected


def test_modules_code_and_options_of_python_work_too(beside):
    assert run(["-m", "argosy.alias", "-c", TELL], beside) == "argosy\n"
    assert "argosy: " in run(
        ["-m", "argosy.alias", "-c", "import paddle; paddle.version.show()"], beside
    )
    run(["-m", "argosy.alias", "-m", "paddle.version"], beside)
    show = "import sys; print(sys.flags.optimize, sys.warnoptions, sys.flags.utf8_mode)"
    options = ["-O", "-W", "ignore", "-X", "utf8"]
    assert run([*options, "-m", "argosy.alias", "-c", show], beside) == "1 ['ignore'] 1\n"
    assert run(["-m", "argosy.alias", *options, "-c", show], beside) == "1 ['ignore'] 1\n"


@pytest.mark.parametrize("option", ["-I", "-E", "-BE"])
def test_isolation_that_would_hide_the_alias_is_refused(option):
    command = [sys.executable, "-m", "argosy", "run", option, "-c", "pass"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 2
    assert "PYTHONPATH" in done.stderr
    run(["-m", "argosy", "run", "-W", "error::ImportWarning", "-c", "pass", "-I"], None)


def test_children_of_every_kind_have_the_alias(tmp_path, beside):
    script = write(
        tmp_path,
        f"""
        import multiprocessing, os, subprocess, sys
        TELL = {TELL!r}

        def tell(queue):
            import paddle
            queue.put(paddle.__name__)

        if __name__ == "__main__":
            for method in ("spawn", "forkserver", "fork"):
                context = multiprocessing.get_context(method)
                queue = context.Queue()
                child = context.Process(target=tell, args=(queue,))
                child.start()
                print(method, queue.get(timeout=60))
                child.join()
            said = subprocess.check_output([sys.executable, "-c", TELL], text=True)
            print("subprocess", said.strip(), flush=True)
            os.system(f'{{sys.executable}} -c "{{TELL}}"')
        """,
    )
    assert run(["-m", "argosy.alias", script], beside).split() == [
        *("spawn", "argosy", "forkserver", "argosy", "fork", "argosy"),
        *("subprocess", "argosy", "argosy"),
    ]


def test_a_process_can_take_the_alias_by_itself_and_hands_it_on(beside):
    code = f"""
    import subprocess, sys
    from argosy import alias
    alias.install()
    alias.install()
    import argosy, paddle, paddle.nn as nn
    assert paddle is argosy and nn is argosy.nn
    print(subprocess.check_output([sys.executable, "-c", {TELL!r}], text=True))
    """
    assert run(["-c", textwrap.dedent(code)], beside).strip() == "argosy"


def test_argosy_and_a_real_paddle_share_a_process_whole(bare):
    code = """
    import argosy, paddle
    import argosy.distributed.spawn, argosy.amp.auto_cast
    argosy.nn.Linear(2, 2)
    import paddle.nn, sys
    assert paddle.REAL and paddle.nn.REAL and argosy.nn.Linear
    assert [name for name in sys.modules if name.startswith("paddle.")] == ["paddle.nn"]
    from argosy import alias
    try:
        alias.install()
    except ImportError as error:
        print(error)
    assert paddle is sys.modules["paddle"] and paddle.nn.REAL
    """
    said = run(["-S", "-c", textwrap.dedent(code)], bare)
    assert "a real Paddle" in said
    assert "argosy run" in said


def test_an_interpreter_without_argosy_keeps_its_own_paddle(beside):
    # with -S it is without its packages, among which argosy is
    code = f"""
    import subprocess, sys
    print(subprocess.check_output([sys.executable, "-S", "-c", {TELL!r}], text=True))
    """
    code = textwrap.dedent(code)
    assert run(["-m", "argosy.alias", "-c", code], beside).strip() == "real"
