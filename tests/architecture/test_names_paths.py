"""Paddle's paths at which nothing is defined here (``src/argosy/paths.txt``)."""

import importlib
import pickle
import subprocess
import sys

import pytest

import argosy
import paddle
from argosy import _paths
from argosy.foundation.errors import NotSupported


def _run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", sorted(_paths.table().homes))
def test_every_row_leads_to_its_name(module):
    for name, (home, there) in _paths.table().homes[module].items():
        here = getattr(importlib.import_module(module), name)
        assert here is getattr(importlib.import_module(home), there)


@pytest.mark.parametrize(("module", "same"), sorted(_paths.table().same.items()))
def test_a_module_under_two_names_is_one_module(module, same):
    assert importlib.import_module(module) is importlib.import_module(same)
    alias = importlib.import_module(module.replace("argosy", "paddle", 1))
    assert alias is importlib.import_module(same)
    assert alias.__spec__.name == same


def test_a_module_without_a_file_is_a_module():
    from paddle.io.dataloader.batch_sampler import BatchSampler

    module = sys.modules["argosy.io.dataloader.batch_sampler"]
    assert paddle.io.dataloader.batch_sampler is module
    assert importlib.util.find_spec("paddle.io.dataloader.batch_sampler") is not None
    assert BatchSampler is argosy.io.BatchSampler
    assert "BatchSampler" in dir(module)
    assert "BatchSampler" in module.__all__
    assert pickle.loads(pickle.dumps(BatchSampler)) is argosy.io.BatchSampler


def test_unknown_names_suggest_known_ones():
    with pytest.raises(AttributeError, match=r"'paddle\.io\.dataloader'.*'BatchSampler'"):
        _ = paddle.io.dataloader.BatchSample
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("paddle.io.dataloader.nowhere")
    with pytest.raises(AttributeError, match=r"'paddle\.optimizer\.adam'.*'Adam'"):
        _ = importlib.import_module("paddle.optimizer.adam").Adamm  # a module of no row


@pytest.mark.parametrize(
    "path", ["amp.auto_cast", "batch", "distributed.spawn", "fluid.data", "nn.initializer.Bilinear"]
)
def test_a_module_does_not_hide_the_function_of_its_name(path):
    owner, _, name = path.rpartition(".")
    owner = f"paddle.{owner}".rstrip(".")
    _run(
        f"import importlib, types, paddle, {owner}\n"
        f"module = importlib.import_module('paddle.{path}')\n"
        f"assert isinstance(module, types.ModuleType)\n"
        f"assert callable({owner}.{name}) and {owner}.{name} is module.{name}"
    )


def test_star_imports_take_what_the_table_gives():
    _run(
        "from paddle.fluid.layers.nn import *\n"
        "assert fc and relu and embedding and reduce_mean and 'T' not in globals()\n"
        "from paddle.fluid.dygraph import *\n"
        "assert guard and Linear and ExponentialDecay"
    )


def test_names_are_loaded_on_first_use():
    _run(
        "import sys, paddle, paddle.fluid\n"
        "loaded = {name for name in sys.modules if name.startswith('argosy.fluid.')}\n"
        "assert loaded <= {'argosy.fluid.data', 'argosy.fluid.dygraph', "
        "'argosy.fluid.dygraph.tracer'}, loaded"
    )


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("import paddle.quantization", "paddle.quantization is not supported"),
        ("from paddle.nn.quant.format import LinearQuanter", "paddle.nn.quant is not supported"),
        ("from paddle.distributed import shard_tensor", "automatic parallelism"),
    ],
)
def test_what_is_not_supported_says_so_at_the_import(statement, said):
    with pytest.raises(ImportError, match=said) as caught:
        exec(statement)
    assert isinstance(caught.value, NotSupported)


def test_what_is_not_supported_is_no_attribute():
    assert not hasattr(paddle, "quantization")
    with pytest.raises(NotSupported, match=r"paddle\.distributed\.shard_tensor is not supported: "):
        _ = paddle.distributed.shard_tensor
