"""How ``paddle.fluid`` is reached, what it has, and what it says of what it has not."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

import argosy
import paddle
import paddle.fluid as fluid


def test_is_the_module_of_argosy():
    assert paddle.fluid is fluid is sys.modules["argosy.fluid"]
    assert fluid.dygraph.base is sys.modules["argosy.fluid.dygraph.base"]


def test_costs_nothing_until_it_is_used():
    code = (
        "import sys, paddle; assert 'argosy.fluid' not in sys.modules; paddle.fluid.dygraph.guard\n"
        "paddle.fluid.DistributeTranspiler(); from paddle.fluid.incubate.fleet import collective\n"
        "assert not {'pyarrow', 'numba'} & set(sys.modules)"  # which only jobs with servers need
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", ["layers.yolo_box", "data_feed_desc"])
def test_names_of_1_x_that_are_missing_are_refused(path):
    owner, _, name = f"fluid.{path}".rpartition(".")
    with pytest.raises(AttributeError, match=rf"paddle\.{owner}\.{name} is not supported"):
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
    fluid.CPUPlace fluid.CUDAPlace fluid.ParamAttr fluid.param_attr.ParamAttr
    fluid.unique_name.guard fluid.core.EOFException
    fluid.core.get_cuda_device_count fluid.core.is_compiled_with_cuda fluid.is_compiled_with_cuda
    fluid.cpu_places
    fluid.cuda_places fluid.framework.cuda_places fluid.framework.Parameter
    fluid.framework.Variable fluid.require_version
    fluid.in_dygraph_mode fluid.set_flags fluid.get_flags fluid.load_dygraph fluid.save_dygraph
    fluid.dygraph.load_dygraph
    fluid.dygraph.save_dygraph fluid.dygraph.guard fluid.dygraph.to_variable
    fluid.dygraph.base.to_variable fluid.dygraph.Layer
    fluid.dygraph.nn.Linear fluid.dygraph.Linear fluid.Linear fluid.dygraph.nn.Conv2D
    fluid.dygraph.nn.BatchNorm
    fluid.dygraph.nn.Pool2D fluid.dygraph.nn.Embedding fluid.dygraph.nn.FC fluid.dygraph.FC
    fluid.dygraph.nn.GRUUnit
    fluid.dygraph.nn.LayerNorm fluid.dygraph.nn.Dropout fluid.dygraph.parallel.Env
    fluid.dygraph.parallel.ParallelEnv
    fluid.dygraph.Env fluid.dygraph.ParallelEnv fluid.dygraph.parallel.DataParallel
    fluid.dygraph.DataParallel
    fluid.dygraph.parallel.prepare_context fluid.dygraph.prepare_context
    fluid.dygraph.parallel.ParallelStrategy
    fluid.dygraph.Sequential fluid.dygraph.LayerList fluid.dygraph.ParameterList
    fluid.dygraph.no_grad fluid.dygraph.grad
    fluid.io.DataLoader.from_generator fluid.io.batch fluid.io.shuffle fluid.initializer.MSRA
    fluid.initializer.Xavier
    fluid.initializer.NumpyArrayInitializer fluid.regularizer.L1DecayRegularizer
    fluid.clip.GradientClipByGlobalNorm
    fluid.contrib.reader.distributed_batch_reader fluid.metrics.Accuracy
    fluid.data_feeder.convert_dtype
    fluid.layers.ops.cos fluid.layers.ops.floor fluid.layers.tensor.assign fluid.layers.tensor.cast
    fluid.layers.control_flow.less_than fluid.layers.learning_rate_scheduler.noam_decay
    fluid.wrapped_decorator.signature_safe_contextmanager
    fluid.Executor fluid.Program fluid.program_guard fluid.data fluid.default_main_program
    fluid.default_startup_program
    fluid.name_scope fluid.global_scope fluid.scope_guard fluid.Scope fluid.CompiledProgram
    fluid.BuildStrategy
    fluid.ExecutionStrategy fluid.ParallelExecutor fluid.append_backward fluid.gradients
    fluid.DataFeeder fluid.LoDTensor
    fluid.Tensor fluid.create_lod_tensor fluid.device_guard fluid.memory_optimize
    fluid.release_memory fluid.save fluid.load
    fluid.load_program_state fluid.set_program_state fluid.cuda_pinned_places
    fluid.WeightNormParamAttr fluid.embedding
    fluid.framework.Program fluid.framework.program_guard fluid.framework.name_scope
    fluid.framework.grad_var_name
    fluid.framework.default_main_program fluid.framework.in_dygraph_mode fluid.executor.Executor
    fluid.executor.global_scope
    fluid.compiler.CompiledProgram fluid.compiler.BuildStrategy
    fluid.parallel_executor.ParallelExecutor
    fluid.backward.append_backward fluid.backward.gradients fluid.core.Scope fluid.core.LoDTensor
    fluid.core.Place
    fluid.core.op_proto_and_checker_maker.kOpRoleAttrName fluid.io.save_vars fluid.io.save_params
    fluid.io.save_persistables
    fluid.io.load_vars fluid.io.load_params fluid.io.load_persistables fluid.io.save_inference_model
    fluid.io.load_inference_model fluid.io.is_parameter fluid.io.is_persistable fluid.io.PyReader
    fluid.io.DataLoader
    fluid.layers.py_reader fluid.layers.read_file fluid.layers.double_buffer
    fluid.layers.create_py_reader_by_data
    fluid.profiler.profiler fluid.profiler.start_profiler fluid.profiler.stop_profiler
    fluid.profiler.reset_profiler
    fluid.profiler.cuda_profiler fluid.contrib.memory_usage fluid.average.WeightedAverage
    fluid.install_check.run_check
    fluid.unique_name.generate fluid.clip.set_gradient_clip
    fluid.contrib.mixed_precision.decorator.decorate
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


def test_roles_of_operators_are_those_of_1_x():
    maker = fluid.core.op_proto_and_checker_maker
    main = fluid.Program()
    try:
        with fluid.program_guard(main, fluid.Program()):
            loss = fluid.layers.mean(fluid.layers.fc(fluid.data("x", [None, 2]), 1))
            fluid.optimizer.SGD(0.1).minimize(loss)
    finally:
        paddle.disable_static()
    roles = {
        operator.type: operator.attr(maker.kOpRoleAttrName())
        for operator in main.global_block().ops
    }
    assert roles["backward"] == maker.OpRole.Backward
    assert roles["sgd"] == maker.OpRole.Optimize
    assert {roles[kind] for kind in roles if kind not in ("backward", "sgd")} == {
        maker.OpRole.Forward
    }


def test_kinds_of_variables_have_their_old_names():
    kinds = fluid.core.VarDesc.VarType
    variable = fluid.Program().global_block().create_var("x", [2])
    assert variable.type == kinds.LOD_TENSOR
    assert variable.type not in (kinds.RAW, kinds.READER, kinds.FEED_MINIBATCH, kinds.FETCH_LIST)


def test_base_has_the_names_of_paddle_2_5():
    base = paddle.base
    assert base.core is sys.modules["argosy.fluid.core"] is fluid.core
    assert base.Executor is fluid.Executor
    assert base.ParamAttr is fluid.ParamAttr
    assert base.dygraph.Tracer is fluid.dygraph.Tracer
    assert base.dygraph.base.guard is base.dygraph.guard is not fluid.dygraph.guard
    from paddle.base.dygraph.base import to_variable
    from paddle.base.framework import program_guard

    assert to_variable is base.dygraph.to_variable
    assert program_guard is base.program_guard is paddle.static.program_guard


def test_guard_of_base_leaves_the_mode_alone():
    with paddle.base.program_guard(paddle.base.Program()):
        assert paddle.in_dynamic_mode()


def test_guard_of_fluid_leaves_the_mode_alone():
    with fluid.program_guard(fluid.Program()):
        assert paddle.in_dynamic_mode()
        fluid.data("x", [None, 2])
        assert not paddle.in_dynamic_mode()
    paddle.disable_static()


def test_framework_switches_the_mode_and_tells_it():
    from paddle.base import framework

    tracer = framework._dygraph_tracer()
    with framework._dygraph_guard(None):
        assert framework._dygraph_tracer() is None
        assert not paddle.in_dynamic_mode()
        with framework._dygraph_guard(tracer):
            assert framework._dygraph_tracer() is tracer
            assert paddle.in_dynamic_mode()
        assert not paddle.in_dynamic_mode()
    with paddle.no_grad():
        assert not tracer._has_grad
    assert tracer._has_grad
    assert tracer._train_mode


def test_decorators_of_framework_check_the_mode_and_keep_signatures():
    from paddle.base import framework

    def add(a, b=1):
        return a + b

    for decorator, other in (
        (framework.dygraph_only, framework.static_only),
        (paddle.no_grad(), framework.dygraph_not_support),
    ):
        assert inspect.getfullargspec(decorator(add)) == inspect.getfullargspec(add)
        assert decorator(add)(2) == 3
        with pytest.raises(AssertionError, match="enable_static"):
            other(add)(2)


def test_programs_have_one_form():
    from paddle.pir_utils import DygraphOldIrGuard, IrGuard, test_with_pir_api

    modes = []
    test_with_pir_api(lambda: modes.append(paddle.in_dynamic_mode()))()
    with IrGuard(), DygraphOldIrGuard():
        modes.append(paddle.framework.in_pir_mode())
    assert modes == [True, False, False]
    assert paddle.in_dynamic_mode()
    assert paddle.get_flags("FLAGS_enable_pir_api") == {"FLAGS_enable_pir_api": False}


def test_seed_of_programs_to_come():
    paddle.framework.random._manual_program_seed(7)
    try:
        assert fluid.default_startup_program().random_seed == fluid.Program().random_seed == 7
    finally:
        paddle.framework.random._manual_program_seed(0)


def test_arguments_are_checked_while_recording():
    from paddle.base.data_feeder import check_dtype, check_shape, check_type

    check_type(1, "x", str, "op")
    with paddle.pir_utils.IrGuard():
        check_shape([2, 3], "op")
        for wrong in (
            lambda: check_type(1, "x", str, "op"),
            lambda: check_dtype("int32", "x", ["float32"], "op"),
            lambda: check_shape([2.0], "op"),
        ):
            with pytest.raises(TypeError, match="in op must be"):
                wrong()


def test_bfloat16_bits():
    from paddle.base.data_feeder import convert_float_to_uint16, convert_uint16_to_float

    numbers = np.array([[1.0, -2.5], [0.0, 3.0]], "float32")
    assert (convert_uint16_to_float(convert_float_to_uint16(numbers)) == numbers).all()
