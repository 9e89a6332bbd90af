"""``paddle`` and every module below it are argosy's own module objects."""

import importlib
import os
import pickle
import subprocess
import sys
import textwrap

import pytest

import argosy
import paddle


def _run(code, *args, cwd=None, env=None):
    return subprocess.run(
        [sys.executable, *args, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=cwd,
        env={**os.environ, **(env or {})},
    )


def test_paddle_is_argosy():
    assert paddle is argosy
    assert sys.modules["paddle"] is sys.modules["argosy"]


@pytest.mark.parametrize(
    "name", ["nn", "nn.functional", "nn.layer.common", "optimizer.lr", "io", "tensor.math"]
)
def test_submodules_are_the_same_objects(name):
    alias = importlib.import_module(f"paddle.{name}")
    assert alias is importlib.import_module(f"argosy.{name}")
    assert alias.__name__ == alias.__spec__.name == f"argosy.{name}"


def test_import_forms_agree_in_a_fresh_process():
    done = _run(
        """
        import paddle.nn.functional as F
        import paddle.nn as nn
        from paddle.optimizer import Adam
        from paddle.nn import Linear
        import argosy.optimizer
        assert Adam is argosy.optimizer.Adam
        assert F is argosy.nn.functional and nn is argosy.nn and Linear is nn.Linear
        """
    )
    assert done.returncode == 0, done.stderr


def test_a_function_is_not_replaced_by_the_module_that_defines_it():
    done = _run(
        """
        import paddle.distributed as dist
        from paddle.distributed.spawn import spawn
        from paddle.distributed.communication.all_reduce import all_reduce
        import paddle.distributed.spawn, paddle.distributed.launch
        assert dist.spawn is spawn is paddle.distributed.spawn
        assert dist.all_reduce is all_reduce is dist.communication.all_reduce
        assert dist.launch.__name__ == "launch" and callable(dist.launch)
        from paddle.distributed.fleet.fleet import Fleet
        import paddle.distributed.fleet.fleet
        assert isinstance(dist.fleet.fleet, Fleet)
        """
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "statement",
    [
        "import paddle.distributed.fleet as reading",
        "from paddle.distributed import fleet as reading",
        "import paddle, paddle.fluid as fluid, paddle.fluid.incubate.data_generator as reading",
        "import paddle.distributed.fleet.data_generator as reading",
    ],
)
def test_a_data_generator_is_imported_without_tensors(statement):
    done = _run(
        f"""
        import sys
        {statement}
        class Reader(reading.MultiSlotDataGenerator):
            def generate_sample(self, line):
                return lambda: iter([[("words", [1, 2]), ("label", [0.5])]])
        Reader().run_from_memory()
        assert not {{"torch", "numpy"}} & set(sys.modules)
        import paddle
        assert paddle.distributed.fleet.MultiSlotDataGenerator is Reader.__mro__[1]
        assert "all_reduce" in dir(paddle.distributed) and "torch" in sys.modules
        """
    )
    assert (done.returncode, done.stdout) == (0, "2 1 2 1 0.5\n"), done.stderr


def test_the_collector_passes_over_what_importing_brought_and_nothing_later():
    done = _run(
        """
        import gc
        import paddle
        paddle.to_tensor
        frozen = gc.get_freeze_count()
        assert frozen > 100_000 and gc.isenabled()
        paddle.static, paddle.distributed.all_reduce, paddle.vision.models
        assert gc.get_freeze_count() <= frozen
        """
    )
    assert done.returncode == 0, done.stderr
    done = _run(
        "import gc; gc.disable(); import paddle; paddle.to_tensor; assert not gc.isenabled()"
    )
    assert done.returncode == 0, done.stderr


def test_a_package_is_loaded_once_by_whichever_threads_come_first():
    done = _run(
        """
        import sys, threading
        import paddle
        before = threading.Barrier(4)
        found = []
        def first(name):
            before.wait()
            found.append(getattr(paddle, name))
        names = ["to_tensor", "nn", "distributed", "static"]
        threads = [threading.Thread(target=first, args=(name,)) for name in names]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert len(found) == 4 and paddle.distributed.all_reduce
        """
    )
    assert done.returncode == 0, done.stderr


def test_what_fails_while_a_package_is_loaded_is_said_each_time(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')")
    done = _run(
        """
        import paddle
        for _ in range(2):
            try:
                paddle.to_tensor
            except ImportError as error:
                print(error)
        """,
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert done.stdout == "no torch here\n" * 2, done.stderr


def test_importing_prints_nothing():
    done = _run("import paddle")
    assert (done.stdout, done.stderr) == ("", "")


def test_python_dash_m_runs_modules_through_the_alias(tmp_path):
    script = (
        "import runpy, sys; sys.argv = ['x']; print(runpy.run_module('paddle.version', "
        "run_name='__main__')['full_version'])"
    )
    done = _run(script)
    assert done.stdout.strip() == "3.3.1", done.stderr
    done = subprocess.run(
        [sys.executable, "-m", "paddle.version"], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr


def test_unknown_submodule_is_a_plain_import_error():
    with pytest.raises(ModuleNotFoundError, match=r"paddle\.nowhere"):
        importlib.import_module("paddle.nowhere")


def test_objects_pickle_by_reference():
    assert pickle.loads(pickle.dumps(paddle.nn.Linear)) is argosy.nn.Linear
    layer = pickle.loads(pickle.dumps(paddle.nn.Linear(2, 3)))
    assert layer.weight.shape == [2, 3]
    assert pickle.loads(pickle.dumps(paddle.float32)) is paddle.float32


def test_an_eager_script_of_one_process_loads_neither_programs_nor_collectives():
    done = _run(
        """
        import sys, paddle
        paddle.nn.Linear(2, 2)(paddle.ones([1, 2])).sum().backward()
        loaded = [m for m in sys.modules if m.startswith(("argosy.static.", "argosy.runtime."))]
        assert not loaded, loaded
        paddle.enable_static()
        assert "argosy.static.record.recorder" in sys.modules
        paddle.DataParallel, paddle.vision.transforms
        """
    )
    assert done.returncode == 0, done.stderr


def test_import_hooks_that_were_there_before_see_the_modules():
    done = _run(
        """
        import importlib.machinery, sys
        from importlib.abc import MetaPathFinder

        class Loader(importlib.machinery.SourceFileLoader):
            def exec_module(self, module):
                super().exec_module(module)
                module.seen = True

        class Hook(MetaPathFinder):
            def find_spec(self, name, path=None, target=None):
                if not name.endswith(("utils._dataset_file", "geometric.math", "geometric")):
                    return None
                spec = importlib.machinery.PathFinder.find_spec(name, path)
                spec.loader = Loader(name, spec.origin)
                return spec

        class OldHook:  # of packages that know only the older protocol
            def find_module(self, name, path=None):
                return None

        sys.meta_path[:0] = [Hook(), OldHook()]
        import paddle
        from paddle.utils import _dataset_file
        assert _dataset_file.seen and paddle.geometric.seen and paddle.geometric.math.seen
        assert paddle.incubate.segment_sum is paddle.geometric.segment_sum
        """
    )
    assert done.returncode == 0, done.stderr


def test_import_costs_little_more_than_torch(tmp_path):
    # Installed packages are imported from bytecode; give this one a cache even where the
    # environment forbids writing it.
    cache = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}
    code = """
    import time
    import torch, numpy
    start = time.process_time()
    import paddle
    paddle.nn  # the package's code runs when something is asked of it
    print(time.process_time() - start)
    """
    _run("import paddle; paddle.nn", env=cache)
    assert min(float(_run(code, env=cache).stdout) for _ in range(3)) < 0.5
