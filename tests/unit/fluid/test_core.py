"""What scripts take from ``fluid.core`` and ``fluid.framework``."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import fluid
from paddle.fluid import core, framework
from paddle.fluid.op import Operator
from paddle.fluid.proto import framework_pb2


def test_one_module_at_every_path() -> None:
    import paddle.base.libpaddle
    import paddle.fluid.core_avx

    assert paddle.base.core is core
    assert paddle.framework.core is core
    assert paddle.core is core
    assert paddle.base.libpaddle is core
    assert paddle.fluid.core_avx is core


def test_dtypes() -> None:
    kinds = core.VarDesc.VarType
    assert kinds.BF16 == paddle.bfloat16
    assert kinds.COMPLEX128 == paddle.complex128
    assert core.DataType.FLOAT32 == paddle.float32
    assert framework.convert_np_dtype_to_dtype_(np.int64) == kinds.INT64
    assert framework.convert_np_dtype_to_dtype_("bfloat16") == kinds.BF16
    assert framework.paddle_type_to_proto_type[core.DataType.BOOL] == kinds.BOOL
    assert framework.dtype_is_floating("float16")
    assert not framework.dtype_is_floating(np.int32)


def test_facts_of_the_build() -> None:
    assert core.is_compiled_with_dist()
    assert not core.is_float16_supported(core.CPUPlace())
    assert core.is_bfloat16_supported(core.CPUPlace()) == core.supports_bfloat16()
    assert core.is_compiled_with_cuda() or core.get_cuda_device_count() == 0
    assert not core.op_support_gpu("no_such_op")
    assert core.get_xpu_device_count() == 0 or core.is_compiled_with_xpu()


def test_flags_as_a_mapping() -> None:
    flags = core.globals()
    names = [name for name in sorted(flags.keys()) if "eager_delet" in name]
    before = {name: flags[name] for name in names}
    core._set_eager_deletion_mode(1.5, 0.5, True)
    assert flags["FLAGS_eager_delete_tensor_gb"] == 1.5
    assert paddle.get_flags("FLAGS_eager_delete_tensor_gb") == {"FLAGS_eager_delete_tensor_gb": 1.5}
    for name, value in before.items():
        flags[name] = value
    assert flags["FLAGS_eager_delete_tensor_gb"] == before["FLAGS_eager_delete_tensor_gb"]
    assert flags.get("FLAGS_no_such_flag") is None
    assert "FLAGS_no_such_flag" not in flags
    with pytest.raises(RuntimeError, match="FLAGS_no_such_flag"):
        flags["FLAGS_no_such_flag"]


def test_primitive_operators_are_asked_for_and_told() -> None:
    core._set_prim_forward_enabled(True)
    assert core._is_fwd_prim_enabled()
    assert not core._is_all_prim_enabled()
    core._set_prim_all_enabled(True)
    assert paddle.incubate.autograd.prim_enabled()
    core._set_prim_all_enabled(False)
    assert not core._is_bwd_prim_enabled()


def test_names_of_variables() -> None:
    assert fluid.backward._append_grad_suffix_("x") == "x" + core.grad_var_suffix()
    assert fluid.backward._strip_grad_suffix_("x@GRAD@RENAME") == "x"
    assert fluid.backward._as_list(None) == []
    assert framework.GRAD_VAR_SUFFIX == "@GRAD"


def test_slots_of_an_operator() -> None:
    proto = framework.OpProtoHolder.instance().get_op_proto("concat")
    assert [(slot.name, slot.duplicable) for slot in proto.inputs] == [("X", True)]
    assert proto.outputs[0].name == "Out"
    read = framework_pb2.OpProto.FromString(proto.SerializeToString())
    assert read == proto
    assert read.IsInitialized()
    read.inputs.add().name = "Y"
    assert not read.IsInitialized()  # the comment of the slot is missing
    assert core.get_op_extra_attrs("no_such_op") == {}
    assert core.AttrType.INT == next(a.type for a in proto.attrs if a.name == "axis")
    with pytest.raises(ValueError, match="no_such_op"):
        framework.OpProtoHolder.instance().get_op_proto("no_such_op")


def test_messages_have_paddles_bytes() -> None:
    attr = framework_pb2.OpDesc.Attr(name="a", type=framework_pb2.INTS, ints=[1, -1])
    assert attr.SerializeToString().hex() == "0a016110033001" + "30" + "ff" * 9 + "01"
    assert list(framework_pb2.OpDesc.Attr.FromString(attr.SerializeToString()).ints) == [1, -1]
    with pytest.raises(ValueError, match="ends inside"):
        framework_pb2.OpDesc.FromString(b"\x0a\x05a")


def test_an_operator_runs_on_a_scope() -> None:
    scope = core.Scope()
    scope.var("x").get_tensor().set(np.float32([1, 2]), core.CPUPlace())
    for name in ("y", "z"):
        scope.var(name).get_tensor()
    scale = Operator("scale", X="x", Out="y", scale=3.0)
    scale.run(scope, core.CPUPlace())
    assert str(scale) == "Op(scale), inputs:{X[x]}, outputs:{Out[y]}."
    assert np.array(scope.find_var("y").get_tensor()).tolist() == [3, 6]

    desc = framework_pb2.OpDesc(type="sum")
    for side, slot, names in (("inputs", "X", ["x", "y"]), ("outputs", "Out", ["z"])):
        var = getattr(desc, side).add()
        var.parameter = slot
        var.arguments.extend(names)
    core.Operator.create(desc.SerializeToString()).run(scope, core.CPUPlace())
    assert np.array(scope.find_var("z").get_tensor()).tolist() == [4, 8]
    assert paddle.in_dynamic_mode()


def test_decorators_of_the_mode() -> None:
    @framework.static_only
    def build() -> str:
        return "built"

    with pytest.raises(AssertionError, match="build"):
        build()
    with framework._dygraph_guard(None):
        assert build() == "built"
        assert framework._dygraph_tracer() is None
    assert framework._dygraph_tracer() is not None


def test_a_command_of_the_shell() -> None:
    assert core.run_cmd("echo hi") == "hi\n"
    assert core.shell_execute_cmd("echo hi; exit 3") == ["3", "hi\n"]


def test_programs_can_be_switched() -> None:
    with framework._dygraph_guard(None):
        mine = paddle.static.Program()
        before = framework.switch_main_program(mine)
        assert paddle.static.default_main_program() is mine
        assert framework.switch_main_program(before) is mine


def test_an_operator_with_small_slots() -> None:
    """Momentum before compression begins, SGD after."""
    scope, place = fluid.Scope(), fluid.CPUPlace()
    names = ["Param", "Grad", "Velocity", "LearningRate", "current_step", "nranks"]
    slots = {name: name for name in names}
    outputs = {"ParamOut": "Param", "VelocityOut": "Velocity", "Grad_out": "Grad"}
    for step, expected in ((0.0, [2 - 0.5 * 1.9, 1.9]), (15.0, [2 - 0.5 * 1, 1])):
        for name, value in zip(names, (2, 2, 1, 0.5, step, 2), strict=True):
            scope.var(name).get_tensor().set(np.array([value], "float32"), place)
        Operator("dgc_momentum", **slots, **outputs, mu=0.9, rampup_begin_step=10.0).run(
            scope, place
        )
        found = [float(np.array(scope.find_var(name).get_tensor())[0]) for name in names]
        np.testing.assert_allclose([found[0], found[2], found[1]], [*expected, 1], rtol=1e-6)
