"""The verifier: a pass that breaks a program is named, with the operator."""

from types import SimpleNamespace

import pytest
import torch

import paddle
from argosy.foundation.errors import InternalError, ProgramError
from argosy.ops.table import Op
from argosy.static.amp import _rewrite
from argosy.static.ir.operator import Operator, Ref, SubBlock
from argosy.static.ir.variable import Variable
from argosy.static.ir.verify import checked, checked_operators
from argosy.static.parallel.adapt import PlaceAdaptation, Shared
from argosy.static.parallel.exchange import Exchange
from paddle.nn import functional as F
from paddle.static.amp.fp16_utils import cast_model_to_fp16


@pytest.fixture
def program():
    """relu, tanh, a branch with one operator on each side, a sum."""
    x = paddle.static.data("x", [2])
    y = F.tanh(F.relu(x))
    (paddle.static.nn.cond(x.sum() > 0, lambda: y + x, lambda: y - x) * y).sum()
    return paddle.static.default_main_program()


def find(program, kind):
    return next(o for block in program.blocks for o in block.ops if o.type == kind)


# -- passes that break something
# -------------------------------------------------------------------------------------------------


def drop_what_others_read(program):
    program.global_block().ops.remove(find(program, "relu"))


def read_too_early(program):
    ops = program.global_block().ops
    ops[0], ops[1] = ops[1], ops[0]


def drop_inside_a_branch(program):
    program.block(1).ops.clear()


def read_no_variable(program):
    find(program, "tanh").args = (Ref("nowhere"),)


def write_no_variable(program):
    find(program, "tanh").out = Ref("nowhere")


def write_twice(program):
    relu = find(program, "relu")
    relu.out = [relu.out, relu.out]


def leave_out_an_argument(program):
    find(program, "elementwise_add").args = find(program, "elementwise_add").args[:1]


def pass_too_many_arguments(program):
    find(program, "elementwise_add").args *= 2


def pass_an_unknown_argument(program):
    find(program, "elementwise_add").kwargs["alpha"] = 2.0


def pass_another_type(program):
    find(program, "reduce_sum").kwargs["keepdim"] = "yes"


def return_no_variable(program):
    find(program, "relu").out = "relu"


def put_a_tensor_in(program):
    add = find(program, "elementwise_add")
    add.args = (add.args[0], torch.ones(2))


def call_another_relu(program):
    find(program, "relu").op = Op("relu", torch.relu, ("x",))


def forget_the_op(program):
    find(program, "relu").op = None


def move_to_another_block(program):
    program.block(1).ops[0].block = program.global_block()


def hide_a_variable(program):
    inner = program.block(1)
    inner.vars["x"] = Variable(inner, "x", torch.ones(2))


def take_the_variable_of_another(program):
    program.block(1).vars["y"] = program.global_block().vars["x"]


def run_a_block_twice(program):
    cond = find(program, "cond")
    cond.kwargs["branches"] = cond.kwargs["branches"][:1] * 2


def run_a_block_of_nobody(program):
    find(program, "cond").kwargs["branches"][0] = SubBlock(9)


def hide_what_a_branch_reads(program):
    cond = find(program, "cond")
    cond.args = (cond.args[0], [])


