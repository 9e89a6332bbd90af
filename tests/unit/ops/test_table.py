"""The table: what an op may say of itself, and that what ops say is true."""

import inspect

import pytest
import torch

from argosy.foundation.errors import InternalError
from argosy.ops import table
from argosy.ops.table import Op
from argosy.ops.traits import Precision, Rows, SparseGradients, Traits


def double_(x, scale=2.0):
    return x.mul_(scale)


# -- what is refused
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "trait",
    [
        {"types": "relu"},
        {"types": ("relu", 3)},
        {"mutates": ["x"]},
        {"is_random": 1},
        {"test_attrs": {"is_test": "yes"}},
        {"precision": "white"},
        {"precision": {"relu": "white"}},
        {"rows": True},
        {"sparse_gradients": "taken"},
        {"is_reshape": None},
        {"is_fused": "yes"},
    ],
    ids=str,
)
def test_a_value_that_a_trait_cannot_have_is_refused(trait):
    [(name, value)] = trait.items()
    with pytest.raises(InternalError) as caught:
        Op("negate", lambda x: -x, **trait)
    assert str(caught.value) == f"op 'negate': {name} cannot be {value!r}"


def test_an_unknown_trait_is_refused():
    with pytest.raises(InternalError, match=r"op 'negate': .*'is_rowwise'"):
        Op("negate", lambda x: -x, is_rowwise=True)


@pytest.mark.parametrize("traits", [{"mutates": ("y",)}, {"test_attrs": {"is_test": True}}])
def test_a_trait_names_parameters_of_the_op(traits):
    with pytest.raises(InternalError, match=r"no parameter '\w+' in \('x', 'scale'\)"):
        Op("double_", double_, **traits)


@pytest.mark.parametrize(("name", "mutates"), [("double", ("x",)), ("double_", ())])
def test_the_name_says_whether_an_op_works_in_place(name, mutates):
    with pytest.raises(InternalError, match="ends in '_', and mutates names them"):
        Op(name, double_, mutates=mutates)


def test_ops_of_one_type_differ_in_an_attribute():
    pools = table.of_type("pool2d")
    assert {op.name for op in pools} >= {"max_pool", "avg_pool", "adaptive_avg_pool"}
    wanted = {"pooling_type": "avg", "adaptive": False, "global_pooling": False, "ksize": [2, 2]}
    assert [op.name for op in pools if op.spelling("pool2d").fits(wanted)] == ["avg_pool"]


# -- what is known
# -------------------------------------------------------------------------------------------------


def test_an_op_that_says_nothing_has_the_defaults():
    op = Op("negate", lambda x: -x)
    assert op.traits == Traits()
    assert op.type == "negate"
    assert op.known_names == {"negate"}
    assert op.precision_by_type == {"negate": Precision.PROMOTED}
    assert op.traits.rows is Rows.KEPT
    assert op.traits.sparse_gradients is SparseGradients.MADE_DENSE


def test_the_first_type_is_that_of_its_operators():
    op = table.get("embedding")
    assert op.type == "lookup_table_v2"
    assert table.find("lookup_table_v2") is op


def test_a_class_of_precision_belongs_to_a_type():
    assert table.get("exp").precision_by_type == {"exp": Precision.BLACK}
    assert table.get("add").precision_by_type == {"elementwise_add": Precision.GRAY}
    pow = table.get("pow")
    assert pow.precision_by_type == {"pow": Precision.BLACK, "elementwise_pow": Precision.GRAY}
    assert pow.is_of_precision(Precision.GRAY)
    assert not pow.is_of_precision(Precision.WHITE)


# -- what is said is true
# -------------------------------------------------------------------------------------------------

