"""How ``paddle.fluid`` is reached, what it has, and what it says of what it has not."""

import subprocess
import sys

import paddle.fluid as fluid
import pytest

import argosy
import paddle


def test_is_the_module_of_argosy():
    assert paddle.fluid is fluid is sys.modules["argosy.fluid"]
    assert fluid.dygraph.base is sys.modules["argosy.fluid.dygraph.base"]


def test_costs_nothing_until_it_is_used():
    code = "import sys, paddle; assert 'argosy.fluid' not in sys.modules; paddle.fluid.dygraph.guard"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "path",
    [
        "Executor",
        "Program",
        "data",
        "ParallelExecutor",
        "layers.fc",
        "layers.data",
        "layers.batch_norm",
        "layers.control_flow.Switch",
        "io.save_persistables",
        "clip.set_gradient_clip",
        "framework.Program",
        "framework.program_guard",
    ],
)
def test_static_names_say_why_they_are_missing(path):
    owner, _, name = f"fluid.{path}".rpartition(".")
    with pytest.raises(AttributeError, match=rf"paddle\.{owner}\.{name}: static graphs are not available yet"):
        eval(path, {}, _Names())


class _Names(dict):
    def __missing__(self, name):
        return getattr(fluid, name)


def test_unknown_names_suggest_known_ones():
    with pytest.raises(AttributeError, match="'softmax'"):
        _ = fluid.layers.softmaxx
    with pytest.raises(AttributeError, match="no attribute 'quux'"):
        _ = fluid.quux
    with pytest.raises(ImportError):
        from paddle.fluid import nowhere  # noqa: F401


@pytest.mark.parametrize(
    "path",
    """
    fluid.CPUPlace fluid.CUDAPlace fluid.ParamAttr fluid.param_attr.ParamAttr fluid.unique_name.guard fluid.core.EOFException
    fluid.core.get_cuda_device_count fluid.core.is_compiled_with_cuda fluid.is_compiled_with_cuda fluid.cpu_places
    fluid.cuda_places fluid.framework.cuda_places fluid.framework.Parameter fluid.framework.Variable fluid.require_version
    fluid.in_dygraph_mode fluid.set_flags fluid.get_flags fluid.load_dygraph fluid.save_dygraph fluid.dygraph.load_dygraph
    fluid.dygraph.save_dygraph fluid.dygraph.guard fluid.dygraph.to_variable fluid.dygraph.base.to_variable fluid.dygraph.Layer
    fluid.dygraph.nn.Linear fluid.dygraph.Linear fluid.Linear fluid.dygraph.nn.Conv2D fluid.dygraph.nn.BatchNorm
    fluid.dygraph.nn.Pool2D fluid.dygraph.nn.Embedding fluid.dygraph.nn.FC fluid.dygraph.FC fluid.dygraph.nn.GRUUnit
    fluid.dygraph.nn.LayerNorm fluid.dygraph.nn.Dropout fluid.dygraph.parallel.Env fluid.dygraph.parallel.ParallelEnv
    fluid.dygraph.Env fluid.dygraph.ParallelEnv fluid.dygraph.parallel.DataParallel fluid.dygraph.DataParallel
    fluid.dygraph.parallel.prepare_context fluid.dygraph.prepare_context fluid.dygraph.parallel.ParallelStrategy
    fluid.dygraph.Sequential fluid.dygraph.LayerList fluid.dygraph.ParameterList fluid.dygraph.no_grad fluid.dygraph.grad
    fluid.io.DataLoader.from_generator fluid.io.batch fluid.io.shuffle fluid.initializer.MSRA fluid.initializer.Xavier
    fluid.initializer.NumpyArrayInitializer fluid.regularizer.L1DecayRegularizer fluid.clip.GradientClipByGlobalNorm
    fluid.contrib.reader.distributed_batch_reader fluid.metrics.Accuracy fluid.data_feeder.convert_dtype
    fluid.layers.ops.cos fluid.layers.ops.floor fluid.layers.tensor.assign fluid.layers.tensor.cast
    fluid.layers.control_flow.less_than fluid.layers.learning_rate_scheduler.noam_decay
    fluid.wrapped_decorator.signature_safe_contextmanager
    """.split(),  # noqa: SIM905
)
def test_what_scripts_use_is_there(path):
    assert callable(eval(path, {"fluid": fluid}))


def test_dtypes_and_errors_have_their_old_names():
    kinds = fluid.core.VarDesc.VarType
    assert (kinds.FP32, kinds.FP16, kinds.INT64, kinds.BOOL) == (
        paddle.float32,
        paddle.float16,
        paddle.int64,
        paddle.bool,
    )
    assert fluid.data_feeder.convert_dtype(kinds.FP64) == "float64"
    assert issubclass(argosy.foundation.errors.UsageError, fluid.core.EnforceNotMet)