PROBLEMS = {
    drop_what_others_read: r"operator 0 'tanh'.* reads 'relu_0.tmp_0' before any operator has",
    read_too_early: r"operator 0 'tanh'.* reads 'relu_0.tmp_0' before any operator has written it",
    drop_inside_a_branch: r"'cond'.* takes \['tmp_2'\], which nothing writes",
    read_no_variable: r"'tanh'.* reads 'nowhere', which is no variable",
    write_no_variable: r"'tanh'.* writes 'nowhere', which is no variable",
    write_twice: r"operator 0 'relu'.* writes 'relu_0.tmp_0' twice",
    leave_out_an_argument: r"'elementwise_add'.* does not fit 'add': missing .* 'y'",
    pass_too_many_arguments: r"'elementwise_add'.* does not fit 'add': too many positional",
    pass_an_unknown_argument: r"has an argument 'alpha', but 'add' takes \['x', 'y'\]",
    pass_another_type: r"'reduce_sum'.* has keepdim, which must be of type bool",
    return_no_variable: r"'relu'.* has results that are no variables",
    put_a_tensor_in: r"'elementwise_add'.* has a tensor among its attributes",
    call_another_relu: r"'relu'.* is not the op of that name in the table",
    forget_the_op: r"'relu'.* is of no known type",
    move_to_another_block: r"operator 'elementwise_add' of block 1 is another's",
    hide_a_variable: r"variable 'x' of block 1 hides that of an enclosing block",
    take_the_variable_of_another: r"variable 'y' of block 1 is another's",
    run_a_block_twice: r"'cond'.* runs block 1, which is run already",
    run_a_block_of_nobody: r"'cond'.* runs block 9, which is no block inside of its own",
    hide_what_a_branch_reads: r"'cond'.* does not say that its block 1 uses 'tanh_0.tmp_0'",
}


@pytest.mark.parametrize("broken", PROBLEMS, ids=lambda f: f.__name__)
def test_a_pass_that_breaks_a_program_is_named(program, broken):
    program.verify()
    with (
        pytest.raises(InternalError, match=f"^pass 'fold' left .*: .*{PROBLEMS[broken]}") as caught,
        checked(program.blocks, "fold"),
    ):
        broken(program)
    assert isinstance(caught.value.__cause__, ProgramError)
    with pytest.raises(ProgramError, match=PROBLEMS[broken]):
        program.verify()


def test_a_pass_need_not_give_values_to_what_had_none(program):
    drop_what_others_read(program)  # the script feeds it
    with checked(program.blocks, "fold"):
        program.global_block().ops.pop()


def test_a_list_of_operators_is_checked(program):
    operators = program.global_block().ops
    assert checked_operators(operators, list(operators), "same") == operators
    with pytest.raises(InternalError, match=r"pass 'shorter' left .* reads 'relu_0.tmp_0' before"):
        checked_operators(operators, operators[1:], "shorter")
    assert checked_operators(operators, operators[1:], "shorter", ["relu_0.tmp_0"])


# -- the passes are checked
# -------------------------------------------------------------------------------------------------


def test_clone_is_checked(program, monkeypatch):
    copy = Operator.copy_to

    def without_arguments(self, block, for_test=False):
        made = copy(self, block, for_test)
        made.args = () if self.type == "tanh" else made.args
        return made

    monkeypatch.setattr(Operator, "copy_to", without_arguments)
    with pytest.raises(InternalError, match=r"pass 'clone' left .* operator 1 'tanh'"):
        program.clone()


def test_mixed_precision_is_checked(program, monkeypatch):
    take_over = _rewrite._Rewriter._take_over

    def without_relu(self, operator):
        if operator.type != "relu":
            take_over(self, operator)

    monkeypatch.setattr(_rewrite._Rewriter, "_take_over", without_relu)
    with pytest.raises(InternalError, match=r"pass 'mixed precision' left .* reads 'relu_0.tmp_0'"):
        cast_model_to_fp16(program, use_fp16_guard=False, dest_type="bfloat16", level="O1")


class Forgetful(Exchange):
    def operators(self, operators, fetches, combiner):
        return operators[1:]


def test_an_exchange_is_checked(program):
    spec = SimpleNamespace(
        feeds_loss_gradient=False, scales_loss=False, updates_once=False, syncs_batch_norm=False
    )
    shared = Shared(1, spec, object(), None, False, Forgetful())
    adaptation = PlaceAdaptation(0, torch.device("cpu"), shared)
    with pytest.raises(InternalError, match=r"pass 'Forgetful' left .* reads 'relu_0.tmp_0'"):
        adaptation.operators(program.global_block().ops, [])