# What the annotation of a parameter calls for, unless its name, or it in one op, needs another.
BY_ANNOTATION = {
    "Tensors": lambda: [torch.rand(4)],
    "list[Tensor]": lambda: [torch.rand(4)],
    "Tensor": lambda: torch.ones(()),
    "float": lambda: 0.5,
    "int": lambda: 1,
    "bool": lambda: False,
}
BY_NAME = {
    "amsgrad": lambda: True,
    **dict.fromkeys(("beta1_pows", "beta2_pows"), lambda: [torch.full((1,), 0.5)]),
    "centered": lambda: True,
    "corrects": lambda: True,
    "counts": lambda: [torch.zeros(1)],
    **dict.fromkeys(
        ("num_accumulates", "old_num_accumulates", "num_updates"), lambda: [torch.full((1,), 2)]
    ),
    "decay": lambda: torch.full((1,), 0.9),
    "found_inf": lambda: torch.ones(1, dtype=torch.bool),
    "histories": lambda: [torch.rand(3, 4)],
    "label": lambda: torch.tensor([[0], [1], [1], [0]]),
    "limit": lambda: 3,
    **dict.fromkeys(("mean", "variance", "weight", "bias"), lambda: torch.rand(4)),
    **dict.fromkeys(("positives", "negatives"), lambda: torch.zeros(2, 6, dtype=torch.int64)),
    **dict.fromkeys(("param", "moment", "moment1", "moment2"), lambda: torch.rand(4, 4)),
    "moment2_max": lambda: torch.zeros(4, 4),
    "moment2_maxs": lambda: [torch.zeros(4)],
    "rows": lambda: torch.tensor([0, 2]),
    "scale": lambda: torch.full((1,), 1024.0),
    "scores": lambda: torch.rand(4, 2),
}
BY_OP = {
    ("adagrad_rows_", "values"): lambda: torch.rand(2, 4),
    ("adam_rows_", "values"): lambda: torch.rand(2, 4),
    ("batch_norm_", "x"): lambda: torch.rand(3, 4),
    ("batch_norm_from_moments_", "moments"): lambda: torch.rand(9, dtype=torch.float64) + 8.0,
    ("batch_norm_from_moments_", "x"): lambda: torch.rand(3, 4),
    ("embedding_renorm_", "max_norm"): lambda: 0.01,
    ("embedding_renorm_", "weight"): lambda: torch.rand(4, 4),
    ("embedding_renorm_", "x"): lambda: torch.tensor([1, 2]),
    ("update_loss_scaling_", "num_bad_steps"): lambda: torch.tensor([2]),
    ("update_loss_scaling_", "decr_every_n_nan_or_inf"): lambda: 3,
    ("setitem_", "index"): lambda: (0,),
    ("setitem_", "value"): lambda: 7.0,
    ("setitem_", "x"): lambda: torch.rand(4),
    ("sgd_rows_", "values"): lambda: torch.rand(2, 4),
}
IN_PLACE = [name for name in table.names() if table.get(name).traits.mutates]


def argument(op, parameter):
    name = parameter.name
    own = BY_OP.get((op, name)) or BY_NAME.get(name)
    return (own or BY_ANNOTATION[str(parameter.annotation).removesuffix(" | None")])()


def copied(value):
    items = value if isinstance(value, list) else [value]
    return [item.clone() if isinstance(item, torch.Tensor) else item for item in items]


@pytest.mark.parametrize("name", IN_PLACE)
def test_an_op_changes_what_it_says_and_nothing_else(name):
    torch.manual_seed(7)
    op = table.get(name)
    given = {p.name: argument(name, p) for p in inspect.signature(op.fn).parameters.values()}
    before = {key: copied(value) for key, value in given.items()}
    op.fn(**given)
    changed = {
        key
        for key, value in given.items()
        for old, new in zip(before[key], copied(value), strict=True)
        if isinstance(old, torch.Tensor) and not torch.equal(old, new)
    }
    assert changed == set(op.traits.mutates)


def test_every_call_of_a_fused_update_kernel_is_in_an_op_that_says_so():
    def sources(function):
        """Of a function, and of those beside it that it names."""
        beside = [function.__globals__.get(name) for name in function.__code__.co_names]
        own = [f for f in beside if getattr(f, "__module__", "") == function.__module__]
        return [inspect.getsource(f) for f in (function, *own) if inspect.isfunction(f)]

    callers = {
        name
        for name in IN_PLACE
        if any("private.fused_" in text for text in sources(table.get(name).fn))
    }
    assert callers == {n for n in table.names() if table.get(n).traits.is_fused}
